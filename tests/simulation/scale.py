"""Measures the scheduler at scale: `python -m tests.simulation.scale`. Every figure is one run."""

from __future__ import annotations

import asyncio
import os
import resource
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import apsw

from pyflare_bindings.clock import SystemClock
from pyflare_bindings.objects import (
    AlarmRun,
    AlarmScheduler,
    Completed,
    ObjectAlarm,
    ObjectKey,
    Outcome,
    SqliteAlarmTable,
)

_FAR = 5_000_000_000_000


def _key(n: int) -> ObjectKey:
    return ObjectKey("rooms", f"{n:064x}")


def _memory_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


class _Lateness:
    """A namespace whose handlers do nothing but note how late they are."""

    def __init__(self) -> None:
        self.late_ms: list[float] = []

    async def run(self, run: AlarmRun) -> Outcome:
        self.late_ms.append(time.time() * 1000 - run.time)
        return Completed(None)

    async def abandon(self, key: ObjectKey, time: int) -> int | None:
        return None


def _scheduler(path: Path) -> tuple[AlarmScheduler, SqliteAlarmTable]:
    table = SqliteAlarmTable(path)
    return AlarmScheduler(table, clock=SystemClock(), random=Random()), table


async def lateness(path: Path, count: int, spread_ms: int) -> str:
    """Due 300 ms from now, all in one millisecond or spread over `spread_ms`."""
    scheduler, _ = _scheduler(path)
    rooms = _Lateness()
    scheduler.attach("rooms", rooms)
    soon = round(time.time() * 1000) + 300
    due = (soon + n * spread_ms // count for n in range(count))
    await asyncio.gather(*(scheduler.schedule(_key(n), at) for n, at in enumerate(due)))
    while len(rooms.late_ms) < count:
        await asyncio.sleep(0.1)
    await scheduler.close()
    ordered = sorted(rooms.late_ms)
    p50, p99 = ordered[count // 2], ordered[count * 99 // 100]
    assert ordered[0] >= 0, "an alarm ran early"
    return f"lateness of {count} within {spread_ms} ms: p50 {p50:.2f} ms, p99 {p99:.2f} ms"


async def million(path: Path, count: int) -> str:
    """Start-up with so many pending: opening the file, attaching, comparing with the objects."""
    scheduler, table = _scheduler(path)
    for first in range(0, count, 50_000):
        await table.write({_key(n): _FAR + n for n in range(first, min(first + 50_000, count))})
    await scheduler.close()
    before = _memory_mib()
    began = time.perf_counter()
    scheduler, table = _scheduler(path)
    opened = time.perf_counter() - began
    scheduler.attach("rooms", _Lateness())
    await asyncio.sleep(0)
    ready = time.perf_counter() - began

    async def stored() -> AsyncIterator[tuple[ObjectKey, int | None]]:
        for n in range(count):
            yield _key(n), _FAR + n

    await scheduler.compare(stored())
    compared = time.perf_counter() - began
    memory = _memory_mib() - before
    await scheduler.close()
    return (
        f"start-up with {count:,} pending: {opened:.2f} s to check the file, {ready:.2f} s until "
        f"alarms run, {compared:.2f} s until all are compared; {memory:.1f} MiB, "
        f"{os.stat(path).st_size / 2**20:.0f} MiB on disk"
    )


class _Object:
    """One object with a database of its own, whose commits are durable at once."""

    def __init__(self, path: Path, scheduler: AlarmScheduler, key: ObjectKey) -> None:
        self.database = apsw.Connection(str(path))
        self.database.execute("PRAGMA journal_mode = WAL").fetchall()
        self.database.execute("PRAGMA synchronous = NORMAL")
        self.database.execute("CREATE TABLE kv(key PRIMARY KEY, value)")
        self.alarm = ObjectAlarm(
            self,
            clock=SystemClock(),
            tell=lambda time: scheduler.schedule(key, time),
            make_durable=self._make_durable,
            broken=lambda failure: None,
        )

    def read(self) -> int | None:
        rows = self.database.execute("SELECT value FROM kv WHERE key = 'alarm'").fetchall()
        return rows[0][0] if rows else None

    def write(self, time: int | None) -> None:
        self.database.execute("INSERT OR REPLACE INTO kv VALUES('alarm', ?)", (time,))

    def put(self, value: int, alarm: int | None = None) -> asyncio.Future[None]:
        """A write, with a new alarm or without; resolves when it is confirmed."""
        self.database.execute("BEGIN")
        self.database.execute("INSERT OR REPLACE INTO kv VALUES('k', ?)", (value,))
        if alarm is not None:
            self.alarm.set(alarm)
        return self.alarm.commit()

    def _make_durable(self) -> asyncio.Future[None]:
        self.database.execute("COMMIT")
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        durable.set_result(None)
        return durable


async def set_alarm(path: Path, pending: int) -> str:
    """Setting an alarm in a commit, beside the same commit without one, with so many pending."""
    scheduler, table = _scheduler(path)
    if pending:
        await table.write({_key(n): _FAR + n for n in range(pending)})
    scheduler.attach("rooms", _Lateness())
    object = _Object(path.with_name("object.sqlite"), scheduler, _key(pending))
    took: list[float] = []
    count = 3_000
    for step in (None, -1, 1):
        began = time.perf_counter()
        for n in range(count):
            await object.put(n, None if step is None else _FAR + step * n)
        took.append((time.perf_counter() - began) / count * 1e6)
    await object.alarm.tear_down()
    await scheduler.close()
    plain, earlier, later = took
    return (
        f"a put with {pending:,} pending: {plain:.0f} µs; {earlier - plain:.0f} µs more with an "
        f"earlier alarm, {later - plain:.0f} µs more with a later one"
    )


async def moves_later(path: Path, count: int) -> str:
    """Moving an alarm later, each move a commit: all in one turn, and each confirmed by itself."""
    scheduler, _ = _scheduler(path)
    object = _Object(path.with_name("object.sqlite"), scheduler, _key(0))
    await object.put(0, _FAR)
    writes: list[int] = []
    for apart in (False, True):
        before = scheduler.writes
        for n in range(count):
            confirmed = object.put(n, _FAR + n + apart * count)
            if apart:
                await confirmed
        await confirmed
        await asyncio.sleep(0.1)
        writes.append(scheduler.writes - before)
    await object.alarm.tear_down()
    await scheduler.close()
    return (
        f"{count:,} moves later: {writes[0]} scheduler writes when all are made in one turn, "
        f"{writes[1]:,} when each waits for its confirmation"
    )


def main() -> None:
    """Print every figure."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for number, measure in enumerate(
            (
                lambda path: lateness(path, 200, 0),
                lambda path: lateness(path, 200, 100),
                lambda path: lateness(path, 2_000, 0),
                lambda path: lateness(path, 2_000, 1_000),
                lambda path: set_alarm(path, 0),
                lambda path: set_alarm(path, 100_000),
                lambda path: moves_later(path, 10_000),
                lambda path: million(path, 100_000),
                lambda path: million(path, 1_000_000),
            )
        ):
            place = root / str(number)
            place.mkdir()
            print(asyncio.run(measure(place / "alarms.sqlite")), flush=True)


if __name__ == "__main__":
    main()
