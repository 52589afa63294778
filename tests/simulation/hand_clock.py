"""A clock that goes from one booking to the next when the schedule says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pyflare_bindings.clock import Timer


class Booking:
    def __init__(self, clock: HandClock, due: float, callback: Callable[[], object]) -> None:
        self._clock = clock
        self.due = due
        self.callback = callback

    def cancel(self) -> None:
        if self in self._clock.bookings:
            self._clock.bookings.remove(self)


class HandClock:
    """Seconds since the epoch of the simulation."""

    def __init__(self, now: float) -> None:
        self.time = now
        self.bookings: list[Booking] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.call_later(seconds, lambda: woken.set_result(None))
        await woken

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        booking = Booking(self, round(self.time + max(seconds, 0.0), 3), callback)
        self.bookings.append(booking)
        return booking

    def next_time(self) -> float | None:
        return min((each.due for each in self.bookings), default=None)

    def fire(self) -> None:
        """Go to the earliest booking and run it."""
        booking = min(self.bookings, key=lambda each: each.due)
        self.bookings.remove(booking)
        self.time = max(self.time, booking.due)
        booking.callback()
