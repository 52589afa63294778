"""The comparison of the scheduler's table with the objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from pyflare_bindings.objects import ObjectKey

from .conftest import Opener, at, key


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


async def stored(
    *pairs: tuple[ObjectKey, int | None],
) -> AsyncIterator[tuple[ObjectKey, int | None]]:
    for pair in pairs:
        yield pair


def test_the_comparison_mends_what_differs(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            for id, second in (("late", 50), ("early", 5), ("right", 9), ("none", 7), ("other", 8)):
                await host.scheduler.schedule(key(id), at(second))
            mended = await host.scheduler.compare(
                stored(
                    (key("late"), at(20)),
                    (key("early"), at(20)),
                    (key("right"), at(9)),
                    (key("none"), None),
                    (key("missing"), at(3)),
                )
            )
            ids = ["late", "early", "right", "none", "missing", "other"]
            times = host.table.times([key(id) for id in ids])
            assert mended == 4
            assert times == [at(20), at(20), at(9), None, at(3), at(8)]

    run(test())


def test_the_comparison_twice_mends_nothing_more(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:
            pairs = [(key(str(n)), at(n + 1)) for n in range(1_200)]
            assert await host.scheduler.compare(stored(*pairs)) == 1_200
            assert await host.scheduler.compare(stored(*pairs)) == 0

    run(test())


def test_what_an_object_asks_for_during_the_comparison_counts(opened: Opener) -> None:
    async def test() -> None:
        async with opened() as host:

            async def pairs() -> AsyncIterator[tuple[ObjectKey, int | None]]:
                yield key(), at(50)
                await host.scheduler.schedule(key(), at(20))
                yield key("b"), at(30)

            assert await host.scheduler.compare(pairs()) == 1
            assert host.table.times([key(), key("b")]) == [at(20), at(30)]

    run(test())
