"""What reads a ``ReadableStream``: the default reader, ``async for``, and bytes for owners and servers.

Source: https://streams.spec.whatwg.org/#default-reader-class
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .callbacks import FAILURES
from .error import DOMException, TypeError_
from .promise import JsPromise, as_error, rejected, start
from .readable_controller import DONE
from .value import JsInstance, JsObject, js_class_name

if TYPE_CHECKING:
    from .readable import ReadableStream

__all__ = [
    "LOCKED",
    "ByteIterator",
    "ReadableStreamAsyncIterator",
    "ReadableStreamDefaultReader",
    "ReaderBase",
    "collect",
    "reject_quietly",
]

LOCKED = "This ReadableStream is currently locked to a reader."
_RELEASED = "This ReadableStream reader has been released."


def reject_quietly(promise: JsPromise, error: BaseException) -> None:
    """Reject a promise that nobody has to look at, such as ``closed`` and ``ready``."""
    promise.set_exception(error)
    # That marks it as seen.
    promise.exception()


class ReaderBase(JsInstance, js_name="ReadableStreamReader"):
    """What both kinds of reader share: the lock, ``closed`` and ``cancel``."""

    def __init__(self, stream: ReadableStream) -> None:
        if stream._reader is not None:
            raise TypeError_(LOCKED)
        self._stream: ReadableStream | None = stream
        self._closed: JsPromise | None = None
        stream._reader = self  # type: ignore[assignment]

    @classmethod
    def _construct(cls, stream: Any = None, *_: Any) -> Any:
        if js_class_name(stream) != "ReadableStream":
            raise TypeError_(f"{cls._js_name} needs a ReadableStream.")
        return cls._make(stream)

    @property
    def closed(self) -> JsPromise:
        """Fulfilled when the stream ends, rejected when it fails or the lock is released."""
        if self._closed is None:
            self._closed = promise = JsPromise(loop=asyncio.get_running_loop())
            stream = self._stream
            if stream is None:
                reject_quietly(promise, TypeError_(_RELEASED))
            elif stream._state == "closed":
                promise.set_result(None)
            elif stream._state == "errored":
                reject_quietly(promise, as_error(stream._error))
        return self._closed

    def _stream_closed(self) -> None:
        if self._closed is not None and not self._closed.done():
            self._closed.set_result(None)

    def _stream_failed(self, reason: Any) -> None:
        if self._closed is not None and not self._closed.done():
            reject_quietly(self._closed, as_error(reason))

    def cancel(self, reason: Any = None) -> JsPromise:
        if self._stream is None:
            return rejected(TypeError_(_RELEASED))
        return start(self._stream._cancel_source(reason))

    def releaseLock(self) -> None:
        """Let go of the stream; reads that still wait are rejected."""
        stream = self._stream
        if stream is None:
            return
        error = TypeError_(_RELEASED)
        stream._controller.release(error)
        self._stream = None
        stream._reader = None
        if self._closed is not None and self._closed.done():
            self._closed = None
        self._stream_failed(error)

    def _held(self) -> ReadableStream:
        if self._stream is None:
            raise TypeError_(_RELEASED)
        self._stream._disturbed = True
        return self._stream


class ReadableStreamDefaultReader(ReaderBase, js_name="ReadableStreamDefaultReader"):
    """``stream.getReader()``."""

    def read(self) -> JsPromise:
        """A promise of ``{done, value}``."""
        return start(self._read())

    async def _read(self) -> JsObject:
        chunk = await self._held()._controller.read()
        if chunk is DONE:
            return JsObject.adopt({"done": True, "value": None})
        return JsObject.adopt({"done": False, "value": chunk})


class ReadableStreamAsyncIterator(JsInstance, js_name="ReadableStreamAsyncIterator"):
    """``async for chunk in stream``."""

    def __init__(self, stream: ReadableStream, prevent_cancel: bool) -> None:
        self._reader: ReadableStreamDefaultReader = ReadableStreamDefaultReader._make(stream)
        self._prevent_cancel = prevent_cancel

    def __aiter__(self) -> ReadableStreamAsyncIterator:
        return self

    async def __anext__(self) -> Any:
        if self._reader._stream is None:
            raise StopAsyncIteration
        try:
            chunk = await self._reader._held()._controller.read()
        except FAILURES:
            self._reader.releaseLock()
            raise
        if chunk is DONE:
            self._reader.releaseLock()
            raise StopAsyncIteration
        return chunk

    def next(self) -> JsPromise:
        async def step() -> JsObject:
            try:
                return JsObject.adopt({"done": False, "value": await self.__anext__()})
            except StopAsyncIteration:
                return JsObject.adopt({"done": True, "value": None})

        return start(step())

    def return_(self, value: Any = None) -> JsPromise:
        """End the iteration early: cancels the stream unless ``preventCancel`` was given."""

        async def end() -> JsObject:
            await self.aclose(value)
            return JsObject.adopt({"done": True, "value": value})

        return start(end())

    async def aclose(self, reason: Any = None) -> None:
        stream = self._reader._stream
        if stream is None:
            return
        try:
            if not self._prevent_cancel:
                await stream._cancel_source(reason)
        finally:
            self._reader.releaseLock()


class ByteIterator:
    """The chunks of a stream as bytes-like objects. ``aclose()`` before the end cancels the stream.

    ``length`` is the number of bytes in all when known. Empty chunks are skipped.
    """

    __slots__ = ("_reader", "_stream", "length")

    def __init__(self, stream: ReadableStream) -> None:
        self._reader: ReadableStreamDefaultReader = ReadableStreamDefaultReader._make(stream)
        self._stream = stream
        self.length = stream.known_length
        stream._disturbed = True

    def __aiter__(self) -> ByteIterator:
        return self

    async def __anext__(self) -> bytes | memoryview:
        while True:
            chunk = await self._stream._controller.read_bytes()
            if chunk is DONE:
                raise StopAsyncIteration
            if chunk:
                return chunk  # type: ignore[no-any-return]

    async def aclose(self, reason: Any = None) -> None:
        """Stop reading. The source's ``cancel`` is called with the reason when the stream had not ended.

        Args: ``reason`` defaults to an ``AbortError``.
        """
        if self._stream._state == "readable":
            if reason is None:
                reason = DOMException._make(
                    "The client disconnected before the body was sent.", "AbortError"
                )
            await self._stream._cancel_source(reason)


async def collect(stream: ReadableStream) -> bytes:
    """The whole of a byte stream. Raises: TypeError for a chunk that is no buffer, text included."""
    stream._collected = True
    chunks = [bytes(chunk) async for chunk in ByteIterator(stream)]
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)
