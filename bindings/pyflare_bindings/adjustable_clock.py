"""A clock that goes by itself and can be put forward: what tests and embedding programs turn."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import partial

from .clock import Settle, Timer

__all__ = ["AdjustableClock"]

_TURNS_AFTER_TIMER = 20


class _Booking:
    """A callback with its time; rings on the event loop or when the clock is put forward."""

    __slots__ = ("_bookings", "callback", "due", "handle", "order")

    def __init__(
        self, bookings: set[_Booking], due: float, order: int, callback: Callable[[], object]
    ) -> None:
        self._bookings = bookings
        self.due = due
        self.order = order
        self.callback = callback
        self.handle: asyncio.TimerHandle | None = None
        bookings.add(self)

    def book(self, wait: float) -> None:
        """Ring in so many seconds of the loop's time."""
        if self.handle is not None:
            self.handle.cancel()
        self.handle = asyncio.get_running_loop().call_later(max(wait, 0.0), self.ring)

    def cancel(self) -> None:
        if self.handle is not None:
            self.handle.cancel()
        self._bookings.discard(self)

    def ring(self) -> None:
        self.cancel()
        self.callback()


class AdjustableClock:
    """The clock of the machine until `advance` puts it forward, and by so much ahead from then on."""

    __slots__ = ("_ahead", "_bookings", "_order")

    def __init__(self) -> None:
        self._ahead = 0.0
        self._bookings: set[_Booking] = set()
        self._order = itertools.count()

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return time.time() + self._ahead

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going backwards."""
        return time.monotonic() + self._ahead

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`, or once the clock has been put forward so far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        timer = self.call_later(seconds, woken.set)
        try:
            await woken.wait()
        finally:
            timer.cancel()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` on the running event loop after `seconds`, or when the clock is put forward past them."""
        # As with the loop's own timers, also when it rings in somebody else's `advance`.
        run = partial(copy_context().run, callback)
        due = self.monotonic() + max(seconds, 0.0)
        booking = _Booking(self._bookings, due, next(self._order), run)
        booking.book(seconds)
        return booking

    async def advance(
        self, seconds: float = 0.0, *, minutes: float = 0.0, settle: Settle | None = None
    ) -> None:
        """Put the clock forward, running what falls due on the way in order of time, as `ManualClock.advance` does.

        To be called on the loop that the timers are on. Raises ValueError when the sum is negative.
        """
        step = seconds + 60.0 * minutes
        if step < 0:
            raise ValueError(f"a clock cannot be turned back: asked for {step} seconds")
        settle = settle or _settle
        target = self.monotonic() + step
        await settle()
        while due := self._first(target):
            self._move_to(due.due)
            due.ring()
            await settle()
        self._move_to(target)
        # What is left was to ring by the loop's own time.
        for booking in self._bookings:
            booking.book(booking.due - self.monotonic())

    def _first(self, target: float) -> _Booking | None:
        first = min(self._bookings, key=lambda each: (each.due, each.order), default=None)
        return first if first is not None and first.due <= target else None

    def _move_to(self, moment: float) -> None:
        self._ahead += max(moment - self.monotonic(), 0.0)


async def _settle() -> None:
    for _ in range(_TURNS_AFTER_TIMER):
        await asyncio.sleep(0)
