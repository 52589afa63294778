"""A scheduler over a real file, and a namespace whose objects are tasks of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.objects import (
    AlarmRun,
    AlarmScheduler,
    Completed,
    ObjectKey,
    Outcome,
    SqliteAlarmTable,
)

START = 1_000.0


def key(id: str = "a", namespace: str = "rooms") -> ObjectKey:
    return ObjectKey(namespace, id)


def at(second: float) -> int:
    """The alarm time `second` after the start of the test's clock."""
    return round((START + second) * 1000)


class Namespace:
    """Notes its runs; each ends as `outcome` says, which may also raise or wait."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.runs: list[tuple[float, str, int]] = []
        self.running = self.most_running = 0
        self.abandoned: list[ObjectKey] = []
        self.outcome: Callable[[AlarmRun], Coroutine[Any, Any, Outcome]] = completed
        self.left: Callable[[], int | None] = lambda: None

    async def run(self, run: AlarmRun) -> Outcome:
        self.runs.append((round(self._clock.now() - START, 3), run.key.id, run.retry_count))
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            return await self.outcome(run)
        finally:
            self.running -= 1

    async def abandon(self, key: ObjectKey, time: int) -> int | None:
        self.abandoned.append(key)
        return self.left()

    def times(self) -> list[float]:
        return [time for time, _, _ in self.runs]


async def completed(_run: AlarmRun) -> Outcome:
    return Completed(None)


class NoJitter(Random):
    def random(self) -> float:
        return 0.0


class Host:
    """One process: clock, table, scheduler and the namespace `rooms`."""

    def __init__(self, path: Path, clock: ManualClock, **options: Any) -> None:
        self.clock = clock
        self.table = SqliteAlarmTable(path)
        self.rooms = Namespace(clock)
        self.scheduler = AlarmScheduler(self.table, clock=clock, random=NoJitter(), **options)


Opener = Callable[..., Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "alarms.sqlite"


@pytest.fixture
def opened(path: Path) -> Opener:
    """`async with opened() as host`: a process over the test's file, closed at the end."""

    @asynccontextmanager
    async def open_host(*, attach: bool = True, **options: Any) -> AsyncIterator[Host]:
        host = Host(path, options.pop("clock", None) or ManualClock(START), **options)
        if attach:
            host.scheduler.attach("rooms", host.rooms)
        try:
            yield host
        finally:
            await host.scheduler.close()

    return open_host


async def turns(count: int = 30) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
