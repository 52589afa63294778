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

__all__ = ["Hold", "begin", "departing", "output_gate", "start"]

T = TypeVar("T")

#: Gives what has to be awaited first, shielded; None when nothing has.
Hold: TypeAlias = Callable[[], "asyncio.Future[None] | None"]

output_gate: ContextVar[Hold | None] = ContextVar("output_gate", default=None)


def departing(work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    """The same work, which begins when the output gate of the running object is open: mostly at once."""
    hold = output_gate.get()
    if hold is None or (pending := hold()) is None:
        return work
    return _After(pending, work)


def start(work: Coroutine[Any, Any, Any]) -> JsPromise:
    """:func:`pyflare.js.promise.start` for work that leaves the worker."""
    return promise.start(work if output_gate.get() is None else departing(work))


def begin(work: Coroutine[Any, Any, T]) -> Awaitable[T]:
    """:func:`pyflare.js.promise.begin` for work that leaves the worker."""
    return promise.begin(work if output_gate.get() is None else departing(work))


class _After(Coroutine[Any, Any, T]):
    """Work that begins when a future is done; closing it closes the work, also before that."""

    __slots__ = ("_steps", "_work")

    def __init__(self, pending: asyncio.Future[None], work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._steps = _wait(pending, work)

    def send(self, value: Any) -> Any:
        return self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        return self._steps.throw(*error)

    def close(self) -> None:
        self._steps.close()
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._steps.__await__()


async def _wait(pending: asyncio.Future[None], work: Coroutine[Any, Any, T]) -> T:
    try:
        await asyncio.shield(pending)
    except BaseException:
        work.close()
        raise
    return await work
