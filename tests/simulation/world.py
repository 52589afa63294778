"""One process with one object, its database, the scheduler and a worker, driven step by step.

The two layers under test are the real ones. Around them stand a database and a table whose writes
become durable when the schedule says so, a clock and an event loop that are turned by hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from pyflare_bindings.objects import (
    AlarmRun,
    AlarmScheduler,
    ObjectAlarm,
    ObjectKey,
    ObjectResetError,
    Outcome,
    deliver,
)
from pyflare_bindings.objects.instants import NEVER, comparable, now_ms

from .disk import HandTable, ObjectDatabase
from .hand_clock import HandClock
from .hand_loop import HandLoop
from .properties import EPOCH, Violation, check, shown

Action = tuple[Any, ...]

KEY = ObjectKey("rooms", "a")


def ms(second: float) -> int:
    """The alarm time of a second of the simulation."""
    return round((EPOCH + second) * 1000)


class _NoJitter(Random):
    def random(self) -> float:
        return 0.0


_NO_JITTER = _NoJitter()


@dataclass(frozen=True, slots=True)
class Layers:
    """The code under test: the complete implementation, or a double that lacks a part."""

    name: str = "complete"
    alarm: type[ObjectAlarm] = ObjectAlarm
    scheduler: type[AlarmScheduler] = AlarmScheduler
    compares_at_start: bool = True
    # The complete implementation is never too late, whether or not anybody was told of the commit.
    strict: bool = False


COMPLETE = Layers(strict=True)


class World:
    """Drives the layers.

    In: `start`, the second at which alarm and scheduler agree at first, or None; `scheduled`, where
    the scheduler is instead, for a state that a crash may leave behind; `whole_turns`, whether all
    that is ready on the event loop follows upon every step at once. Otherwise each single callback
    is a step of its own, with anything else possible before it.
    """

    def __init__(
        self,
        layers: Layers = COMPLETE,
        start: float | None = None,
        *,
        whole_turns: bool = False,
        scheduled: float | None = None,
    ) -> None:
        alarm = NEVER if start is None else ms(start)
        self.layers = layers
        self.whole_turns = whole_turns
        self.story: list[str] = []
        self.database = ObjectDatabase(alarm)
        row = start if scheduled is None else scheduled
        self.rows: dict[ObjectKey, int] = {} if row is None else {KEY: ms(row)}
        self.clock = HandClock(EPOCH)
        self.violation: Violation | None = None
        self.runs: list[tuple[float, int]] = []
        self.asks: list[int | None] = []
        self.retry_counts: list[int] = []
        # The durable alarms, with the number of their change, from the last one on of which the
        # worker has been told: until it is told of the next, each of them may rightly run.
        self.history = [(0, alarm)]
        self.in_worker = False
        self.expects_lag = scheduled is not None
        self.ran_since: int | None = None
        self._boot()
        self._settle_start()

    # A process begins and ends.

    def _boot(self) -> None:
        self.loop = HandLoop()
        asyncio._set_running_loop(self.loop)
        self.clock.bookings.clear()
        self.table = HandTable(self.rows)
        self.scheduler = self.layers.scheduler(
            self.table, clock=self.clock, random=_NO_JITTER, starts_per_turn=1_000_000
        )
        self.generation = 0
        self.dead: list[ObjectAlarm] = []
        self.alarm: ObjectAlarm | None = None
        self.mark: Any = None
        self.handler: asyncio.Future[None] | None = None
        self.waiting_for_instance: list[asyncio.Future[None]] = []
        self.comparison: asyncio.Task[int] | None = None
        self.rebuilding = False
        self.broken = False
        self._build(None)
        self.scheduler.attach(KEY.namespace, self)

    def _settle_start(self) -> None:
        while self.loop.ready:
            self.loop.step()

    def crash(self, lose_table: bool, seconds_down: float) -> None:
        """The process dies; a new one opens what is on the disk."""
        self.close()
        self.database.crash()
        self.history = [(self.database.landed_change, self.database.landed)]
        if lose_table:
            self.rows.clear()
        self.clock.time += seconds_down
        self._boot()
        if self.layers.compares_at_start:
            self._compare()

    def _compare(self) -> None:
        self.rebuilding = True
        self.comparison = self.loop.create_task(self.scheduler.compare(self._stored()))
        self.comparison.add_done_callback(self._compared)

    def _compared(self, compared: asyncio.Task[int]) -> None:
        if compared.exception() is None:
            self.rebuilding = False
        else:
            self._compare()

    def close(self) -> None:
        """Drop the process, with whatever it was doing."""
        self.loop.drop_tasks()

    async def _stored(self) -> AsyncIterator[tuple[ObjectKey, int | None]]:
        yield KEY, (self.alarm or self.dead[-1]).earliest()

    def reset(self, alarm: ObjectAlarm) -> None:
        """The instance is torn down, and the next one built when that is over."""
        if alarm is not self.alarm:
            return
        self.alarm = None
        self.mark = None
        self.broken = False
        self.database.reset()
        self.dead.append(alarm)
        if self.handler is not None and not self.handler.done():
            self.handler.set_exception(ObjectResetError("reset"))
        alarm.tear_down().add_done_callback(self._build)

    def _build(self, _torn_down: asyncio.Future[None] | None) -> None:
        self.generation += 1
        self.database.failed = False
        self.told: list[asyncio.Future[None]] = []
        self.told_nothing = True
        self.alarm_at_start = self.database.read()
        self.alarm = self.layers.alarm(
            self,
            clock=self.clock,
            tell=partial(self._tell, self.generation),
            make_durable=self._make_durable,
            broken=self._on_broken,
        )
        for each in self.waiting_for_instance:
            each.set_result(None)
        self.waiting_for_instance.clear()

    def _on_broken(self, _failure: BaseException) -> None:
        self.broken = True
        assert self.alarm is not None
        self.loop.call_soon(self.reset, self.alarm)

    def _tell(self, generation: int, time: int | None) -> asyncio.Future[None]:
        if self.alarm is None and self.told_nothing and time == self.alarm_at_start:
            # As the storage does it: the scheduler is where the instance before has left it.
            skipped: asyncio.Future[None] = self.loop.create_future()
            skipped.set_result(None)
            return skipped
        if generation == self.generation:
            self.told_nothing = False
        self.asks.append(time)
        self.story.append(f"the object asks the scheduler for {shown(time)}")
        told = self.scheduler.schedule(KEY, time)
        if generation == self.generation and self.alarm is not None:
            self.told.append(told)
        return told

    def _make_durable(self) -> asyncio.Future[None]:
        self.mark = None
        return self.database.make_durable()

    # The stored alarm, as the layer sees it.

    def read(self) -> int | None:
        return self.database.read()

    def write(self, time: int | None) -> None:
        by_layer = not self.in_worker and not self.database.failed
        if by_layer and (self.ran_since is None or self.ran_since < self.database.visible):
            self._violated(
                f"at least once: the alarm at {shown(self.database.visible)} was unset although "
                "its handler had not run"
            )
        self.database.write(time)

    # The runner.

    async def run(self, run: AlarmRun) -> Outcome:
        self.retry_counts.append(run.retry_count)
        try:
            while self.alarm is None:
                built = self.loop.create_future()
                self.waiting_for_instance.append(built)
                await built
            return await deliver(self.alarm, run, self._handle)
        finally:
            self.ran_since = None

    async def abandon(self, key: ObjectKey, time: int) -> int | None:
        assert self.alarm is not None
        self.ran_since = now_ms(self.clock)
        return await self.alarm.abandon(time)

    async def _handle(self) -> None:
        now = now_ms(self.clock)
        database = self.database
        set_at_all = (
            *(each for _, each in self.history),
            database.visible,
            # A commit that failed is not rolled back before the layer has heard of it.
            self.alarm._visible if database.failed and self.alarm else NEVER,
            *(each[0] for each in database.in_flight),
        )
        if min(set_at_all) > now:
            self._violated(
                f"never a ghost: the handler runs at {shown(now)}, but the alarm is "
                f"{shown(database.landed)}"
            )
        if self.handler is not None:
            self._violated("the handler runs twice at the same time")
        self.ran_since = now
        self.runs.append((self.clock.time - EPOCH, self.retry_counts[-1]))
        self.story.append(f"the handler runs at {shown(now)}")
        self.handler = self.loop.create_future()
        try:
            await self.handler
        finally:
            self.handler = None

    # What may happen next.

    def environment(self) -> list[Action]:
        """The steps that need no decision of the worker and no fault."""
        actions: list[Action] = []
        if self.loop.ready:
            actions.append(("turn",))
        actions += [("table lands", index) for index in range(len(self.table.in_flight))]
        if self.database.in_flight:
            actions.append(("commit lands",))
        if self.database.dirty and self.mark is not None and self.accepts():
            actions.append(("commit",))
        if self.handler is not None and not self.handler.done():
            actions.append(("returns",))
        if self.clock.bookings:
            actions.append(("time",))
        return actions

    def allows(self, action: Action) -> bool:
        """Whether `action` is possible now; a crash and what the loop does always are."""
        match action[0]:
            case "set" | "delete" | "abort":
                return self.accepts()
            case "roll back":
                return self.accepts() and self.can_roll_back()
            case "table fails":
                return action[1] < len(self.table.in_flight)
            case "commit fails":
                return bool(self.database.in_flight)
            case "raises":
                return self.handler is not None and not self.handler.done()
            case "crash":
                return True
        return action in self.environment()

    def accepts(self) -> bool:
        """Whether the worker can use the object."""
        return self.alarm is not None and not self.broken and not self.database.failed

    def do(self, action: Action) -> None:
        """Take one step and check every property. Raises Violation."""
        asyncio._set_running_loop(self.loop)
        try:
            _STEPS[action[0]](self, *action[1:])
            check(self)
            while self.whole_turns and self.loop.ready:
                self.loop.step()
                check(self)
        finally:
            asyncio._set_running_loop(None)

    def replay(self, path: Sequence[Action]) -> None:
        """Take steps that have been checked before."""
        asyncio._set_running_loop(self.loop)
        try:
            for action in path:
                _STEPS[action[0]](self, *action[1:])
                if self.whole_turns:
                    while self.loop.ready:
                        self.loop.step()
        finally:
            asyncio._set_running_loop(None)

    def set(self, second: float, commit: bool = False) -> None:
        self.story.append(f"the worker sets the alarm to {second:g} s")
        self._from_worker(lambda alarm: alarm.set(ms(second)), commit)

    def delete(self, commit: bool = False) -> None:
        self.story.append("the worker deletes the alarm")
        self._from_worker(lambda alarm: alarm.delete(), commit)

    def _from_worker(self, call: Callable[[ObjectAlarm], None], commit: bool) -> None:
        assert self.alarm is not None
        if self.mark is None:
            self.mark = self.alarm.mark()
        self.in_worker = True
        call(self.alarm)
        self.in_worker = False
        if not self.database.dirty:
            self.mark = None
        elif commit:
            self.commit()

    def commit(self) -> None:
        assert self.alarm is not None
        self.story.append(f"the object commits its alarm, {shown(self.database.visible)}")
        self.mark = None
        confirmed = self.alarm.commit()
        confirmed.add_done_callback(partial(self._confirmed, self.database.change))

    def _confirmed(self, change: int, confirmed: asyncio.Future[None]) -> None:
        if confirmed.exception() is not None:
            return
        if self.database.landed_change < change:
            raise Violation("a commit is confirmed before it is durable")
        while len(self.history) > 1 and self.history[0][0] < change:
            del self.history[0]

    def can_roll_back(self) -> bool:
        """Whether a transaction is open that no commit has been asked for."""
        return (
            self.mark is not None
            and self.database.dirty
            and self.alarm is not None
            and self.alarm._gate is None
        )

    def roll_back(self) -> None:
        assert self.alarm is not None
        self.story.append("the transaction is rolled back")
        mark, self.mark = self.mark, None
        self.database.roll_back(mark.time)
        self.alarm.roll_back(mark)

    def abort(self) -> None:
        assert self.alarm is not None
        self.story.append("the object is aborted; the next instance begins when that is over")
        self.reset(self.alarm)

    def table_lands(self, index: int) -> None:
        self.table.land(index)
        self.story.append(f"the scheduler's table has {shown(self.table.scheduled(KEY))}")
        if self.table.scheduled(KEY) == self.database.landed:
            self.expects_lag = False

    def table_fails(self, index: int) -> None:
        self.story.append("the scheduler's write fails")
        self.expects_lag = True
        self.table.fail(index)

    def commit_lands(self) -> None:
        self.database.land()
        self.history.append((self.database.landed_change, self.database.landed))
        self.story.append(f"the commit of {shown(self.database.landed)} is durable")

    def commit_fails(self) -> None:
        self.story.append("the commit fails")
        self.database.fail()

    def die(self, lose_table: bool, seconds_down: float) -> None:
        lost = ", the scheduler's file is lost" if lose_table else ""
        down = f", and starts again {seconds_down:g} s later" if seconds_down else " and restarts"
        self.story.append(f"the process crashes{lost}{down}")
        self.crash(lose_table, seconds_down)

    def turn(self) -> None:
        self.loop.step()

    def time(self) -> None:
        self.clock.fire()

    def returns(self) -> None:
        assert self.handler is not None
        self.story.append("the handler returns")
        self.handler.set_result(None)

    def raises(self) -> None:
        assert self.handler is not None
        self.story.append("the handler raises")
        self.handler.set_exception(ValueError("alarm"))

    # What the properties are about.

    @property
    def scheduled(self) -> int:
        """What is durable in the scheduler's table, comparable."""
        return self.table.scheduled(KEY)

    def is_quiet(self) -> bool:
        """Whether nothing is in flight and no decision open."""
        return not (
            self.loop.ready
            or self.table.in_flight
            or self.database.in_flight
            or self.database.dirty
            or self.handler is not None
            or self.alarm is None
            or self.scheduler._running
        )

    def _violated(self, what: str) -> None:
        """Raise from within a task, which may keep it to itself, and at the end of the step."""
        self.violation = Violation(what)
        raise self.violation

    def end(self) -> dict[str, int | None]:
        """The four times that have to agree at the end: visible, durable, expected, scheduled."""
        assert self.alarm is not None
        return {
            "L": comparable(self.alarm._visible),
            "D": self.database.landed,
            "N": self.alarm._scheduled_no_later_than,
            "S": self.scheduled,
        }


_STEPS: dict[str, Callable[..., None]] = {
    "set": World.set,
    "delete": World.delete,
    "commit": World.commit,
    "roll back": World.roll_back,
    "abort": World.abort,
    "crash": World.die,
    "turn": World.turn,
    "table lands": World.table_lands,
    "table fails": World.table_fails,
    "commit lands": World.commit_lands,
    "commit fails": World.commit_fails,
    "time": World.time,
    "returns": World.returns,
    "raises": World.raises,
}
