"""Failing alarms: when they are tried again, and when they are given up."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any

import pytest

from pyflare_bindings.objects import AlarmRun, Completed, Failed, Outcome

from .conftest import Opener, at, key


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


def failing(counted: bool = True, **options: Any) -> Any:
    async def fail(_run: AlarmRun) -> Outcome:
        return Failed(counted=counted, **options)

    return fail


def test_a_failing_alarm_is_tried_seven_times_and_given_up(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            host.rooms.outcome = failing()
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(0)
            await host.clock.advance(1_000)
            assert host.rooms.times() == [0, 2, 6, 14, 30, 62, 126]
            assert [count for _, _, count in host.rooms.runs] == [0, 1, 2, 3, 4, 5, 6]
            assert host.rooms.abandoned == [key()]
            assert host.scheduler.pending() == []

    run(test())


def test_a_delay_has_at_most_a_quarter_of_jitter(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            host.scheduler._random.random = lambda: 1.0
            host.rooms.outcome = failing()
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(0)
            await host.clock.advance(8)
            assert host.rooms.times() == [0, 2.5, 7.5]

    run(test())


def test_failures_that_do_not_count_are_retried_without_end(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            host.rooms.outcome = failing(counted=False)
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(0)
            await host.clock.advance(20_000)
            waits = [b - a for a, b in itertools.pairwise(host.rooms.times())]
            assert waits[:10] == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
            assert set(waits[10:]) == {1024}
            assert {count for _, _, count in host.rooms.runs} == {0}
            assert host.rooms.abandoned == []

    run(test())


def test_the_first_counted_failure_begins_the_waits_anew(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:

            async def fail(_run: AlarmRun) -> Outcome:
                return Failed(counted=len(host.rooms.runs) > 3)

            host.rooms.outcome = fail
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(0)
            await host.clock.advance(25)
            assert host.rooms.times() == [0, 2, 6, 14, 16, 20]

    run(test())


def test_a_runner_that_raises_is_retried(opened: Opener, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with opened() as host:

            async def fail(_run: AlarmRun) -> Outcome:
                if len(host.rooms.runs) == 1:
                    raise RuntimeError("no such class")
                return Completed(None)

            host.rooms.outcome = fail
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(3)
            assert [count for _, _, count in host.rooms.runs] == [0, 0]

    run(test())
    assert "no such class" in caplog.text


def test_a_failure_that_must_not_be_retried_is_given_up(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            host.rooms.outcome = failing(retry=False)
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(100)
            assert host.rooms.abandoned == [key()]

    run(test())


def test_an_abandoned_object_keeps_the_alarm_it_names(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            host.rooms.outcome = failing(retry=False)
            host.rooms.left = lambda: at(50)
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(49)
            assert host.scheduler.pending()[0].earliest == at(50)

    run(test())


def test_a_time_set_while_an_object_is_abandoned_is_kept(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            host.rooms.outcome = failing(retry=False)

            def set_meanwhile() -> None:
                host.scheduler.schedule(key(), at(50))

            host.rooms.left = set_meanwhile
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(49)
            assert host.scheduler.pending()[0].earliest == at(50)

    run(test())


def test_an_object_that_cannot_be_told_is_tried_after_a_restart(
    opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with opened() as host:
            host.rooms.outcome = failing(retry=False)

            def unreachable() -> None:
                raise RuntimeError("gone")

            host.rooms.left = unreachable
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(10_000)
            assert len(host.rooms.runs) == 1
        async with opened() as host:
            await host.clock.advance(0)
            assert len(host.rooms.runs) == 1

    run(test())
    assert "could not be told" in caplog.text


def test_another_time_ends_the_retries(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            host.rooms.outcome = failing()
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(1)
            await host.scheduler.schedule(key(), at(60))
            await host.clock.advance(60)
            assert host.rooms.runs == [(0, "a", 0), (60, "a", 0)]

    run(test())


def test_the_same_time_again_lets_the_retries_go_on(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            host.rooms.outcome = failing()
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(1)
            await host.scheduler.schedule(key(), at(0))
            await host.clock.advance(1)
            assert host.rooms.runs == [(0, "a", 0), (2, "a", 1)]

    run(test())
