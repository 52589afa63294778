"""The clock that goes by itself and can be put forward."""

import asyncio
import time
from contextvars import ContextVar
from typing import Any

import pytest

from pyflare_bindings.adjustable_clock import AdjustableClock


def test_it_goes_with_the_machine_until_it_is_put_forward() -> None:
    async def go() -> Any:
        clock = AdjustableClock()
        before = clock.now() - time.time(), clock.monotonic() - time.monotonic()
        await clock.advance(90, minutes=1)
        return before, clock.now() - time.time(), clock.monotonic() - time.monotonic()

    (wall, steady), later_wall, later_steady = asyncio.run(go())
    assert (round(wall), round(steady)) == (0, 0)
    assert (round(later_wall), round(later_steady)) == (150, 150)


def test_timers_ring_by_themselves() -> None:
    async def go() -> float:
        clock = AdjustableClock()
        began = time.monotonic()
        await clock.sleep(0.01)
        return time.monotonic() - began

    assert 0.005 < asyncio.run(go()) < 5


def test_timers_ring_in_order_of_time_when_it_is_put_forward() -> None:
    async def go() -> list[tuple[str, int]]:
        clock = AdjustableClock()
        start = clock.monotonic()
        rang: list[tuple[str, int]] = []

        def ring(name: str) -> None:
            rang.append((name, round(clock.monotonic() - start)))

        clock.call_later(30, lambda: ring("b"))
        clock.call_later(10, lambda: ring("a"))
        clock.call_later(30, lambda: ring("c"))
        clock.call_later(61, lambda: ring("not yet"))
        await clock.advance(60)
        return rang

    assert asyncio.run(go()) == [("a", 10), ("b", 30), ("c", 30)]


def test_what_a_timer_books_rings_too_if_it_is_due() -> None:
    async def go() -> int:
        clock = AdjustableClock()
        rang = 0

        def ring() -> None:
            nonlocal rang
            rang += 1
            clock.call_later(10, ring)

        clock.call_later(10, ring)
        await clock.advance(35)
        return rang

    assert asyncio.run(go()) == 3


def test_timers_that_are_not_due_yet_wait_for_the_rest_of_their_time() -> None:
    async def go() -> float:
        clock = AdjustableClock()
        sleeping = asyncio.ensure_future(clock.sleep(60))
        await asyncio.sleep(0)
        await clock.advance(59.98)
        began = time.monotonic()
        await sleeping
        return time.monotonic() - began

    assert asyncio.run(go()) < 5


def test_a_cancelled_timer_never_rings() -> None:
    async def go() -> list[str]:
        clock, rang = AdjustableClock(), []
        timer = clock.call_later(1, lambda: rang.append("rang"))
        timer.cancel()
        timer.cancel()
        await clock.advance(2)
        return rang

    assert asyncio.run(go()) == []


def test_a_timer_rings_once_however_it_comes() -> None:
    async def go() -> list[int]:
        clock, rang = AdjustableClock(), []
        clock.call_later(0.001, lambda: rang.append(1))
        await clock.advance(0.001)
        await asyncio.sleep(0.01)
        return rang

    assert asyncio.run(go()) == [1]


def test_a_timer_rings_in_the_context_it_was_booked_in() -> None:
    name: ContextVar[str] = ContextVar("name")

    async def go() -> list[str]:
        clock, seen = AdjustableClock(), []
        name.set("booked")
        clock.call_later(1, lambda: seen.append(name.get()))
        name.set("turned")
        await clock.advance(1)
        return seen

    assert asyncio.run(go()) == ["booked"]


def test_no_sleep_is_one_turn() -> None:
    async def go() -> None:
        await AdjustableClock().sleep(0)

    asyncio.run(go())


def test_it_cannot_be_turned_back() -> None:
    with pytest.raises(ValueError, match="cannot be turned back"):
        asyncio.run(AdjustableClock().advance(-1))


def test_what_waits_in_place_of_turns_is_asked_between_the_timers() -> None:
    async def go() -> list[str]:
        clock, seen = AdjustableClock(), []

        async def settle() -> None:
            seen.append("settled")

        clock.call_later(1, lambda: seen.append("rang"))
        await clock.advance(2, settle=settle)
        return seen

    assert asyncio.run(go()) == ["settled", "rang", "settled"]
