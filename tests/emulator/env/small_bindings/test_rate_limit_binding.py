"""`env.LIMITER`, through the SDK and raw."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Bench, Surroundings

CONFIG: dict[str, Any] = {
    "ratelimits": [
        {"name": "TWO", "namespace_id": "1", "simple": {"limit": 2, "period": 10}},
        {"name": "FIVE", "namespace_id": "1", "simple": {"limit": 5, "period": 10}},
        {"name": "ELSEWHERE", "namespace_id": "2", "simple": {"limit": 1, "period": 60}},
    ]
}


@pytest.mark.parametrize("style", ["dict", "keyword"])
def test_it_says_whether_a_call_is_within_the_limit(bench: Bench, style: str) -> None:
    async def program(around: Surroundings) -> Any:
        limiter = around.env.TWO
        calls = [
            limiter.limit({"key": "k"}) if style == "dict" else limiter.limit(key="k")
            for _ in range(3)
        ]
        return [(await call).success for call in calls]

    assert bench(program, **CONFIG) == [True, True, False]


def test_the_next_window_begins_anew(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        results = [(await around.env.TWO.limit(key="k")).success for _ in range(3)]
        await around.clock.advance(10)
        return [*results, (await around.env.TWO.limit(key="k")).success]

    assert bench(program, **CONFIG) == [True, True, False, True]


def test_entries_of_one_namespace_share_their_counters(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        for _ in range(3):
            await around.env.FIVE.limit(key="k")
        return (await around.env.TWO.limit(key="k")).success, (
            await around.env.ELSEWHERE.limit(key="k")
        ).success

    assert bench(program, **CONFIG) == (False, True)


def test_without_a_key_all_calls_count_together(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        await around.env.ELSEWHERE.limit({})
        return (await around.env.ELSEWHERE.limit({"key": ""})).success

    assert bench(program, **CONFIG) is False


def test_a_call_may_have_its_own_limit_and_period(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        for _ in range(2):
            await around.env.TWO.limit(key="k")
        return (
            (await around.env.TWO.limit(key="k", limit=3)).success,
            (await around.env.TWO.limit(key="k", period=60)).success,
        )

    assert bench(program, **CONFIG) == (True, True)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("text", "invalid rate limit options"),
        (None, "invalid rate limit options"),
        (5, "invalid rate limit options"),
        ({"kay": "k", "lim": 1}, "bad rate limit options: [kay,lim]"),
        ({"key": 5}, "invalid key: 5"),
        ({"key": None}, "invalid key: null"),
        ({"key": "k", "limit": "3"}, "limit must be a number: 3"),
        ({"key": "k", "period": "10"}, "period must be a number: 10"),
        ({"key": "k", "period": 30}, "unsupported period: 30"),
    ],
)
def test_wrong_options_have_the_platforms_texts(bench: Bench, options: Any, text: str) -> None:
    async def program(around: Surroundings) -> Any:
        await around.env.TWO.limit(options)

    assert bench.error(program, **CONFIG) == f"Error: {text}"


def test_raw_it_takes_an_object_and_gives_one(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        from js import Object
        from pyodide.ffi import to_js

        options = to_js({"key": "k"}, dict_converter=Object.fromEntries)
        result = await around.raw.TWO.limit(options)
        return result.constructor.name, result.success

    assert bench(program, **CONFIG) == ("Object", True)


def test_a_file_that_cannot_be_used_is_named(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        path = around.registry.rate_limit("1").path
        path.parent.mkdir(parents=True)
        path.write_bytes(b"no database" * 100)
        await around.env.TWO.limit(key="k")

    text = bench.error(program, **CONFIG)
    assert text.startswith("Error: The rate limit could not be counted: ")
    assert "not a SQLite database" in text


def test_it_may_be_declared_as_it_was_before_general_availability(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        named, other, own = around.env.OLD, around.env.TWO, around.env.NAMELESS
        return [(await each.limit(key="k")).success for each in (named, other, named, own)]

    simple = {"limit": 2, "period": 10}
    unsafe = [
        {"name": "OLD", "type": "ratelimit", "namespace_id": "1", "simple": simple},
        {"name": "NAMELESS", "type": "ratelimit", "simple": simple},
    ]
    config = {**CONFIG, "unsafe": {"bindings": unsafe}}
    assert bench(program, **config) == [True, True, False, True]
