"""The clocks that owners take their time from."""

from __future__ import annotations

import asyncio
import time

import pytest

from pyflare_bindings.clock import ManualClock, SystemClock


def test_system_clock_tells_the_time_of_the_machine() -> None:
    assert SystemClock().now() == pytest.approx(time.time(), abs=1)


def test_system_clock_runs_a_callback_later() -> None:
    async def scenario() -> None:
        called = asyncio.Event()
        SystemClock().call_later(0.001, called.set)
        await asyncio.wait_for(called.wait(), 5)

    asyncio.run(scenario())


def test_manual_clock_stands_still_until_it_is_turned() -> None:
    clock = ManualClock(start=1000.0)

    async def scenario() -> tuple[float, float]:
        before = clock.now()
        await clock.advance(seconds=5, minutes=1)
        return before, clock.now()

    assert asyncio.run(scenario()) == (1000.0, 1065.0)


def test_manual_clock_wakes_sleepers_in_the_order_of_their_times() -> None:
    clock = ManualClock()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    async def scenario() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(sleeper("late", 20))
            group.create_task(sleeper("early", 10))
            await asyncio.sleep(0)
            await clock.advance(15)
            assert woken == [("early", 10.0)]
            await clock.advance(15)

    asyncio.run(scenario())
    assert woken == [("early", 10.0), ("late", 20.0)]


def test_a_timer_booked_by_a_timer_runs_within_the_same_advance() -> None:
    clock = ManualClock()
    ran: list[float] = []

    def tick() -> None:
        ran.append(clock.monotonic())
        if len(ran) < 3:
            clock.call_later(10, tick)

    async def scenario() -> None:
        clock.call_later(10, tick)
        await clock.advance(minutes=1)

    asyncio.run(scenario())
    assert ran == [10.0, 20.0, 30.0]


def test_a_cancelled_timer_does_not_run() -> None:
    clock = ManualClock()
    ran: list[None] = []

    async def scenario() -> None:
        clock.call_later(1, lambda: ran.append(None)).cancel()
        await clock.advance(10)

    asyncio.run(scenario())
    assert ran == []


def test_a_cancelled_sleeper_leaves_the_clock_usable() -> None:
    clock = ManualClock()

    async def scenario() -> None:
        task = asyncio.create_task(clock.sleep(10))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await clock.advance(20)

    asyncio.run(scenario())
    assert clock.monotonic() == 20.0


def test_a_manual_clock_cannot_be_turned_back() -> None:
    with pytest.raises(ValueError, match="turned back"):
        asyncio.run(ManualClock().advance(-1))
