"""``WritableStream`` and its writer.

Source: https://streams.spec.whatwg.org/#ws-class
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from .callbacks import FAILURES, CallbackScope, call
from .error import TypeError_
from .promise import JsPromise, as_error, rejected, resolved, start
from .strategies import Size, measure, read_strategy
from .value import JsInstance, JsObject, get_property, is_nullish, jsnull
from .webidl import function
from .writer import LOCKED, WritableStreamDefaultWriter

__all__ = [
    "Sink",
    "WritableStream",
    "WritableStreamDefaultController",
    "WritableStreamDefaultWriter",
]

_CLOSED = "This WritableStream has been closed."


@dataclass(slots=True)
class Sink:
    """Where chunks go. ``scope`` is where the callbacks run when they are a worker's own, None for this package's."""

    write: Callable[[Any, Any], Any] | None = None
    close: Callable[[], Any] | None = None
    abort: Callable[[Any], Any] | None = None
    scope: CallbackScope | None = None


@dataclass(slots=True)
class _Write:
    chunk: Any
    size: float
    done: JsPromise


class WritableStreamDefaultController(JsInstance, js_name="WritableStreamDefaultController"):
    """What a sink's ``start`` and ``write`` receive."""

    def __init__(self, stream: WritableStream) -> None:
        self._stream = stream
        self._signal: Any = None

    @property
    def signal(self) -> Any:
        """An AbortSignal that tells the sink of ``abort`` at once."""
        if self._signal is None:
            from .abort import AbortSignal

            self._signal = AbortSignal.fresh()
        return self._signal

    def error(self, reason: Any = None) -> None:
        """Fail the stream."""
        self._stream._error_if_writable(reason)


class WritableStream(JsInstance, js_name="WritableStream"):
    """``WritableStream.new(sink, strategy)``: ``sink`` has ``start``, ``write``, ``close`` and ``abort``."""

    def __init__(self, sink: Sink, *, high_water_mark: float = 1, size: Size = None) -> None:
        self._sink = sink
        self._mark = high_water_mark
        self._size = size
        self._state = "writable"
        self._error: Any = None
        self._started = False
        self._queue: deque[_Write] = deque()
        self._queued: float = 0
        self._running: Any = None
        self._begun = False
        self._closing: JsPromise | None = None
        self._abort_reason: Any = None
        self._aborted: JsPromise | None = None
        self._writer: WritableStreamDefaultWriter | None = None
        self._controller: WritableStreamDefaultController = WritableStreamDefaultController._make(
            self
        )

    @classmethod
    def _construct(cls, sink: Any = None, strategy: Any = None, *_: Any) -> Any:
        if is_nullish(sink):
            sink = JsObject.adopt({})
        if get_property(sink, "type") is not None:
            raise TypeError_("Invalid underlying sink type. Only undefined is valid.")
        scope = CallbackScope()
        mark, size = read_strategy(strategy, 1)
        what = "the underlying sink"
        begin = function(sink, "start", what)
        stream: WritableStream = cls._make(
            Sink(
                function(sink, "write", what),
                function(sink, "close", what),
                function(sink, "abort", what),
                scope,
            ),
            high_water_mark=mark,
            size=size,
        )
        stream._begin(begin, scope)
        return stream

    def _begin(self, begin: Callable[[Any], Any] | None, scope: CallbackScope) -> None:
        started = begin(self._controller) if begin is not None else None
        if not hasattr(started, "__await__"):
            self._start()
            return

        async def wait() -> None:
            try:
                await call(lambda: started)
            except FAILURES as error:
                self._started = True
                self._error_if_writable(error)
                self._advance()
            else:
                self._start()

        self._starting = scope.spawn(wait())

    def _start(self) -> None:
        self._started = True
        self._advance()

    @property
    def locked(self) -> bool:
        return self._writer is not None

    def getWriter(self) -> Any:
        """A writer that locks the stream."""
        return WritableStreamDefaultWriter._make(self)

    def abort(self, reason: Any = None) -> JsPromise:
        """Give up: queued writes are rejected and the sink's ``abort`` is called."""
        if self._writer is not None:
            return rejected(TypeError_(LOCKED))
        return self._abort(reason)

    def close(self) -> JsPromise:
        """Close once everything queued is written."""
        if self._writer is not None:
            return rejected(TypeError_(LOCKED))
        return self._close()

    def _is_closing(self) -> bool:
        return self._closing is not None

    def _desired_size(self) -> Any:
        if self._state in ("errored", "erroring"):
            return jsnull
        return 0 if self._state == "closed" else self._mark - self._queued

    def _has_room(self) -> bool:
        return self._queued < self._mark

    def _write(self, chunk: Any) -> JsPromise:
        if self._closing is not None or self._state == "closed":
            return rejected(TypeError_(_CLOSED))
        if self._state != "writable":
            return rejected(as_error(self._error))
        try:
            size = measure(self._size, chunk)
        except FAILURES as error:
            self._error_if_writable(error)
            return rejected(error)
        write = _Write(chunk, size, JsPromise(loop=asyncio.get_running_loop()))
        self._queue.append(write)
        self._queued += size
        if self._writer is not None:
            self._writer._update_ready()
        self._advance()
        return write.done

    def _close(self) -> JsPromise:
        if self._closing is not None:
            return rejected(TypeError_("Cannot close a writer that is already being closed"))
        if self._state == "closed":
            return rejected(TypeError_(_CLOSED))
        if self._state == "errored":
            return rejected(as_error(self._error))
        self._closing = closing = JsPromise(loop=asyncio.get_running_loop())
        if self._writer is not None:
            self._writer._update_ready()
        self._advance()
        return closing

    def _abort(self, reason: Any) -> JsPromise:
        if self._state in ("closed", "errored"):
            return resolved()
        if self._aborted is not None:
            return self._aborted
        self._aborted = aborted = JsPromise(loop=asyncio.get_running_loop())
        if self._controller._signal is not None:
            self._controller._signal.signal_abort(reason)
        self._abort_reason = reason
        if self._state == "erroring":
            # Already failing for another reason: the sink's abort is not called a second time.
            self._sink.abort = None
        else:
            self._begin_erroring(reason)
        return aborted

    def _error_if_writable(self, reason: Any) -> None:
        if self._state == "writable":
            self._begin_erroring(reason)

    def _begin_erroring(self, reason: Any) -> None:
        self._state = "erroring"
        self._error = reason
        if self._writer is not None:
            self._writer._reject_ready(as_error(reason))
        self._advance()

    def _advance(self) -> None:
        """Let the sink work when there is something to do; one operation at a time."""
        if self._running is not None or not self._started:
            return
        if self._state != "erroring" and (
            self._state != "writable" or (not self._queue and self._closing is None)
        ):
            return
        # What the sink is about to be given counts as begun: an abort from now on waits for it.
        self._begun = self._state == "writable"
        scope = self._sink.scope
        running: Coroutine[Any, Any, None] = self._work()
        if scope is not None:
            self._running = scope.spawn(running)
            return
        self._running = True
        promise = start(running)
        if not promise.done():
            self._running = promise

    async def _work(self) -> None:
        try:
            while True:
                begun, self._begun = self._begun, False
                if self._state == "erroring" and not begun:
                    await self._finish_erroring()
                    return
                if self._queue:
                    await self._write_first()
                elif self._closing is not None:
                    await self._close_sink()
                    if self._state != "erroring":
                        return
                else:
                    return
        finally:
            self._running = None

    async def _write_first(self) -> None:
        write = self._queue[0]
        try:
            if self._sink.write is not None:
                await call(self._sink.write, write.chunk, self._controller)
        except FAILURES as error:
            self._queue.popleft()
            self._queued -= write.size
            if not write.done.done():
                write.done.set_exception(error)
            self._error_if_writable(error)
            return
        self._queue.popleft()
        self._queued -= write.size
        if not write.done.done():
            write.done.set_result(None)
        if self._state == "writable" and self._writer is not None:
            self._writer._update_ready()

    async def _close_sink(self) -> None:
        closing = self._closing
        assert closing is not None
        try:
            if self._sink.close is not None:
                await call(self._sink.close)
        except FAILURES as error:
            if not closing.done():
                closing.set_exception(error)
            if self._aborted is not None and not self._aborted.done():
                self._aborted.set_exception(error)
                self._aborted = None
            self._closing = None
            if self._state == "writable":
                self._state = "erroring"
                self._error = error
            return
        if not closing.done():
            closing.set_result(None)
        if self._aborted is not None and not self._aborted.done():
            self._aborted.set_result(None)
        self._state = "closed"
        self._sink = Sink()
        if self._writer is not None:
            self._writer._stream_closed()

    async def _finish_erroring(self) -> None:
        self._state = "errored"
        error = as_error(self._error)
        while self._queue:
            write = self._queue.popleft()
            if not write.done.done():
                write.done.set_exception(error)
        self._queued = 0
        aborted, abort = self._aborted, self._sink.abort
        self._sink = Sink()
        if self._closing is not None and not self._closing.done():
            self._closing.set_exception(error)
        if aborted is not None and not aborted.done():
            try:
                if abort is not None:
                    await call(abort, self._abort_reason)
            except FAILURES as failure:
                aborted.set_exception(failure)
            else:
                aborted.set_result(None)
        if self._writer is not None:
            self._writer._stream_failed(error)


def writable_of(
    write: Callable[[Any, Any], Awaitable[Any]],
    close: Callable[[], Awaitable[Any]],
    abort: Callable[[Any], Awaitable[Any]],
    *,
    high_water_mark: float = 1,
    size: Size = None,
) -> WritableStream:
    """A writable stream over callbacks of this package; takes writes at once."""
    stream: WritableStream = WritableStream._make(
        Sink(write, close, abort), high_water_mark=high_water_mark, size=size
    )
    stream._started = True
    return stream
