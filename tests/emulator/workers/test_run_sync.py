"""`run_sync`: synchronous code that waits, and everything that may happen meanwhile."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyflare.workers.carriers import CarrierPool
from pyflare.workers.suspend import can_run_sync, run_sync


def drive(coroutine: Any) -> Any:
    """Runs a coroutine so that it may use run_sync."""
    pool = CarrierPool()

    async def main() -> Any:
        return await pool.drive(coroutine)

    try:
        return asyncio.run(main())
    finally:
        pool.close()
        assert pool.suspended_count == 0


async def answer(value: Any = 42) -> Any:
    await asyncio.sleep(0)
    return value


async def immediate(value: Any = 42) -> Any:
    return value


class Custom:
    def __await__(self) -> Generator[Any, Any, str]:
        yield from asyncio.sleep(0).__await__()
        return "custom"


def test_a_coroutine_gives_its_result() -> None:
    async def main() -> Any:
        return run_sync(answer())

    assert drive(main()) == 42


def test_a_coroutine_that_never_waits_gives_its_result() -> None:
    async def main() -> Any:
        return run_sync(immediate())

    assert drive(main()) == 42


@pytest.mark.parametrize("done_before", [True, False])
def test_a_future_gives_its_result(done_before: bool) -> None:
    async def main() -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        if done_before:
            future.set_result(7)
        else:
            loop.call_soon(future.set_result, 7)
        return run_sync(future)

    assert drive(main()) == 7


def test_a_task_gives_its_result() -> None:
    async def main() -> Any:
        return run_sync(asyncio.create_task(answer("task")))

    assert drive(main()) == "task"


def test_gathered_awaitables_give_their_results() -> None:
    async def main() -> Any:
        return run_sync(asyncio.gather(answer(1), answer(2), asyncio.sleep(0)))

    assert drive(main()) == [1, 2, None]


def test_any_object_with_await_gives_its_result() -> None:
    async def main() -> Any:
        return run_sync(Custom())

    assert drive(main()) == "custom"


def test_something_that_cannot_be_awaited_is_refused() -> None:
    async def main() -> Any:
        return run_sync(7)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match=r"^object int is not awaitable$"):
        drive(main())


@pytest.mark.parametrize("place", ["thread", "task", "plain code"])
def test_code_that_cannot_be_suspended_is_refused(place: str) -> None:
    caught: list[BaseException] = []

    def attempt() -> None:
        try:
            run_sync(answer())
        except RuntimeError as error:
            caught.append(error)

    async def main() -> None:
        attempt()

    if place == "thread":
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
    elif place == "task":
        asyncio.run(main())
    else:
        attempt()
    assert str(caught[0]) == (
        "Cannot stack switch because the Python entrypoint was a synchronous function. "
        "Use pyFunc.callPromising() to fix."
    )


def test_whether_code_can_be_suspended_is_known_beforehand() -> None:
    async def main() -> bool:
        return can_run_sync()

    assert drive(main())
    assert not asyncio.run(main())
    assert not can_run_sync()


def test_other_tasks_run_meanwhile() -> None:
    async def main() -> list[str]:
        seen = []

        async def other() -> None:
            seen.append("other")

        task = asyncio.create_task(other())
        run_sync(asyncio.sleep(0))
        seen.append("main")
        await task
        return seen

    assert drive(main()) == ["other", "main"]


def test_several_waits_interleave_in_any_order() -> None:
    pool = CarrierPool()

    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        gates = {name: loop.create_future() for name in "abc"}
        ended: list[str] = []

        def work(name: str) -> None:
            run_sync(gates[name])
            ended.append(name)

        async def event(name: str) -> None:
            work(name)

        async with asyncio.TaskGroup() as group:
            for name in "abc":
                group.create_task(_awaiting(pool.drive(event(name))))
            await asyncio.sleep(0)
            assert pool.suspended_count == 3
            for name in "bca":
                gates[name].set_result(None)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
        return ended

    assert asyncio.run(main()) == ["b", "c", "a"]
    pool.close()


async def _awaiting(awaitable: Any) -> Any:
    return await awaitable


def test_a_coroutine_that_is_waited_for_may_wait_the_same_way() -> None:
    def synchronous(depth: int) -> int:
        return run_sync(nested(depth - 1)) + 1 if depth else 0

    async def nested(depth: int) -> int:
        await asyncio.sleep(0)
        return synchronous(depth)

    async def main() -> int:
        return synchronous(20)

    assert drive(main()) == 20


def test_an_exception_reaches_the_synchronous_caller() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise LookupError("gone")

    async def main() -> str:
        try:
            run_sync(fails())
        except LookupError as error:
            return str(error)
        return "no error"

    assert drive(main()) == "gone"


def test_an_exception_that_nobody_catches_leaves_with_its_traceback() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise LookupError("gone")

    def caller() -> None:
        run_sync(fails())

    async def main() -> None:
        caller()

    with pytest.raises(LookupError) as caught:
        drive(main())
    assert [entry.name for entry in caught.traceback][-1] == "fails"
    assert "caller" in [entry.name for entry in caught.traceback]


def test_cancellation_reaches_code_that_waits() -> None:
    seen: list[str] = []

    def work() -> None:
        try:
            run_sync(asyncio.sleep(60))
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        finally:
            seen.append("cleaned up")

    pool = CarrierPool()

    async def event() -> None:
        work()

    async def main() -> None:
        task = asyncio.create_task(_awaiting(pool.drive(event())))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == ["cancelled", "cleaned up"]
    assert pool.suspended_count == 0
    pool.close()


def test_a_time_limit_around_waiting_code_works() -> None:
    async def main() -> str:
        try:
            async with asyncio.timeout(0.001):  # noqa: ASYNC100 - the wait is in run_sync
                run_sync(asyncio.Event().wait())
        except TimeoutError:
            return "timed out"
        return "no error"

    assert drive(main()) == "timed out"


def test_a_time_limit_inside_what_is_waited_for_works() -> None:
    async def main() -> str:
        try:
            run_sync(asyncio.wait_for(asyncio.Event().wait(), 0.001))
        except TimeoutError:
            return "timed out"
        return "no error"

    assert drive(main()) == "timed out"


def test_context_variables_are_those_of_the_caller() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

    async def read_and_write() -> str:
        before = variable.get()
        await asyncio.sleep(0)
        variable.set("written")
        return before

    async def main() -> tuple[str, str]:
        variable.set("outer")
        return run_sync(read_and_write()), variable.get()

    assert drive(main()) == ("outer", "written")


def test_interleaved_waits_keep_their_own_context() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")
    pool = CarrierPool()

    async def event(number: int) -> bool:
        variable.set(number)
        for _ in range(5):
            run_sync(asyncio.sleep(0))
            if variable.get() != number:
                return False
        return True

    async def main() -> list[bool]:
        return await asyncio.gather(*(pool.drive(event(number)) for number in range(20)))

    assert all(asyncio.run(main()))
    pool.close()


def test_a_wait_inside_another_context_comes_back_to_that_context() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

    def work() -> str:
        variable.set("inner")
        run_sync(asyncio.sleep(0))
        return variable.get()

    async def main() -> tuple[str, str]:
        variable.set("outer")
        inner = contextvars.copy_context().run(work)
        return inner, variable.get()

    assert drive(main()) == ("inner", "outer")


def test_the_current_task_is_the_one_that_waits() -> None:
    async def current() -> Any:
        await asyncio.sleep(0)
        return asyncio.current_task()

    async def main() -> bool:
        task = asyncio.current_task()
        inside = run_sync(current())
        return inside is task and asyncio.current_task() is task

    assert drive(main())


def test_it_works_amid_callbacks_of_c_code() -> None:
    async def main() -> list[int]:
        return sorted([3, 1, 2], key=lambda number: run_sync(answer(number)))

    assert drive(main()) == [1, 2, 3]


def test_it_works_in_an_asynchronous_context_manager() -> None:
    @asynccontextmanager
    async def resource() -> AsyncIterator[int]:
        await asyncio.sleep(0)
        yield 1
        await asyncio.sleep(0)

    async def main() -> int:
        async with resource() as value:
            return run_sync(answer(value))

    assert drive(main()) == 1


def test_the_exception_being_handled_is_kept_across_a_wait() -> None:
    async def main() -> str:
        try:
            raise LookupError("first")
        except LookupError:
            run_sync(asyncio.sleep(0))
            try:
                raise
            except LookupError as error:
                return str(error)

    assert drive(main()) == "first"
