"""The pool of carriers: tasks, callbacks, limits, and what happens at the end."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import random
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.workers.carriers import CarrierPool
from pyflare.workers.current import WorkerScope, current
from pyflare.workers.loop import new_event_loop
from pyflare.workers.suspend import can_run_sync, drive, run_sync


def loop_factories() -> list[Any]:
    factories: list[Any] = [
        pytest.param(asyncio.new_event_loop, id="asyncio"),
        pytest.param(new_event_loop, id="switching"),
    ]
    try:
        import uvloop
    except ImportError:
        return factories
    return [*factories, pytest.param(uvloop.new_event_loop, id="uvloop")]


@pytest.fixture(params=loop_factories())
def factory(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def scope(workers: Any) -> WorkerScope:
    return workers.make("worker", {})  # type: ignore[no-any-return]


async def waits() -> bool:
    await asyncio.sleep(0)
    run_sync(asyncio.sleep(0))
    return can_run_sync()


def test_a_workers_tasks_are_suspendable(
    workers: Any, scope: WorkerScope, factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def event() -> bool:
        return await asyncio.create_task(waits())

    async def main() -> bool:
        return await workers.pool.drive(event(), scope.new_context())

    assert workers.run(main(), factory)


def test_other_tasks_are_plain_ones(
    workers: Any, factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def plain() -> bool:
        return can_run_sync()

    async def main() -> bool:
        task = asyncio.create_task(plain())
        assert asyncio.iscoroutine(task.get_coro())
        return await task

    assert not workers.run(main(), factory)


def test_a_task_made_for_a_workers_context_is_suspendable(workers: Any, scope: WorkerScope) -> None:
    async def main() -> bool:
        return await asyncio.create_task(waits(), context=scope.new_context())

    assert workers.run(main())


def test_a_task_group_of_a_worker_cancels_code_that_waits(
    workers: Any, scope: WorkerScope, factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    cleaned: list[str] = []

    async def forever() -> None:
        try:
            run_sync(asyncio.Event().wait())
        finally:
            cleaned.append("up")

    async def fails() -> None:
        await asyncio.sleep(0)
        raise LookupError

    async def event() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(forever())
            group.create_task(fails())

    async def main() -> None:
        with pytest.raises(ExceptionGroup):
            await workers.pool.drive(event(), scope.new_context())

    workers.run(main(), factory)
    assert cleaned == ["up"]
    assert workers.pool.suspended_count == 0


def test_a_task_cancelled_before_its_first_step_leaves_no_warning(
    workers: Any, scope: WorkerScope
) -> None:
    async def event() -> bool:
        task = asyncio.create_task(waits())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    async def main() -> bool:
        return await workers.pool.drive(event(), scope.new_context())

    assert workers.run(main())
    gc.collect()


def test_a_task_of_a_worker_has_the_methods_of_a_promise(workers: Any, scope: WorkerScope) -> None:
    async def fails() -> None:
        raise KeyError("k")

    async def event() -> list[Any]:
        ended: list[str] = []
        # Types of asyncio know nothing of a promise's methods.
        create_task: Any = asyncio.create_task
        ensure_future: Any = asyncio.ensure_future
        first = create_task(asyncio.sleep(0, 3)).then(lambda value: value + 1)
        second = ensure_future(fails()).catch(lambda error: type(error).__name__)
        third = ensure_future(waits()).finally_(lambda: ended.append("end"))
        return [await first, await second, await third, ended]

    async def main() -> list[Any]:
        return await workers.pool.drive(event(), scope.new_context())

    value, error, _, ended = workers.run(main())
    assert (value, error, ended) == (4, "KeyError", ["end"])


def test_a_task_shows_the_coroutine_of_the_worker(workers: Any, scope: WorkerScope) -> None:
    async def event() -> str:
        task = asyncio.create_task(waits())
        shown = repr(task)
        await task
        return shown

    async def main() -> str:
        return await workers.pool.drive(event(), scope.new_context())

    assert "waits()" in workers.run(main())


def test_a_driven_coroutine_runs_in_the_given_context(workers: Any, scope: WorkerScope) -> None:
    async def event() -> Any:
        first = current.get()
        await asyncio.sleep(0)
        run_sync(asyncio.sleep(0))
        return first, current.get()

    async def main() -> Any:
        answer = await workers.pool.drive(event(), scope.new_context())
        return answer, current.get()

    assert workers.run(main()) == ((scope, scope), None)


def test_the_pool_of_the_current_worker_is_used_by_default(
    workers: Any, scope: WorkerScope
) -> None:
    async def event() -> bool:
        return await drive(waits())

    async def main() -> bool:
        return await drive(event(), scope.new_context())

    assert workers.run(main())


def test_without_a_worker_driving_is_just_awaiting() -> None:
    async def plain() -> bool:
        return can_run_sync()

    async def main() -> bool:
        return await drive(plain())

    assert not asyncio.run(main())


def test_steps_share_one_carrier_while_nothing_waits(workers: Any, scope: WorkerScope) -> None:
    async def event() -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    async def main() -> None:
        context = scope.new_context()
        await asyncio.gather(*(workers.pool.drive(event(), context) for _ in range(50)))

    workers.run(_counted(workers.pool, main(), idle=1))


def test_no_more_idle_carriers_than_the_limit_are_kept(scope: WorkerScope) -> None:
    pool = CarrierPool(idle_limit=3)

    async def main() -> None:
        context = scope.new_context()
        await asyncio.gather(*(pool.drive(waits(), context) for _ in range(10)))

    asyncio.run(_counted(pool, main(), idle=3))
    pool.close()


async def _counted(pool: CarrierPool, work: Any, *, idle: int) -> None:
    await work
    assert pool.idle_count == idle
    assert pool.suspended_count == 0


def test_an_idle_carrier_keeps_no_object_of_an_event_alive(
    workers: Any, scope: WorkerScope
) -> None:
    class Event:
        pass

    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("variable")

    async def handle(event: Event) -> None:
        variable.set(event)
        run_sync(asyncio.sleep(0))

    async def main() -> Any:
        event = Event()
        reference = weakref.ref(event)
        await workers.pool.drive(handle(event), scope.new_context())
        del event
        gc.collect()
        return reference()

    assert workers.run(main()) is None


def test_a_callback_may_wait(
    workers: Any, scope: WorkerScope, factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        seen: list[str] = []
        ended = loop.create_future()

        def callback(name: str) -> None:
            seen.append(f"{name} begins")
            run_sync(asyncio.wait_for(asyncio.sleep(0), 60))
            seen.append(f"{name} ends in {current.get().name}")  # type: ignore[union-attr]
            if name == "second":
                ended.set_result(None)

        context = scope.new_context()
        for name in ("first", "second"):
            loop.call_soon(workers.pool.suspendable(callback), name, context=context)
        await ended
        return seen

    assert workers.run(main(), factory) == [
        "first begins",
        "second begins",
        "first ends in worker",
        "second ends in worker",
    ]


@pytest.mark.parametrize("after_waiting", [False, True])
def test_a_callback_that_fails_is_reported_to_the_loop(
    workers: Any, scope: WorkerScope, after_waiting: bool
) -> None:
    def callback() -> None:
        if after_waiting:
            run_sync(asyncio.sleep(0))
        raise LookupError("gone")

    async def main() -> Any:
        loop = asyncio.get_running_loop()
        reported = loop.create_future()
        loop.set_exception_handler(lambda _, report: reported.set_result(report["exception"]))
        loop.call_soon(workers.pool.suspendable(callback), context=scope.new_context())
        return await reported

    assert repr(workers.run(main())) == "LookupError('gone')"


def test_closing_unwinds_code_that_waits(workers: Any, scope: WorkerScope) -> None:
    seen: list[str] = []

    async def event() -> None:
        try:
            run_sync(asyncio.Event().wait())
        except Exception:
            seen.append("must not be caught")
        finally:
            seen.append(f"can wait: {can_run_sync()}")

    async def main() -> None:
        task = asyncio.create_task(event(), context=scope.new_context())
        await asyncio.sleep(0)
        workers.pool.close()
        with pytest.raises(asyncio.CancelledError):
            await task

    workers.run(main())
    assert seen == ["can wait: False"]
    assert (workers.pool.idle_count, workers.pool.suspended_count) == (0, 0)


def test_closing_reports_what_the_unwound_code_raises(workers: Any, scope: WorkerScope) -> None:
    async def event() -> None:
        try:
            run_sync(asyncio.Event().wait())
        finally:
            raise LookupError("in cleanup")

    async def main() -> None:
        task = asyncio.create_task(event(), context=scope.new_context())
        await asyncio.sleep(0)
        with pytest.raises(ExceptionGroup) as caught:
            workers.pool.close()
        assert repr(caught.value.exceptions) == "(LookupError('in cleanup'),)"
        with pytest.raises(asyncio.CancelledError):
            await task

    workers.run(main())


def test_one_workers_waiting_code_can_be_ended_alone(workers: Any) -> None:
    a, b = workers.make("a", {}), workers.make("b", {})
    ended: list[str] = []

    async def event(gate: asyncio.Event) -> None:
        name = current.get().name  # type: ignore[union-attr]
        try:
            run_sync(gate.wait())
            ended.append(f"{name} went on")
        finally:
            ended.append(name)

    async def main() -> None:
        gate = asyncio.Event()
        tasks = [asyncio.create_task(event(gate), context=scope.new_context()) for scope in (a, b)]
        await asyncio.sleep(0)
        assert workers.pool.waiting(a) == [tasks[0]]
        workers.pool.close(a)
        gate.set()
        await asyncio.wait(tasks)

    workers.run(main())
    assert ended == ["a", "b went on", "b"]


@pytest.mark.parametrize("inner_first", [True, False])
def test_code_that_waits_for_waiting_code_of_another_worker_is_ended(
    workers: Any, inner_first: bool
) -> None:
    a, b = workers.make("a", {}), workers.make("b", {})
    ended: list[str] = []

    async def inner() -> None:
        try:
            run_sync(asyncio.Event().wait())
        finally:
            ended.append("inner")

    async def outer() -> None:
        try:
            run_sync(workers.pool.drive(inner(), b.new_context()))
        finally:
            ended.append("outer")

    async def main() -> None:
        task = asyncio.create_task(outer(), context=a.new_context())
        await asyncio.sleep(0)
        assert workers.pool.suspended_count == 2
        for scope in (b, a) if inner_first else (a, b):
            workers.pool.close(scope)
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(3):
            await workers.pool.drive(waits(), a.new_context())

    workers.run(main())
    assert ended == ["inner", "outer"]


def test_code_that_swallows_its_end_is_ended_all_the_same(workers: Any, scope: WorkerScope) -> None:
    ended: list[str] = []

    async def event() -> None:
        while len(ended) < 3:
            try:
                run_sync(asyncio.Event().wait())
            except BaseException as error:
                ended.append(type(error).__name__)
        await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(event(), context=scope.new_context())
        await asyncio.sleep(0)
        workers.pool.close()
        with pytest.raises(asyncio.CancelledError):
            await task

    workers.run(main())
    assert ended == ["GreenletExit", "RuntimeError", "RuntimeError"]


@pytest.mark.parametrize("seed", range(5))
def test_random_programs_of_two_workers_keep_apart_and_leave_nothing_behind(
    workers: Any, seed: int
) -> None:
    files = {
        "entry.py": """
            import asyncio
            from pyflare.workers.suspend import run_sync
            from pyflare.workers.current import current

            def check():
                import mine
                assert mine.OWNER == current.get().name

            async def program(chance, call, depth):
                for _ in range(chance.randrange(1, 6)):
                    check()
                    match chance.randrange(6 if depth else 2):
                        case 0:
                            await asyncio.sleep(0)
                        case 1:
                            run_sync(asyncio.sleep(0))
                        case 2:
                            await asyncio.create_task(program(chance, call, depth - 1))
                        case 3:
                            run_sync(program(chance, call, depth - 1))
                        case 4:
                            await call(depth - 1)
                        case 5:
                            run_sync(call(depth - 1))
                    check()
            """,
    }
    a, b = (workers.start(name, {**files, "mine.py": f"OWNER = {name!r}"}) for name in ("a", "b"))
    chance = random.Random(seed)

    def program(mine: WorkerScope, other: WorkerScope, depth: int) -> Any:
        def call(depth: int) -> Any:
            return program(other, mine, depth)

        return workers.event(mine, "program", chance, call, depth)

    async def main() -> None:
        tasks = [
            asyncio.create_task(program(*((a, b) if number % 2 else (b, a)), depth=3))
            for number in range(20)
        ]
        await asyncio.sleep(0)
        for task in tasks[::7]:
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(answer) for answer in answers} <= {type(None), asyncio.CancelledError}
        assert workers.pool.suspended_count == 0

    workers.run(main())


def test_a_task_that_is_dropped_unwinds_the_code_that_waits_in_it(scope: WorkerScope) -> None:
    ended: list[str] = []
    pool = CarrierPool()

    async def event(gate: Any) -> None:
        try:
            run_sync(gate)
        finally:
            ended.append("unwound")

    async def main() -> None:
        steps: Any = pool.drive(event(asyncio.get_running_loop().create_future()))
        steps.send(None)
        assert pool.suspended_count == 1
        steps.close()

    asyncio.run(main())
    assert ended == ["unwound"]
    assert pool.suspended_count == 0
    pool.close()


def test_a_dropped_coroutine_that_waits_ordinarily_is_closed() -> None:
    ended: list[str] = []
    pool = CarrierPool()

    async def event() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append("closed")

    steps: Any = pool.drive(event())
    steps.send(None)
    steps.close()
    assert ended == ["closed"]
    pool.close()


def test_system_exit_in_a_handler_leaves_as_it_is(workers: Any, scope: WorkerScope) -> None:
    async def event() -> None:
        run_sync(asyncio.sleep(0))
        raise SystemExit(3)

    async def main() -> None:
        with pytest.raises(SystemExit):
            await workers.pool.drive(event(), scope.new_context())

    workers.run(main())


def test_a_handler_that_fails_gives_its_carrier_back(workers: Any, scope: WorkerScope) -> None:
    async def event() -> None:
        raise LookupError

    async def main() -> None:
        for _ in range(3):
            with pytest.raises(LookupError):
                await workers.pool.drive(event(), scope.new_context())

    workers.run(_counted(workers.pool, main(), idle=1))
