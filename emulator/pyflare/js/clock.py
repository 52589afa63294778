"""What time it is for a worker, and what its timers wait by.

Both are the machine's own unless whoever runs the worker sets them for that worker's context.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Protocol, TypeAlias

__all__ = ["CallLater", "Handle", "call_later", "later", "now_ms", "wall_time"]


class Handle(Protocol):
    """A callback that has been booked."""

    def cancel(self) -> None: ...


#: Books a callback: (seconds, callback).
CallLater: TypeAlias = Callable[[float, Callable[[], object]], Handle]

#: Gives the seconds since the epoch; None for the machine's clock.
wall_time: ContextVar[Callable[[], float] | None] = ContextVar("wall_time", default=None)

#: Books timers; None for the event loop.
call_later: ContextVar[CallLater | None] = ContextVar("call_later", default=None)


def now_ms() -> float:
    """Milliseconds since the epoch, with fractions."""
    clock = wall_time.get()
    return (time.time() if clock is None else clock()) * 1000


def later(
    loop: asyncio.AbstractEventLoop, seconds: float, callback: Callable[[], object]
) -> Handle:
    """Book a callback by the running worker's clock."""
    book = call_later.get()
    if book is None:
        return loop.call_later(seconds, callback)
    # Whoever turns the clock is not the worker.
    return book(seconds, partial(copy_context().run, callback))
