"""Calls that begin in the task that awaits them, or by themselves."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyflare.js.deferred import CallLine


def run(program: Callable[[CallLine, list[Any]], Awaitable[Any]]) -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    async def main() -> Any:
        return await program(CallLine(), seen)

    return asyncio.run(main()), seen


async def work(seen: list[Any], name: str, turns: int = 0) -> str:
    seen.append((name, asyncio.current_task()))
    for _ in range(turns):
        await asyncio.sleep(0)
    return name


def names(seen: list[Any]) -> list[str]:
    return [name for name, _ in seen]


def test_a_call_that_is_awaited_at_once_runs_in_the_callers_task() -> None:
    async def program(line: CallLine, seen: list[Any]) -> bool:
        await line.call(work(seen, "a"))
        return seen[0][1] is asyncio.current_task()

    assert run(program)[0] is True


def test_a_call_that_waits_for_another_turn_has_a_task_of_its_own() -> None:
    async def program(line: CallLine, seen: list[Any]) -> tuple[bool, str]:
        call = line.call(work(seen, "a"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return seen[0][1] is asyncio.current_task(), await call

    assert run(program)[0] == (False, "a")


def test_calls_begin_in_order_however_they_are_awaited() -> None:
    async def program(line: CallLine, seen: list[Any]) -> list[str]:
        first, second, third = (line.call(work(seen, name)) for name in "abc")
        return [await third, await first, await second]

    result, seen = run(program)
    assert (result, names(seen)) == (["c", "a", "b"], ["a", "b", "c"])


@pytest.mark.parametrize(
    "wait",
    [
        lambda call: asyncio.gather(call),
        lambda call: asyncio.wait([call]),
        lambda call: asyncio.wait_for(call, 1),
        lambda call: asyncio.shield(call),
        lambda call: call.then(lambda value: value),
    ],
    ids=["gather", "wait", "wait_for", "shield", "then"],
)
def test_asyncio_takes_it_for_a_future(wait: Callable[[Any], Awaitable[Any]]) -> None:
    async def program(line: CallLine, seen: list[Any]) -> str:
        call = line.call(work(seen, "a", 2))
        await wait(call)
        return call.result()  # type: ignore[no-any-return]

    assert run(program)[0] == "a"


def test_a_call_that_is_cancelled_before_it_begins_is_never_made() -> None:
    async def program(line: CallLine, seen: list[Any]) -> str:
        call = line.call(work(seen, "a"))
        call.cancel()
        await asyncio.sleep(0)
        result: str = await line.call(work(seen, "b"))
        return result

    result, seen = run(program)
    assert (result, names(seen)) == ("b", ["b"])


def test_a_call_that_is_cancelled_before_its_task_runs_is_never_made() -> None:
    async def program(line: CallLine, seen: list[Any]) -> bool:
        first = line.call(work(seen, "a"))
        second = line.call(work(seen, "b"))
        first.cancel()
        await second
        await asyncio.sleep(0)
        await line.call(work(seen, "c"))
        return seen[-1][1] is asyncio.current_task()

    result, seen = run(program)
    assert (result, names(seen)) == (True, ["b", "c"])


def test_a_failure_can_be_seen_again() -> None:
    async def fail() -> None:
        raise ValueError("no")

    async def program(line: CallLine, seen: list[Any]) -> list[str]:
        call = line.call(fail())
        texts = []
        for _ in range(2):
            try:
                await call
            except ValueError as error:
                texts.append(str(error))
        return texts

    assert run(program)[0] == ["no", "no"]


def test_cancelling_the_caller_ends_the_call_that_runs_in_its_task() -> None:
    async def program(line: CallLine, seen: list[Any]) -> bool:
        call = line.call(work(seen, "a", 1000))
        task = asyncio.ensure_future(_await(call))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return call.cancelled()

    assert run(program)[0] is True


async def _await(call: Any) -> Any:
    return await call
