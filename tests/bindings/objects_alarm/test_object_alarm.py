"""The alarm of one object on a real event loop: what it refuses, and what a failure leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.objects import (
    AlarmRun,
    AlarmTimeError,
    Completed,
    Declined,
    Failed,
    ObjectAlarm,
    ObjectResetError,
    deliver,
)
from pyflare_bindings.objects.instants import LATEST

from .conftest import START, at, key, turns


class Instance:
    """An alarm whose two steps are resolved by the test, unless `prompt`."""

    def __init__(self, stored: int | None = None, *, prompt: bool = False) -> None:
        self.row = stored
        self.prompt = prompt
        self.asked: list[int | None] = []
        self.asks: list[asyncio.Future[None]] = []
        self.commits: list[asyncio.Future[None]] = []
        self.failures: list[BaseException] = []
        self.clock = ManualClock(START)
        self.refuses: Exception | None = None
        self.alarm = ObjectAlarm(
            self,
            clock=self.clock,
            tell=self.tell,
            make_durable=self.make_durable,
            broken=self.failures.append,
            label="rooms/a",
        )

    def read(self) -> int | None:
        return self.row

    def write(self, time: int | None) -> None:
        self.row = time

    def tell(self, time: int | None) -> asyncio.Future[None]:
        if self.refuses is not None:
            raise self.refuses
        self.asked.append(time)
        return self._step(self.asks)

    def make_durable(self) -> asyncio.Future[None]:
        return self._step(self.commits)

    def _step(self, steps: list[asyncio.Future[None]]) -> asyncio.Future[None]:
        step: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        steps.append(step)
        if self.prompt:
            step.set_result(None)
        return step

    def run(self, time: int) -> AlarmRun:
        return AlarmRun(key(), time, 0)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


def test_a_time_that_does_not_fit_into_the_database_is_refused() -> None:
    async def test() -> None:
        instance = Instance(at(5))
        with pytest.raises(AlarmTimeError, match="is not a valid Date"):
            instance.alarm.set(LATEST + 1)
        assert instance.alarm.get() == instance.row == at(5)
        instance.alarm.set(LATEST)
        assert instance.row == LATEST

    run(test())


@pytest.mark.parametrize("time", [0, -1])
def test_a_time_that_is_not_after_the_epoch_is_refused(time: int) -> None:
    async def test() -> None:
        instance = Instance(at(5))
        with pytest.raises(AlarmTimeError) as caught:
            instance.alarm.set(time)
        assert str(caught.value) == "setAlarm() cannot be called with an alarm time <= 0"
        assert instance.alarm.get() == instance.row == at(5)

    run(test())


def test_a_time_that_has_passed_counts_as_now() -> None:
    async def test() -> None:
        instance = Instance()
        instance.alarm.set(1)
        assert instance.alarm.get() == instance.row == at(0)

    run(test())


def test_deleting_no_alarm_and_setting_the_same_writes_nothing() -> None:
    async def test() -> None:
        instance = Instance(at(5))
        instance.row = 42
        instance.alarm.set(at(5))
        assert instance.row == 42
        unset = Instance()
        unset.row = 42
        unset.alarm.delete()
        assert unset.row == 42

    run(test())


def test_a_commit_that_changes_no_alarm_does_not_trouble_the_scheduler() -> None:
    async def test() -> None:
        instance = Instance(at(5), prompt=True)
        await instance.alarm.commit()
        assert instance.asked == []
        assert len(instance.commits) == 1

    run(test())


def test_a_commit_with_an_earlier_alarm_waits_for_the_scheduler() -> None:
    async def test() -> None:
        instance = Instance(at(9))
        instance.alarm.set(at(5))
        confirmed = instance.alarm.commit()
        await turns()
        assert (instance.asked, instance.commits) == ([at(5)], [])
        instance.asks[0].set_result(None)
        await turns()
        assert not confirmed.done()
        instance.commits[0].set_result(None)
        await confirmed

    run(test())


def test_a_caller_that_gives_up_does_not_take_the_others_with_it() -> None:
    async def test() -> None:
        instance = Instance()
        instance.alarm.set(at(5))
        impatient = asyncio.ensure_future(_wait(instance.alarm.commit()))
        patient = asyncio.ensure_future(_wait(instance.alarm.commit()))
        await turns()
        impatient.cancel()
        await turns()
        instance.asks[0].set_result(None)
        await turns()
        instance.commits[0].set_result(None)
        await patient
        assert instance.failures == []

    run(test())


@pytest.mark.parametrize("at_the_call", [True, False])
def test_a_scheduler_that_refuses_breaks_the_instance(at_the_call: bool) -> None:
    async def test() -> None:
        instance = Instance()
        error = OSError("disk full")
        if at_the_call:
            instance.refuses = error
        instance.alarm.set(at(5))
        confirmed = instance.alarm.commit()
        if not at_the_call:
            instance.asks[0].set_exception(error)
        with pytest.raises(OSError, match="disk full"):
            await confirmed
        assert instance.failures == [error]
        assert instance.commits == []
        with pytest.raises(OSError, match="disk full"):
            await instance.alarm.commit()

    run(test())


@pytest.mark.parametrize("changes_alarm", [True, False])
def test_a_commit_that_fails_breaks_the_instance(changes_alarm: bool) -> None:
    async def test() -> None:
        instance = Instance(at(5))
        if changes_alarm:
            instance.alarm.set(at(9))
        confirmed = instance.alarm.commit()
        instance.commits[0].set_exception(OSError("disk full"))
        with pytest.raises(OSError, match="disk full"):
            await confirmed
        assert len(instance.failures) == 1

    run(test())


@pytest.mark.parametrize("at_the_call", [True, False])
def test_a_move_later_that_fails_is_only_logged(
    at_the_call: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        instance = Instance(at(5))
        instance.alarm.set(at(9))
        confirmed = instance.alarm.commit()
        if at_the_call:
            instance.refuses = OSError("disk full")
        instance.commits[0].set_result(None)
        await confirmed
        if not at_the_call:
            instance.asks[0].set_exception(OSError("disk full"))
            await turns()
        assert instance.failures == []

    run(test())
    assert "rooms/a: its alarm could not be moved later" in caplog.text


def test_the_scheduler_found_later_after_a_commit_is_moved_earlier_before_it_is_confirmed() -> None:
    async def test() -> None:
        instance = Instance(at(9))
        instance.alarm.set(at(20))
        confirmed = instance.alarm.commit()
        instance.alarm._scheduled_no_later_than = at(30)
        instance.commits[0].set_result(None)
        await turns()
        assert instance.asked == [at(20)]
        assert not confirmed.done()

    run(test())


def test_a_torn_down_instance_hands_over_what_is_in_the_database() -> None:
    async def test() -> None:
        instance = Instance(at(5))
        instance.alarm.set(at(9))
        confirmed = instance.alarm.commit()
        gone = instance.alarm.tear_down()
        await turns()
        assert not gone.done(), "the commit that was made is not durable yet"
        instance.commits[0].set_result(None)
        await gone
        assert instance.asked == [at(9)]
        await confirmed

    run(test())


def test_a_commit_that_waits_when_the_instance_goes_is_told() -> None:
    async def test() -> None:
        instance = Instance(at(9))
        instance.alarm.set(at(5))
        confirmed = instance.alarm.commit()
        instance.row = at(9)
        await instance.alarm.tear_down()
        with pytest.raises(ObjectResetError, match="reset before this was committed"):
            await confirmed
        assert instance.asked == [at(5), at(9)]
        assert instance.failures == []

    run(test())


def test_tearing_down_twice_is_once() -> None:
    async def test() -> None:
        instance = Instance(at(9))
        assert instance.alarm.tear_down() is instance.alarm.tear_down()
        assert instance.asked == [at(9)]

    run(test())


def test_a_hand_over_that_the_scheduler_refuses_is_only_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        instance = Instance(at(9))
        instance.refuses = OSError("closed")
        await instance.alarm.tear_down()

    run(test())
    assert "closed" in caplog.text


def test_a_run_ends_with_the_alarm_unset_and_that_confirmed() -> None:
    async def test() -> None:
        instance = Instance(at(0), prompt=True)

        async def handler() -> None:
            assert instance.alarm.get() is None
            assert instance.row == at(0)

        assert await deliver(instance.alarm, instance.run(at(0)), handler) == Completed(None)
        assert instance.row is None
        assert instance.asked == [None]

    run(test())


def test_the_outcome_waits_until_what_the_handler_wrote_is_durable() -> None:
    async def test() -> None:
        instance = Instance(at(0))
        outcome = asyncio.ensure_future(deliver(instance.alarm, instance.run(at(0)), nothing))
        await turns()
        assert not outcome.done()
        instance.commits[0].set_result(None)
        assert await outcome == Completed(None)

    run(test())


def test_an_alarm_that_is_overdue_runs_whatever_it_was_woken_for() -> None:
    async def test() -> None:
        instance = Instance(at(6), prompt=True)
        await instance.clock.advance(6.001)
        assert await deliver(instance.alarm, instance.run(at(10)), nothing) == Completed(None)

    run(test())


def test_an_alarm_of_this_very_millisecond_goes_through_the_scheduler() -> None:
    async def test() -> None:
        instance = Instance(at(6), prompt=True)
        await instance.clock.advance(6)
        assert await deliver(instance.alarm, instance.run(at(10)), nothing) == Declined(at(6))

    run(test())


def test_a_change_that_is_not_durable_yet_is_waited_for_before_an_object_declines() -> None:
    async def test() -> None:
        instance = Instance(at(20))
        instance.alarm.set(at(30))
        instance.alarm.commit()
        outcome = asyncio.ensure_future(deliver(instance.alarm, instance.run(at(0)), nothing))
        await turns()
        assert not outcome.done()
        instance.commits[0].set_result(None)
        assert await outcome == Declined(at(30))

    run(test())


def test_a_handler_that_raises_is_a_counted_failure_and_keeps_the_alarm() -> None:
    async def test() -> None:
        instance = Instance(at(0), prompt=True)
        outcome = await deliver(instance.alarm, instance.run(at(0)), raising)
        assert outcome == Failed(counted=True, reason="ValueError: no")
        assert instance.alarm.get() == at(0)

    run(test())


def test_a_handler_that_sets_another_alarm_and_raises_leaves_nothing_to_retry() -> None:
    async def test() -> None:
        instance = Instance(at(0), prompt=True)

        async def handler() -> None:
            instance.alarm.set(at(20))
            raise ValueError("no")

        outcome = await deliver(instance.alarm, instance.run(at(0)), handler)
        assert outcome == Failed(counted=True, replaced=True, reason="ValueError: no")
        await turns()
        assert instance.asked == [at(20)]

    run(test())


def test_a_commit_that_fails_after_the_handler_does_not_use_up_a_retry() -> None:
    async def test() -> None:
        instance = Instance(at(0))
        outcome = asyncio.ensure_future(deliver(instance.alarm, instance.run(at(0)), nothing))
        await turns()
        instance.commits[0].set_exception(OSError("disk full"))
        assert await outcome == Failed(counted=False, reason="disk full")

    run(test())


def test_an_instance_that_is_gone_does_not_use_up_a_retry() -> None:
    async def test() -> None:
        instance = Instance(at(0), prompt=True)
        await instance.alarm.tear_down()
        outcome = await deliver(instance.alarm, instance.run(at(0)), nothing)
        assert outcome == Failed(counted=False, reason="the object has been reset")

    run(test())


def test_an_instance_that_goes_while_its_handler_runs_unsets_nothing() -> None:
    async def test() -> None:
        instance = Instance(at(0), prompt=True)

        async def handler() -> None:
            await instance.alarm.tear_down()

        outcome = await deliver(instance.alarm, instance.run(at(0)), handler)
        assert outcome == Failed(counted=False, reason="the object has been reset")
        assert instance.row == at(0)

    run(test())


def test_a_cancelled_run_leaves_the_alarm_as_it_is() -> None:
    async def test() -> None:
        instance = Instance(at(0), prompt=True)
        outcome = asyncio.ensure_future(
            deliver(instance.alarm, instance.run(at(0)), asyncio.Event().wait)
        )
        await turns()
        outcome.cancel()
        with pytest.raises(asyncio.CancelledError):
            await outcome
        assert instance.alarm.get() == at(0)

    run(test())


def test_giving_up_unsets_only_the_alarm_that_failed() -> None:
    async def test() -> None:
        instance = Instance(at(0), prompt=True)
        assert await instance.alarm.abandon(at(0)) is None
        assert instance.row is None
        other = Instance(at(50), prompt=True)
        assert await other.alarm.abandon(at(0)) == at(50)
        assert other.row == at(50)

    run(test())


async def nothing() -> None:
    return


async def raising() -> None:
    raise ValueError("no")


async def _wait(future: asyncio.Future[None]) -> None:
    await future
