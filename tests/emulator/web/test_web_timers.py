"""Timers, microtasks, scheduler.wait. The loop's clock is turned by hand: nothing sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pyflare.js.abort import AbortController, AbortSignal
from pyflare.js.callbacks import console_sink, run_callback
from pyflare.js.error import JsException
from pyflare.js.timers import (
    Timers,
    clearInterval,
    clearTimeout,
    event_timers,
    queueMicrotask,
    scheduler,
    setImmediate,
    setInterval,
    setTimeout,
)
from pyflare.js.value import JsObject, jsnull


class TurnedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock stands until it is turned."""

    now = 0.0

    def time(self) -> float:
        return self.now


async def pass_time(milliseconds: float) -> None:
    """Turn the clock and let everything that is due run."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, TurnedLoop)
    # Fractions of a second do not add up exactly.
    loop.now += milliseconds / 1000 + 1e-9
    await turns()


async def turns() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


def run(test: Callable[[Timers], Coroutine[Any, Any, None]]) -> list[tuple[str, str]]:
    """Run with the timers of an event of its own; gives what was logged."""
    lines: list[tuple[str, str]] = []

    async def main() -> None:
        timers = Timers()
        event_timers.set(timers)
        console_sink.set(lambda level, text: lines.append((level, text)))
        await test(timers)
        timers.cancel_all()

    with asyncio.Runner(loop_factory=TurnedLoop) as runner:
        runner.run(main())
    return lines


def test_a_timeout_fires_once_when_it_is_due_with_its_arguments() -> None:
    async def test(timers: Timers) -> None:
        seen: list[Any] = []
        number = setTimeout(lambda *args: seen.append(args), 20, 1, "b")
        assert isinstance(number, int)
        await pass_time(19)
        assert seen == []
        await pass_time(1)
        assert seen == [(1, "b")]
        await pass_time(100)
        assert len(seen) == 1
        assert len(timers) == 0

    run(test)


@pytest.mark.parametrize("delay", [None, 0, -5, float("nan"), "x"])
def test_a_delay_that_is_no_time_is_none(delay: Any) -> None:
    async def test(_timers: Timers) -> None:
        seen: list[None] = []
        setTimeout(lambda: seen.append(None), delay)
        assert seen == []
        await turns()
        assert len(seen) == 1

    run(test)


def test_timeouts_fire_in_the_order_of_their_times() -> None:
    async def test(_timers: Timers) -> None:
        seen: list[str] = []
        setTimeout(lambda: seen.append("late"), 20)
        setTimeout(lambda: seen.append("early"), "10")
        await pass_time(10)
        await pass_time(10)
        assert seen == ["early", "late"]

    run(test)


def test_an_interval_fires_until_it_is_cleared() -> None:
    async def test(timers: Timers) -> None:
        seen: list[None] = []
        number = setInterval(lambda: seen.append(None), 10)
        for _ in range(3):
            await pass_time(10)
        assert len(seen) == 3
        clearInterval(number)
        await pass_time(50)
        assert len(seen) == 3
        assert len(timers) == 0

    run(test)


def test_an_interval_can_clear_itself() -> None:
    async def test(_timers: Timers) -> None:
        numbers: list[int] = []
        seen: list[None] = []

        def once() -> None:
            seen.append(None)
            clearInterval(numbers[0])

        numbers.append(setInterval(once, 10))
        for _ in range(3):
            await pass_time(10)
        assert len(seen) == 1

    run(test)


def test_a_cleared_timeout_does_not_fire_and_other_values_are_ignored() -> None:
    async def test(_timers: Timers) -> None:
        seen: list[None] = []
        clearTimeout(setTimeout(lambda: seen.append(None), 5))
        for value in (None, 999, "x", 1.5):
            clearTimeout(value)
        await pass_time(10)
        assert seen == []

    run(test)


def test_an_asynchronous_callback_runs_in_a_task_of_its_own() -> None:
    async def test(_timers: Timers) -> None:
        tasks: list[Any] = []

        async def callback() -> None:
            tasks.append(asyncio.current_task())
            await asyncio.sleep(0)
            tasks.append(asyncio.current_task())

        setTimeout(callback, 5)
        await pass_time(5)
        assert len(tasks) == 2
        assert tasks[0] is tasks[1]
        assert tasks[0] is not asyncio.current_task()

    run(test)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_failing_callback_is_logged(kind: str) -> None:
    async def test(_timers: Timers) -> None:
        def fail() -> None:
            raise ValueError("late failure")

        async def fail_later() -> None:
            await asyncio.sleep(0)
            fail()

        setTimeout(fail if kind == "sync" else fail_later, 5)
        await pass_time(5)

    [(level, text)] = run(test)
    assert level == "error"
    assert text.startswith("Uncaught ")
    assert text.endswith("ValueError: late failure")


def test_timers_end_with_the_event_that_made_them() -> None:
    async def test(timers: Timers) -> None:
        seen: list[None] = []
        setTimeout(lambda: seen.append(None), 5)
        setInterval(lambda: seen.append(None), 5)
        timers.cancel_all()
        await pass_time(50)
        assert seen == []

    run(test)


def test_how_callbacks_run_can_be_replaced() -> None:
    async def test(_timers: Timers) -> None:
        ran: list[Any] = []

        async def runner(function: Callable[[], Any]) -> None:
            ran.append("runner")
            function()

        run_callback.set(lambda function: asyncio.ensure_future(runner(function)))
        setTimeout(lambda: ran.append("callback"), 0)
        await turns()
        assert ran == ["runner", "callback"]

    run(test)


def test_microtasks_and_immediates_come_after_the_running_code() -> None:
    async def test(_timers: Timers) -> None:
        seen: list[str] = []
        queueMicrotask(lambda: seen.append("micro"))
        setImmediate(seen.append, "immediate")
        seen.append("now")
        await turns()
        assert seen[0] == "now"
        assert sorted(seen[1:]) == ["immediate", "micro"]

    run(test)


@pytest.mark.parametrize("start", [setTimeout, setInterval])
@pytest.mark.parametrize(
    ("given", "received"),
    [
        ("code", "type string ('code')"),
        (5, "type number (5)"),
        (None, "undefined"),
        (jsnull, "null"),
        (JsObject.adopt({}), "an instance of Object"),
    ],
)
def test_timers_call_functions_only(start: Any, given: Any, received: str) -> None:
    async def test(_timers: Timers) -> None:
        with pytest.raises(JsException) as caught:
            start(given)
        assert str(caught.value) == (
            f'TypeError: The "callback" argument must be of type function. Received {received}'
        )

    run(test)


@pytest.mark.parametrize("start", [setImmediate, queueMicrotask])
def test_only_functions_can_be_called_soon(start: Any) -> None:
    async def test(_timers: Timers) -> None:
        with pytest.raises(JsException) as caught:
            start("code")
        assert str(caught.value) == (
            f"TypeError: Failed to execute '{start.__name__}' on 'ServiceWorkerGlobalScope': "
            "parameter 1 is not of type 'function'."
        )

    run(test)


def test_timers_are_refused_in_the_global_scope() -> None:
    with pytest.raises(JsException, match="Disallowed operation called within global scope"):
        setTimeout(print, 1)


def test_scheduler_wait() -> None:
    async def test(_timers: Timers) -> None:
        promise = scheduler.wait(20)
        await pass_time(19)
        assert promise.done() is False
        await pass_time(1)
        assert promise.result() is None

    run(test)


@pytest.mark.parametrize("when", ["before", "during"])
def test_waiting_can_be_aborted(when: str) -> None:
    async def test(_timers: Timers) -> None:
        controller = AbortController.new()
        signal = AbortSignal.abort() if when == "before" else controller.signal
        promise = scheduler.wait(20, signal=signal)
        controller.abort()
        with pytest.raises(JsException, match="The operation was aborted"):
            await promise

    run(test)
