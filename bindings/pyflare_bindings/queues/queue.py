"""One queue."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..storage.row_file import Execute
from . import statements
from .limits import check_batch, check_message
from .messages import (
    Lease,
    LeasedMessage,
    Outgoing,
    Outlook,
    QueueMetrics,
    Settled,
    StoredMessage,
)

if TYPE_CHECKING:
    from .store import QueueStore

__all__ = ["Queue"]

_PURGED_AT_ONCE: Final = 200
_NO_NUMBER: Final = -1
_LONG_BODY: Final = 2000

_tokens = itertools.count(1)

Row = tuple[int, int, bytes, int, str, bytes]


class Queue:
    """A queue of messages, in the order in which they can be delivered.

    Its messages survive the end of the process as soon as they have been accepted, and are gone
    once they are acknowledged. `QueueStore` makes it.
    """

    __slots__ = ("_bytes", "_count", "_number", "_oldest", "_search_from", "_store", "name")

    def __init__(self, store: QueueStore, name: str) -> None:
        self.name = name
        self._store = store
        self._number = _NO_NUMBER
        self._count = 0
        self._bytes = 0
        # Number and time of the oldest message, None while it has to be looked up.
        self._oldest: tuple[int, int] | None = None
        # No message has a smaller number.
        self._search_from = 0

    def restore(self, number: int, count: int, size: int, first: int) -> None:
        """What the file says about this queue."""
        self._number, self._count, self._bytes = number, count, size
        self._oldest, self._search_from = None, first

    # For producers

    async def send(self, message: Outgoing) -> QueueMetrics:
        """Accept one message. Out: the metrics from before. Raises QueueError."""
        check_message(message)
        if self._number == _NO_NUMBER or not self._store.is_open:
            await self._open()
        store = self._store
        before = self._metrics()
        now = store.now()
        row = self._row(message, now)
        noted = partial(self._note_sent, now, (row,))
        long = len(message.body) > _LONG_BODY
        await store.write(partial(_insert, row), noted, atomic=long)
        return before

    async def send_batch(self, messages: Sequence[Outgoing]) -> QueueMetrics:
        """Accept all messages or none. Out: the metrics from before. Raises QueueError."""
        check_batch(messages)
        await self._open()
        store = self._store
        before = self._metrics()
        now = store.now()
        rows = [self._row(message, now) for message in messages]
        await store.write(
            partial(_insert_all, rows), partial(self._note_sent, now, rows), atomic=True
        )
        return before

    def _row(self, message: Outgoing, now: int) -> Row:
        visible_at = now + message.delay * 1000
        return (self._number, visible_at, os.urandom(16), now, message.content_type, message.body)

    def _note_sent(self, now: int, rows: Sequence[Row], first: int) -> None:
        if self._count == 0:
            self._oldest, self._search_from = (first, now), first
        self._count += len(rows)
        self._bytes += sum([len(row[5]) for row in rows])
        if self._store.arrived is None:
            return
        if len(rows) == 1:
            self._store.arrived(self, 1, rows[0][1])
            return
        by_time: dict[int, int] = {}
        for row in rows:
            by_time[row[1]] = by_time.get(row[1], 0) + 1
        for visible_at, count in by_time.items():
            self._store.arrived(self, count, visible_at)

    # For consumers

    async def outlook(self, limit: int) -> Outlook:
        """What can be delivered now, counted up to `limit`, and what can be later."""
        await self._open()
        now = self._store.now()
        ((ready, since),) = self._store.read(statements.COUNT_READY, (self._number, now, limit))
        later = self._store.read(statements.NEXT, (self._number, now))
        return Outlook(ready, since, later[0][0] if later else None)

    async def lease(self, limit: int, seconds: float, *, pulled: bool = False) -> Lease | None:
        """Take the first messages for delivery, None when there are none.

        In: `limit`, the most that is taken; `seconds` after which they can be taken again if they
        have not been settled. What a process had taken is free again as soon as it ends, unless
        it was `pulled` by somebody outside.
        """
        await self._open()
        store = self._store
        now = store.now()
        ends = now + round(seconds * 1000)
        token = f"pull {os.urandom(16).hex()}" if pulled else f"push {next(_tokens)}"
        number = self._number

        def job(execute: Execute) -> list[LeasedMessage]:
            rows = execute(statements.READY, (number, now, limit)).fetchall()
            if rows:
                execute(statements.LEASE, (ends, token, json.dumps([row[0] for row in rows])))
            return [LeasedMessage._make(row) for row in rows]

        messages = await store.write(job, _nothing, atomic=True)
        if not messages:
            return None
        return Lease(token, messages)

    def metrics_without(self, lease: Lease) -> QueueMetrics:
        """The metrics as they would be without the messages of a lease."""
        count = max(self._count - len(lease.messages), 0)
        size = max(self._bytes - sum([len(message.body) for message in lease.messages]), 0)
        oldest = self._find_oldest(lease.token) if count else None
        return QueueMetrics(count, size, None if oldest is None else oldest[1])

    async def settle(
        self,
        lease: Lease,
        retries: Mapping[int, int],
        *,
        max_retries: int,
        dead_letter: Queue | None = None,
    ) -> Settled:
        """End a lease: what is not to be tried again is gone for good.

        In: `retries`, the delay in seconds for the number of each message that is to be delivered
        once more; one that has been delivered more than `max_retries` times goes to `dead_letter`
        instead, or is dropped. All of it happens or nothing. Messages whose lease had ended and
        that somebody else has taken since are left alone.
        """
        acknowledged, again, dead = [], [], []
        for message in lease.messages:
            if message.number not in retries:
                acknowledged.append(message)
            elif message.attempts <= max_retries:
                again.append(message)
            else:
                dead.append(message)
        if dead and dead_letter is not None:
            await dead_letter._open()
        now = self._store.now()
        by_delay: dict[int, list[int]] = {}
        for message in again:
            by_delay.setdefault(retries[message.number], []).append(message.number)
        removed = [message.number for message in acknowledged]
        if dead and dead_letter is None:
            removed += [message.number for message in dead]

        def job(execute: Execute) -> set[int]:
            done = _settle(execute, statements.DELETE, removed, lease.token) if removed else set()
            for delay, numbers in by_delay.items():
                done |= _settle(execute, statements.RETRY, numbers, lease.token, now + delay * 1000)
            if dead and dead_letter is not None:
                moved = [message.number for message in dead]
                done |= _settle(
                    execute, statements.MOVE, moved, lease.token, dead_letter._number, now
                )
            return done

        def committed(done: set[int]) -> None:
            self._note_settled(done, acknowledged, dead, dead_letter, now)
            if self._store.arrived is not None:
                for delay, numbers in by_delay.items():
                    self._store.arrived(self, len(numbers), now + delay * 1000)

        done = await self._store.write(job, committed, atomic=True)
        return Settled(
            [each for each in acknowledged if each.number in done],
            [each for each in again if each.number in done],
            [each for each in dead if each.number in done],
        )

    def _note_settled(
        self,
        done: set[int],
        acknowledged: Iterable[LeasedMessage],
        dead: Iterable[LeasedMessage],
        dead_letter: Queue | None,
        now: int,
    ) -> None:
        gone = [each for each in acknowledged if each.number in done]
        moved = [each for each in dead if each.number in done]
        self._note_removed([*gone, *moved])
        if moved and dead_letter is not None:
            dead_letter._note_moved_here(moved, now)

    def _note_moved_here(self, moved: Sequence[LeasedMessage], now: int) -> None:
        first = min(moved, key=lambda message: message.number)
        if self._count == 0:
            self._oldest, self._search_from = (first.number, first.sent_at), first.number
        elif first.number < self._search_from:
            self._oldest, self._search_from = None, first.number
        self._count += len(moved)
        self._bytes += sum([len(message.body) for message in moved])
        if self._store.arrived is not None:
            self._store.arrived(self, len(moved), now)

    async def release(self, lease: Lease, done: Collection[int] = ()) -> None:
        """Put messages back to where they were, as if they had not been taken.

        In: `done`, the numbers of those that are through all the same and go for good.
        """
        now = self._store.now()

        def job(execute: Execute) -> tuple[set[int], int]:
            gone = _settle(execute, statements.DELETE, [*done], lease.token) if done else set()
            return gone, len(execute(statements.RELEASE, (lease.token,)).fetchall())

        def committed(result: tuple[set[int], int]) -> None:
            gone, back = result
            self._note_removed([each for each in lease.messages if each.number in gone])
            if back and self._store.arrived is not None:
                self._store.arrived(self, back, now)

        await self._store.write(job, committed, atomic=True)

    # For people

    async def metrics(self) -> QueueMetrics:
        """What has not been acknowledged, messages under delivery included."""
        await self._store.open()
        return self._metrics()

    async def list(
        self, limit: int = 100, after: StoredMessage | None = None
    ) -> list[StoredMessage]:
        """Messages in the order in which they can be delivered, behind the one given."""
        await self._open()
        behind = (0, 0) if after is None else (after.visible_at, after.number)
        rows = self._store.read(statements.LIST, (self._store.now(), self._number, *behind, limit))
        return [StoredMessage._make((*row[:7], bool(row[7]))) for row in rows]

    async def purge(self) -> int:
        """Delete all that has been sent up to now, messages under delivery included. Out: how many."""
        await self._open()
        ((last,),) = self._store.read(statements.LAST)
        purged = 0
        while last is not None:
            # In pieces, so that a long queue does not hold up everybody else.
            values = (self._number, last, _PURGED_AT_ONCE)
            sizes = await self._store.write(partial(_purge, values), self._note_purged)
            purged += len(sizes)
            if len(sizes) < _PURGED_AT_ONCE:
                break
            await asyncio.sleep(0)
        return purged

    def _note_purged(self, sizes: Sequence[int]) -> None:
        self._oldest = None
        self._count -= len(sizes)
        self._bytes -= sum(sizes)

    # Bookkeeping

    async def _open(self) -> None:
        if not self._store.is_open:
            await self._store.open()
        if self._number == _NO_NUMBER:
            self._number = await self._store.number_of(self.name)

    def _note_removed(self, gone: Sequence[LeasedMessage]) -> None:
        self._count -= len(gone)
        self._bytes -= sum([len(message.body) for message in gone])
        oldest = self._oldest
        if oldest is not None and any(message.number == oldest[0] for message in gone):
            self._oldest = None

    def _metrics(self) -> QueueMetrics:
        if self._count == 0:
            return QueueMetrics(0, 0, None)
        if self._oldest is None:
            self._oldest = self._find_oldest("")
            if self._oldest is not None:
                self._search_from = self._oldest[0]
        return QueueMetrics(
            self._count, self._bytes, None if self._oldest is None else self._oldest[1]
        )

    def _find_oldest(self, except_token: str) -> tuple[int, int] | None:
        values = (self._search_from, self._number, except_token)
        rows = self._store.read(statements.OLDEST, values)
        return (rows[0][0], rows[0][1]) if rows else None


def _nothing(_: object) -> None:
    pass


def _insert(row: Row, execute: Execute) -> int:
    body = row[5]
    size = len(body)
    if size <= _LONG_BODY:
        number: int = execute(statements.INSERT, (*row[:5], size, body)).get
    else:
        number = execute(statements.INSERT, (*row[:5], size, None)).get
        execute(statements.INSERT_BODY, (number, body))
    return number


def _insert_all(rows: Iterable[Row], execute: Execute) -> int:
    """Out: the number of the first message."""
    numbers = [_insert(row, execute) for row in rows]
    return numbers[0]


def _settle(
    execute: Execute, sql: str, numbers: Sequence[int], token: str, *values: int
) -> set[int]:
    rows: list[Any] = execute(sql, (*values, json.dumps(numbers), token)).fetchall()
    return {number for (number,) in rows}


def _purge(values: tuple[int, int, int], execute: Execute) -> list[int]:
    rows: list[Any] = execute(statements.PURGE, values).fetchall()
    return [size for (size,) in rows]
