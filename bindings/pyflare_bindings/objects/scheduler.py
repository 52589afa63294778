"""The host of all alarms in the process: one durable table, one queue of changes, one timer.

Only what is due, running or being retried is in memory; the rest stays in the table, in the order
in which it falls due. So a million pending alarms cost neither memory nor start-up time.

Source: the rules for runs and retries are those of `src/workerd/server/alarm-scheduler.*` of
workerd and of https://developers.cloudflare.com/durable-objects/api/alarms/.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextvars import Context
from functools import partial
from random import Random
from typing import Any, ParamSpec, TypeVar

from ..clock import Clock, Timer
from ..storage.errors import ClosedError, StateError
from .alarm_table import AlarmTable, Changes, DamagedTableError, PendingAlarms
from .due_alarms import DueAlarm, DueAlarms, State
from .instants import NEVER, now_ms
from .outcome import AlarmRun, AlarmRunner, Completed, Declined, Failed, ObjectKey, Outcome
from .write_queue import WriteQueue

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

StoredAlarms = AsyncIterable[tuple[ObjectKey, int | None]]

_COMPARED_AT_ONCE = 500


# A timer counts running time only. Looking again before the end notices that the machine slept or
# that its clock was set.
_LONGEST_WAIT_MS = 60_000.0
_SHARE_OF_LONGER_WAITS = 16
_PAUSE_AFTER_FAILURE_MS = 1_000


async def no_stored_alarms() -> AsyncIterator[tuple[ObjectKey, int | None]]:
    """For a process without objects."""
    return
    yield


class AlarmScheduler:
    """Wakes objects at their times.

    In: `table`, the durable state; `clock`; `random`, for the jitter of retries; `stored`, which
    begins an iteration over the objects of the state directory with the alarm each of them has in
    its own database (of a live one `ObjectAlarm.earliest`), for rebuilding a table that turns out
    to be damaged; `concurrency`, how many alarms run at a time; `starts_per_turn`, how many are
    started before the event loop has a turn for everything else.
    """

    def __init__(
        self,
        table: AlarmTable,
        *,
        clock: Clock,
        random: Random,
        stored: Callable[[], StoredAlarms] = no_stored_alarms,
        concurrency: int = 500,
        starts_per_turn: int = 16,
    ) -> None:
        self._table = table
        self._clock = clock
        self._random = random
        self._stored = stored
        self._concurrency = concurrency
        self._starts_per_turn = starts_per_turn
        self._due = DueAlarms(table)
        self._queue = WriteQueue(table, self._written, self._refused)
        self._running = 0
        self._runs: set[asyncio.Future[Outcome]] = set()
        self._abandonments: set[asyncio.Future[int | None]] = set()
        self._timer: Timer | None = None
        self._timer_at: float = NEVER
        self._turn_booked = False
        self._comparison: asyncio.Task[None] | None = None
        self._asked_while_comparing: set[ObjectKey] | None = None
        self._closed = False

    @property
    def writes(self) -> int:
        """How many transactions the table has been asked for."""
        return self._queue.writes

    def under_way(self) -> list[asyncio.Future[Any]]:
        """The runs that go on, and the changes that are on their way into the table."""
        return [*self._runs, *self._abandonments, *self._queue.waiting]

    # What the objects ask for.

    def schedule(self, key: ObjectKey, time: int | None) -> asyncio.Future[None]:
        """Wake `key` at `time`, in milliseconds since the epoch, or not at all.

        Resolves when the change is durable. All requests of one turn of the event loop are one
        transaction; those of one object are applied in the order they were made. Asking for the
        time that is already scheduled changes nothing: retries under way go on. Raises, through the
        future, StateError when the table cannot be written, and ClosedError after `close`.
        """
        if self._closed:
            refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            refused.set_exception(ClosedError("the alarm scheduler has been closed"))
            return refused
        due = self._due.find(key)
        if due is not None:
            due.asked = True
            if time != self._queue.latest(key, due.row):
                self._due.change(due)
        return self._put(key, time)

    def _put(self, key: ObjectKey, time: int | None) -> asyncio.Future[None]:
        if self._asked_while_comparing is not None:
            self._asked_while_comparing.add(key)
        return self._queue.put(key, time)

    # What the namespaces ask for.

    def attach(self, namespace: str, runner: AlarmRunner) -> None:
        """From now on wake the objects of `namespace`, through `runner`.

        Alarms of namespaces that nobody attached stay in the table. Attaching again replaces the
        runner; alarms that are overdue run at once.
        """
        self._due.attach(namespace, runner)
        self._book_turn()

    def detach(self, namespace: str) -> None:
        """Wake no more objects of `namespace`; its alarms are kept.

        A run that is going on is left to its runner, its outcome ignored. The object's next run,
        after the namespace has been attached again, waits for its end.
        """
        self._due.detach(namespace)

    def pending(self) -> list[PendingAlarms]:
        """How many alarms wait in each namespace, the earliest first, whether attached or not."""
        return self._table.pending()

    async def compare(self, stored: StoredAlarms) -> int:
        """Make the table agree with the objects, at start-up or after it was lost.

        In: every object that may have an alarm, with what its database holds when it is yielded,
        None for no alarm; of a live object `ObjectAlarm.earliest`.
        Out: the number of entries that were mended, once they are durable. What an object asks for
        during the comparison has precedence. Entries of objects that are not named stay: they are
        compared when they wake their object. Raises StateError.
        """
        asked = self._asked_while_comparing = set()
        mended = 0
        chunk: list[tuple[ObjectKey, int | None]] = []
        try:
            async for pair in stored:
                chunk.append(pair)
                if len(chunk) == _COMPARED_AT_ONCE:
                    mended += await self._mend(chunk, asked)
                    chunk = []
            return mended + await self._mend(chunk, asked)
        finally:
            self._asked_while_comparing = None

    async def _mend(self, stored: list[tuple[ObjectKey, int | None]], asked: set[ObjectKey]) -> int:
        scheduled = self._table.times([key for key, _ in stored])
        wrong = [
            (key, truth)
            for (key, truth), time in zip(stored, scheduled, strict=True)
            if truth != time and key not in asked
        ]
        requests = [self.schedule(key, truth) for key, truth in wrong]
        # Only what the objects themselves ask for is to be noted.
        asked.difference_update(key for key, _ in wrong)
        if requests:
            await asyncio.gather(*requests)
        else:
            await asyncio.sleep(0)
        return len(wrong)

    async def close(self) -> None:
        """Wake nobody any more, write what has been asked for, close the table.

        Runs that are still going on are cancelled; they are made up for after the next start.
        """
        if self._closed:
            return
        self._closed = True
        self._wait_until(NEVER)
        if self._comparison is not None:
            self._comparison.cancel()
            await asyncio.gather(self._comparison, return_exceptions=True)
        going_on: list[asyncio.Future[Any]] = [*self._runs, *self._abandonments]
        for each in going_on:
            each.cancel()
        await asyncio.gather(*going_on, return_exceptions=True)
        await self._queue.drain()
        await self._table.close()

    # After a write.

    def _written(self, changes: Changes) -> None:
        earliest = NEVER
        for key, time in changes.items():
            self._due.written(key, time)
            if time is not None and time < earliest and self._due.is_attached(key.namespace):
                earliest = time
        if earliest <= now_ms(self._clock):
            self._book_turn()
        elif earliest < self._timer_at:
            self._wait_until(earliest)

    def _refused(self, changes: Changes, failure: BaseException) -> bool:
        """A write failed. Out: whether the table has been replaced and the write can be repeated."""
        if isinstance(failure, DamagedTableError) and self._rebuild():
            return True
        for key in changes:
            self._due.start_over(key.namespace)
        # Not at once: what wakes an object again because of this would go round for ever.
        self._wait_until(min(self._timer_at, now_ms(self._clock) + _PAUSE_AFTER_FAILURE_MS))
        return False

    def _rebuild(self) -> bool:
        try:
            self._table.replace()
        except StateError as error:
            _log.error("%s", error)
            return False
        self._due.start_over_everywhere()
        if self._comparison is not None:
            self._comparison.cancel()
        self._comparison = asyncio.ensure_future(self._collect())
        return True

    async def _collect(self) -> None:
        try:
            count = await self.compare(self._stored())
            _log.warning("the table of alarms has been rebuilt with %d entries", count)
        except Exception as error:
            _log.error("the table of alarms could not be rebuilt (%s); restart to do so", error)

    # Running what is due.

    def _book_turn(self) -> None:
        if not self._turn_booked and not self._closed:
            self._turn_booked = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _wait_until(self, time: float) -> None:
        """Have a turn at `time`, in milliseconds, in place of the one that was booked."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = NEVER
        if time == NEVER or self._closed:
            return
        now = self._clock.now() * 1000.0
        wait = time - now
        if wait > _LONGEST_WAIT_MS:
            wait = max(_LONGEST_WAIT_MS, wait / _SHARE_OF_LONGER_WAITS)
            time = now + wait
        # That is when the next turn will be, so that an alarm behind it needs no other timer.
        self._timer_at = time
        # A microsecond at least, so that a manual clock moves.
        self._timer = self._clock.call_later(max(wait / 1000.0, 1e-6), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._timer_at = NEVER
        if not self._turn_booked and not self._closed:
            self._turn_booked = True
            self._turn()

    def _turn(self) -> None:
        self._turn_booked = False
        started = 0
        while self._running < self._concurrency and not self._closed:
            if started == self._starts_per_turn:
                self._book_turn()
                return
            now = now_ms(self._clock)
            try:
                due = self._due.take(now, self._queue)
            except StateError as error:
                self._cannot_read(error)
                return
            if due is None:
                self._wait_until(self._due.next_time())
                return
            self._start(due)
            started += 1
        # At the limit the end of a run books the next turn.

    def _cannot_read(self, error: StateError) -> None:
        if isinstance(error, DamagedTableError) and self._rebuild():
            self._book_turn()
            return
        _log.error("alarms cannot be run for the moment: %s", error)
        self._wait_until(now_ms(self._clock) + _PAUSE_AFTER_FAILURE_MS)

    def _start(self, due: DueAlarm) -> None:
        self._running += 1
        run = AlarmRun(due.key, due.time, due.retries.counted)
        outcome: asyncio.Future[Outcome]
        try:
            # Not in the context of whoever happened to set the timer or ask for a write.
            outcome = Context().run(_begin, due.runner.run, run)
        except Exception as error:
            outcome = asyncio.get_running_loop().create_future()
            outcome.set_exception(error)
        self._runs.add(outcome)
        outcome.add_done_callback(partial(self._ended, due))

    def _ended(self, due: DueAlarm, ended: asyncio.Future[Outcome]) -> None:
        self._running -= 1
        self._runs.discard(ended)
        outcome = _outcome_of(due, ended)
        if due.changed or due.orphaned or (isinstance(outcome, Failed) and outcome.replaced):
            self._due.release(due)
        elif not isinstance(outcome, Failed):
            self._finish(due, outcome.alarm)
        elif outcome.retry and not due.retries.exhausted_by(outcome.counted):
            delay = due.retries.delay_ms(outcome.counted, self._random)
            self._due.retry_at(due, now_ms(self._clock) + delay)
        else:
            self._abandon(due, outcome)
        self._book_turn()

    def _finish(self, due: DueAlarm, alarm: int | None) -> None:
        self._due.release(due)
        # What the object asked for during the run is newer than what it reported at the end.
        if not due.asked and alarm != due.row and not self._closed:
            self._put(due.key, alarm).add_done_callback(_note_failure)

    def _abandon(self, due: DueAlarm, outcome: Failed) -> None:
        _log.info("%s/%s: its alarm is given up: %s", *due.key, outcome.reason)
        due.state = State.ABANDONED
        told = Context().run(_begin, due.runner.abandon, due.key, due.time)
        self._abandonments.add(told)
        told.add_done_callback(partial(self._abandoned, due))

    def _abandoned(self, due: DueAlarm, told: asyncio.Future[int | None]) -> None:
        self._abandonments.discard(told)
        if due.changed or due.orphaned:
            self._due.release(due)
        elif told.cancelled() or told.exception() is not None:
            # As upstream: the entry stays, and is tried anew after a restart or another request.
            _log.error("%s/%s could not be told that its alarm is given up", *due.key)
        else:
            self._finish(due, told.result())
        self._book_turn()


def _begin(call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
    return asyncio.ensure_future(call(*args, **kwargs))


def _outcome_of(due: DueAlarm, ended: asyncio.Future[Outcome]) -> Outcome:
    if ended.cancelled():
        return Failed(counted=False, reason="the run was cancelled")
    error = ended.exception()
    if error is not None:
        _log.error("%s/%s: its alarm could not be run", *due.key, exc_info=error)
        return Failed(counted=False, reason=str(error))
    outcome = ended.result()
    assert isinstance(outcome, Completed | Declined | Failed)
    return outcome


def _note_failure(written: asyncio.Future[None]) -> None:
    if not written.cancelled() and written.exception() is not None:
        _log.warning("an alarm could not be removed; it will wake its object for nothing once")
