"""Turns the clock of a Pyflare, and waits for what that sets going."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from datetime import UTC, datetime
from numbers import Real
from typing import Any, Final, TypeAlias

from pyflare_bindings.adjustable_clock import AdjustableClock
from pyflare_bindings.clock import Clock, ManualClock

__all__ = ["EmulatorClock"]

#: Real seconds without progress after which a piece of work is taken to wait for something else than a time that is
#: due: the network, a later time, its caller.
_PATIENCE: Final = 0.5
#: Turns of the event loop, where it does not tell that it is idle.
_TURNS: Final = 20

_SECONDS: Final = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}
_LAST_MOMENT: Final = datetime.max.replace(tzinfo=UTC).timestamp()

#: Runs a coroutine function where the workers are.
Run: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], Awaitable[None]]


class EmulatorClock:
    """The time as the workers see it.

    Args: ``under_way`` gives what workers and services are doing.
    """

    def __init__(
        self, clock: Clock, under_way: Callable[[], Iterable[Awaitable[object]]], run: Run
    ) -> None:
        self._clock = clock
        self._under_way = under_way
        self._run = run

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.fromtimestamp(self._clock.now(), UTC)

    def time(self) -> float:
        """Seconds since the epoch."""
        return self._clock.now()

    async def advance(
        self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0
    ) -> None:
        """Put the clock forward by the sum; what falls due on the way runs in order of time, and has run at the end.

        That is: alarms, cron triggers, queue deliveries and retries, idle objects, a worker's ``setTimeout`` and
        ``scheduler.wait``; and by the time they see, KV keys, cached responses and signed URLs expire. Work that waits
        for something else, such as the network or ``asyncio.sleep``, is waited for half a second.

        Raises TypeError for a clock that cannot be turned and for what is no number, ValueError for a negative sum,
        one that is not finite and one that leads past the year 9999.
        """
        clock = self._clock
        if not isinstance(clock, AdjustableClock | ManualClock):
            raise TypeError(
                f"{type(clock).__name__} cannot be put forward. Leave `clock` away, or give an AdjustableClock or a "
                "ManualClock."
            )
        total = self._total(seconds=seconds, minutes=minutes, hours=hours, days=days)
        settling = _Settling(self._under_way)
        await self._run(lambda: clock.advance(total, settle=settling))

    def _total(self, **parts: float) -> float:
        for name, value in parts.items():
            if isinstance(value, bool) or not isinstance(value, Real):
                raise TypeError(f"{name} is a number, not {value!r}")
        try:
            total = float(sum(_SECONDS[name] * value for name, value in parts.items()))
        except OverflowError:
            total = math.inf
        if not math.isfinite(total) or self._clock.now() + total > _LAST_MOMENT:
            raise ValueError(
                f"a clock cannot be turned by {total} seconds: that leads to no moment before the year 10000"
            )
        return total

    async def advance_to(self, moment: datetime) -> None:
        """Put the clock forward to a moment; a naive one is UTC. Raises as :meth:`advance` does."""
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        await self.advance(aware.timestamp() - self._clock.now())

    async def settle(self) -> None:
        """Wait until nothing is under way: ``waitUntil`` work, deliveries, alarms that are due."""
        await self._run(_Settling(self._under_way).__call__)


class _Settling:
    """Waits for what is under way, for what makes no progress only once."""

    def __init__(self, under_way: Callable[[], Iterable[Awaitable[object]]]) -> None:
        self._under_way = under_way
        self._stuck: set[Any] = set()

    async def __call__(self) -> None:
        while True:
            await _until_idle()
            busy: set[Any] = set(self._under_way()) - self._stuck - {asyncio.current_task()}
            if not busy:
                return
            done, left = await asyncio.wait(
                busy, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                self._stuck |= left


async def _until_idle() -> None:
    # asyncio's loops tell what is ready; others, such as uvloop, do not.
    ready = getattr(asyncio.get_running_loop(), "_ready", None)
    for _ in range(_TURNS):
        await asyncio.sleep(0)
        if ready is not None and not ready:
            return
