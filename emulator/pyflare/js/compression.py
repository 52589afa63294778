"""``CompressionStream`` and ``DecompressionStream``: gzip, deflate (zlib) and raw deflate.

As in the runtime, a write is over when its bytes are through zlib, whether anybody reads or not; what nobody has read
yet shows in the writer's ``ready`` and ``desiredSize``, which pipes honour.

Source: https://compression.spec.whatwg.org/ and workerd ``api/streams/compression.c++``.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, Protocol

from .body import BODY_LIMIT
from .error import TypeError_
from .promise import as_error
from .python_buffers import javascript_bytes
from .readable import ReadableStream
from .transform import TransformStream
from .webidl import encode_text, text
from .writable import WritableStream, writable_of

__all__ = ["CompressionStream", "DecompressionStream"]

#: The names of formats and zlib's "window bits" for them.
_WINDOW_BITS: Final = {"gzip": 31, "deflate": 15, "deflate-raw": -15}

#: The size of output chunks; with more than that unread, the stream asks its writer to wait.
_CHUNK: Final = 64 * 1024
#: How much is put out before the event loop has a turn.
_TURN: Final = 1024 * 1024


class _Codec(Protocol):
    def update(self, data: bytes | memoryview) -> Iterator[bytes]:
        """The output for more input. Raises: TypeError for input that is not in the format."""

    def finish(self) -> Iterator[bytes]:
        """The rest of the output. Raises: TypeError when the input ended too early."""


class _Compressor:
    def __init__(self, window_bits: int) -> None:
        self._zlib = zlib.compressobj(wbits=window_bits)

    def update(self, data: bytes | memoryview) -> Iterator[bytes]:
        view = memoryview(data)
        for start in range(0, len(view), _TURN):
            yield self._zlib.compress(view[start : start + _TURN])

    def finish(self) -> Iterator[bytes]:
        yield self._zlib.flush()


class _Decompressor:
    def __init__(self, window_bits: int) -> None:
        self._zlib = zlib.decompressobj(window_bits)

    def update(self, data: bytes | memoryview) -> Iterator[bytes]:
        rest: bytes | memoryview = data
        while rest:
            yield self._decompress(rest)
            rest = self._zlib.unconsumed_tail
        # zlib may still hold output of input that it has taken.
        while not self._zlib.eof and (more := self._decompress(b"")):
            yield more

    def _decompress(self, data: bytes | memoryview) -> bytes:
        try:
            made = self._zlib.decompress(data, _CHUNK)
        except zlib.error:
            raise TypeError_("Decompression failed.") from None
        if self._zlib.unused_data:
            raise TypeError_("Trailing bytes after end of compressed data")
        return made

    def finish(self) -> Iterator[bytes]:
        if not self._zlib.eof:
            raise TypeError_("Called close() on a decompression stream with incomplete data")
        return iter(())


class _Coding:
    """The sink of the writable side and the source of the readable side."""

    length: int | None = None

    def __init__(self, codec: _Codec) -> None:
        self._codec = codec
        self._output: deque[bytes] = deque()
        self._unread = 0
        self._ended = False
        self._error: BaseException | None = None
        self._reader: asyncio.Future[None] | None = None
        self.writable: WritableStream = writable_of(self.write, self.close, self.abort)

    async def write(self, chunk: Any, _controller: Any) -> None:
        data = (
            encode_text(chunk)
            if isinstance(chunk, str)
            else javascript_bytes(chunk, "a byte stream")
        )
        try:
            if data is None:
                raise TypeError_(
                    "This TransformStream is being used as a byte stream, but received an object of "
                    "non-ArrayBuffer/ArrayBufferView type on its writable side."
                )
            await self._put(self._codec.update(data))
        except TypeError_ as error:
            self._fail(error)
            raise

    async def close(self) -> None:
        try:
            await self._put(self._codec.finish())
        except TypeError_ as error:
            self._fail(error)
            raise
        self._ended = True
        self._wake()

    async def abort(self, reason: Any) -> None:
        """The producer gave up: the reader sees its reason."""
        self._fail(as_error(reason))

    async def _put(self, pieces: Iterator[bytes]) -> None:
        produced = 0
        for piece in pieces:
            if not piece:
                continue
            self._output.append(piece)
            self._unread += len(piece)
            if self._unread > BODY_LIMIT:
                raise TypeError_("Memory limit exceeded before EOF.")
            self._wake()
            produced += len(piece)
            if produced >= _TURN:
                produced = 0
                await asyncio.sleep(0)
        self._ask_for_more()

    def _ask_for_more(self) -> None:
        """Show in the writer's ``ready`` whether more is wanted."""
        writable = self.writable
        writable._mark = 1 if self._unread < _CHUNK else 0
        if writable._writer is not None and writable._state == "writable":
            writable._writer._update_ready()

    def _fail(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error
        self._output.clear()
        self._unread = 0
        self._wake()

    def _wake(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)

    async def read(self) -> bytes:
        """The next output, ``b""`` at the end. Raises: what the writable side failed with."""
        while not self._output:
            if self._error is not None:
                raise self._error
            if self._ended:
                return b""
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        piece = self._output.popleft()
        self._unread -= len(piece)
        self._ask_for_more()
        return piece

    async def cancel(self, reason: Any) -> None:
        """The consumer gave up: the producer sees its reason."""
        self._output.clear()
        self._unread = 0
        self.writable._error_if_writable(reason)


def _window_bits(format: Any) -> int:
    bits = _WINDOW_BITS.get(text(format))
    if bits is None:
        raise TypeError_(
            "The compression format must be either 'deflate', 'deflate-raw' or 'gzip'."
        )
    return bits


class CompressionStream(TransformStream, js_name="CompressionStream"):
    """``CompressionStream.new(format)``: bytes in, compressed bytes out.

    Raises: TypeError for a format other than ``gzip``, ``deflate`` and ``deflate-raw``.
    """

    @classmethod
    def _construct(cls, format: Any = None, *_: Any) -> Any:
        coding = _Coding(_Compressor(_window_bits(format)))
        return cls._make(ReadableStream.from_source(coding), coding.writable)


class DecompressionStream(TransformStream, js_name="DecompressionStream"):
    """``DecompressionStream.new(format)``: compressed bytes in, bytes out.

    Both sides fail with a TypeError for bytes that are not in the format, for bytes after its end and when they end
    too early. Raises: TypeError for a format other than ``gzip``, ``deflate`` and ``deflate-raw``.
    """

    @classmethod
    def _construct(cls, format: Any = None, *_: Any) -> Any:
        coding = _Coding(_Decompressor(_window_bits(format)))
        return cls._make(ReadableStream.from_source(coding), coding.writable)
