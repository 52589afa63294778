"""What feeds a ``ReadableStream``: a queue filled by callbacks, or a native source read directly.

Each controller answers ``read`` (one chunk, or :data:`DONE`), ``read_bytes`` (the same as bytes) and ``cancel``.

Source: https://streams.spec.whatwg.org/#rs-default-controller-class and workerd ``api/streams``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from .buffer import Uint8Array, as_bytes
from .callbacks import FAILURES, CallbackScope, call
from .error import TypeError_
from .promise import as_error, start
from .strategies import Size, measure
from .value import JsInstance, jsnull
from .webidl import encode_text

if TYPE_CHECKING:
    from .readable import ReadableStream

__all__ = [
    "DONE",
    "BytesSource",
    "Controller",
    "QueueController",
    "ReadableStreamDefaultController",
    "SourceController",
    "chunk_bytes",
    "raise_error",
]


class _Done:
    __slots__ = ()

    def __repr__(self) -> str:
        return "DONE"


#: What a read gives at the end of a stream.
DONE: Final = _Done()


class Controller(Protocol):
    """What a stream asks of whatever feeds it."""

    @property
    def byte_stream(self) -> bool:
        """Whether it gives bytes only, so that readers may bring their own buffer."""

    async def read(self) -> Any:
        """The next chunk, or DONE. Raises: what the stream failed with."""

    async def read_bytes(self) -> Any:
        """The next chunk as ``bytes`` or ``memoryview``, or DONE. Raises: TypeError for a chunk that is neither
        buffer nor, where the stream is sent on, text.
        """

    async def cancel(self, reason: Any) -> None:
        """Tell the source that nobody wants more."""

    def release(self, error: BaseException) -> None:
        """Reject the reads that still wait: their reader let go of the stream."""


class BytesSource(Protocol):
    """Native bytes that are read on demand.

    ``read`` gives the next chunk and ``b""`` at the end; ``length`` is the number of bytes in all, None when unknown.
    A source may also have ``async def cancel(reason)``.
    """

    length: int | None

    async def read(self) -> bytes: ...


def chunk_bytes(chunk: Any, *, strict: bool = False) -> bytes | memoryview:
    """The bytes of a chunk; text as UTF-8, unless ``strict``. Raises: TypeError for anything else that is no buffer."""
    data = as_bytes(chunk)
    if data is None:
        if isinstance(chunk, str) and not strict:
            return encode_text(chunk)
        raise TypeError_("This ReadableStream did not return bytes.")
    return data


def raise_error(reason: Any) -> Any:
    """Raise what a stream failed with; any JavaScript value can be that."""
    raise as_error(reason)


class SourceController:
    """Reads a native source directly: nothing is read ahead and nothing is queued."""

    byte_stream = True
    __slots__ = ("_reading", "_stream", "source")

    def __init__(self, stream: ReadableStream, source: BytesSource) -> None:
        self._stream = stream
        self.source = source
        self._reading = False

    async def read_bytes(self) -> Any:
        stream = self._stream
        if stream._state != "readable":
            return DONE if stream._state == "closed" else raise_error(stream._error)
        if self._reading:
            raise TypeError_(
                "This ReadableStream only supports a single pending read request at a time."
            )
        self._reading = True
        try:
            data = await self.source.read()
        except FAILURES as error:
            stream._fail(error)
            raise
        finally:
            self._reading = False
        if stream._state != "readable":
            return DONE
        if not data:
            stream._close()
            return DONE
        return data

    async def read(self) -> Any:
        data = await self.read_bytes()
        if data is DONE:
            return DONE
        return Uint8Array.from_bytes(data)

    async def cancel(self, reason: Any) -> None:
        cancel = getattr(self.source, "cancel", None)
        if cancel is not None:
            await call(cancel, reason)

    def release(self, error: BaseException) -> None:
        if self._reading:
            raise TypeError_(
                "Cannot call releaseLock() on a reader with outstanding read promises."
            )


class QueueController(JsInstance, js_name="ReadableStreamDefaultController"):
    """A queue of chunks that ``pull`` is asked to fill up to the high-water mark.

    Args: ``pull`` and ``cancel`` are called with the controller and the reason; ``scope`` is where they run when they
    are a worker's own, None for this package's.
    """

    byte_stream = False

    def __init__(
        self,
        stream: ReadableStream,
        *,
        pull: Callable[[Any], Awaitable[Any]] | None = None,
        cancel: Callable[[Any], Awaitable[Any]] | None = None,
        scope: CallbackScope | None = None,
        high_water_mark: float = 1,
        size: Size = None,
    ) -> None:
        self._stream = stream
        self._pull = pull
        self._cancel = cancel
        self._scope = scope
        self._mark = high_water_mark
        self._size = size
        self._queue: deque[tuple[Any, float]] = deque()
        self._queued: float = 0
        self._requests: deque[asyncio.Future[Any]] = deque()
        self._started = False
        self._close_requested = False
        self._pulling: asyncio.Future[Any] | None = None
        self._pull_again = False
        self._starting: asyncio.Future[None] | None = None

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        raise TypeError_("Illegal constructor")

    def begin(self) -> None:
        """The source's ``start`` is over: from now on it may be pulled."""
        self._started = True
        self.pull_if_needed()

    @property
    def desiredSize(self) -> Any:
        state = self._stream._state
        if state == "errored":
            return jsnull
        return 0 if state == "closed" else self._mark - self._queued

    def _accepts(self) -> bool:
        return self._stream._state == "readable" and not self._close_requested

    def enqueue(self, chunk: Any = None) -> None:
        """Hand over a chunk. Raises: TypeError once the stream is closed or failed."""
        if not self._accepts():
            raise TypeError_("Unable to enqueue")
        while self._requests:
            request = self._requests.popleft()
            if not request.done():
                request.set_result(chunk)
                break
        else:
            try:
                size = measure(self._size, chunk)
            except FAILURES as error:
                self.error(error)
                raise
            self._queue.append((chunk, size))
            self._queued += size
        self.pull_if_needed()

    def close(self) -> None:
        """No more chunks; those in the queue can still be read. Raises: TypeError when already closed."""
        if not self._accepts():
            raise TypeError_("This ReadableStream is closed.")
        self._close_requested = True
        if not self._queue:
            self._finish()

    def error(self, reason: Any = None) -> None:
        """Fail the stream; queued chunks are dropped."""
        if self._stream._state != "readable":
            return
        self._queue.clear()
        self._queued = 0
        self._pull = self._cancel = None
        self._stream._fail(reason)
        while self._requests:
            request = self._requests.popleft()
            if not request.done():
                request.set_exception(as_error(reason))

    def _finish(self) -> None:
        self._pull = self._cancel = None
        self._stream._close()
        while self._requests:
            request = self._requests.popleft()
            if not request.done():
                request.set_result(DONE)

    def _take(self) -> Any:
        chunk, size = self._queue.popleft()
        self._queued -= size
        if self._close_requested and not self._queue:
            self._finish()
        else:
            self.pull_if_needed()
        return chunk

    async def read(self) -> Any:
        if self._queue:
            return self._take()
        state = self._stream._state
        if state != "readable":
            return DONE if state == "closed" else raise_error(self._stream._error)
        request = asyncio.get_running_loop().create_future()
        self._requests.append(request)
        self.pull_if_needed()
        try:
            return await request
        except asyncio.CancelledError:
            # The chunk came in the same turn in which the reader gave up waiting: it goes to the next one.
            if request.done() and not request.cancelled() and request.exception() is None:
                chunk = request.result()
                if chunk is not DONE:
                    self._queue.appendleft((chunk, 0))
            raise

    async def read_bytes(self) -> Any:
        chunk = await self.read()
        if chunk is DONE:
            return DONE
        try:
            return chunk_bytes(chunk, strict=self._stream._collected)
        except TypeError_ as error:
            self._stream._fail(error)
            with contextlib.suppress(Exception):
                await self.cancel(error)
            raise

    async def cancel(self, reason: Any) -> None:
        self._queue.clear()
        self._queued = 0
        cancel, self._cancel, self._pull = self._cancel, None, None
        while self._requests:
            request = self._requests.popleft()
            if not request.done():
                request.set_result(DONE)
        if cancel is not None:
            running = call(cancel, reason)
            await (running if self._scope is None else self._scope.spawn(running))

    def release(self, error: BaseException) -> None:
        while self._requests:
            request = self._requests.popleft()
            if not request.done():
                request.set_exception(error)

    def _should_pull(self) -> bool:
        return self._accepts() and (bool(self._requests) or self._mark > self._queued)

    def pull_if_needed(self) -> None:
        """Ask the source for more when somebody waits or the queue is below its mark; one pull at a time."""
        if self._pull is None or not self._started or not self._should_pull():
            return
        if self._pulling is not None:
            self._pull_again = True
            return
        self._pull_again = True
        running = self._pull_while_needed()
        if self._scope is not None:
            self._pulling = self._scope.spawn(running)
            return
        # This package's own sources run to their first wait at once; only then is there something to remember.
        self._pulling = _UNDER_WAY
        promise = start(running)
        if not promise.done():
            self._pulling = promise

    @property
    def pulling(self) -> asyncio.Future[Any] | None:
        """The pull that waits for its source at this moment."""
        return None if self._pulling is _UNDER_WAY else self._pulling

    async def _pull_while_needed(self) -> None:
        try:
            while self._pull_again and self._pull is not None:
                self._pull_again = False
                await call(self._pull, self)
        except FAILURES as error:
            self.error(error)
        finally:
            self._pulling = None


class _UnderWay:
    """Stands for a pull that has not come to its first wait yet."""


_UNDER_WAY: Final[Any] = _UnderWay()

#: The name under which worker code meets it.
ReadableStreamDefaultController = QueueController
