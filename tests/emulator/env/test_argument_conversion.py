"""Arguments and options of R2, KV and the caches, of every wrong kind, through the SDK as Workers give them."""

from __future__ import annotations

import asyncio
import datetime
import math
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from pyflare.workers.runtime import Runtime
from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry

Call = Callable[[Any], Awaitable[Any]]

URL = "https://cache.key/"
OUT_OF_RANGE = (
    "TypeError: Value out of range. Must be between -2147483648 and 2147483647 (inclusive)."
)
BIGINT = "TypeError: Cannot convert a BigInt value to a number"
NO_DATE = "TypeError: The value cannot be converted because it is not a valid Date."


class Bench:
    """Runs calls against an ``env`` with ``BUCKET``, an ``upload`` of it, ``KV`` and ``cache``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, call: Call, *, wrapped: bool = True) -> Any:
        from workers.rpc import _BindingWrapper

        from pyflare.env.cache import open_cache
        from pyflare.env.kv import KvNamespace
        from pyflare.env.r2 import R2Bucket

        async def run() -> Any:
            registry = BindingRegistry(self.folder, clock=ManualClock())
            wrap = _BindingWrapper if wrapped else lambda raw: raw
            bucket = wrap(R2Bucket._make(registry.r2("bucket")))
            env = SimpleNamespace(
                BUCKET=bucket,
                KV=wrap(KvNamespace._make(registry.kv("kv"))),
                cache=wrap(open_cache(registry, None)),
                upload=bucket.resumeMultipartUpload("key", "id"),
            )
            try:
                return await call(env)
            finally:
                await registry.close()

        return asyncio.run(run())

    def error(self, call: Call, *, wrapped: bool = True) -> str:
        from pyodide.ffi import JsException

        with pytest.raises(JsException) as caught:
            self(call, wrapped=wrapped)
        return str(caught.value)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    installed = Runtime()
    installed.install()
    yield Bench(tmp_path)
    installed.uninstall()


def parameter(interface: str, method: str, number: int, kind: str) -> str:
    return (
        f"TypeError: Failed to execute '{method}' on '{interface}': "
        f"parameter {number} is not of type '{kind}'."
    )


CONTENT = "JsReadableStream or ArrayBuffer or ArrayBufferView or string or Blob"
MISSING: list[tuple[str, Call, str]] = [
    ("BUCKET.head()", lambda env: env.BUCKET.head(), parameter("R2Bucket", "head", 1, "string")),
    ("BUCKET.get()", lambda env: env.BUCKET.get(), parameter("R2Bucket", "get", 1, "string")),
    ("BUCKET.put()", lambda env: env.BUCKET.put(), parameter("R2Bucket", "put", 1, "string")),
    ("BUCKET.put(k)", lambda env: env.BUCKET.put("k"), parameter("R2Bucket", "put", 2, CONTENT)),
    (
        "BUCKET.delete()",
        lambda env: env.BUCKET.delete(),
        parameter("R2Bucket", "delete", 1, "string or Array"),
    ),
    (
        "BUCKET.createMultipartUpload()",
        lambda env: env.BUCKET.createMultipartUpload(),
        parameter("R2Bucket", "createMultipartUpload", 1, "string"),
    ),
    (
        "BUCKET.resumeMultipartUpload()",
        lambda env: env.BUCKET.resumeMultipartUpload(),
        parameter("R2Bucket", "resumeMultipartUpload", 1, "string"),
    ),
    (
        "BUCKET.resumeMultipartUpload(k)",
        lambda env: env.BUCKET.resumeMultipartUpload("k"),
        parameter("R2Bucket", "resumeMultipartUpload", 2, "string"),
    ),
    (
        "upload.uploadPart()",
        lambda env: env.upload.uploadPart(),
        parameter("R2MultipartUpload", "uploadPart", 1, "integer"),
    ),
    (
        "upload.uploadPart(1)",
        lambda env: env.upload.uploadPart(1),
        parameter("R2MultipartUpload", "uploadPart", 2, CONTENT),
    ),
    (
        "upload.complete()",
        lambda env: env.upload.complete(),
        parameter("R2MultipartUpload", "complete", 1, "Array"),
    ),
    ("KV.get()", lambda env: env.KV.get(), parameter("KvNamespace", "get", 1, "string or Array")),
    (
        "KV.getWithMetadata()",
        lambda env: env.KV.getWithMetadata(),
        parameter("KvNamespace", "getWithMetadata", 1, "Array or string"),
    ),
    ("KV.put()", lambda env: env.KV.put(), parameter("KvNamespace", "put", 1, "string")),
    (
        "KV.put(k)",
        lambda env: env.KV.put("k"),
        parameter("KvNamespace", "put", 2, "string or Object"),
    ),
    ("KV.delete()", lambda env: env.KV.delete(), parameter("KvNamespace", "delete", 1, "string")),
    (
        "cache.match()",
        lambda env: env.cache.match(),
        parameter("Cache", "match", 1, "Request or string"),
    ),
    ("cache.put()", lambda env: env.cache.put(), parameter("Cache", "put", 1, "Request or string")),
    ("cache.put(u)", lambda env: env.cache.put(URL), parameter("Cache", "put", 2, "Response")),
    (
        "cache.delete()",
        lambda env: env.cache.delete(),
        parameter("Cache", "delete", 1, "Request or string"),
    ),
]


@pytest.mark.parametrize("wrapped", [True, False], ids=["SDK", "raw"])
@pytest.mark.parametrize(("call", "text"), [pytest.param(*row[1:], id=row[0]) for row in MISSING])
def test_a_required_argument_that_is_missing(
    bench: Bench, call: Call, text: str, wrapped: bool
) -> None:
    assert bench.error(call, wrapped=wrapped) == text


BY_NAME: list[tuple[str, Call]] = [
    ("BUCKET.head", lambda env: env.BUCKET.head(key="k")),
    ("BUCKET.get", lambda env: env.BUCKET.get(key="k")),
    ("BUCKET.put", lambda env: env.BUCKET.put(key="k", value="v")),
    ("BUCKET.put", lambda env: env.BUCKET.put("k", value="v")),
    ("BUCKET.delete", lambda env: env.BUCKET.delete(keys=["k"])),
    ("BUCKET.createMultipartUpload", lambda env: env.BUCKET.createMultipartUpload(key="k")),
    ("upload.uploadPart", lambda env: env.upload.uploadPart(1, value="v")),
    ("upload.complete", lambda env: env.upload.complete(parts=[])),
    ("KV.get", lambda env: env.KV.get(key="k")),
    ("KV.getWithMetadata", lambda env: env.KV.getWithMetadata(key="k")),
    ("KV.put", lambda env: env.KV.put(key="k", value="v")),
    ("KV.put", lambda env: env.KV.put("k", value="v")),
    ("KV.delete", lambda env: env.KV.delete(key="k")),
    ("cache.match", lambda env: env.cache.match(request=URL)),
    ("cache.delete", lambda env: env.cache.delete(request=URL)),
]


@pytest.mark.parametrize("call", [pytest.param(row[1], id=row[0]) for row in BY_NAME])
def test_a_parameter_has_no_name_that_a_keyword_could_give(bench: Bench, call: Call) -> None:
    from pyodide.ffi import JsException

    with pytest.raises((TypeError, JsException), match=r"not of type|positional-only|unexpected"):
        bench(call)


def test_keywords_are_the_options_and_not_parameters(bench: Bench) -> None:
    async def call(env: Any) -> Any:
        await env.KV.put("k", "v", options={"metadata": 1})
        return (await env.KV.getWithMetadata("k")).metadata

    assert bench(call) is None


OPTIONS: list[tuple[str, Callable[[Any, Any], Any], str]] = [
    ("BUCKET.get", lambda env, o: env.BUCKET.get("k", o), "R2Bucket get 2 GetOptions"),
    ("BUCKET.put", lambda env, o: env.BUCKET.put("k", "v", o), "R2Bucket put 3 PutOptions"),
    ("BUCKET.list", lambda env, o: env.BUCKET.list(o), "R2Bucket list 1 ListOptions"),
    (
        "BUCKET.createMultipartUpload",
        lambda env, o: env.BUCKET.createMultipartUpload("k", o),
        "R2Bucket createMultipartUpload 2 MultipartOptions",
    ),
    (
        "upload.uploadPart",
        lambda env, o: env.upload.uploadPart(1, "v", o),
        "R2MultipartUpload uploadPart 3 UploadPartOptions",
    ),
    ("KV.put", lambda env, o: env.KV.put("k", "v", o), "KvNamespace put 3 PutOptions"),
    ("KV.list", lambda env, o: env.KV.list(o), "KvNamespace list 1 ListOptions"),
    (
        "cache.match",
        lambda env, o: env.cache.match(URL, o),
        "Cache match 2 CacheQueryOptions",
    ),
    (
        "cache.delete",
        lambda env, o: env.cache.delete(URL, o),
        "Cache delete 2 CacheQueryOptions",
    ),
]


@pytest.mark.parametrize("given", [5, 0, "text", "", True, False, 1.5], ids=repr)
@pytest.mark.parametrize(("call", "where"), [pytest.param(*row[1:], id=row[0]) for row in OPTIONS])
def test_options_that_are_no_object(bench: Bench, call: Any, where: str, given: Any) -> None:
    interface, method, number, kind = where.split()
    text = parameter(interface, method, int(number), kind)
    assert bench.error(lambda env: call(env, given)) == text


@pytest.mark.parametrize("given", [None, {}, []], ids=repr)
@pytest.mark.parametrize(
    "call", [pytest.param(row[1], id=row[0]) for row in OPTIONS if row[0] != "upload.uploadPart"]
)
def test_null_and_objects_without_fields_are_no_options(
    bench: Bench, call: Any, given: Any
) -> None:
    bench(lambda env: call(env, given))


def field(name: str, struct: str, kind: str) -> str:
    return (
        f"TypeError: Incorrect type for the '{name}' field on '{struct}': "
        f"the provided value is not of type '{kind}'."
    )


def listing(**options: Any) -> Call:
    return lambda env: env.BUCKET.list(options)


def reading(**options: Any) -> Call:
    return lambda env: env.BUCKET.get("k", options)


def writing(**options: Any) -> Call:
    return lambda env: env.BUCKET.put("k", "v", options)


def uploading(**options: Any) -> Call:
    return lambda env: env.BUCKET.createMultipartUpload("k", options)


def kv_put(**options: Any) -> Call:
    return lambda env: env.KV.put("k", "v", options)


def kv_get(**options: Any) -> Call:
    async def call(env: Any) -> Any:
        await env.KV.put("k", "v")
        return await env.KV.get("k", options)

    return call


def matching(**options: Any) -> Call:
    return lambda env: env.cache.match(URL, options)


def completing(*parts: Any) -> Call:
    return lambda env: env.upload.complete(list(parts))


#: R2's texts: fields that take a string and nothing else.
STRINGS = [
    (f"list {name}={value!r}", listing(**{name: value}), field(name, "ListOptions", "string"))
    for name in ("prefix", "cursor", "delimiter", "startAfter")
    for value in (None, 5, True, ["a"], {})
] + [
    (
        f"onlyIf {name}={value!r}",
        call(onlyIf={name: value}),
        field(name, "Conditional", "string"),
    )
    for name in ("etagMatches", "etagDoesNotMatch")
    for value in (None, 5, ["a"])
    for call in (reading, writing)
]
DATES = [
    (f"{name}={value!r}", reading(onlyIf={name: value}), text)
    for name in ("uploadedBefore", "uploadedAfter")
    for value, text in (
        (None, field(name, "Conditional", "date")),
        ("2026-01-01", field(name, "Conditional", "date")),
        (True, field(name, "Conditional", "date")),
        (math.nan, NO_DATE),
        (math.inf, NO_DATE),
        (9.3e12, "TypeError: This API doesn't support dates after 2189."),
        (-9.3e12, "TypeError: This API doesn't support dates before 1687."),
    )
] + [
    ("cacheExpiry=None", writing(httpMetadata={"cacheExpiry": None}),
     field("cacheExpiry", "HttpMetadata", "date")),
]  # fmt: skip
STRUCTS = [
    (f"{call.__name__} {name}={value!r}", call(**{name: value}), field(name, struct, kind))
    for call, struct, name, kind in (
        (reading, "GetOptions", "onlyIf", "Conditional or Headers"),
        (writing, "PutOptions", "onlyIf", "Conditional or Headers"),
        (reading, "GetOptions", "range", "Range or Headers"),
        (writing, "PutOptions", "httpMetadata", "HttpMetadata or Headers"),
        (uploading, "MultipartOptions", "httpMetadata", "HttpMetadata or Headers"),
    )
    for value in (5, "text", "", True)
]
METADATA = [
    (
        f"{call.__name__} customMetadata={value!r}",
        call(customMetadata=value),
        field("customMetadata", struct, "object"),
    )
    for call, struct in ((writing, "PutOptions"), (uploading, "MultipartOptions"))
    for value in (None, 5, "text", [1], [])
]
HASHES = [
    (
        f"{name}={value!r}",
        writing(**{name: value}),
        field(name, "PutOptions", "BufferSource or string"),
    )
    for name in ("md5", "sha1", "sha256", "sha384", "sha512")
    for value in (None, 5, [1], {})
]
KEYS = [
    (f"{call.__name__} ssecKey={value!r}", call(ssecKey=value), f"Error: SSE-C Key {text}")
    for call in (reading, writing, uploading)
    for value, text in (
        (None, "has invalid format"),
        (5, "must be 32 bytes in length"),
        ("", "has invalid format"),
        ("ab", "must be 32 bytes in length"),
        ("AB" * 32, "has invalid format"),
        (b"short", "must be 32 bytes in length"),
    )
]
NUMBERS = [
    (f"range {name}={value!r}", reading(range={name: value}), f"RangeError: Invalid {text}")
    for name, label, what in (
        ("offset", "Starting offset", "range"),
        ("length", "Length", "range"),
        ("suffix", "Suffix", "suffix"),
    )
    for value, text in (
        ("x", f"{what}. {label} (nan) must be greater than or equal to 0."),
        (math.nan, f"{what}. {label} (nan) must be greater than or equal to 0."),
        (-math.inf, f"{what}. {label} (-inf) must be greater than or equal to 0."),
        (-1e21, f"{what}. {label} (-1e21) must be greater than or equal to 0."),
        (-1.5, f"{what}. {label} (-1.5) must be greater than or equal to 0."),
        (1.5, f"range. {label} (1.5) must be an integer, not floating point."),
        (1 / 3, f"range. {label} (0.33333333333333331) must be an integer, not floating point."),
    )
]
INTEGERS = [
    (f"{call.__name__} {name}={value!r}", call(**{name: value}), text)
    for call, name in (
        (listing, "limit"),
        (kv_put, "expiration"),
        (kv_put, "expirationTtl"),
        (kv_get, "cacheTtl"),
    )
    for value, text in (
        (2**31, OUT_OF_RANGE),
        (-(2**31) - 1, OUT_OF_RANGE),
        (2**32 + 5, OUT_OF_RANGE),
        (1_790_000_000_000, OUT_OF_RANGE),
        (2**31 - 0.5, OUT_OF_RANGE),
        ("3000000000", OUT_OF_RANGE),
        (datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), OUT_OF_RANGE),
        (2**60, BIGINT),
    )
]
ZEROES = [
    (f"{call.__name__} {name}={value!r}", call(**{name: value}), f"Error: {text}")
    for call, name, text in (
        (listing, "limit", "list: MaxKeys params must be positive integer <= 1000. (10022)"),
        (
            kv_put,
            "expirationTtl",
            "KV PUT failed: 400 Invalid expiration_ttl of 0. Please specify integer greater than 0.",
        ),
        (
            kv_put,
            "expiration",
            "KV PUT failed: 400 Invalid expiration of 0. Please specify integer greater than the "
            "current number of seconds since the UNIX epoch.",
        ),
        (
            kv_get,
            "cacheTtl",
            "KV GET failed: 400 Invalid cache_ttl of 0. Cache TTL must be at least 30.",
        ),
    )
    for value in (None, math.nan, math.inf, -math.inf, "x", "", False, {}, 0.9)
]
PARTS = [
    *(
        (f"complete {value!r}", lambda env, value=value: env.upload.complete(value),
         parameter("R2MultipartUpload", "complete", 1, "Array"))
        for value in (None, 5, "text", {})
    ),
    *(
        (f"complete part {value!r}", completing(value),
         "TypeError: Incorrect type for array element 0: "
         "the provided value is not of type 'UploadedPart'.")
        for value in ("x", 5, True)
    ),
    ("complete part None", completing(None),
     "TypeError: Cannot initialize N7workerd3api11public_beta17R2MultipartUpload12UploadedPartE "
     "with required members from an undefined or null value."),
    ("complete part {}", completing({}),
     "TypeError: Part number must be between 1 and 10000 (inclusive). Actual value was: 0"),
    ("complete part too large", completing({"partNumber": 2**31, "etag": "x"}), OUT_OF_RANGE),
    ("uploadPart too large", lambda env: env.upload.uploadPart(2**31, "v"), OUT_OF_RANGE),
    ("uploadPart None", lambda env: env.upload.uploadPart(None, "v"),
     "TypeError: Part number must be between 1 and 10000 (inclusive). Actual value was: 0"),
    ("uploadPart of no content", lambda env: env.upload.uploadPart(0, 5),
     parameter("R2MultipartUpload", "uploadPart", 2, CONTENT)),
    ("uploadPart ssecKey", lambda env: env.upload.uploadPart(1, "v", ssecKey=None),
     "Error: SSE-C Key has invalid format"),
]  # fmt: skip
OTHERS: list[tuple[str, Call, str]] = [
    *(
        (f"include={value!r}", listing(include=value), field("include", "ListOptions", "Array"))
        for value in (None, "httpMetadata", 5, {})
    ),
    ("include of a number", listing(include=["httpMetadata", 5]),
     "TypeError: Incorrect type for array element 1: the provided value is not of type 'string'."),
    ("include of a null", listing(include=[None]),
     "TypeError: Incorrect type for array element 0: the provided value is not of type 'string'."),
    ("an etag of one quote", reading(onlyIf={"etagMatches": '"'}),
     'TypeError: Conditional ETag should not be wrapped in quotes (").'),
    ("storageClass=None", writing(storageClass=None),
     'Error: put: The storage class is Standard or InfrequentAccess, not "null". (10029)'),
    ("type=None", kv_get(type=None), 'TypeError: Unknown response type. Possible types are "text", '
     '"arrayBuffer", "json", and "stream".'),
    ("a type that is a number", lambda env: kv_get_type(env, 60), "TypeError: Unknown response "
     'type. Possible types are "text", "arrayBuffer", "json", and "stream".'),
    *(
        (f"{name}={value!r}", matching(**{name: value}),
         f"Error: The '{name}' field on 'CacheQueryOptions' is not implemented.")
        for name in ("ignoreSearch", "ignoreVary", "cacheName")
        for value in (True, False, None)
    ),
]  # fmt: skip


async def kv_get_type(env: Any, given: Any) -> Any:
    await env.KV.put("k", "v")
    return await env.KV.get("k", given)


WRONG = [
    *STRINGS, *DATES, *STRUCTS, *METADATA, *HASHES, *KEYS, *NUMBERS, *INTEGERS, *ZEROES, *PARTS,
    *OTHERS,
]  # fmt: skip


@pytest.mark.parametrize(("call", "text"), [pytest.param(*row[1:], id=row[0]) for row in WRONG])
def test_a_value_of_a_wrong_kind(bench: Bench, call: Call, text: str) -> None:
    assert bench.error(call) == text


async def stored_metadata(env: Any) -> Any:
    await env.BUCKET.put("k", "v", httpMetadata={"contentType": None, "cacheControl": 5})
    found = (await env.BUCKET.head("k")).httpMetadata
    return found.contentType, found.cacheControl, found.contentLanguage


async def list_all(env: Any) -> Any:
    for key in "abc":
        await env.KV.put(key, "v")
    pages = [
        await env.KV.list(options)
        for options in (
            {"limit": None},
            {"prefix": None},
            {"cursor": None},
            {"prefix": None, "cursor": None, "limit": 2.9},
        )
    ]
    return [len(page["keys"]) for page in pages]


async def kv_metadata(env: Any) -> Any:
    await env.KV.put("k", "v", metadata=None)
    await env.KV.put("l", "v", metadata=0)
    return [(await env.KV.getWithMetadata(key)).metadata for key in "kl"]


async def null_structs(env: Any) -> Any:
    written = await env.BUCKET.put("k", "v", onlyIf=None, httpMetadata=None)
    found = await env.BUCKET.get("k", onlyIf=None, range=None)
    return written.httpMetadata.contentType, await found.text()


async def key_of_null(env: Any) -> Any:
    await env.KV.put(None, None)
    await env.BUCKET.put(5, None)
    return await env.KV.get("null"), (await env.BUCKET.head("5")).size


async def coerced(env: Any) -> Any:
    for key in "abc":
        await env.BUCKET.put(key, "v")
    seconds = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    found = await env.BUCKET.get("a", onlyIf={"uploadedAfter": seconds, "secondsGranularity": None})
    return (
        len((await env.BUCKET.list(limit="2")).objects),
        len((await env.BUCKET.list(limit=-1)).objects),
        hasattr(found, "body"),
        await (await env.BUCKET.get("a", range={"offset": None})).text(),
    )


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (stored_metadata, ("null", "5", None)),
        (list_all, [3, 3, 3, 2]),
        (kv_metadata, [None, 0]),
        (null_structs, (None, "v")),
        (key_of_null, ("null", 0)),
        (coerced, (2, 3, False, "v")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_null_and_other_kinds_where_they_are_coerced(
    bench: Bench, call: Call, expected: Any
) -> None:
    assert bench(call) == expected


def test_undefined_is_absent(bench: Bench) -> None:
    async def call(env: Any) -> Any:
        await env.BUCKET.put("k", "v", {"md5": None, "customMetadata": None, "onlyIf": None})
        await env.KV.put("k", "v", {"expiration": None, "expirationTtl": None})
        page = await env.BUCKET.list({"limit": None, "prefix": None, "include": None})
        return len(page.objects), await env.KV.get("k", {"type": None, "cacheTtl": None})

    assert bench(call, wrapped=False) == (1, "v")


BUFFERS = [b"abc", bytearray(b"abc"), memoryview(b"abc")]


@pytest.mark.parametrize("given", BUFFERS, ids=lambda given: type(given).__name__)
def test_pythons_own_buffers_are_no_values_without_the_sdk(bench: Bench, given: Any) -> None:
    calls: list[tuple[Call, str]] = [
        (lambda env: env.BUCKET.put("k", given), parameter("R2Bucket", "put", 2, CONTENT)),
        (
            lambda env: env.upload.uploadPart(1, given),
            parameter("R2MultipartUpload", "uploadPart", 2, CONTENT),
        ),
        (writing(md5=given), field("md5", "PutOptions", "BufferSource or string")),
        (writing(ssecKey=given), "Error: SSE-C Key has invalid format"),
        (
            lambda env: env.KV.put("k", given),
            "TypeError: KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and "
            "ReadableStreams as values.",
        ),
    ]
    for call, text in calls:
        assert bench.error(call, wrapped=False) == text


def test_pythons_own_buffers_are_values_once_converted(bench: Bench) -> None:
    async def call(env: Any) -> Any:
        from pyodide.ffi import to_js

        await env.KV.put("k", to_js(b"abc"))
        await env.BUCKET.put("k", to_js(memoryview(b"abc")))
        return await env.KV.get("k"), (await env.BUCKET.head("k")).size

    assert bench(call, wrapped=False) == ("abc", 3)


def test_a_python_object_is_no_condition(bench: Bench) -> None:
    assert bench.error(reading(onlyIf=SimpleNamespace(etagMatches="x")), wrapped=False) == field(
        "onlyIf", "GetOptions", "Conditional or Headers"
    )


@pytest.mark.parametrize("given", [MappingProxyType({"etagMatches": "x"}), SimpleNamespace(a=1)])
@pytest.mark.parametrize(
    ("call", "name", "struct", "kind"),
    [
        (reading, "onlyIf", "GetOptions", "Conditional or Headers"),
        (reading, "range", "GetOptions", "Range or Headers"),
        (writing, "onlyIf", "PutOptions", "Conditional or Headers"),
        (writing, "httpMetadata", "PutOptions", "HttpMetadata or Headers"),
        (writing, "customMetadata", "PutOptions", "object"),
        (uploading, "customMetadata", "MultipartOptions", "object"),
    ],
)
def test_a_python_object_without_the_fields_is_refused_through_the_sdk_too(
    bench: Bench, call: Callable[..., Call], name: str, struct: str, kind: str, given: object
) -> None:
    assert bench.error(call(**{name: given})) == field(name, struct, kind)


def test_a_python_object_with_the_fields_is_what_javascript_sees_through_the_sdk(
    bench: Bench,
) -> None:
    async def call(env: Any) -> Any:
        await env.BUCKET.put("k", "v")
        wanted = SimpleNamespace(offset=0, length=1)
        return (await env.BUCKET.get("k", range=wanted)).range.length

    assert bench(call) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda env: env.BUCKET.head("k", more=1),
        lambda env: env.BUCKET.delete("k", more=1),
        lambda env: env.KV.delete("k", more=1),
        lambda env: env.cache.delete("http://k/", more=1),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_keyword_is_one_more_argument_that_nobody_reads(
    bench: Bench, call: Call, wrapped: bool
) -> None:
    bench(call, wrapped=wrapped)
