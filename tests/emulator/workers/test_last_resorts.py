"""Failures that are hard to tell of: the client gets an answer, the log names the place, and the server goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker

SOURCE = """
import asyncio
import js
from pyodide.ffi import create_proxy
from workers import Response, WorkerEntrypoint


class Hostile(Exception):
    def __getattribute__(self, name):
        raise ValueError(name)


class Chained(Exception):
    pass


def fails(*_):
    raise ValueError("the reason")


async def fails_later(*_):
    await asyncio.sleep(0)
    raise ValueError("the reason")


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        answer = await getattr(self, request.url.rpartition("/")[2])()
        await asyncio.sleep(0.005)
        return answer or Response("fine")

    async def fine(self):
        pass

    async def hostile(self):
        raise Hostile

    async def hostile_cause(self):
        try:
            raise Hostile
        except Hostile as error:
            raise Chained from error

    async def hostile_task(self):
        await asyncio.create_task(self.hostile())

    async def cancels_itself(self):
        asyncio.current_task().cancel()
        await asyncio.sleep(1)

    async def cancels_itself_later(self):
        await asyncio.sleep(0)
        asyncio.current_task().cancel()
        await asyncio.sleep(1)

    async def error_response(self):
        return js.Response.error()

    async def timer(self):
        js.setTimeout(fails, 0)

    async def asynchronous_timer(self):
        js.setTimeout(fails_later, 0)

    async def interval(self):
        number = js.setInterval(lambda: (js.clearInterval(number), fails()), 1)

    async def microtask(self):
        js.queueMicrotask(fails)

    async def listener(self):
        target = js.EventTarget.new()
        target.addEventListener("x", fails)
        target.dispatchEvent(js.Event.new("x"))

    async def asynchronous_listener(self):
        target = js.EventTarget.new()
        target.addEventListener("x", fails_later)
        target.dispatchEvent(js.Event.new("x"))
"""


def get(run: Runner, tmp_path: Path, *paths: str) -> list[Any]:
    async def program(flare: Any) -> list[Any]:
        return [await asyncio.wait_for(request(flare, f"/{path}"), 10) for path in paths]

    return run(program, write_worker(tmp_path, SOURCE))  # type: ignore[no-any-return]


@pytest.mark.parametrize("way", ["hostile", "hostile_cause", "hostile_task"])
def test_an_exception_that_cannot_be_read_is_answered(
    run: Runner, tmp_path: Path, way: str
) -> None:
    answer, after = get(run, tmp_path, way, "fine")

    assert (answer.status, after.text) == (500, "fine")
    assert "class" in answer.text
    assert "class" in run.err.text


def test_the_line_that_raised_it_is_named_all_the_same(run: Runner, tmp_path: Path) -> None:
    (answer,) = get(run, tmp_path, "hostile")

    assert "an exception of the class 'Hostile' was raised" in answer.text
    assert "in hostile" in answer.text


@pytest.mark.parametrize("way", ["cancels_itself", "cancels_itself_later"])
def test_a_worker_that_cancels_its_own_task_gets_the_usual_answer(
    run: Runner, tmp_path: Path, way: str
) -> None:
    answer, after = get(run, tmp_path, way, "fine")

    assert (answer.status, after.text) == (500, "fine")
    assert "CancelledError" in answer.text


def test_a_host_that_cancels_a_request_is_obeyed(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Any) -> None:
        task = asyncio.ensure_future(request(flare, "/fine"))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        run(program, write_worker(tmp_path, SOURCE))
    assert "Uncaught" not in run.err.text


def test_a_network_error_is_no_answer(run: Runner, tmp_path: Path) -> None:
    (answer,) = get(run, tmp_path, "error_response")

    assert answer.status == 500
    text = "Return value from serve handler must not be an error response (like Response.error())"
    assert f"TypeError: {text}" in answer.text
    assert f"✘ [ERROR] Uncaught TypeError: {text}" in run.err.text


@pytest.mark.parametrize(
    "way",
    ["timer", "asynchronous_timer", "interval", "microtask", "listener", "asynchronous_listener"],
)
def test_what_a_callback_raises_is_told_like_any_other_failure(
    run: Runner, tmp_path: Path, way: str
) -> None:
    (answer,) = get(run, tmp_path, way)

    assert answer.text == "fine"
    headline, _, trace = run.err.text.partition("\n")
    assert headline == "✘ [ERROR] Uncaught ValueError: the reason"
    first = next(line for line in trace.splitlines() if line.lstrip().startswith("File "))
    assert "entry.py" in first
    assert run.err.text.count("Uncaught") == 1
