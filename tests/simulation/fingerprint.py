"""Everything in a world that decides what can still happen in it.

Two worlds with the same fingerprint have the same future, so only one of them has to be explored.
It holds every field of the two layers, what is durable and what is on its way, the callbacks that
are ready or wait for a future, the places where tasks are suspended, and what the monitor
remembers. It leaves out the past: the story, counts that only grow, and the identity of objects.
`explore.py` checks on samples that this is enough.
"""

from __future__ import annotations

import asyncio
from array import array
from functools import partial
from typing import Any

from pyflare_bindings.objects import ObjectAlarm, Outcome
from pyflare_bindings.objects.due_alarms import DueAlarm, DueAlarms
from pyflare_bindings.objects.scheduler import AlarmScheduler

from .world import KEY, World


class Fingerprints:
    """Fingerprints as short byte strings, exact: equal ones are equal fingerprints.

    The parts of a fingerprint recur in many others, so each different part gets a number.
    """

    def __init__(self) -> None:
        self._numbers: list[dict[Any, int]] = []

    def of(self, world: World, rest: object) -> bytes:
        """In: the world, and what else distinguishes a state."""
        parts = (*fingerprint(world), rest)
        if not self._numbers:
            self._numbers = [{} for _ in parts]
        numbers = array("l")
        for known, part in zip(self._numbers, parts, strict=True):
            numbers.append(known.setdefault(part, len(known)))
        return numbers.tobytes()


def fingerprint(world: World) -> tuple[Any, ...]:
    """A hashable value; see the module."""
    database, scheduler = world.database, world.scheduler
    base = database.landed_change
    names = {id(alarm): -index - 1 for index, alarm in enumerate(world.dead)}
    names[id(world.alarm)] = 0
    describe = _Describer(names, base)
    return (
        world.clock.time,
        (
            database.landed,
            database.committed,
            database.visible,
            database.failed,
            database.change - base,
            database.committed_change - base,
            tuple((change - base, alarm) for change, alarm in world.history),
            tuple(
                (alarm, change - base, describe.future(future))
                for alarm, change, future in database.in_flight
            ),
        ),
        world.table.scheduled(KEY),
        tuple(
            (tuple(changes.values()), describe.future(future))
            for changes, future in world.table.in_flight
        ),
        _alarm(world.alarm, describe),
        tuple(_alarm(each, describe) for each in world.dead),
        _scheduler(scheduler, describe),
        tuple(each.due for each in world.clock.bookings),
        tuple(describe.callback(callback) for callback, _ in world.loop.ready),
        (
            world.mark,
            describe.future(world.handler),
            len(world.waiting_for_instance),
            world.rebuilding,
            world.broken,
            world.expects_lag,
            world.ran_since,
            world.told_nothing,
            world.alarm_at_start,
            len([each for each in world.told if not each.done()]),
        ),
    )


def _alarm(alarm: ObjectAlarm | None, describe: _Describer) -> tuple[Any, ...] | None:
    if alarm is None:
        return None
    run, gate = alarm._run, alarm._gate
    return (
        alarm._visible,
        alarm._confirmed,
        alarm._scheduled_no_later_than,
        alarm._later_in_flight,
        alarm._parked,
        None if gate is None else tuple(describe.future(each) for each in gate),
        alarm._asked,
        tuple(alarm._under_way),
        None if run is None else (run.woken_for, run.alarm, run.replaced),
        alarm._live,
        alarm._failure is None,
        describe.future(alarm._torn_down),
        tuple(describe.future(each) for each in alarm._settled),
    )


def _scheduler(scheduler: AlarmScheduler, describe: _Describer) -> tuple[Any, ...]:
    return (
        _due(scheduler._due),
        scheduler._running,
        scheduler._timer_at,
        scheduler._turn_booked,
        scheduler._asked_while_comparing is None or tuple(scheduler._asked_while_comparing),
        tuple(describe.future(each) for each in scheduler._runs),
        _queue(scheduler._queue, describe),
    )


def _queue(queue: Any, describe: _Describer) -> tuple[Any, ...]:
    batches = (queue._collecting, queue._writing, *getattr(queue, "on_their_way", ()))
    return (
        queue._booked,
        tuple(
            each
            and (
                tuple(each.changes.values()),
                each.tries,
                tuple(describe.future(one) for one in each.waiting),
            )
            for each in batches
        ),
    )


def _due(due: DueAlarms) -> tuple[Any, ...]:
    namespace = due._namespaces[KEY.namespace]
    return (
        namespace.read_to,
        namespace.next_time,
        _due_alarm(due.find(KEY)),
        tuple(_due_alarm(each) for each in due._ready),
        tuple((time, _due_alarm(each)) for time, _, each in due._retrying),
    )


def _due_alarm(due: DueAlarm | None) -> tuple[Any, ...] | None:
    if due is None:
        return None
    flags = (due.asked, due.changed, due.orphaned, due.dropped)
    return (due.time, due.row, due.state, flags, due.retries.state())


def _result(future: asyncio.Future[Any]) -> Any:
    if not future.done():
        return None
    if future.cancelled() or future.exception() is not None:
        return "failed"
    result = future.result()
    return result if isinstance(result, Outcome) else "done"


class _Describer:
    """Names callbacks and futures by what they will do."""

    def __init__(self, names: dict[int, int], base: int) -> None:
        self._names = names
        self._base = base

    def future(self, future: asyncio.Future[Any] | None) -> tuple[Any, ...] | None:
        if future is None:
            return None
        done = _result(future)
        callbacks = tuple(self.callback(each) for each, _ in future._callbacks or ())
        place = self._place(future) if isinstance(future, asyncio.Task) else None
        return (done, callbacks, place)

    def callback(self, callback: Any) -> tuple[Any, ...]:
        if isinstance(callback, partial):
            return (*self.callback(callback.func), *map(self._argument, callback.args))
        owner = getattr(callback, "__self__", None)
        if isinstance(owner, asyncio.Task):
            return self._place(owner)
        name = getattr(callback, "__qualname__", None) or type(callback).__qualname__
        return (name, self._names.get(id(owner)))

    def _argument(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self.future(each) for each in value)
        if isinstance(value, int):
            return value - self._base
        if isinstance(value, DueAlarm):
            return _due_alarm(value)
        if isinstance(value, asyncio.Future):
            return self.future(value)
        return self._names.get(id(value), type(value).__qualname__)

    def _place(self, task: asyncio.Task[Any]) -> tuple[Any, ...]:
        """Where a task is suspended, down to the innermost call."""
        place: list[Any] = []
        coroutine: Any = task.get_coro()
        while coroutine is not None and hasattr(coroutine, "cr_frame"):
            frame = coroutine.cr_frame
            place += (coroutine.__qualname__, None if frame is None else frame.f_lasti)
            if frame is not None and "alarm" in frame.f_locals:
                place.append(self._names.get(id(frame.f_locals["alarm"])))
            coroutine = coroutine.cr_await
        return tuple(place)
