"""What `console.log` shows of R2's objects, and the checksums of an object."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.emulator.env.r2.conftest import Bucket

MD5 = hashlib.md5(b"hello")
CHECKSUMS = [
    "Checksums {",
    "  sha512: undefined,",
    "  sha384: undefined,",
    "  sha256: undefined,",
    "  sha1: undefined,",
    "  md5: ArrayBuffer {",
    f"    [Uint8Contents]: <{MD5.digest().hex(' ')}>,",
    "    byteLength: 16",
    "  }",
    "}",
]


def shown(bucket: Bucket, key: str) -> list[str]:
    async def program(b: Any) -> str:
        from pyflare.js.inspect_value import inspect

        metadata = {"customMetadata": {"a": "1"}, "httpMetadata": {"contentType": "x/y"}}
        put, found = await b.put("k", "hello", **metadata), await b.get("k")
        values = {"put": put, "get": found, "checksums": put.checksums}
        text = inspect(values.get(key, found))
        if key == "read":
            await found.text()
            text = inspect(found)
        return text.replace(put.version, "VERSION")

    return bucket.raw(program).split("\n")  # type: ignore[no-any-return]


def test_an_object_shows_its_fields_in_the_order_of_production(bucket: Bucket) -> None:
    checksums = ["  " + line for line in CHECKSUMS]
    assert shown(bucket, "put") == [
        "HeadResult {",
        "  ssecKeyMd5: undefined,",
        "  storageClass: 'Standard',",
        "  range: undefined,",
        "  customMetadata: { a: '1' },",
        "  httpMetadata: {",
        "    contentType: 'x/y',",
        "    contentLanguage: undefined,",
        "    contentDisposition: undefined,",
        "    contentEncoding: undefined,",
        "    cacheControl: undefined,",
        "    cacheExpiry: undefined",
        "  },",
        "  uploaded: 2026-01-01T00:00:00.000Z,",
        "  checksums: " + CHECKSUMS[0],
        *checksums[1:-1],
        "  },",
        f"  httpEtag: '\"{MD5.hexdigest()}\"',",
        f"  etag: '{MD5.hexdigest()}',",
        "  size: 5,",
        "  version: 'VERSION',",
        "  key: 'k'",
        "}",
    ]


def test_an_object_with_content_shows_its_body(bucket: Bucket) -> None:
    assert shown(bucket, "get")[-8:] == [
        "  body: ReadableStream {",
        "    locked: false,",
        "    [state]: 'readable',",
        "    [supportsBYOB]: true,",
        "    [length]: 5n",
        "  },",
        "  bodyUsed: false",
        "}",
    ]


def test_an_object_that_was_read_says_so(bucket: Bucket) -> None:
    assert shown(bucket, "read")[-2:] == ["  bodyUsed: true", "}"]


def test_checksums_show_each_hash(bucket: Bucket) -> None:
    assert shown(bucket, "checksums") == CHECKSUMS


def test_checksums_have_the_hashes_as_properties_of_their_own(bucket: Bucket) -> None:
    async def program(b: Any) -> list[str]:
        import js

        await b.put("k", "hello")
        return list(js.Object.keys((await b.head("k")).checksums))

    assert bucket.raw(program) == ["sha512", "sha384", "sha256", "sha1", "md5"]


def test_a_checksum_is_the_same_buffer_at_each_look(bucket: Bucket) -> None:
    async def program(b: Any) -> bool:
        checksums = (await b.put("k", "hello", sha1=hashlib.sha1(b"hello").hexdigest())).checksums
        assert checksums.sha1.to_bytes() == hashlib.sha1(b"hello").digest()
        return checksums.sha1 is checksums.sha1 and checksums.md5 is checksums.md5

    assert bucket.raw(program) is True
