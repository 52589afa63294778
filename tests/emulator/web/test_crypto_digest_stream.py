"""``crypto.DigestStream``."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest

from pyflare.js.crypto_random import crypto
from pyflare.js.error import Error, JsException
from pyflare.js.readable import ReadableStream
from pyflare.js.response import Response
from pyflare.js.typed_array_kinds import Uint8Array
from pyflare.js.value import js_class_name
from pyflare.js.writable import WritableStream


async def digest(algorithm: Any, *chunks: Any) -> str:
    stream = crypto.DigestStream.new(algorithm)
    writer = stream.getWriter()
    for chunk in chunks:
        await writer.write(chunk)
    await writer.close()
    return (await stream.digest).to_bytes().hex()  # type: ignore[no-any-return]


@pytest.mark.parametrize("algorithm", ["SHA-256", "sha-256", {"name": "SHA-256"}])
@pytest.mark.parametrize(
    "chunks",
    [
        ["héllo"],
        ["h", "é", "llo"],
        ["héllo".encode()],
        [Uint8Array.new("hé".encode()), b"", "", bytearray(b"llo")],
    ],
    ids=["text", "texts", "bytes", "mixed"],
)
def test_the_digest_of_what_was_written(algorithm: Any, chunks: list[Any]) -> None:
    expected = hashlib.sha256("héllo".encode()).hexdigest()
    assert asyncio.run(digest(algorithm, *chunks)) == expected


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        ("MD5", "25f9e794323b453885f5181f1b624d0b"),
        # The check values of the catalogue of CRC algorithms.
        ("crc32", "cbf43926"),
        ("crc32c", "e3069283"),
        ("crc64nvme", "ae8b14860a799888"),
    ],
)
def test_digests_and_checksums_of_the_nine_digits(algorithm: str, expected: str) -> None:
    assert asyncio.run(digest(algorithm, b"123456789")) == expected
    assert asyncio.run(digest(algorithm, *(bytes([byte]) for byte in b"123456789"))) == expected
    assert asyncio.run(digest(algorithm, b"123", b"456789")) == expected


@pytest.mark.parametrize("algorithm", ["crc32c", "crc64nvme"])
def test_a_checksum_does_not_depend_on_how_the_data_is_cut(algorithm: str) -> None:
    data = bytes(range(256)) * 2
    whole = asyncio.run(digest(algorithm, data))
    for cut in range(0, len(data), 7):
        assert asyncio.run(digest(algorithm, data[:cut], data[cut:])) == whole


def test_a_stream_is_a_writable_stream() -> None:
    async def check() -> None:
        stream = crypto.DigestStream.new("SHA-1")
        assert isinstance(stream, WritableStream)
        assert js_class_name(stream) == "DigestStream"
        assert stream.digest is stream.digest
        assert stream.bytesWritten == 0
        writer = stream.getWriter()
        assert stream.locked
        await writer.write("é")
        assert stream.bytesWritten == 2
        assert not stream.digest.done()

    asyncio.run(check())


def test_a_body_can_be_piped_into_it() -> None:
    async def check() -> None:
        stream = crypto.DigestStream.new(name="SHA-512")
        await Response.new("body").body.pipeTo(stream)
        assert (await stream.digest).to_bytes() == hashlib.sha512(b"body").digest()

    asyncio.run(check())


def test_a_long_chunk_is_digested_off_the_loop_and_in_order() -> None:
    chunk = bytes(3_000_000)

    async def check() -> str:
        stream = crypto.DigestStream.new("SHA-1")
        await ReadableStream.from_bytes(chunk).pipeTo(stream)
        assert stream.bytesWritten == len(chunk)
        return (await stream.digest).to_bytes().hex()  # type: ignore[no-any-return]

    assert asyncio.run(check()) == hashlib.sha1(chunk).hexdigest()
    assert asyncio.run(digest("SHA-1", b"a", chunk, b"b")) == (
        hashlib.sha1(b"a" + chunk + b"b").hexdigest()
    )


@pytest.mark.parametrize("algorithm", ["SHA-3", "CRC32", {}, None])
def test_an_unknown_algorithm_is_refused_at_once(algorithm: Any) -> None:
    async def check() -> None:
        with pytest.raises(JsException) as caught:
            crypto.DigestStream.new(algorithm)
        assert str(caught.value) == (
            "NotSupportedError: Unrecognized or unimplemented digest algorithm requested."
        )

    asyncio.run(check())


def test_only_bytes_and_text_can_be_written() -> None:
    async def check() -> None:
        stream = crypto.DigestStream.new("SHA-1")
        writer = stream.getWriter()
        with pytest.raises(JsException) as caught:
            await writer.write(5)
        assert str(caught.value) == (
            "TypeError: DigestStream is a byte stream but received an object of "
            "non-ArrayBuffer/ArrayBufferView/string type on its writable side."
        )

    asyncio.run(check())


def test_aborting_rejects_the_digest() -> None:
    async def check() -> None:
        stream = crypto.DigestStream.new("SHA-1")
        await stream.abort(Error("enough"))
        with pytest.raises(JsException, match="enough"):
            await stream.digest

    asyncio.run(check())


def test_an_abort_that_nobody_looks_at_is_silent() -> None:
    async def check() -> None:
        await crypto.DigestStream.new("SHA-1").abort(Error("enough"))

    asyncio.run(check())
