"""The standard library inside a worker: one loop, no threads, UTC; and untouched outside."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest

from pyflare.workers.current import WorkerScope, current
from pyflare.workers.loop import new_uvloop
from pyflare.workers.standard_library import StandardLibrary, install, uninstall


@pytest.fixture
def scope(workers: Any) -> Iterator[WorkerScope]:
    install()
    yield workers.make("worker", {})
    uninstall()


@pytest.fixture
def inside(workers: Any, scope: WorkerScope) -> Callable[[Callable[[], Any]], Any]:
    """Runs a synchronous function the way an event of a worker does."""

    def run(function: Callable[[], Any]) -> Any:
        async def event() -> Any:
            return function()

        async def main() -> Any:
            return await workers.pool.drive(event(), scope.new_context())

        return workers.run(main())

    return run


Inside = Callable[[Callable[[], Any]], Any]


async def answer() -> asyncio.AbstractEventLoop:
    await asyncio.sleep(0)
    return asyncio.get_running_loop()


def with_runner() -> Any:
    with asyncio.Runner() as runner:
        runner.run(answer())
        return runner.run(answer())


def with_new_loop() -> Any:
    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(answer())
    finally:
        asyncio.set_event_loop(None)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        assert loop.is_closed()


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: asyncio.run(answer()), id="asyncio.run"),
        pytest.param(with_runner, id="Runner"),
        pytest.param(with_new_loop, id="new_event_loop"),
        pytest.param(
            lambda: asyncio.get_event_loop().run_until_complete(answer()), id="get_event_loop"
        ),
        pytest.param(
            lambda: asyncio.get_running_loop().run_until_complete(
                asyncio.get_running_loop().create_task(answer())
            ),
            id="run_until_complete of a task",
        ),
    ],
)
def test_running_a_loop_inside_a_handler_waits_on_the_running_loop(
    inside: Inside, call: Callable[[], Any]
) -> None:
    assert inside(lambda: call() is asyncio.get_running_loop())


def test_context_variables_set_in_asyncio_run_are_not_seen_outside(inside: Inside) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    async def main() -> None:
        variable.set("inside")

    def handler() -> str:
        asyncio.run(main())
        return variable.get()

    assert inside(handler) == "unset"


def test_the_runs_of_one_runner_share_a_context(inside: Inside) -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    async def count() -> int:
        variable.set(variable.get() + 1)
        return variable.get()

    def handler() -> list[int]:
        with asyncio.Runner() as runner:
            return [runner.run(count()), runner.run(count())]

    assert inside(handler) == [1, 2]


def test_asyncio_run_refuses_what_is_no_coroutine(inside: Inside) -> None:
    with pytest.raises(ValueError, match="a coroutine was expected, got 7"):
        inside(lambda: asyncio.run(7))  # type: ignore[arg-type]


def test_asyncio_run_needs_code_that_can_be_suspended(workers: Any, scope: WorkerScope) -> None:
    async def main() -> None:
        def callback() -> None:
            with pytest.raises(RuntimeError, match="Cannot stack switch"):
                asyncio.run(answer())

        scope.new_context().run(callback)

    workers.run(main())


def test_a_worker_cannot_change_how_the_shared_loop_makes_tasks(inside: Inside) -> None:
    with pytest.raises(RuntimeError, match="cannot set the task factory"):
        inside(lambda: asyncio.new_event_loop().set_task_factory(None))


def test_work_for_a_thread_runs_at_once_on_the_same_thread(inside: Inside) -> None:
    def handler() -> bool:
        here = threading.get_ident()
        loop = asyncio.get_running_loop()
        by_executor = loop.run_in_executor(None, threading.get_ident)
        by_thread = asyncio.run(asyncio.to_thread(threading.get_ident))
        return by_executor.done() and by_executor.result() == by_thread == here

    assert inside(handler)


def test_a_failure_of_work_for_a_thread_is_kept_for_whoever_awaits_it(inside: Inside) -> None:
    def fails() -> None:
        raise LookupError("gone")

    def handler() -> Any:
        future = asyncio.get_running_loop().run_in_executor(None, fails)
        return future.exception()

    assert repr(inside(handler)) == "LookupError('gone')"


def test_an_executor_of_a_worker_is_not_used(inside: Inside) -> None:
    def handler() -> bool:
        with ThreadPoolExecutor(1) as executor:
            loop = asyncio.get_running_loop()
            future = loop.run_in_executor(executor, threading.get_ident)
            return future.result() == threading.get_ident()

    assert inside(handler)


def test_a_process_of_a_worker_is_not_used(inside: Inside) -> None:
    def handler() -> bool:
        with ProcessPoolExecutor(1) as executor:
            loop = asyncio.get_running_loop()
            return loop.run_in_executor(executor, os.getpid).result() == os.getpid()

    assert inside(handler)


def test_an_executor_of_the_emulator_is_used(inside: Inside) -> None:
    def handler() -> bool:
        with ThreadPoolExecutor(1, thread_name_prefix="pyflare-storage") as executor:
            loop = asyncio.get_running_loop()
            future = loop.run_in_executor(executor, threading.get_ident)
            return asyncio.run(_wait(future)) != threading.get_ident()

    assert inside(handler)


async def _wait(future: asyncio.Future[Any]) -> Any:
    return await future


def test_sleeping_lets_other_work_go_on(inside: Inside) -> None:
    def handler() -> list[str]:
        seen: list[str] = []
        asyncio.get_running_loop().call_soon(seen.append, "other")
        time.sleep(0)
        seen.append("handler")
        return seen

    assert inside(handler) == ["other", "handler"]


@pytest.mark.parametrize(
    ("seconds", "error", "text"),
    [(-1, ValueError, "non-negative"), ("1", TypeError, "str")],
)
def test_sleeping_refuses_what_it_always_refuses(
    inside: Inside, seconds: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        inside(lambda: time.sleep(seconds))


def test_a_thread_of_a_worker_belongs_to_the_worker(inside: Inside) -> None:
    def handler() -> list[Any]:
        seen: list[Any] = []
        thread = threading.Thread(target=lambda: seen.append(current.get()))
        thread.start()
        thread.join()
        return seen

    assert [found.name for found in inside(handler)] == ["worker"]


def test_a_thread_that_the_emulator_starts_meanwhile_is_not_the_workers(inside: Inside) -> None:
    emulator: dict[str, Any] = {"__name__": "pyflare.cli.serving"}
    exec("def handle_signal(thread): thread.start()", emulator)

    def handler() -> list[Any]:
        seen: list[Any] = []
        thread = threading.Thread(target=lambda: seen.append(current.get()))
        emulator["handle_signal"](thread)
        thread.join()
        return seen

    assert inside(handler) == [None]


def test_a_job_of_a_thread_pool_has_the_workers_context_and_its_thread_has_not(
    inside: Inside,
) -> None:
    executor = ThreadPoolExecutor(1)

    def handler() -> Any:
        return executor.submit(current.get).result()

    assert inside(handler).name == "worker"
    assert executor.submit(current.get).result() is None
    executor.shutdown()


def test_uvloop_is_adapted_like_the_loops_of_asyncio(workers: Any, scope: WorkerScope) -> None:
    pytest.importorskip("uvloop")

    async def event() -> bool:
        loop = asyncio.get_running_loop()
        inline = loop.run_in_executor(None, threading.get_ident)
        assert inline.result() == threading.get_ident()
        return loop.run_until_complete(answer()) is loop

    async def main() -> bool:
        assert await asyncio.to_thread(threading.get_ident) != threading.get_ident()
        return await workers.pool.drive(event(), scope.new_context())

    assert workers.run(main(), new_uvloop)


def test_local_time_is_utc(inside: Inside) -> None:
    assert inside(lambda: datetime.fromtimestamp(0)) == datetime(1970, 1, 1)


def test_outside_a_worker_everything_is_as_ever(scope: WorkerScope) -> None:
    async def main() -> int:
        with pytest.raises(RuntimeError, match="cannot be called from a running event loop"):
            asyncio.run(coroutine := answer())
        coroutine.close()
        time.sleep(0)  # noqa: ASYNC251 - the subject of the test
        return await asyncio.to_thread(threading.get_ident)

    assert asyncio.run(main()) != threading.get_ident()


def test_the_process_is_as_before_after_the_last_uninstall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    before = _state()

    install()
    install()
    changed = _state()
    uninstall()
    still = _state()
    uninstall()

    assert changed != before
    assert still == changed
    assert _state() == before
    monkeypatch.undo()
    time.tzset()


def test_uninstalling_what_is_not_installed_does_nothing() -> None:
    before = _state()

    uninstall()
    StandardLibrary().uninstall()

    assert _state() == before


def _state() -> tuple[object, ...]:
    return (
        asyncio.run,
        asyncio.to_thread,
        asyncio.new_event_loop,
        asyncio.set_event_loop,
        vars(asyncio.Runner).get("run"),
        vars(asyncio.Runner).get("__enter__"),
        vars(asyncio.BaseEventLoop).get("run_until_complete"),
        vars(asyncio.BaseEventLoop).get("run_in_executor"),
        time.sleep,
        time.tzname,
        vars(threading.Thread).get("start"),
        vars(ThreadPoolExecutor).get("submit"),
        os.environ.get("TZ"),
        type(os.environ),
    )
