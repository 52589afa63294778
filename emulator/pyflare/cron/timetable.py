"""Fires the cron triggers of the loaded workers, each at its minute.

As in production a time that passes while nothing runs is lost: nothing is caught up at the next start. Runs of one
trigger may overlap, since each is an event of its own. A run that fails is not repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Protocol

from pyflare_bindings.clock import Clock, Timer

from .event import CronWorker, ScheduledResult, run_scheduled
from .expression import CronExpression

__all__ = ["CronLog", "CronService", "Trigger"]

#: The longest time, in seconds, until the wall clock is looked at again: it may be set, or the machine may sleep.
_LONGEST_WAIT: Final = 60.0
#: How late, in seconds, a run may begin; a later one is left out, as if nothing had been running at its time.
_LATEST: Final = 60.0
#: A clock set back by more than this, in seconds, makes the times ahead of it count again.
_SET_BACK: Final = 3600.0


class CronLog(Protocol):
    """Where a person reads how runs ended."""

    def scheduled(self, worker: str, cron: str, outcome: str, milliseconds: float) -> None: ...
    def warning(self, text: str) -> None: ...
    def uncaught(self, worker: str, error: BaseException, *, where: str = "") -> None: ...


@dataclass(frozen=True, slots=True)
class Trigger:
    """One expression of one worker."""

    worker: CronWorker
    cron: CronExpression


class CronService:
    """The timetable of one Pyflare.

    Args: ``triggers`` gives what is to be fired, and is asked again after a reload; ``clock`` tells the time.
    """

    def __init__(
        self, triggers: Callable[[], Iterable[Trigger]], clock: Clock, log: CronLog
    ) -> None:
        self._ask = triggers
        self._clock = clock
        self._log = log
        # Each trigger with the time, in seconds, up to which its runs are settled.
        self._settled: dict[Trigger, float] = {}
        self._runs: set[asyncio.Task[ScheduledResult]] = set()
        self._timer: Timer | None = None
        self._closed = False

    async def start(self) -> None:
        """From now on triggers fire."""
        await self.reload()

    async def reload(self) -> None:
        """Take the triggers of the configurations as they are now; those that stay lose no run."""
        now = self._clock.now()
        self._settled = {trigger: self._settled.get(trigger, now) for trigger in self._ask()}
        self._wait()

    def under_way(self) -> list[asyncio.Task[ScheduledResult]]:
        """The runs that go on."""
        return list(self._runs)

    async def close(self, grace: float) -> None:
        """Fire no more; runs under way get ``grace`` seconds, then they are cancelled."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._runs:
            _, left = await asyncio.wait(self._runs, timeout=grace)
            for run in left:
                run.cancel()
            if left:
                await asyncio.wait(left, timeout=1)

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._closed or not self._settled:
            return
        now = self._clock.now()
        times = [trigger.cron.next_after(seen) for trigger, seen in self._settled.items()]
        wait = min((time - now for time in times if time is not None), default=_LONGEST_WAIT)
        self._timer = self._clock.call_later(min(max(wait, 0.0), _LONGEST_WAIT), self._look)

    def _look(self) -> None:
        """Fire what has fallen due since the last look."""
        now = self._clock.now()
        for trigger, settled in self._settled.items():
            if now < settled - _SET_BACK:
                settled = now
            due = trigger.cron.next_after(settled)
            if due is not None and now - due > _LATEST:
                self._log.warning(
                    f'Worker "{trigger.worker.name}": the cron trigger "{trigger.cron.text}" did not run on time, '
                    f"since the machine slept or was busy for {now - due:.0f} s."
                )
                due = trigger.cron.next_after(now - _LATEST)
            while due is not None and due <= now:
                self._fire(trigger, due)
                due = trigger.cron.next_after(due)
            self._settled[trigger] = max(settled, now)
        self._wait()

    def _fire(self, trigger: Trigger, due: float) -> None:
        run = asyncio.get_running_loop().create_task(
            fire(trigger.worker, trigger.cron.text, due * 1000, self._log)
        )
        self._runs.add(run)
        run.add_done_callback(self._ended)

    def _ended(self, run: asyncio.Task[ScheduledResult]) -> None:
        self._runs.discard(run)
        if not run.cancelled() and (error := run.exception()) is not None:
            self._log.uncaught("pyflare", error, where="a cron trigger")


async def fire(
    worker: CronWorker, cron: str, scheduled_time: float, log: CronLog
) -> ScheduledResult:
    """Run one scheduled event and tell the log how it ended. Arguments as for :func:`run_scheduled`."""
    began = perf_counter()
    where = f'cron "{cron}"' if cron else "scheduled"
    result = await run_scheduled(
        worker,
        cron,
        scheduled_time,
        lambda error: log.uncaught(worker.name, error, where=where),
    )
    milliseconds = (perf_counter() - began) * 1000
    log.scheduled(worker.name, cron, result.outcome, milliseconds)
    return result
