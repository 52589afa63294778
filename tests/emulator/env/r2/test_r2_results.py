"""What a bucket gives back: objects, contents, listings."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
from typing import Any

import pytest

from pyflare.js import semantics
from tests.emulator.env.r2.conftest import Bucket

ETAG = hashlib.md5(b"hello").hexdigest()


def test_fields_of_an_object(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        await b.put("k", "hello", customMetadata={"a": "b"}, httpMetadata={"contentType": "x/y"})
        found = await b.get("k")
        assert found["size"] == found.size == 5
        assert (found.key, found.etag, found.httpEtag) == ("k", ETAG, f'"{ETAG}"')
        assert found.uploaded == datetime.datetime(2026, 1, 1)
        assert found.customMetadata == {"a": "b"}
        assert found.httpMetadata == {
            "contentType": "x/y",
            "contentLanguage": None,
            "contentDisposition": None,
            "contentEncoding": None,
            "cacheControl": None,
            "cacheExpiry": None,
        }
        assert found.range == {"offset": 0, "length": 5, "suffix": None}
        assert (found.storageClass, found.ssecKeyMd5) == ("Standard", None)
        assert len(found.version) == 32
        assert bytes(found.checksums.md5).hex() == ETAG
        assert found.checksums.sha1 is None
        assert found.checksums.toJSON() == {
            "md5": ETAG,
            **dict.fromkeys(("sha1", "sha256", "sha384", "sha512")),
        }
        return True

    assert bucket(program)


def test_the_classes_have_the_runtimes_names(bucket: Bucket) -> None:
    async def program(b: Any) -> list[str]:
        await b.put("k", "hello")
        found = [b, await b.head("k"), await b.get("k"), await b.createMultipartUpload("k")]
        return [each.constructor.name for each in found]

    assert bucket.raw(program) == ["R2Bucket", "HeadResult", "GetResult", "R2MultipartUpload"]


def test_a_bucket_cannot_be_cloned(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        import js

        with pytest.raises(js.DOMException) as caught:
            js.structuredClone(b)
        return caught.value.name, caught.value.message

    assert bucket.raw(program) == ("DataCloneError", "An R2 bucket binding cannot be serialized.")


def test_an_object_turns_into_json_with_all_its_fields(bucket: Bucket) -> None:
    async def program(b: Any) -> str:
        import js

        await b.put("k", "hello")
        return js.JSON.stringify(await b.head("k"))  # type: ignore[no-any-return]

    shown = bucket.raw(program)
    assert f'"etag":"{ETAG}"' in shown
    assert f'"checksums":{{"md5":"{ETAG}"}}' in shown
    assert '"uploaded":"2026-01-01T00:00:00.000Z"' in shown


def test_the_properties_of_an_object_come_in_the_order_of_production(bucket: Bucket) -> None:
    async def program(b: Any) -> list[str]:
        import js

        await b.put("k", "hello")
        return list(js.Object.keys(await b.head("k")))

    assert bucket.raw(program) == [
        *("ssecKeyMd5", "storageClass", "range", "customMetadata", "httpMetadata", "uploaded"),
        *("checksums", "httpEtag", "etag", "size", "version", "key"),
    ]


def test_a_missing_object_is_none_to_python_and_null_to_javascript(bucket: Bucket) -> None:
    from pyodide.ffi import jsnull

    async def program(b: Any) -> list[Any]:
        return [await b.get("k"), await b.head("k")]

    assert bucket(program) == [None, None]
    assert bucket.raw(program) == [jsnull, jsnull]


def test_a_write_tells_the_metadata_that_the_caller_sent(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        written = await b.put("k", "x", {"customMetadata": {"n": 5, "none": None}})
        return written.customMetadata, written.range

    assert bucket(program) == ({"n": "5", "none": "null"}, None)


@pytest.mark.parametrize("size", [10, 100_000], ids=["in the row", "in a file"])
@pytest.mark.parametrize("method", ["text", "arrayBuffer", "bytes", "blob", "json"])
def test_content_is_read_in_every_form_and_once(bucket: Bucket, method: str, size: int) -> None:
    body = b'"' + b"x" * (size - 2) + b'"'

    async def program(b: Any) -> Any:
        await b.put("k", body, httpMetadata={"contentType": "application/json"})
        found = await b.get("k")
        assert found.bodyUsed is False
        read = await getattr(found, method)()
        with pytest.raises(Exception, match=r"Body has already been used\. It can only be used"):
            await found.text()
        if method == "blob":
            assert read.content_type == "application/json"
            read = await read.bytes()
        return read

    read = bucket(program)
    if method == "text":
        assert read == body.decode()
    elif method == "json":
        assert read == "x" * (size - 2)
    else:
        assert bytes(read) == body


def test_write_http_metadata_sets_what_is_stored_and_leaves_the_rest(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        import js

        metadata = {
            "contentType": "text/css",
            "cacheControl": "no-store",
            "cacheExpiry": datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC),
        }
        await b.put("k", "x", {"httpMetadata": metadata})
        headers = js.Headers.new({"content-type": "old", "content-language": "de"}.items())
        (await b.get("k")).writeHttpMetadata(headers)
        return dict(iter(headers))

    assert bucket(program) == {
        "content-type": "text/css",
        "content-language": "de",
        "cache-control": "no-store",
        "expires": "Sun, 01 Mar 2026 00:00:00 GMT",
    }


def test_http_metadata_can_be_given_as_headers(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        import js

        headers = js.Headers.new(
            {
                "Content-Type": "a/b",
                "Content-Encoding": "br",
                "Expires": "Sun, 01 Mar 2026 00:00:00 GMT",
                "X-Other": "ignored",
            }.items()
        )
        await b.put("k", "x", {"httpMetadata": headers})
        return (await b.head("k")).httpMetadata

    found = bucket(program)
    assert (found.contentType, found.contentEncoding, found.contentLanguage) == ("a/b", "br", None)
    assert found.cacheExpiry == datetime.datetime(2026, 3, 1)


def test_a_date_of_expiry_that_cannot_be_read_is_the_epoch(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        import js

        await b.put("k", "x", httpMetadata=js.Headers.new({"Expires": "gibberish"}.items()))
        headers = js.Headers.new()
        (await b.head("k")).writeHttpMetadata(headers)
        return headers.get("expires")

    assert bucket(program) == "Thu, 01 Jan 1970 00:00:00 GMT"


def test_a_stored_value_that_no_header_can_carry_is_refused_when_it_is_written_out(
    bucket: Bucket,
) -> None:
    async def program(b: Any) -> Any:
        import js

        await b.put("k", "x", httpMetadata={"contentType": "a\r\nb"})
        (await b.head("k")).writeHttpMetadata(js.Headers.new())

    assert bucket.failure(program)[0] == "TypeError"


def test_a_listing_without_metadata_says_so(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        import js

        await b.put("k", "x")
        (await b.list()).objects[0].writeHttpMetadata(js.Headers.new())

    assert bucket.failure(program) == (
        "TypeError",
        "HTTP metadata unknown for key `k`. "
        "Did you forget to add 'httpMetadata' to `include` when listing?",
    )


def test_a_listing_is_a_dict_with_python_lists(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        for key in ("a", "d/1", "d/2", "e"):
            await b.put(key, key)
        first = await b.list(delimiter="/", limit=2)
        assert (first["truncated"], first.delimitedPrefixes) == (True, ["d/"])
        second = await b.list({"delimiter": "/", "cursor": first.cursor})
        assert second.cursor is None
        return [each.key for each in first.objects], [each.key for each in second.objects]

    assert bucket(program) == (["a"], ["e"])


def test_metadata_is_included_where_it_is_asked_for(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        await b.put("k", "x", customMetadata={"a": "b"}, httpMetadata={"contentType": "c/d"})
        bare = (await b.list()).objects[0]
        both = (await b.list(include=["customMetadata", "httpMetadata"])).objects[0]
        return (
            bare.customMetadata,
            bare.httpMetadata,
            both.customMetadata.to_py(),
            both.httpMetadata.contentType,
        )

    assert bucket(program) == (None, None, {"a": "b"}, "c/d")


async def result_fields(b: Any) -> dict[str, list[str]]:
    await b.put("k", "x", httpMetadata={"contentType": "a/b"})
    await b.put("l", "x")
    found = await b.get("k")
    return {
        "page": list(await b.list(limit=1)),
        "last page": list(await b.list()),
        "checksums": list(found.checksums.toJSON()),
        "httpMetadata": list(found.httpMetadata),
        "range": list(found.range),
    }


PAGE = ["objects", "truncated", "cursor", "delimitedPrefixes"]


def test_fields_that_are_unset_are_there(bucket: Bucket) -> None:
    assert bucket(result_fields) == {
        "page": PAGE,
        "last page": PAGE,
        "checksums": ["md5", "sha1", "sha256", "sha384", "sha512"],
        "httpMetadata": [
            "contentType",
            "contentLanguage",
            "contentDisposition",
            "contentEncoding",
            "cacheControl",
            "cacheExpiry",
        ],
        "range": ["offset", "length", "suffix"],
    }


def test_fields_that_are_unset_are_absent_before_the_flag(bucket: Bucket) -> None:
    older = dataclasses.replace(semantics.current(), unset_fields_are_absent=True)

    async def program(b: Any) -> Any:
        semantics.semantics.set(older)
        return await result_fields(b)

    assert bucket(program) == {
        "page": PAGE,
        "last page": ["objects", "truncated", "delimitedPrefixes"],
        "checksums": ["md5"],
        "httpMetadata": ["contentType"],
        "range": ["offset", "length"],
    }


def test_keys_are_deleted_one_and_many_at_a_time(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        for key in "abcd":
            await b.put(key, key)
        outcomes = [await b.delete("a"), await b.delete(["b", "c", "x"]), await b.delete([])]
        return outcomes, [each.key for each in (await b.list()).objects]

    assert bucket(program) == ([None, None, None], ["d"])


def test_the_headers_of_write_http_metadata_are_an_argument_and_no_keyword(bucket: Bucket) -> None:
    async def program(b: Any) -> None:
        import js

        await b.put("k", "x", httpMetadata={"contentType": "a/b"})
        found = await b.get("k")
        found.writeHttpMetadata(headers=js.Headers.new())

    assert bucket.failure(program) == (
        "TypeError",
        "Failed to execute 'writeHttpMetadata' on 'HeadResult': parameter 1 is not of type 'Headers'.",
    )
