"""What JavaScript's promises make of Python's coroutines, tasks and exceptions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.error import JsException, TypeError_
from pyflare.js.promise import Promise, resolved

DESTROYED = "Error: This borrowed proxy was automatically destroyed when an iterator was exhausted."

COLLECTIONS: list[Callable[[Any], Any]] = [
    lambda each: [each],
    lambda each: (each,),
    lambda each: {each: 1},
    lambda each: {"a": each}.values(),
]


async def failure(work: Callable[[], Any]) -> JsException:
    with pytest.raises(JsException) as caught:
        await work()
    return caught.value


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_promises_in_a_python_collection_are_gone_when_they_are_waited_for(
    collection: Callable[[Any], Any],
) -> None:
    async def main() -> None:
        error = await failure(lambda: Promise.all(collection(resolved(1))))
        assert str(error).startswith(DESTROYED)
        error = await failure(lambda: Promise.race(collection(resolved(1))))
        assert str(error).startswith(DESTROYED)
        error = await failure(lambda: Promise.any(collection(resolved(1))))
        assert error.name == "AggregateError"
        settled = (await Promise.allSettled(collection(resolved(1))))[0]
        assert settled.status == "rejected"
        assert str(settled.reason).startswith(DESTROYED)

    asyncio.run(main())


def test_a_task_in_a_python_list_goes_on_by_itself() -> None:
    async def main() -> None:
        task = asyncio.ensure_future(asyncio.sleep(0, "done"))
        await failure(lambda: Promise.all([task]))
        assert await task == "done"

    asyncio.run(main())


def test_a_plain_value_of_a_python_list_wins_over_what_is_gone() -> None:
    async def main() -> None:
        assert await Promise.race([resolved(1), 5]) == 5
        assert await Promise.any([resolved(1), 5]) == 5
        assert list(await Promise.all([1, "a"])) == [1, "a"]

    asyncio.run(main())


def test_what_is_no_borrowed_collection_keeps_its_promises() -> None:
    async def main() -> None:
        arrays = JsArray.adopt([resolved(1), asyncio.sleep(0, 2), 3])
        assert list(await Promise.all(arrays)) == [1, 2, 3]
        assert list(await Promise.all(resolved(n) for n in (1, 2))) == [1, 2]
        assert list(await Promise.all(map(resolved, (1, 2)))) == [1, 2]

    asyncio.run(main())


def test_a_promise_that_javascript_constructed_is_no_borrowed_one() -> None:
    async def main() -> None:
        made = Promise.new(lambda resolve, _reject: resolve(4))
        assert list(await Promise.all([made])) == [4]

    asyncio.run(main())


async def fails() -> None:
    raise KeyError("k")


def raises(*_: Any) -> None:
    raise KeyError("k")


def started(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.ensure_future(work)


WAYS: list[Callable[[], Any]] = [
    lambda: Promise.resolve(fails()),
    lambda: Promise.resolve(started(fails())),
    lambda: Promise.new(raises),
    lambda: Promise.new(lambda resolve, _reject: resolve(fails())),
    lambda: Promise.all(JsArray.adopt([fails()])),
    lambda: Promise.race(JsArray.adopt([fails()])),
]


@pytest.mark.parametrize("way", WAYS)
def test_an_exception_of_python_arrives_as_javascripts_error(way: Callable[[], Any]) -> None:
    async def main() -> None:
        error = await failure(way)
        assert error.name == "PythonError"
        assert str(error).endswith("KeyError: 'k'\n")

    asyncio.run(main())


def test_an_exception_of_python_is_a_reason_of_all_settled() -> None:
    async def main() -> None:
        settled = (await Promise.allSettled(JsArray.adopt([fails()])))[0]
        assert isinstance(settled.reason, JsException)

    asyncio.run(main())


def test_an_error_of_javascript_and_a_callbacks_exception_stay_what_they_are() -> None:
    async def main() -> None:
        error = TypeError_("no")

        async def work() -> None:
            raise error

        assert await failure(lambda: Promise.resolve(work())) is error
        with pytest.raises(KeyError):
            await resolved(1).then(raises)
        with pytest.raises(KeyError):
            await Promise.reject(KeyError("k"))

    asyncio.run(main())
