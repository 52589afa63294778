"""Where every time in the process comes from.

Owners never call `time.time` or `asyncio.sleep` themselves: they are handed a `Clock`, so that a
test can turn time by hand.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

#: Gives what a timer has set going its turns of the event loop, until it has come to rest.
Settle: TypeAlias = Callable[[], Awaitable[None]]


class Timer(Protocol):
    """A callback that has been booked for later."""

    def cancel(self) -> None:
        """Take the booking back. Harmless after the callback has run."""
        ...


class Clock(Protocol):
    """The source of wall time, of elapsed time and of delays. All values are in seconds."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`; zero or less only gives other tasks a turn."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` on the event loop after `seconds`."""
        ...


class SystemClock:
    """The clock of the machine."""

    __slots__ = ()

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` of real time."""
        await asyncio.sleep(max(seconds, 0.0))

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` on the running event loop after `seconds` of real time."""
        return asyncio.get_running_loop().call_later(max(seconds, 0.0), callback)


class _Booking:
    """One callback in the queue of a manual clock."""

    __slots__ = ("callback", "cancelled")

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """A clock that stands still until `advance` turns it.

    In: `start`, seconds since the epoch at which the clock begins.
    """

    # The loop has no public way to tell that it is idle; this many turns let chains of tasks that
    # a timer set going come to rest before the next timer is due.
    _TURNS_AFTER_TIMER = 20

    __slots__ = ("_bookings", "_elapsed", "_order", "_start")

    def __init__(self, start: float = 1_767_225_600.0) -> None:
        self._start = start
        self._elapsed = 0.0
        self._bookings: list[tuple[float, int, _Booking]] = []
        self._order = itertools.count()

    def now(self) -> float:
        """Seconds since the Unix epoch, as far as the clock has been turned."""
        return self._start + self._elapsed

    def monotonic(self) -> float:
        """Seconds by which the clock has been turned."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Return once the clock has been turned by `seconds`."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        timer = self.call_later(seconds, wake)
        try:
            await woken
        finally:
            timer.cancel()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` during the `advance` that passes `seconds` from now."""
        booking = _Booking(callback)
        due = self._elapsed + max(seconds, 0.0)
        heapq.heappush(self._bookings, (due, next(self._order), booking))
        return booking

    async def advance(
        self, seconds: float = 0.0, *, minutes: float = 0.0, settle: Settle | None = None
    ) -> None:
        """Turn the clock forward, running what falls due on the way in order of time.

        In: `seconds` and `minutes`, added together; `settle`, which waits in place of a few turns
        of the event loop. Raises ValueError when the sum is negative.
        What a callback sets going gets its turns of the event loop before the clock moves on, so
        a timer booked from there runs within the same `advance` if it falls due in it.
        """
        step = seconds + 60.0 * minutes
        if step < 0:
            raise ValueError(f"a clock cannot be turned back: asked for {step} seconds")
        settle = settle or self._settle
        target = self._elapsed + step
        await settle()
        while self._bookings and self._bookings[0][0] <= target:
            due, _, booking = heapq.heappop(self._bookings)
            if booking.cancelled:
                continue
            self._elapsed = max(self._elapsed, due)
            booking.callback()
            await settle()
        self._elapsed = target

    async def _settle(self) -> None:
        for _ in range(self._TURNS_AFTER_TIMER):
            await asyncio.sleep(0)
