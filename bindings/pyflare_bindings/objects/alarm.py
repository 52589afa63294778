"""The alarm of one object, and how the scheduler is kept at or before it.

The row in the object's own database is the truth. The scheduler's table is a second durable state
that must never be later than the first, at no instant, not even after a crash. So an earlier alarm
reaches the scheduler before the object commits it, and a later one, or none, after the commit is
durable. A scheduler that is too early does no harm: the object is woken, compares, and declines.

Times are milliseconds since the epoch. `docs/alarms.md` tells the whole story, with the schedules
that go wrong without each of the guards.

Source: `src/workerd/io/actor-sqlite.*` of workerd, corrected where it could leave an alarm behind.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial

from ..clock import Clock
from .alarm_parts import (
    NOTHING_PARKED,
    AlarmMark,
    AlarmTimeError,
    MakeDurable,
    ObjectResetError,
    Parking,
    RunningHandler,
    StoredAlarm,
    Tell,
)
from .instants import LATEST, NEVER, comparable, now_ms, optional
from .outcome import Declined
from .steps import failure_of, reject, resolve

_log = logging.getLogger(__name__)


class ObjectAlarm:
    """The alarm of one live instance of an object.

    In: `stored`, the row; `clock`; and two steps. `tell` asks the scheduler for a time and
    resolves when its table has it; requests of one object must be applied in the order they were
    made. `make_durable` commits the open transaction at once and resolves when that commit, and
    so every one before it, is durable. The storage must not commit in any other way: an
    earlier alarm waits here until the scheduler knows. `broken` is called once when one of the two
    steps has failed in a way that only a new instance can mend: the storage must then roll back and
    tear this one down. `label` names the object in the log.

    At most one request to move the scheduler later is under way, and at most one later time is
    parked behind it, whatever the worker does.
    """

    __slots__ = (
        "_asked",
        "_broken",
        "_clock",
        "_confirmed",
        "_failure",
        "_gate",
        "_label",
        "_later_in_flight",
        "_live",
        "_make_durable",
        "_parked",
        "_run",
        "_scheduled_no_later_than",
        "_settled",
        "_stored",
        "_tell",
        "_torn_down",
        "_under_way",
        "_visible",
    )

    def __init__(
        self,
        stored: StoredAlarm,
        *,
        clock: Clock,
        tell: Tell,
        make_durable: MakeDurable,
        broken: Callable[[BaseException], None],
        label: str = "object",
    ) -> None:
        self._stored = stored
        self._clock = clock
        self._tell = tell
        self._make_durable = make_durable
        self._broken = broken
        self._label = label
        self._visible = self._confirmed = comparable(stored.read())
        self._scheduled_no_later_than = self._visible
        self._later_in_flight = False
        self._parked: int | Parking = NOTHING_PARKED
        # Commits that wait until the scheduler has an earlier time; None when none does.
        self._gate: list[asyncio.Future[None]] | None = None
        self._asked = NEVER
        # The alarms in the commits that are made but not yet durable, in order.
        self._under_way: deque[int] = deque()
        self._run: RunningHandler | None = None
        self._live = True
        self._failure: BaseException | None = None
        self._torn_down: asyncio.Future[None] | None = None
        self._settled: list[asyncio.Future[None]] = []

    # What the worker asks for.

    def get(self) -> int | None:
        """The alarm that is set; None while its own handler runs and has set no other."""
        run = self._run
        if run is not None and run.spends(self._visible):
            return None
        return optional(self._visible)

    def set(self, time: int) -> None:
        """Replace the alarm; a time that has passed counts as now.

        The row changes within the open transaction; `commit` must follow, as after every write.
        Raises AlarmTimeError with the platform's text for a time that is not after the epoch, or
        too far ahead to be stored in nanoseconds.
        """
        if time > LATEST:
            raise AlarmTimeError("The value cannot be converted because it is not a valid Date.")
        if time <= 0:
            raise AlarmTimeError("setAlarm() cannot be called with an alarm time <= 0")
        self._change(max(time, now_ms(self._clock)))

    def delete(self) -> None:
        """Unset the alarm; nothing happens when there is none."""
        self._change(NEVER)

    def _change(self, time: int) -> None:
        # While its handler runs the alarm is spent: also the same time again is a new alarm.
        run = self._run
        if time == self._visible and (run is None or run.replaced):
            return
        if time != self._visible:
            self._stored.write(optional(time))
            self._visible = time
        if run is not None:
            run.replaced = True

    # Explicit transactions, whose changes the scheduler hears of only with the commit of the root.

    def mark(self) -> AlarmMark:
        """The state at the begin of a transaction or savepoint."""
        return AlarmMark(self._visible, self._run is not None and self._run.replaced)

    def roll_back(self, mark: AlarmMark) -> None:
        """Forget the changes since `mark`, after the database has rolled them back."""
        self._visible = mark.time
        if self._run is not None:
            self._run.replaced = mark.replaced
        if self._failure is None and self._is_settled():
            self._compare([])
            self._wake_settled()

    # Committing.

    def commit(self) -> asyncio.Future[None]:
        """Commit the open transaction, whatever it changed.

        Resolves when the commit is durable and the scheduler is not later than its alarm: this is
        what the output gate waits for. Raises, through the future, what the scheduler or the
        database raised: then the instance must be torn down. Commits that are asked for while an
        earlier one waits for the scheduler join that one.
        """
        visible = self._visible
        if (
            visible == self._confirmed == self._scheduled_no_later_than
            and self._gate is None
            and not self._under_way
            and self._failure is None
        ):
            return self._commit_without_alarm()
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._failure is not None:
            confirmed.set_exception(self._failure)
            return confirmed
        self._drop_overtaken()
        if self._gate is not None:
            self._gate.append(confirmed)
        elif visible < self._scheduled_no_later_than:
            self._gate = [confirmed]
            self._ask_earlier()
        else:
            self._start_commit([confirmed])
        return confirmed

    def _commit_without_alarm(self) -> asyncio.Future[None]:
        """The common case: the commit changes no alarm, and the scheduler agrees."""
        try:
            durable = self._make_durable()
        except Exception as error:
            self._break(error)
            durable = asyncio.get_running_loop().create_future()
            durable.set_exception(error)
            return durable
        if durable.done():
            failure = failure_of(durable)
            if failure is not None:
                self._break(failure)
            return durable
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        durable.add_done_callback(partial(self._durable_without_alarm, confirmed))
        return confirmed

    def _durable_without_alarm(
        self, confirmed: asyncio.Future[None], durable: asyncio.Future[None]
    ) -> None:
        failure = failure_of(durable)
        if failure is None:
            resolve([confirmed])
        else:
            self._break(failure)
            reject([confirmed], failure)

    def _drop_overtaken(self) -> None:
        """The first guard: an alarm that is committed discards a later one that is parked."""
        if self._parked is not NOTHING_PARKED and self._visible < self._parked:
            self._parked = NOTHING_PARKED

    def _ask_earlier(self) -> None:
        self._asked = self._visible
        try:
            self._tell(optional(self._asked)).add_done_callback(self._earlier_told)
        except Exception as error:
            self._break(error)

    def _earlier_told(self, told: asyncio.Future[None]) -> None:
        if self._gate is None:
            return
        failure = failure_of(told)
        if failure is not None:
            self._break(failure)
            return
        self._scheduled_no_later_than = self._asked
        if self._visible < self._asked:
            self._ask_earlier()
            return
        waiting, self._gate = self._gate, None
        self._start_commit(waiting)

    def _start_commit(self, waiting: list[asyncio.Future[None]]) -> None:
        alarm = self._visible
        try:
            durable = self._make_durable()
        except Exception as error:
            self._gate = waiting
            self._break(error)
            return
        self._under_way.append(alarm)
        if durable.done():
            self._durable(waiting, durable)
        else:
            durable.add_done_callback(partial(self._durable, waiting))

    def _durable(self, waiting: list[asyncio.Future[None]], durable: asyncio.Future[None]) -> None:
        alarm = self._under_way.popleft()
        failure = failure_of(durable)
        if failure is not None:
            self._break(failure)
            reject(waiting, failure)
        else:
            self._confirmed = alarm
            comparable_now = self._failure is None and self._is_settled()
            if not comparable_now or self._compare(waiting):
                resolve(waiting)
        if self._torn_down is not None and not self._under_way:
            self._hand_over()
        elif self._is_settled():
            self._wake_settled()

    def _compare(self, waiting: list[asyncio.Future[None]]) -> bool:
        """The third guard: after a commit is durable, compare both ways.

        Out: whether the commit is confirmed by this. If not, `waiting` waits for the scheduler.
        """
        if self._scheduled_no_later_than < self._confirmed:
            self._move_later(self._confirmed)
        elif self._confirmed < self._scheduled_no_later_than:
            self._gate = waiting
            self._ask_earlier()
            return False
        return True

    def _is_settled(self) -> bool:
        """Whether the truth is known: what is visible is durable and nothing else will be."""
        return self._gate is None and not self._under_way and self._visible == self._confirmed

    # Moving the scheduler later, which nobody waits for.

    def _move_later(self, time: int) -> None:
        if self._later_in_flight:
            self._parked = time
            return
        # From here on the scheduler may have the later time, so this is all that is certain.
        self._scheduled_no_later_than = max(self._scheduled_no_later_than, time)
        try:
            told = self._tell(optional(time))
        except Exception as error:
            self._later_failed(error)
            return
        self._later_in_flight = True
        told.add_done_callback(self._later_told)

    def _later_told(self, told: asyncio.Future[None]) -> None:
        self._later_in_flight = False
        failure = failure_of(told)
        if failure is not None:
            self._later_failed(failure)
        parked, self._parked = self._parked, NOTHING_PARKED
        if parked is not NOTHING_PARKED and self._is_wanted(parked):
            self._move_later(parked)

    def _is_wanted(self, parked: int) -> bool:
        """The second guard: a parked time is used by a live instance whose alarm is not earlier."""
        return self._live and self._visible >= parked

    def _later_failed(self, failure: BaseException) -> None:
        _log.warning(
            "%s: its alarm could not be moved later in the scheduler (%s); it will be woken too "
            "early once and correct this",
            self._label,
            failure,
        )

    # Running.

    async def arm(self, time: int) -> Declined | None:
        """Prepare for the handler, now that the scheduler has woken the object for `time`.

        Out: None when the handler is to be called, then `succeeded` or `failed` must follow; or
        Declined when the alarm is not due. Where an alarm that is not yet durable leaves this open,
        it waits for the commit. Raises ObjectResetError when the instance is gone.
        """
        while True:
            self._check_live()
            if self._visible == time:
                break
            now = now_ms(self._clock)
            if not self._is_settled():
                if self._confirmed <= now:
                    self._run = RunningHandler(time, alarm=None)
                    return None
                await self._until_settled()
                continue
            # Strict, as upstream: an alarm of this very millisecond goes through the scheduler.
            if self._visible < now:
                break
            # A change that has been taken back before it was committed left this to be done.
            self._compare([])
            return Declined(optional(self._visible))
        self._run = RunningHandler(time, alarm=self._visible)
        return None

    async def succeeded(self) -> int | None:
        """The handler has returned: unset its alarm unless it was replaced.

        Out: the alarm that is set now, once everything that the handler wrote is durable; or the
        one it was woken for, where a later change is not durable yet, so that it is woken for it
        once more. Raises what `commit` raises, and ObjectResetError when the instance is gone.
        """
        self._check_live()
        run, self._run = self._run, None
        assert run is not None, "arm() has to come first"
        if run.spends(self._visible):
            self._stored.write(None)
            self._visible = NEVER
        await self.commit()
        return self._settled_or(run.woken_for)

    def failed(self) -> bool:
        """The handler has raised: its alarm stays as it is.

        Out: whether it was set or deleted during the run, so that there is nothing to retry.
        """
        run, self._run = self._run, None
        return run is not None and run.replaced

    async def abandon(self, time: int) -> int | None:
        """Unset the alarm if it is still the one of `time`, which will not be tried again.

        Out: the alarm that the object has instead, as from `succeeded`. Raises what `commit`
        raises, and ObjectResetError when the instance is gone.
        """
        self._check_live()
        if self._visible == time and self._run is None:
            self._stored.write(None)
            self._visible = NEVER
        await self.commit()
        return self._settled_or(time)

    def _settled_or(self, time: int) -> int | None:
        if self._failure is not None or not self._is_settled():
            return time
        self._compare([])
        return optional(self._confirmed)

    async def _until_settled(self) -> None:
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._settled.append(settled)
        await settled

    def _wake_settled(self) -> None:
        waiting, self._settled = self._settled, []
        resolve(waiting)

    # The end of the instance.

    def earliest(self) -> int | None:
        """The time from which on the scheduler may have to wake the object.

        This is what the scheduler's table is rebuilt from while the instance lives: the earliest of
        what is durable, what will be, and what the instance takes the scheduler to have.
        """
        asked = NEVER if self._gate is None else self._asked
        known = min(self._confirmed, self._scheduled_no_later_than)
        return optional(min(known, asked, *self._under_way))

    def tear_down(self) -> asyncio.Future[None]:
        """End the instance, after the database has rolled back what was not committed.

        Resolves when the alarm in the database has been handed to the scheduler's queue, for which
        the commits that are already made have to be durable. Only then may the next instance of the
        object be built. Commits that wait for the scheduler fail with ObjectResetError.
        """
        if self._torn_down is not None:
            return self._torn_down
        self._torn_down = asyncio.get_running_loop().create_future()
        self._live = False
        if self._failure is None:
            self._break(ObjectResetError("the object was reset before this was committed"))
        if not self._under_way:
            self._hand_over()
        return self._torn_down

    def _hand_over(self) -> None:
        # The two differ when a commit failed; what the file will turn out to hold is then unknown.
        alarm = min(comparable(self._stored.read()), self._confirmed)
        try:
            self._tell(optional(alarm)).add_done_callback(self._handed_over)
        except Exception as error:
            self._later_failed(error)
        if self._torn_down is not None:
            resolve([self._torn_down])

    def _handed_over(self, told: asyncio.Future[None]) -> None:
        failure = failure_of(told)
        if failure is not None:
            self._later_failed(failure)

    def _check_live(self) -> None:
        if self._failure is not None:
            raise ObjectResetError("the object has been reset") from self._failure

    def _break(self, failure: BaseException) -> None:
        waiting, self._gate = self._gate, None
        if self._failure is None:
            self._failure = failure
            if self._live:
                self._broken(failure)
        reject(waiting or [], failure)
        self._wake_settled()
