"""CompressionStream and DecompressionStream."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.js.buffer import ArrayBuffer, Uint8Array
from pyflare.js.compression import CompressionStream, DecompressionStream
from pyflare.js.error import JsException
from pyflare.js.readable import ReadableStream
from pyflare.js.response import Response

FORMATS = ["gzip", "deflate", "deflate-raw"]


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def raw_inflate(data: bytes) -> bytes:
    return zlib.decompress(data, wbits=-15)


PACK = {"gzip": gzip.compress, "deflate": zlib.compress, "deflate-raw": raw_deflate}
UNPACK = {"gzip": gzip.decompress, "deflate": zlib.decompress, "deflate-raw": raw_inflate}


def stream(chunks: list[bytes]) -> ReadableStream:
    async def generate() -> Any:
        for chunk in chunks:
            yield chunk

    return ReadableStream.from_async_iterator(generate())


async def through(transform: Any, *chunks: bytes) -> bytes:
    piped = stream(list(chunks)).pipeThrough(transform)
    return (await Response.new(piped).bytes()).to_bytes()  # type: ignore[no-any-return]


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_compressed_is_in_the_format(format: str) -> None:
    data = b"the same again, " * 1000
    packed = asyncio.run(through(CompressionStream.new(format), data[:100], data[100:]))
    assert len(packed) < 200
    assert UNPACK[format](packed) == data


@pytest.mark.parametrize("format", FORMATS)
def test_text_is_compressed_as_utf_8(format: str) -> None:
    async def main() -> bytes:
        piped = ReadableStream.from_(["hellö"]).pipeThrough(CompressionStream.new(format))
        return (await Response.new(piped).bytes()).to_bytes()  # type: ignore[no-any-return]

    assert UNPACK[format](asyncio.run(main())) == "hellö".encode()


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_in_the_format_is_decompressed(format: str) -> None:
    data = b"the same again, " * 1000
    assert asyncio.run(through(DecompressionStream.new(format), PACK[format](data))) == data


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_can_be_compressed_too(format: str) -> None:
    packed = asyncio.run(through(CompressionStream.new(format)))
    assert UNPACK[format](packed) == b""
    assert asyncio.run(through(DecompressionStream.new(format), packed)) == b""


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(FORMATS), st.binary(max_size=200), st.lists(st.integers(0, 200)))
def test_cuts_do_not_matter(format: str, data: bytes, places: list[int]) -> None:
    async def main() -> None:
        packed = await through(CompressionStream.new(format), *cut(data))
        assert UNPACK[format](packed) == data
        assert await through(DecompressionStream.new(format), *cut(PACK[format](data))) == data

    def cut(whole: bytes) -> list[bytes]:
        bounds = [0, *sorted(place % (len(whole) + 1) for place in places), len(whole)]
        return [whole[a:b] for a, b in zip(bounds, [*bounds[1:], len(whole)], strict=True)]

    asyncio.run(main())


@pytest.mark.parametrize("chunk", [Uint8Array.from_bytes(b"abc"), ArrayBuffer.adopt(b"abc")])
def test_any_buffer_can_be_written(chunk: Any) -> None:
    async def main() -> None:
        packer = CompressionStream.new("gzip")
        writer = packer.writable.getWriter()
        await writer.write(chunk)
        await writer.close()
        assert gzip.decompress((await Response.new(packer.readable).bytes()).to_bytes()) == b"abc"

    asyncio.run(main())


def test_everything_can_be_written_before_anything_is_read() -> None:
    async def main() -> None:
        packer = DecompressionStream.new("gzip")
        writer = packer.writable.getWriter()
        data = bytes(1_000_000)
        await asyncio.wait_for(writer.write(Uint8Array.from_bytes(gzip.compress(data, mtime=0))), 5)
        await asyncio.wait_for(writer.close(), 5)
        assert (await Response.new(packer.readable).bytes()).to_bytes() == data

    asyncio.run(main())


def test_output_that_nobody_reads_makes_the_writer_wait() -> None:
    async def main() -> None:
        unpacker = DecompressionStream.new("gzip")
        writer = unpacker.writable.getWriter()
        assert writer.desiredSize == 1
        await writer.write(Uint8Array.from_bytes(gzip.compress(bytes(200_000))))
        assert writer.desiredSize == 0
        assert not writer.ready.done()
        reader = unpacker.readable.getReader()
        while writer.desiredSize == 0:
            await reader.read()
        await asyncio.wait_for(writer.ready, 5)

    asyncio.run(main())


def test_a_pipe_runs_at_the_pace_of_its_reader() -> None:
    async def main() -> None:
        given: list[int] = []

        async def generate() -> Any:
            packer = zlib.compressobj()
            for number in range(100):
                given.append(number)
                yield packer.compress(bytes(100_000)) + packer.flush(zlib.Z_SYNC_FLUSH)
            yield packer.flush()

        source = ReadableStream.from_async_iterator(generate())
        reader = source.pipeThrough(DecompressionStream.new("deflate")).getReader()
        await reader.read()
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(given) < 5
        size = 0
        while not (result := await reader.read()).done:
            size += result.value.byteLength
        assert len(given) == 100

    asyncio.run(main())


def test_a_small_input_with_a_huge_output_comes_in_chunks() -> None:
    async def main() -> None:
        packed = gzip.compress(bytes(5_000_000))
        piped = stream([packed]).pipeThrough(DecompressionStream.new("gzip"))
        sizes = [chunk.byteLength async for chunk in piped]
        assert max(sizes) <= 64 * 1024
        assert sum(sizes) == 5_000_000

    asyncio.run(main())


BROKEN = [
    (b"this is no gzip file", "Decompression failed."),
    (gzip.compress(b"abc", mtime=0)[:-9] + bytes(9), "Decompression failed."),
    (gzip.compress(b"abc", mtime=0) + b"x", "Trailing bytes after end of compressed data"),
    (
        gzip.compress(b"a", mtime=0) + gzip.compress(b"b", mtime=0),
        "Trailing bytes after end of compressed data",
    ),
    (
        gzip.compress(b"abc", mtime=0)[:-1],
        "Called close() on a decompression stream with incomplete data",
    ),
    (b"", "Called close() on a decompression stream with incomplete data"),
]


@pytest.mark.parametrize(("data", "reason"), BROKEN)
@pytest.mark.parametrize("size", [1, 1000])
def test_broken_input_fails_what_is_read(data: bytes, reason: str, size: int) -> None:
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    with pytest.raises(JsException) as caught:
        asyncio.run(through(DecompressionStream.new("gzip"), *chunks))
    assert str(caught.value) == f"TypeError: {reason}"


def test_broken_input_fails_the_write() -> None:
    async def main() -> None:
        unpacker = DecompressionStream.new("deflate")
        writer = unpacker.writable.getWriter()
        with pytest.raises(JsException, match="Decompression failed"):
            await writer.write(Uint8Array.from_bytes(b"nonsense"))
        with pytest.raises(JsException, match="Decompression failed"):
            await writer.write(Uint8Array.from_bytes(b"more"))
        with pytest.raises(JsException, match="Decompression failed"):
            await unpacker.readable.getReader().read()

    asyncio.run(main())


def test_input_that_ends_too_early_fails_the_close() -> None:
    async def main() -> None:
        writer = DecompressionStream.new("deflate").writable.getWriter()
        await writer.write(Uint8Array.from_bytes(zlib.compress(b"abc")[:-2]))
        with pytest.raises(JsException, match="incomplete data"):
            await writer.close()

    asyncio.run(main())


@pytest.mark.parametrize("kind", [CompressionStream, DecompressionStream])
@pytest.mark.parametrize("chunk", [1, None, [1, 2]])
def test_only_bytes_can_be_written(kind: Any, chunk: Any) -> None:
    async def main() -> None:
        made = kind.new("gzip")
        with pytest.raises(
            JsException, match=r"received an object of non-ArrayBuffer/ArrayBufferV"
        ):
            await made.writable.getWriter().write(chunk)
        with pytest.raises(JsException, match=r"^TypeError: This TransformStream is being used as"):
            await made.readable.getReader().read()

    asyncio.run(main())


@pytest.mark.parametrize("kind", [CompressionStream, DecompressionStream])
@pytest.mark.parametrize("format", ["br", "GZIP", "", None, 1])
def test_another_format_is_refused(kind: Any, format: Any) -> None:
    with pytest.raises(JsException) as caught:
        kind.new(format)
    assert str(caught.value) == (
        "TypeError: The compression format must be either 'deflate', 'deflate-raw' or 'gzip'."
    )


def test_an_abort_reaches_the_reader() -> None:
    async def main() -> None:
        packer = CompressionStream.new("gzip")
        writer = packer.writable.getWriter()
        waiting = packer.readable.getReader().read()
        await writer.abort(ValueError("given up"))
        with pytest.raises(ValueError, match="given up"):
            await waiting

    asyncio.run(main())


def test_a_cancel_reaches_the_writer() -> None:
    async def main() -> None:
        packer = CompressionStream.new("gzip")
        writer = packer.writable.getWriter()
        await packer.readable.cancel(ValueError("enough"))
        with pytest.raises(ValueError, match="enough"):
            await writer.write(Uint8Array.from_bytes(b"x"))

    asyncio.run(main())


def test_the_readable_side_is_a_byte_stream() -> None:
    async def main() -> None:
        unpacker = DecompressionStream.new("gzip")
        writer = unpacker.writable.getWriter()
        await writer.write(Uint8Array.from_bytes(gzip.compress(b"abcdef", mtime=0)))
        await writer.close()
        reader = unpacker.readable.getReader(mode="byob")
        result = await reader.read(Uint8Array.new(4))
        assert result.value.to_bytes() == b"abcd"

    asyncio.run(main())
