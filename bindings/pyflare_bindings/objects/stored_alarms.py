"""The scheduler of a state directory, and what its table is compared with and rebuilt from."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from ..storage.errors import StateError
from .alarm_table import SqliteAlarmTable
from .outcome import ObjectKey
from .scheduler import AlarmScheduler

if TYPE_CHECKING:
    from ..registry import BindingRegistry

_log = logging.getLogger(__name__)

_FILES_PER_TURN = 20
# The clock may have been set meanwhile.
_MARGIN_SECONDS = 3_600.0


class SchedulerLink:
    """How the namespaces reach the scheduler, which is opened when there is something to tell it.

    In: `open_scheduler`; `exists`, whether there has ever been an alarm.
    """

    __slots__ = ("_exists", "_open_scheduler", "_scheduler")

    def __init__(
        self, open_scheduler: Callable[[], AlarmScheduler], exists: Callable[[], bool]
    ) -> None:
        self._open_scheduler = open_scheduler
        self._exists = exists
        self._scheduler: AlarmScheduler | None = None

    def schedule(self, key: ObjectKey, at: int | None) -> asyncio.Future[None]:
        """As `AlarmScheduler.schedule`."""
        scheduler = self._scheduler
        if scheduler is None:
            if at is None and not self._exists():
                nothing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                nothing.set_result(None)
                return nothing
            scheduler = self._scheduler = self._open_scheduler()
        return scheduler.schedule(key, at)


def open_scheduler(registry: BindingRegistry) -> AlarmScheduler:
    """The scheduler over the table of the state directory. Raises StateError."""
    path = registry.layout.database("alarms", "alarms")
    # A crash before the new table is complete must not leave behind that all had been compared.
    table = SqliteAlarmTable(path, registry.durability, lambda: _forget_comparison(registry))
    return AlarmScheduler(
        table, clock=registry.clock, random=Random(), stored=lambda: stored_alarms(registry)
    )


async def compare_with_objects(registry: BindingRegistry) -> int:
    """Make the scheduler's table agree with the objects, as at every start.

    Objects that nobody has written to since the comparison before this one are left out; after the
    table was lost there are none of those. Out: how many entries were mended. Raises StateError.
    """
    scheduler = registry.alarms()
    begin = time.time()
    mended = await scheduler.compare(stored_alarms(registry, _compared_until(registry)))
    remember_comparison(registry, begin)
    return mended


def remember_comparison(registry: BindingRegistry, until: float) -> None:
    """Note that table and objects agreed on what was written before `until`.

    In: seconds since the epoch, by the clock of the file system. When it cannot be noted, the next
    comparison takes longer.
    """
    marker = _marker(registry)
    try:
        unfinished = marker.with_suffix(".new")
        unfinished.write_text(repr(until), "ascii")
        os.replace(unfinished, marker)
    except OSError as error:
        _log.debug("%s cannot be written", marker, exc_info=error)


def renew_comparison(registry: BindingRegistry) -> None:
    """Note the same at the end of a process in which the table has not been lost."""
    if _marker(registry).exists():
        remember_comparison(registry, time.time())


def _forget_comparison(registry: BindingRegistry) -> None:
    try:
        _marker(registry).unlink(missing_ok=True)
    except OSError as error:
        raise StateError(
            _marker(registry),
            f"this file cannot be removed ({os.strerror(error.errno or 0)})",
            "Remove it by hand, so that the alarms are collected from the objects",
        ) from error


async def stored_alarms(
    registry: BindingRegistry, changed_since: float | None = None
) -> AsyncIterator[tuple[ObjectKey, int | None]]:
    """Every object of the state directory that may have an alarm, with the one it has.

    In: `changed_since`, as for `ObjectNamespace.stored_alarms`. Raises StateError.
    """
    for namespace in list(registry.stored("do")):
        stored = registry.objects(namespace.id).stored_alarms(changed_since)
        for count, (id, alarm) in enumerate(stored, 1):
            yield ObjectKey(namespace.id, id.hex), alarm
            if count % _FILES_PER_TURN == 0:
                await asyncio.sleep(0)


def _marker(registry: BindingRegistry) -> Path:
    return registry.layout.directory("alarms") / "compared"


def _compared_until(registry: BindingRegistry) -> float | None:
    try:
        return float(_marker(registry).read_text("ascii")) - _MARGIN_SECONDS
    except (OSError, ValueError):
        return None
