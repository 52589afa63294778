"""Doubles of the two layers that lack a part, to prove that the simulation notices.

The guards overlap, so a double that lacks only one of them can be right; those that have only one
cannot. What is not named is complete.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from pyflare_bindings.objects import AlarmScheduler, ObjectAlarm, ObjectKey
from pyflare_bindings.objects.alarm_parts import NOTHING_PARKED
from pyflare_bindings.objects.write_queue import WriteQueue, _Batch

from .world import Layers


class _WithoutFirst(ObjectAlarm):
    """Discards a parked time only where the scheduler has to be told before the commit."""

    __slots__ = ()

    def _drop_overtaken(self) -> None:
        if self._visible < self._scheduled_no_later_than:
            self._parked = NOTHING_PARKED


class _WithoutSecond(ObjectAlarm):
    """Uses a parked time whatever has become of the alarm and of the instance."""

    __slots__ = ()

    def _is_wanted(self, parked: int) -> bool:
        return True


class _WithoutThird(ObjectAlarm):
    """After a commit only looks whether the scheduler is too early."""

    __slots__ = ()

    def _compare(self, waiting: list[asyncio.Future[None]]) -> bool:
        if self._scheduled_no_later_than < self._confirmed:
            self._move_later(self._confirmed)
        return True


class NoGuard(_WithoutFirst, _WithoutSecond, _WithoutThird):
    __slots__ = ()


class OnlyFirst(_WithoutSecond, _WithoutThird):
    __slots__ = ()


class OnlySecond(_WithoutFirst, _WithoutThird):
    __slots__ = ()


class OnlyThird(_WithoutFirst, _WithoutSecond):
    __slots__ = ()


class NoHandOver(ObjectAlarm):
    """Is torn down without telling the scheduler anything."""

    __slots__ = ()

    def _hand_over(self) -> None:
        if self._torn_down is not None and not self._torn_down.done():
            self._torn_down.set_result(None)


class _WritesAtOnce(WriteQueue):
    """Hands every request to the table by itself, which may finish them in any order."""

    __slots__ = ("on_their_way",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.on_their_way: list[_Batch] = []

    def put(self, key: ObjectKey, time: int | None) -> asyncio.Future[None]:
        batch = _Batch()
        batch.tries = 1
        batch.changes[key] = time
        batch.waiting.append(asyncio.get_running_loop().create_future())
        self.on_their_way.append(batch)
        self._table.write(batch.changes).add_done_callback(partial(self._done, batch))
        return batch.waiting[0]

    def _done(self, batch: _Batch, written: asyncio.Future[None]) -> None:
        self.on_their_way.remove(batch)
        super()._done(batch, written)

    def latest(self, key: ObjectKey, row: int | None) -> int | None:
        return self.on_their_way[-1].changes[key] if self.on_their_way else row

    def __contains__(self, key: object) -> bool:
        return bool(self.on_their_way)


class NoQueue(AlarmScheduler):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._queue = _WritesAtOnce(self._table, self._written, self._refused)


DOUBLES = (
    Layers("no guard", alarm=NoGuard),
    Layers("only the first guard", alarm=OnlyFirst),
    Layers("only the second guard", alarm=OnlySecond),
    Layers("only the third guard", alarm=OnlyThird),
    Layers("no queue", scheduler=NoQueue),
    Layers("no comparison at start-up", compares_at_start=False),
    Layers("no hand-over", alarm=NoHandOver),
)
