"""Counting calls per key and window."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError, StateError

Program = Callable[[BindingRegistry, ManualClock], Awaitable[Any]]


def run(root: Path, program: Program, durability: Any = "process") -> Any:
    clock = ManualClock()

    async def main() -> Any:
        registry = BindingRegistry(root, clock=clock, durability=durability)
        try:
            return await program(registry, clock)
        finally:
            await registry.close()

    return asyncio.run(main())


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_calls_up_to_the_limit_pass(tmp_path: Path, durability: str) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        limiter = registry.rate_limit("1")
        return [await limiter.limit("k", 3, 10) for _ in range(5)]

    assert run(tmp_path, program, durability) == [True, True, True, False, False]


def test_a_window_ends_at_a_multiple_of_its_period(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, clock: ManualClock) -> Any:
        limiter = registry.rate_limit("1")
        await clock.advance(9.5)
        first = await limiter.limit("k", 1, 10)
        await clock.advance(0.4)
        second = await limiter.limit("k", 1, 10)
        await clock.advance(0.1)
        return first, second, await limiter.limit("k", 1, 10)

    assert run(tmp_path, program) == (True, False, True)


def test_refused_calls_do_not_count(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        limiter = registry.rate_limit("1")
        for _ in range(5):
            await limiter.limit("k", 1, 10)
        return await limiter.limit("k", 2, 10)

    assert run(tmp_path, program) is True


@pytest.mark.parametrize(
    ("other", "passes"),
    [
        (("1", "k", 10), False),
        (("1", "other", 10), True),
        (("1", "k", 60), True),
        (("2", "k", 10), True),
    ],
)
def test_a_counter_belongs_to_a_namespace_a_key_and_a_period(
    tmp_path: Path, other: tuple[str, str, int], passes: bool
) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        await registry.rate_limit("1").limit("k", 1, 10)
        namespace, key, period = other
        return await registry.rate_limit(namespace).limit(key, 1, period)

    assert run(tmp_path, program) is passes


@pytest.mark.parametrize(
    ("limit", "passed"),
    [(0, 0), (-1, 0), (0.5, 1), (1.5, 2), (float("inf"), 4), (float("nan"), 4), (2**70, 4)],
)
def test_the_limit_may_be_any_number(tmp_path: Path, limit: float, passed: int) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        limiter = registry.rate_limit("1")
        return sum([await limiter.limit("k", limit, 10) for _ in range(4)])

    assert run(tmp_path, program) == passed


def test_counters_survive_a_restart(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        return await registry.rate_limit("1").limit("k", 1, 60)

    assert [run(tmp_path, program) for _ in range(2)] == [True, False]


def test_counters_of_windows_that_are_over_are_removed(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, clock: ManualClock) -> Any:
        limiter = registry.rate_limit("1")
        for key in range(50):
            await limiter.limit(str(key), 1, 10)
        await clock.advance(10)
        await limiter.limit("new", 1, 10)
        return limiter._rows.read("SELECT count(*) FROM buckets").get

    assert run(tmp_path, program) == 1


def test_reset_forgets_everything(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        limiter = registry.rate_limit("1")
        await limiter.limit("k", 1, 10)
        await limiter.reset()
        return await limiter.limit("k", 1, 10)

    assert run(tmp_path, program) is True


def test_concurrent_calls_never_pass_more_than_the_limit(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        limiter = registry.rate_limit("1")
        return sum(await asyncio.gather(*[limiter.limit("k", 7, 10) for _ in range(40)]))

    assert run(tmp_path, program) == 7


def test_it_is_refused_after_close(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        limiter = registry.rate_limit("1")
        await limiter.close()
        with pytest.raises(ClosedError):
            await limiter.limit("k", 1, 10)

    run(tmp_path, program)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry, _: ManualClock) -> Any:
        limiter = registry.rate_limit("1")
        limiter.path.parent.mkdir(parents=True)
        limiter.path.write_bytes(b"no database" * 100)
        with pytest.raises(StateError, match=limiter.path.name):
            await limiter.limit("k", 1, 10)

    run(tmp_path, program)


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.integers(0, 4),
            st.sampled_from([10, 60]),
            st.integers(0, 15),
        ),
        max_size=30,
    )
)
def test_it_agrees_with_a_model(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, int, int, int]]
) -> None:
    async def program(registry: BindingRegistry, clock: ManualClock) -> Any:
        limiter = registry.rate_limit("1")
        counts: dict[tuple[str, int, int], int] = {}
        for key, limit, period, pause in calls:
            await clock.advance(pause)
            bucket = (key, period, int(clock.now() // period))
            expected = counts.get(bucket, 0) < limit
            assert await limiter.limit(key, limit, period) is expected
            if expected:
                counts[bucket] = counts.get(bucket, 0) + 1

    run(tmp_path_factory.mktemp("state"), program)
