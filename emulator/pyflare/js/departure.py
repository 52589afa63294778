"""What leaves a Durable Object waits until everything it may tell of is durable.

:data:`output_gate` says whether there is something to wait for; nobody but objects sets it. Whatever begins I/O on
behalf of a worker passes its work through :func:`departing` when the call is made.

Source: https://developers.cloudflare.com/durable-objects/reference/in-memory-state/ (output gates)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

from . import promise
from .promise import JsPromise

__all__ = ["DepartureLine", "Hold", "begin", "departing", "output_gate", "start"]

T = TypeVar("T")

#: Gives what has to be awaited first, shielded; None when nothing has.
Hold: TypeAlias = Callable[[], "asyncio.Future[None] | None"]

output_gate: ContextVar[Hold | None] = ContextVar("output_gate", default=None)


def departing(work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    """The same work, which begins when the output gate of the running object is open: mostly at once."""
    hold = output_gate.get()
    if hold is None or (pending := hold()) is None:
        return work
    return _After(_wait(pending, work), work)


def start(work: Coroutine[Any, Any, Any]) -> JsPromise:
    """:func:`pyflare.js.promise.start` for work that leaves the worker."""
    return promise.start(work if output_gate.get() is None else departing(work))


def begin(work: Coroutine[Any, Any, T]) -> Awaitable[T]:
    """:func:`pyflare.js.promise.begin` for work that leaves the worker."""
    return promise.begin(work if output_gate.get() is None else departing(work))


class _After(Coroutine[Any, Any, T]):
    """Work that begins somewhere in the middle of ``steps``; closing it closes the work, also before that."""

    __slots__ = ("_steps", "_work")

    def __init__(self, steps: Coroutine[Any, Any, T], work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._steps = steps

    def send(self, value: Any) -> Any:
        return self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        return self._steps.throw(*error)

    def close(self) -> None:
        self._steps.close()
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._steps.__await__()

    #: A ``yield from``, as in :func:`pyflare.js.promise.rest_of`, asks for this.
    __iter__ = __await__


async def _wait(pending: asyncio.Future[None], work: Coroutine[Any, Any, T]) -> T:
    try:
        await asyncio.shield(pending)
    except BaseException:
        work.close()
        raise
    return await work


class DepartureLine:
    """Work that leaves in the order in which it was given, also when the gate opens in between.

    The line is each object's own: what one object has to wait for keeps no other one waiting.
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        #: What was given last and has not left, of each object.
        self._last: dict[Hold, _InLine[Any]] = {}

    def departing(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Like :func:`departing`. The work has to be begun, or closed, soon: what follows waits for that."""
        hold = output_gate.get()
        if hold is None:
            return work
        pending = hold()
        before = self._last.get(hold) if self._last else None
        if pending is None and before is None:
            return work
        made = self._last[hold] = _InLine(self, hold, pending, before, work)
        return made

    def left(self, hold: Hold, departure: _InLine[Any]) -> None:
        """Nothing waits behind this one any more."""
        if self._last.get(hold) is departure:
            del self._last[hold]


class _InLine(_After[T]):
    """Work that begins after other work of the line has begun or been given up."""

    __slots__ = ("_before", "_hold", "_left", "_line", "_pending")

    def __init__(
        self,
        line: DepartureLine,
        hold: Hold,
        pending: asyncio.Future[None] | None,
        before: _InLine[Any] | None,
        work: Coroutine[Any, Any, T],
    ) -> None:
        super().__init__(self._advance(), work)
        self._line = line
        self._hold = hold
        self._pending = pending
        self._before = None if before is None else before._left
        self._left: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def _advance(self) -> T:
        try:
            for awaited in (self._pending, self._before):
                if awaited is not None:
                    await asyncio.shield(awaited)
        except BaseException:
            self._work.close()
            raise
        finally:
            # Whoever comes next is told now and resumed in a later turn, when this work has begun.
            self._leave()
        return await self._work

    def _leave(self) -> None:
        before, self._before = self._before, None
        if before is not None and not before.done():
            # Given up out of turn: what follows still comes after what was before.
            before.add_done_callback(lambda _: self._leave())
            return
        self._line.left(self._hold, self)
        if not self._left.done():
            self._left.set_result(None)

    def close(self) -> None:
        super().close()
        self._leave()
