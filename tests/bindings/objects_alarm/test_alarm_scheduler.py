"""The host: when it wakes whom, what it writes, and what it keeps in memory."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import Coroutine
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.objects import AlarmRun, Completed, Declined, Outcome
from pyflare_bindings.storage.errors import ClosedError

from .conftest import START, Opener, at, key, turns

_current: ContextVar[str] = ContextVar("current")


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


def test_an_object_is_woken_at_its_time_and_not_before(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            await host.scheduler.schedule(key(), at(10))
            await host.clock.advance(9.999)
            assert host.rooms.runs == []
            await host.clock.advance(0.001)
            assert host.rooms.runs == [(10.0, "a", 0)]

    run(test())


def test_alarms_months_ahead_are_on_time(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            await host.scheduler.schedule(key(), at(8_000_000))
            await host.clock.advance(9_000_000)
            assert host.rooms.times() == [8_000_000]

    run(test())


def test_a_completed_alarm_leaves_no_entry(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            await host.scheduler.schedule(key(), at(1))
            await host.clock.advance(1)
            await turns()
            assert host.scheduler.pending() == []

    run(test())


def test_the_last_request_of_an_object_counts(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            requests = [host.scheduler.schedule(key(), time) for time in (at(5), None, at(7))]
            await asyncio.gather(*requests)
            await host.clock.advance(20)
            assert host.rooms.times() == [7]

    run(test())


def test_none_removes(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            await host.scheduler.schedule(key(), at(5))
            await host.scheduler.schedule(key(), None)
            await host.clock.advance(20)
            assert host.rooms.runs == []

    run(test())


def test_all_requests_of_one_turn_are_one_transaction(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            requests = [host.scheduler.schedule(key(str(n)), at(5)) for n in range(500)]
            await asyncio.gather(*requests)
            assert host.scheduler.writes == 1

    run(test())


def test_a_request_that_has_resolved_survives_the_process(opened: Opener, path: Path) -> None:
    async def test() -> None:
        async with opened() as host:
            await host.scheduler.schedule(key(), at(5))
            copy = path.with_name("copy.sqlite")
            for suffix in ("", "-wal"):
                shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
            copied = type(host.table)(copy)
            assert copied.times([key()]) == [at(5)]
            await copied.close()

    run(test())


def test_an_overdue_alarm_runs_once_right_after_the_start(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            await host.scheduler.schedule(key(), at(5))
        async with opened(clock=ManualClock(START + 60)) as host:
            await host.clock.advance(0)
            await host.clock.advance(100)
            assert host.rooms.runs == [(60, "a", 0)]

    run(test())


def test_nothing_runs_early_when_the_clock_has_gone_back(opened: Opener) -> None:
    async def test() -> None:
        async with opened(clock=ManualClock(START + 60)) as host:
            await host.scheduler.schedule(key(), at(70))
        async with opened() as host:
            await host.clock.advance(69)
            assert host.rooms.runs == []
            await host.clock.advance(1)
            assert host.rooms.times() == [70]

    run(test())


def test_many_overdue_alarms_run_each_once(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            ids = [f"{n:04}" for n in range(1_500)]
            await asyncio.gather(*(host.scheduler.schedule(key(id), at(1)) for id in ids))
            await host.clock.advance(5)
            await turns(300)
            assert sorted(id for _, id, _ in host.rooms.runs) == ids
            assert host.scheduler.pending() == []

    run(test())


def test_alarms_run_in_the_order_of_their_times(opened: Opener) -> None:
    async def test() -> None:
        async with opened(attach=False) as host:
            for id, second in (("c", 3), ("a", 1), ("b", 2)):
                await host.scheduler.schedule(key(id), at(second))
            await host.clock.advance(5)
            host.scheduler.attach("rooms", host.rooms)
            await turns()
            assert [id for _, id, _ in host.rooms.runs] == ["a", "b", "c"]

    run(test())


def test_concurrency_is_bounded(opened: Opener) -> None:
    async def test() -> None:
        async with opened(concurrency=10) as host:
            released = asyncio.Event()

            async def wait(_run: AlarmRun) -> Outcome:
                await released.wait()
                return Completed(None)

            host.rooms.outcome = wait
            await asyncio.gather(*(host.scheduler.schedule(key(str(n)), at(1)) for n in range(100)))
            await host.clock.advance(1)
            await turns()
            assert host.rooms.running == 10
            released.set()
            await turns(200)
            assert len(host.rooms.runs) == 100
            assert host.rooms.most_running == 10

    run(test())


def test_other_work_has_its_turn_between_many_due_alarms(opened: Opener) -> None:
    async def test() -> None:
        async with opened(starts_per_turn=16) as host:
            await asyncio.gather(*(host.scheduler.schedule(key(str(n)), at(1)) for n in range(400)))
            seen: list[int] = []

            async def other_work() -> None:
                while len(host.rooms.runs) < 400:
                    seen.append(len(host.rooms.runs))
                    await asyncio.sleep(0)

            await asyncio.gather(host.clock.advance(1), other_work())
            steps = [later - earlier for earlier, later in itertools.pairwise(seen)]
            assert max(steps) <= 16

    run(test())


def test_runs_of_one_object_never_overlap(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            released = asyncio.Event()

            async def wait(_run: AlarmRun) -> Outcome:
                await released.wait()
                return Completed(at(2) if len(host.rooms.runs) == 1 else None)

            host.rooms.outcome = wait
            await host.scheduler.schedule(key(), at(1))
            await host.clock.advance(1)
            await host.scheduler.schedule(key(), at(2))
            await host.clock.advance(10)
            assert len(host.rooms.runs) == 1
            released.set()
            await turns()
            assert host.rooms.times() == [1, 11]
            assert host.rooms.most_running == 1

    run(test())


def test_a_run_does_not_inherit_the_context_of_who_asked_for_it(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            seen: list[str] = []

            async def note(_run: AlarmRun) -> Outcome:
                seen.append(_current.get("nobody"))
                return Completed(None)

            host.rooms.outcome = note
            _current.set("the worker that asked")
            await host.scheduler.schedule(key(), at(-1))
            await turns()
            assert seen == ["nobody"]

    run(test())


def test_an_object_that_declines_is_woken_at_the_time_it_names(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:

            async def decline(run: AlarmRun) -> Outcome:
                return Declined(at(7)) if run.time == at(3) else Completed(None)

            host.rooms.outcome = decline
            await host.scheduler.schedule(key(), at(3))
            await host.clock.advance(20)
            assert host.rooms.times() == [3, 7]

    run(test())


def test_alarms_of_a_namespace_that_nobody_attached_are_kept(opened: Opener) -> None:
    async def test() -> None:
        async with opened(attach=False) as host:
            await host.scheduler.schedule(key(), at(1))
            await host.clock.advance(1_000)
            ((namespace, alarms, earliest),) = host.scheduler.pending()
            assert (namespace, alarms, earliest) == ("rooms", 1, at(1))
            host.scheduler.attach("rooms", host.rooms)
            await turns()
            assert host.rooms.times() == [1_000]

    run(test())


def test_a_detached_namespace_does_not_hold_up_another(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            for n in range(600):
                host.scheduler.schedule(key(str(n), "gone"), at(0))
            await host.scheduler.schedule(key(), at(1))
            await host.clock.advance(1)
            assert host.rooms.times() == [1]

    run(test())


def test_a_reload_runs_each_alarm_once_in_the_newest_code(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            newest = type(host.rooms)(host.clock)
            await host.scheduler.schedule(key(), at(5))
            await host.clock.advance(3)
            host.scheduler.detach("rooms")
            await host.clock.advance(4)
            host.scheduler.attach("rooms", newest)
            await turns()
            assert host.rooms.runs == []
            assert newest.times() == [7]

    run(test())


def test_a_run_that_outlives_its_namespace_is_not_doubled(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            released = asyncio.Event()

            async def wait(_run: AlarmRun) -> Outcome:
                await released.wait()
                return Completed(None)

            newest = type(host.rooms)(host.clock)
            host.rooms.outcome = wait
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(1)
            host.scheduler.attach("rooms", newest)
            await turns()
            assert newest.runs == []
            released.set()
            await turns()
            assert len(newest.runs) == 1

    run(test())


def test_after_close_nothing_is_accepted(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            await host.scheduler.close()
            with pytest.raises(ClosedError, match="has been closed"):
                await host.scheduler.schedule(key(), at(1))

    run(test())


def test_close_ends_what_is_running_and_keeps_its_alarm(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:

            async def wait(_run: AlarmRun) -> Outcome:
                await asyncio.Event().wait()
                raise AssertionError

            host.rooms.outcome = wait
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(1)
            assert host.rooms.running == 1
        async with opened() as host:
            await host.clock.advance(1)
            assert len(host.rooms.runs) == 1

    run(test())


def test_requests_made_before_close_are_written(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            request = host.scheduler.schedule(key(), at(5))
        await request
        async with opened() as host:
            assert host.scheduler.pending()[0].earliest == at(5)

    run(test())
