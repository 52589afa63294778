"""Changes on their way into the table: everything asked for in one turn is one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from .alarm_table import AlarmTable, Changes
from .outcome import ObjectKey


class _Batch:
    """The last time asked for per object, and everyone who waits."""

    __slots__ = ("changes", "tries", "waiting")

    def __init__(self) -> None:
        self.tries = 0
        self.changes: dict[ObjectKey, int | None] = {}
        self.waiting: list[asyncio.Future[None]] = []


class WriteQueue:
    """First in, first out, for every object: one batch is being written, the next one collects.

    In: `written`, called with the changes that have become durable, before those who wait are told;
    `refused`, called with the changes that could not be written, which returns whether to try them
    once more. What waits is bounded by the number of those who wait.
    """

    __slots__ = (
        "_booked",
        "_collecting",
        "_idle",
        "_refused",
        "_table",
        "_writing",
        "_written",
        "writes",
    )

    def __init__(
        self,
        table: AlarmTable,
        written: Callable[[Changes], None],
        refused: Callable[[Changes, BaseException], bool],
    ) -> None:
        self._table = table
        self._written = written
        self._refused = refused
        self._collecting = _Batch()
        self._writing: _Batch | None = None
        self._booked = False
        self._idle: asyncio.Future[None] | None = None
        self.writes = 0

    def put(self, key: ObjectKey, time: int | None) -> asyncio.Future[None]:
        """Ask for a change; resolves when it, or a later one of the same turn, is durable."""
        loop = asyncio.get_running_loop()
        durable: asyncio.Future[None] = loop.create_future()
        self._collecting.changes[key] = time
        self._collecting.waiting.append(durable)
        if self._writing is None and not self._booked:
            self._booked = True
            loop.call_soon(self._write)
        return durable

    def latest(self, key: ObjectKey, row: int | None) -> int | None:
        """The time that `key` will have when all is written, if the table has `row` now."""
        if key in self._collecting.changes:
            return self._collecting.changes[key]
        if self._writing is not None:
            return self._writing.changes.get(key, row)
        return row

    @property
    def waiting(self) -> list[asyncio.Future[None]]:
        """What those who asked wait for."""
        writing = [] if self._writing is None else self._writing.waiting
        return [*writing, *self._collecting.waiting]

    def __contains__(self, key: object) -> bool:
        """Whether a change of `key` is on its way."""
        return key in self._collecting.changes or (
            self._writing is not None and key in self._writing.changes
        )

    async def drain(self) -> None:
        """Return when nothing is on its way."""
        while self._writing is not None or self._collecting.waiting:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle

    def _write(self) -> None:
        self._booked = False
        batch, self._collecting = self._collecting, _Batch()
        self._send(batch)

    def _send(self, batch: _Batch) -> None:
        self._writing = batch
        batch.tries += 1
        self.writes += 1
        written = self._table.write(batch.changes)
        if written.done():
            self._done(batch, written)
        else:
            written.add_done_callback(partial(self._done, batch))

    def _done(self, batch: _Batch, written: asyncio.Future[None]) -> None:
        failure = asyncio.CancelledError() if written.cancelled() else written.exception()
        if failure is None:
            self._writing = None
            self._written(batch.changes)
        else:
            repeat = self._refused(batch.changes, failure)
            if repeat and batch.tries == 1:
                self._send(batch)
                return
            self._writing = None
        for each in batch.waiting:
            if each.done():
                continue
            if failure is None:
                each.set_result(None)
            else:
                each.set_exception(failure)
        if self._collecting.waiting:
            self._booked = True
            asyncio.get_running_loop().call_soon(self._write)
        elif self._idle is not None and not self._idle.done():
            self._idle.set_result(None)
