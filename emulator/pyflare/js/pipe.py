"""Piping a readable stream into a writable one.

Source: https://streams.spec.whatwg.org/#readable-stream-pipe-to
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .callbacks import FAILURES
from .error import TypeError_
from .promise import JsPromise, as_error, start
from .readable_controller import DONE
from .readers import ReadableStreamDefaultReader
from .value import get_property, is_nullish
from .writer import WritableStreamDefaultWriter

if TYPE_CHECKING:
    from .readable import ReadableStream
    from .writable import WritableStream

__all__ = ["PipeOptions", "pipe"]


@dataclass(frozen=True, slots=True)
class PipeOptions:
    """``preventClose``, ``preventAbort``, ``preventCancel`` and ``signal``."""

    prevent_close: bool = False
    prevent_abort: bool = False
    prevent_cancel: bool = False
    signal: Any = None

    @classmethod
    def read(cls, options: Any, members: dict[str, Any]) -> PipeOptions:
        given = members if is_nullish(options) else options
        return cls(
            bool(get_property(given, "preventClose")),
            bool(get_property(given, "preventAbort")),
            bool(get_property(given, "preventCancel")),
            get_property(given, "signal"),
        )


async def pipe(source: ReadableStream, destination: WritableStream, options: PipeOptions) -> None:
    """Move every chunk, waiting while the destination is full; then close it.

    Raises: what the source or the destination failed with, or the signal's reason.
    """
    reader: ReadableStreamDefaultReader = ReadableStreamDefaultReader._make(source)
    writer: WritableStreamDefaultWriter = WritableStreamDefaultWriter._make(destination)
    source._disturbed = True
    try:
        await _Pipe(source, destination, writer, options).run()
    finally:
        writer.releaseLock()
        reader.releaseLock()


class _Stopped(Exception):
    """The pipe ends early, for this reason."""

    def __init__(self, reason: Any) -> None:
        self.reason = reason


class _Pipe:
    def __init__(
        self,
        source: ReadableStream,
        destination: WritableStream,
        writer: WritableStreamDefaultWriter,
        options: PipeOptions,
    ) -> None:
        self._source = source
        self._destination = destination
        self._writer = writer
        self._options = options
        self._last_write: JsPromise | None = None
        self._stop: JsPromise = JsPromise(loop=asyncio.get_running_loop())

    async def run(self) -> None:
        options, destination = self._options, self._destination
        signal = options.signal
        forget = None
        if not is_nullish(signal):
            if signal.aborted:
                await self._abort(signal.reason)
            forget = signal.on_abort(lambda: self._interrupt(_Stopped(signal.reason)))
        self._writer.closed.add_done_callback(self._destination_ended)
        try:
            await self._move()
        except _Stopped as stopped:
            await self._abort(stopped.reason)
        except _DestinationEnded as ended:
            if not options.prevent_cancel and self._source._state == "readable":
                await self._source._cancel_source(ended.reason)
            raise as_error(ended.reason) from None
        except FAILURES as error:
            if not options.prevent_abort and destination._state == "writable":
                await self._settle_writes()
                await destination._abort(error)
            raise
        finally:
            self._writer.closed.remove_done_callback(self._destination_ended)
            if forget is not None:
                forget()
        if (
            not options.prevent_close
            and not destination._is_closing()
            and destination._state == "writable"
        ):
            await destination._close()

    async def _abort(self, reason: Any) -> None:
        if not self._options.prevent_abort and self._destination._state == "writable":
            await self._destination._abort(reason)
        if not self._options.prevent_cancel and self._source._state == "readable":
            await self._source._cancel_source(reason)
        raise as_error(reason)

    def _interrupt(self, why: Exception) -> None:
        if not self._stop.done():
            self._stop.set_exception(why)
            self._stop.exception()

    def _destination_ended(self, closed: asyncio.Future[Any]) -> None:
        reason = (
            TypeError_("This destination writable stream is closed.")
            if closed.cancelled() or closed.exception() is None
            else self._destination._error
        )
        self._interrupt(_DestinationEnded(reason))

    async def _move(self) -> None:
        controller, destination = self._source._controller, self._destination
        if destination._is_closing() or destination._state == "closed":
            raise _DestinationEnded(TypeError_("This destination writable stream is closed."))
        if destination._state == "errored":
            raise _DestinationEnded(destination._error)
        while True:
            if not destination._has_room():
                try:
                    await self._wait(self._writer.ready)
                except (_Stopped, _DestinationEnded):
                    raise
                except FAILURES:
                    raise _DestinationEnded(destination._error) from None
            chunk = await self._wait(start(controller.read()))
            if chunk is DONE:
                await self._settle_writes(failing=True)
                return
            self._last_write = destination._write(chunk)
            self._last_write.add_done_callback(_seen)

    async def _wait(self, promise: asyncio.Future[Any]) -> Any:
        """The promise's result, unless the pipe is interrupted first."""
        if promise.done():
            return promise.result()
        if self._stop.done():
            self._stop.result()
        waiter = asyncio.get_running_loop().create_future()

        def wake(_done: asyncio.Future[Any]) -> None:
            if not waiter.done():
                waiter.set_result(None)

        promise.add_done_callback(wake)
        self._stop.add_done_callback(wake)
        try:
            await waiter
        finally:
            self._stop.remove_done_callback(wake)
        if promise.done():
            return promise.result()
        promise.cancel()
        return self._stop.result()

    async def _settle_writes(self, *, failing: bool = False) -> None:
        if self._last_write is None:
            return
        try:
            await self._last_write
        except FAILURES:
            if failing:
                raise _DestinationEnded(self._destination._error) from None


class _DestinationEnded(Exception):
    """The destination closed or failed under the pipe."""

    def __init__(self, reason: Any) -> None:
        self.reason = reason


def _seen(done: asyncio.Future[Any]) -> None:
    if not done.cancelled():
        done.exception()
