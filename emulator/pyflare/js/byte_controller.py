"""Byte streams that worker code fills (``type: "bytes"``) and readers that bring their own buffer.

Source: https://streams.spec.whatwg.org/#rbs-controller-class
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .buffer import Uint8Array, as_bytes
from .callbacks import CallbackScope
from .error import RangeError, TypeError_
from .promise import JsPromise, as_error, start
from .readable_controller import DONE, QueueController, SourceController, raise_error
from .readers import ReaderBase
from .value import JsInstance, JsObject, get_property, is_nullish, jsnull

if TYPE_CHECKING:
    from .readable import ReadableStream
    from .readable_controller import Controller

__all__ = ["ReadableByteStreamController", "ReadableStreamBYOBReader", "ReadableStreamBYOBRequest"]


@dataclass(slots=True, eq=False)
class _PullInto:
    """A buffer that waits to be filled: the reader's own, or one made for a default reader."""

    view: Any
    future: asyncio.Future[Any]
    for_default_reader: bool
    filled: int = 0


class ReadableByteStreamController(QueueController, js_name="ReadableByteStreamController"):
    """A queue of buffers. ``byobRequest`` gives the buffer of the first waiting read."""

    byte_stream = True

    def __init__(
        self,
        stream: ReadableStream,
        *,
        pull: Callable[[Any], Awaitable[Any]] | None,
        cancel: Callable[[Any], Awaitable[Any]] | None,
        scope: CallbackScope | None,
        high_water_mark: float,
        chunk_size: Any,
    ) -> None:
        QueueController.__init__(
            self, stream, pull=pull, cancel=cancel, scope=scope, high_water_mark=high_water_mark
        )
        if chunk_size == 0:
            raise TypeError_("The autoAllocateChunkSize option cannot be zero.")
        self._chunk_size: int | None = chunk_size
        self._into: deque[_PullInto] = deque()
        self._byob_request: ReadableStreamBYOBRequest | None = None

    @property
    def byobRequest(self) -> Any:
        if not self._into:
            return jsnull
        if self._byob_request is None:
            self._byob_request = ReadableStreamBYOBRequest._make(self)
        return self._byob_request

    def enqueue(self, chunk: Any = None) -> None:
        """Hand over a buffer. Raises: TypeError for an empty buffer, for no buffer and for a closed stream."""
        data = as_bytes(chunk)
        if data is None:
            raise TypeError_("A byte stream takes ArrayBuffers and views of them only.")
        if len(data) == 0:
            raise TypeError_("Cannot enqueue a zero-length ArrayBuffer.")
        if not self._accepts():
            raise TypeError_("This ReadableByteStreamController is closed.")
        held: bytes | memoryview = bytes(data)
        while self._into and held:
            into = self._into.popleft()
            self._forget_request()
            if into.future.done():
                continue
            if into.for_default_reader:
                into.future.set_result(Uint8Array.from_bytes(bytes(held)))
                held = b""
            else:
                taken = _fill(into.view, held)
                into.future.set_result(_part(into.view, taken))
                held = memoryview(held)[taken:]
        while self._requests and held:
            request = self._requests.popleft()
            if not request.done():
                request.set_result(Uint8Array.from_bytes(bytes(held)))
                held = b""
        if held:
            self._queue.append((held, len(held)))
            self._queued += len(held)
        self.pull_if_needed()

    def _should_pull(self) -> bool:
        return self._accepts() and (
            bool(self._into) or bool(self._requests) or self._mark > self._queued
        )

    def _forget_request(self) -> None:
        if self._byob_request is not None:
            self._byob_request._controller = None
            self._byob_request = None

    async def read(self) -> Any:
        if self._queue:
            return Uint8Array.from_bytes(bytes(self._take()))
        if self._chunk_size is None or self._stream._state != "readable":
            return await super().read()
        into = _PullInto(
            Uint8Array.new(self._chunk_size), asyncio.get_running_loop().create_future(), True
        )
        self._into.append(into)
        self.pull_if_needed()
        return await into.future

    async def read_into(self, view: Any) -> Any:
        """Fill a view from the queue or wait for bytes; gives the filled part, or DONE."""
        if self._queue:
            chunk, _ = self._queue.popleft()
            self._queued -= len(chunk)
            taken = _fill(view, chunk)
            if taken < len(chunk):
                rest = memoryview(chunk)[taken:]
                self._queue.appendleft((rest, len(rest)))
                self._queued += len(rest)
            if self._close_requested and not self._queue:
                self._finish()
            else:
                self.pull_if_needed()
            return _part(view, taken)
        state = self._stream._state
        if state != "readable":
            return DONE if state == "closed" else raise_error(self._stream._error)
        into = _PullInto(view, asyncio.get_running_loop().create_future(), False)
        self._into.append(into)
        self.pull_if_needed()
        return await into.future

    def responded(self, count: int) -> None:
        """The first waiting buffer received ``count`` bytes in place."""
        into = self._into[0]
        size = into.view.byteLength
        if self._stream._state == "closed" or self._close_requested:
            if count != 0:
                raise TypeError_("The bytesWritten must be zero after the stream is closed.")
            return
        if count == 0:
            raise TypeError_("The bytesWritten must be more than zero while the stream is open.")
        if count > size:
            raise RangeError(f"Too many bytes [{count}] in response to a BYOB read request.")
        self._into.popleft()
        self._forget_request()
        if not into.future.done():
            into.future.set_result(_part(into.view, count))
        self.pull_if_needed()

    def _finish(self) -> None:
        super()._finish()
        self._settle_waiting(None)

    def error(self, reason: Any = None) -> None:
        super().error(reason)
        self._settle_waiting(as_error(reason))

    async def cancel(self, reason: Any) -> None:
        self._settle_waiting(None)
        await super().cancel(reason)

    def release(self, error: BaseException) -> None:
        super().release(error)
        self._settle_waiting(error)

    def _settle_waiting(self, error: BaseException | None) -> None:
        self._forget_request()
        while self._into:
            into = self._into.popleft()
            if into.future.done():
                continue
            if error is None:
                into.future.set_result(DONE)
            else:
                into.future.set_exception(error)


class ReadableStreamBYOBRequest(JsInstance, js_name="ReadableStreamBYOBRequest"):
    """``controller.byobRequest``: write into ``view``, then ``respond(bytesWritten)``."""

    def __init__(self, controller: ReadableByteStreamController) -> None:
        self._controller: ReadableByteStreamController | None = controller

    def _live(self) -> ReadableByteStreamController:
        if self._controller is None:
            raise TypeError_("This ReadableStreamBYOBRequest has been invalidated.")
        return self._controller

    @property
    def view(self) -> Any:
        return jsnull if self._controller is None else self._controller._into[0].view

    @property
    def atLeast(self) -> Any:
        return jsnull if self._controller is None else 1

    def respond(self, count: int) -> None:
        self._live().responded(count)

    def respondWithNewView(self, view: Any) -> None:
        controller = self._live()
        into = controller._into[0]
        into.view = view
        controller.responded(view.byteLength)


class ReadableStreamBYOBReader(ReaderBase, js_name="ReadableStreamBYOBReader"):
    """``stream.getReader(mode="byob")``."""

    def __init__(self, stream: ReadableStream) -> None:
        if not stream._controller.byte_stream:
            raise TypeError_("This ReadableStream does not support BYOB reads.")
        ReaderBase.__init__(self, stream)
        self._leftover: bytes | memoryview = b""

    def read(self, view: Any = None, options: Any = None, **_: Any) -> JsPromise:
        """Fill the view. A promise of ``{done, value}``, the value being the part of the view that was filled."""
        least = None if is_nullish(options) else get_property(options, "min")
        return start(self._read(view, 1 if least is None else least))

    def readAtLeast(self, least: int, view: Any) -> JsPromise:
        """The runtime's own extension: waits until at least so many bytes are there or the stream ends."""
        return start(self._read(view, least))

    async def _read(self, view: Any, least: int) -> JsObject:
        size = get_property(view, "byteLength")
        if not isinstance(size, int) or size == 0:
            raise TypeError_(
                'You must call read() on a "byob" reader with a positive-sized TypedArray object.'
            )
        if least < 1:
            raise TypeError_(f"Requested invalid minimum number of bytes to read ({least}).")
        if least > size:
            raise TypeError_(f"Minimum bytes to read ({least}) exceeds size of buffer ({size}).")
        controller = self._held()._controller
        if isinstance(controller, ReadableByteStreamController) and least == 1:
            value = await controller.read_into(view)
            if value is DONE:
                return JsObject.adopt({"done": True, "value": _part(view, 0)})
            return JsObject.adopt({"done": False, "value": value})
        return await self._read_copying(controller, view, least)

    async def _read_copying(self, controller: Controller, view: Any, least: int) -> JsObject:
        whole = Uint8Array.new(view.buffer, view.byteOffset, view.byteLength)
        filled = 0
        while filled < least:
            if not self._leftover:
                chunk = await controller.read_bytes()
                if chunk is DONE:
                    break
                self._leftover = memoryview(chunk)
            taken = _fill(whole.subarray(filled), self._leftover)
            self._leftover = memoryview(self._leftover)[taken:]
            filled += taken
        return JsObject.adopt({"done": filled == 0, "value": _part(view, filled)})

    def releaseLock(self) -> None:
        if self._stream is not None and self._leftover:
            _put_back(self._stream, bytes(self._leftover))
            self._leftover = b""
        super().releaseLock()


def _put_back(stream: ReadableStream, data: bytes) -> None:
    """Bytes that a reader took from a native source but did not hand out come first for the next reader."""
    controller = stream._controller
    if isinstance(controller, SourceController):
        controller.source = _Prefixed(data, controller.source)
        if stream._state == "closed":
            stream._state = "readable"


class _Prefixed:
    __slots__ = ("_data", "_rest", "length")

    def __init__(self, data: bytes, rest: Any) -> None:
        self._data = data
        self._rest = rest
        self.length: int | None = None

    async def read(self) -> bytes:
        if self._data:
            data, self._data = self._data, b""
            return data
        return await self._rest.read()  # type: ignore[no-any-return]

    async def cancel(self, reason: Any) -> None:
        cancel = getattr(self._rest, "cancel", None)
        if cancel is not None:
            await cancel(reason)


def _fill(view: Any, data: bytes | memoryview) -> int:
    """Copy as many bytes as fit to the start of the view."""
    count: int = min(view.byteLength, len(data))
    target = Uint8Array.new(view.buffer, view.byteOffset, count)
    target.set(Uint8Array.from_bytes(bytes(data[:count])))
    return count


def _part(view: Any, count: int) -> Any:
    """The first ``count`` bytes of a view, as a view of the same kind."""
    width = get_property(view, "BYTES_PER_ELEMENT") or 1
    return view.constructor.new(view.buffer, view.byteOffset, count // width)
