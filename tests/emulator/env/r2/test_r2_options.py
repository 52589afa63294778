"""Options that are wrong, or stored with an object."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from tests.emulator.env.r2.conftest import Bucket

ETAG = hashlib.md5(b"hello").hexdigest()


async def text(found: Any) -> str:
    return await found.text()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("options", "name", "message"),
    [
        (
            {"range": {"offset": -1}},
            "RangeError",
            "Invalid range. Starting offset (-1) must be greater than or equal to 0.",
        ),
        (
            {"range": {"length": -5}},
            "RangeError",
            "Invalid range. Length (-5) must be greater than or equal to 0.",
        ),
        (
            {"range": {"suffix": -5}},
            "RangeError",
            "Invalid suffix. Suffix (-5) must be greater than or equal to 0.",
        ),
        (
            {"range": {"length": 1.5}},
            "RangeError",
            "Invalid range. Length (1.5) must be an integer, not floating point.",
        ),
        (
            {"range": {"suffix": 1, "offset": 2}},
            "TypeError",
            "Suffix is incompatible with offset.",
        ),
        (
            {"range": {"suffix": 1, "length": 2}},
            "TypeError",
            "Suffix is incompatible with length.",
        ),
        (
            {"onlyIf": {"etagMatches": '"x"'}},
            "TypeError",
            'Conditional ETag should not be wrapped in quotes ("x").',
        ),
        ({"ssecKey": "zz"}, "Error", "SSE-C Key has invalid format"),
        ({"ssecKey": "AB" * 32}, "Error", "SSE-C Key has invalid format"),
        ({"ssecKey": b"short"}, "Error", "SSE-C Key must be 32 bytes in length"),
    ],
    ids=str,
)
def test_wrong_options_of_a_read(bucket: Bucket, options: Any, name: str, message: str) -> None:
    async def program(b: Any) -> Any:
        await b.put("k", "hello")
        await b.get("k", options)

    assert bucket.failure(program) == (name, message)


def test_wrong_headers_of_a_condition(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        import js

        await b.get("k", onlyIf=js.Headers.new({"If-Match": "abc"}.items()))

    assert bucket.failure(program) == ("Error", "Invalid ETag in if-match header")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"md5": "00" * 16, "sha1": "00" * 20}, "You cannot specify multiple hashing algorithms."),
        ({"md5": b"abc"}, "MD5 is 16 bytes, not 3"),
        ({"md5": "ab"}, "MD5 is 32 hex characters, not 2"),
        ({"md5": "zz" * 16}, "Provided MD5 wasn't a valid hex string"),
        ({"md5": "é" * 16}, "Provided MD5 wasn't a valid hex string"),
        ({"sha1": b"abc"}, "SHA-1 is 20 bytes, not 3"),
        ({"sha256": "ab"}, "SHA-256 is 64 hex characters, not 2"),
        ({"sha384": b"abc"}, "SHA-384 is 48 bytes, not 3"),
        ({"sha512": "ab"}, "SHA-512 is 128 hex characters, not 2"),
    ],
    ids=str,
)
def test_wrong_hashes(bucket: Bucket, options: Any, message: str) -> None:
    assert bucket.failure(lambda b: b.put("k", "x", options)) == ("TypeError", message)


@pytest.mark.parametrize("form", ["hex", "upper", "bytes"])
def test_hashes_are_given_as_hex_or_bytes(bucket: Bucket, form: str) -> None:
    digest = hashlib.sha1(b"hello")
    value: Any = digest.hexdigest() if form == "hex" else digest.hexdigest().upper()

    async def program(b: Any) -> Any:
        await b.put("k", "hello", sha1=digest.digest() if form == "bytes" else value)
        checksums = (await b.head("k")).checksums
        return bytes(checksums.md5).hex(), bytes(checksums.sha1).hex()

    assert bucket(program) == (ETAG, digest.hexdigest())


def test_a_hash_that_does_not_match(bucket: Bucket) -> None:
    actual = hashlib.sha256(b"hello").hexdigest()
    assert bucket.failure(lambda b: b.put("k", "hello", sha256="AB" * 32)) == (
        "Error",
        "put: The SHA-256 checksum you specified did not match what we received.\n"
        f"You provided a SHA-256 checksum with value: {'ab' * 32}\n"
        f"Actual SHA-256 was: {actual} (10037)",
    )


@pytest.mark.parametrize(
    ("options", "name", "message"),
    [
        (
            {"limit": 0},
            "Error",
            "list: MaxKeys params must be positive integer <= 1000. (10022)",
        ),
        (
            {"limit": 1001},
            "Error",
            "list: MaxKeys params must be positive integer <= 1000. (10022)",
        ),
        ({"include": ["x"]}, "RangeError", "Unsupported include value x"),
        (
            {"cursor": "!!!"},
            "Error",
            "list: The cursor is not one that a listing has returned. (10029)",
        ),
    ],
    ids=str,
)
def test_wrong_options_of_a_listing(bucket: Bucket, options: Any, name: str, message: str) -> None:
    assert bucket.failure(lambda b: b.list(options)) == (name, message)


@pytest.mark.parametrize(("limit", "count"), [(1.9, 1), (-1, 3), ("2", 2)])
def test_the_limit_of_a_listing_is_read_as_an_integer(
    bucket: Bucket, limit: Any, count: int
) -> None:
    async def program(b: Any) -> int:
        for key in "abc":
            await b.put(key, "")
        return len((await b.list({"limit": limit})).objects)

    assert bucket(program) == count


@pytest.mark.parametrize(
    ("call", "action"),
    [
        (lambda b, key: b.head(key), "head"),
        (lambda b, key: b.get(key), "get"),
        (lambda b, key: b.put(key, ""), "put"),
        (lambda b, key: b.delete(["a", key]), "delete"),
        (lambda b, key: b.createMultipartUpload(key), "createMultipartUpload"),
        (lambda b, key: b.resumeMultipartUpload(key, "x").uploadPart(1, "x"), "uploadPart"),
        (lambda b, key: b.resumeMultipartUpload(key, "x").complete([]), "completeMultipartUpload"),
        (lambda b, key: b.resumeMultipartUpload(key, "x").abort(), "abortMultipartUpload"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_name_the_action(bucket: Bucket, call: Any, action: str) -> None:
    assert bucket.failure(lambda b: call(b, "x" * 1025)) == (
        "Error",
        f"{action}: The specified object name is not valid. (10020)",
    )


def test_metadata_beyond_its_limit(bucket: Bucket) -> None:
    assert bucket.failure(lambda b: b.put("k", "", customMetadata={"a": "x" * 8192})) == (
        "Error",
        "put: Your metadata headers exceed the maximum allowed metadata size. (10012)",
    )


def test_the_storage_class_is_kept(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        await b.put("k", "x", storageClass="InfrequentAccess")
        return (await b.head("k")).storageClass

    assert bucket(program) == "InfrequentAccess"


def test_an_unknown_storage_class_is_refused(bucket: Bucket) -> None:
    assert bucket.failure(lambda b: b.put("k", "x", storageClass="Glacier")) == (
        "Error",
        'put: The storage class is Standard or InfrequentAccess, not "Glacier". (10029)',
    )


def test_a_customer_key_guards_the_content(bucket: Bucket) -> None:
    key = bytes(range(32))

    async def program(b: Any) -> Any:
        await b.put("k", "secret", ssecKey=key.hex())
        return await text(await b.get("k", ssecKey=key)), (await b.head("k")).ssecKeyMd5

    assert bucket(program) == ("secret", hashlib.md5(key).hexdigest())
    name, message = bucket.failure(lambda b: b.get("k", ssecKey=bytes(32)))
    assert (name, message) == ("Error", "get: Access Denied (10003)")


def test_damaged_storage_is_an_internal_error_whose_cause_names_the_file(bucket: Bucket) -> None:
    from pyodide.ffi import JsException

    bucket(lambda b: b.put("k", "x" * 100_000))
    (path,) = bucket.folder.rglob("*.blobs/*")
    path.unlink()
    with pytest.raises(JsException) as caught:
        bucket(lambda b: b.get("k"))
    error: Any = caught.value
    assert error.message == ("get: We encountered an internal error. Please try again. (10001)")
    assert str(path) in error.cause.message
    assert not hasattr(error, "code")
