"""A worker's code runs from its first step to its last in one task, which `asyncio.timeout` and its like hold on to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from pyflare.js.array import JsArray
from pyflare.js.error import JsException
from pyflare.js.promise import JsPromise, Promise, resolved

Begin = Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]


def by_then(work: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
    return resolved(1).then(lambda _: work())


def by_catch(work: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
    return Promise.reject(ValueError("x")).catch(lambda _: work())


def by_finally(work: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
    return resolved(1).finally_(work)


def by_resolve(work: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
    return Promise.resolve(work())  # type: ignore[no-any-return]


def by_all(work: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
    return Promise.all(JsArray.adopt([work()]))


def by_executor(work: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
    return Promise.new(lambda resolve, _reject: resolve(work()))  # type: ignore[no-any-return]


EVERY_WAY = pytest.mark.parametrize(
    "begin", [by_then, by_catch, by_finally, by_resolve, by_all, by_executor]
)


@EVERY_WAY
def test_a_time_out_ends_the_code_it_surrounds_and_not_its_caller(begin: Begin) -> None:
    async def work() -> None:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    async def main() -> str:
        try:
            await begin(work)
        except (TimeoutError, JsException) as error:
            return "timed out" if "TimeoutError" in repr(error) else "failed"
        return "went on"

    assert asyncio.run(main()) == "timed out"


@EVERY_WAY
def test_a_scope_of_anyio_is_left_in_the_task_it_was_entered_in(begin: Begin) -> None:
    ended: list[bool] = []

    async def work() -> None:
        with anyio.move_on_after(0) as scope:
            await asyncio.Event().wait()
        ended.append(scope.cancelled_caught)

    async def main() -> None:
        await begin(work)

    asyncio.run(main())
    assert ended == [True]


def test_a_callback_is_not_called_before_then_has_returned() -> None:
    async def main() -> list[str]:
        order: list[str] = []
        promise = resolved(1).then(lambda _: order.append("callback"))
        order.append("after then")
        await promise
        return order

    assert asyncio.run(main()) == ["after then", "callback"]


def test_a_value_that_is_not_awaitable_is_resolved_at_once() -> None:
    async def main() -> Any:
        promise = Promise.resolve(5)
        assert isinstance(promise, JsPromise)
        assert promise.done()
        return await promise

    assert asyncio.run(main()) == 5
