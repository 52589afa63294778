"""What survives a crash, and the two kinds of writes that are on their way to it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from pyflare_bindings.objects.alarm_table import Changes, PendingAlarms, Position
from pyflare_bindings.objects.instants import NEVER, comparable, optional
from pyflare_bindings.objects.outcome import ObjectKey


class WriteFailed(Exception):
    """What a write raises that the schedule lets fail."""


class ObjectDatabase:
    """The alarm's row in the database of the object, and the commits that are not durable yet.

    `landed` is on the disk; `committed` is what a new instance in this process would read;
    `visible` is what the open transaction sees. `change` counts the changes, for the monitor.
    """

    def __init__(self, alarm: int) -> None:
        self.landed = self.committed = self.visible = alarm
        self.in_flight: deque[tuple[int, int, asyncio.Future[None]]] = deque()
        self.change = self.committed_change = self.landed_change = 0
        self.failed = False

    @property
    def dirty(self) -> bool:
        return self.change != self.committed_change

    def read(self) -> int | None:
        return optional(self.visible)

    def write(self, time: int | None) -> None:
        if self.failed:
            raise WriteFailed("row")
        self.visible = comparable(time)
        self.change += 1

    def make_durable(self) -> asyncio.Future[None]:
        if self.failed:
            raise WriteFailed("commit")
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not self.dirty and not self.in_flight:
            future.set_result(None)
            return future
        self.committed = self.visible
        self.committed_change = self.change
        self.in_flight.append((self.committed, self.change, future))
        return future

    def roll_back(self, time: int) -> None:
        self.visible = time
        self.change = self.committed_change

    def land(self) -> None:
        self.landed, self.landed_change, future = self.in_flight.popleft()
        if not future.done():
            future.set_result(None)

    def fail(self) -> None:
        """The oldest commit fails, and with it those that build upon it."""
        self.failed = True
        failed, self.in_flight = self.in_flight, deque()
        self.committed = self.visible = self.landed
        self.change = self.committed_change = self.landed_change
        for _, _, future in failed:
            if not future.done():
                future.set_exception(WriteFailed("commit"))

    def reset(self) -> None:
        """The instance ends: what was not committed is gone."""
        self.failed = False
        self.visible = self.committed
        self.change = self.committed_change

    def crash(self) -> None:
        self.failed = False
        self.in_flight.clear()
        self.visible = self.committed = self.landed
        self.change = self.committed_change = self.landed_change


class HandTable:
    """The scheduler's table, whose writes become durable when the schedule says so."""

    rebuilt = False

    def __init__(self, rows: dict[ObjectKey, int]) -> None:
        self.rows = rows
        self.in_flight: list[tuple[dict[ObjectKey, int | None], asyncio.Future[None]]] = []

    def write(self, changes: Changes) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.in_flight.append((dict(changes), future))
        return future

    def land(self, index: int) -> None:
        changes, future = self.in_flight.pop(index)
        for key, time in changes.items():
            if time is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = time
        future.set_result(None)

    def fail(self, index: int) -> None:
        _, future = self.in_flight.pop(index)
        future.set_exception(WriteFailed("table"))

    def due(self, namespace: str, after: Position, until: int, limit: int) -> list[Position]:
        return [each for each in self._behind(namespace, after) if each.time <= until][:limit]

    def first(self, namespace: str, after: Position) -> int | None:
        behind = self._behind(namespace, after)
        return behind[0].time if behind else None

    def times(self, keys: Sequence[ObjectKey]) -> list[int | None]:
        return [self.rows.get(key) for key in keys]

    def pending(self) -> list[PendingAlarms]:
        return [PendingAlarms(key.namespace, 1, time) for key, time in self.rows.items()]

    def replace(self) -> None:
        self.rows.clear()

    async def close(self) -> None:
        return

    def scheduled(self, key: ObjectKey) -> int:
        return self.rows.get(key, NEVER)

    def _behind(self, namespace: str, after: Position) -> list[Position]:
        found = [Position(time, key.id) for key, time in self.rows.items() if key[0] == namespace]
        return sorted(each for each in found if each > after)
