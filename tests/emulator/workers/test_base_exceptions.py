"""A worker may raise whatever Python has: each kind of event and call fails with it, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.js.error import JsException
from tests.emulator.conftest import Runner, request, write_worker

SOURCE = """
import asyncio
from js import setTimeout
from pyodide.ffi import create_proxy
from workers import Response, WorkerEntrypoint

class Stop(BaseException):
    pass

class Group(BaseExceptionGroup):
    pass

def fail(kind="{kind}"):
    match kind:
        case "exit": raise SystemExit(3)
        case "interrupt": raise KeyboardInterrupt
        case "own": raise Stop("stopped")
        case "group": raise BaseExceptionGroup("several", [Stop("stopped")])
        case "cancelled": raise asyncio.CancelledError
        case "generator": raise GeneratorExit

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = request.url.split("/", 3)[3]
        if path == "fetch":
            fail()
        if path == "wait":
            self.ctx.waitUntil(self.fails())
        if path == "timer":
            setTimeout(create_proxy(fail), 0)
            self.ctx.waitUntil(asyncio.sleep(0.02))
        return Response("well")

    async def fails(self):
        await asyncio.sleep(0)
        fail()

    async def scheduled(self, controller):
        fail()

    async def email(self, message):
        fail()

    async def queue(self, batch):
        fail()

    async def call_back(self, function):
        return await function()

    def giver(self):
        return fail

class Other(WorkerEntrypoint):
    async def fetch(self, request):
        fail()
"""

KINDS = {
    "exit": "SystemExit",
    "interrupt": "KeyboardInterrupt",
    "own": "Stop: stopped",
    "group": "several",
    "cancelled": "CancelledError",
    "generator": "GeneratorExit",
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ask(run: Runner, tmp_path: Path, kind: str) -> Callable[[Any], Any]:
    config = write_worker(
        tmp_path,
        SOURCE.replace("{kind}", kind),
        name="one",
        services=[
            {"binding": "SELF", "service": "one"},
            {"binding": "OTHER", "service": "one", "entrypoint": "Other"},
        ],
        queues={"consumers": [{"queue": "orders"}]},
    )
    return lambda program: run(program, config)


@pytest.mark.parametrize(
    "path",
    [
        "/fetch",
        "/cdn-cgi/local/scheduled?cron=*+*+*+*+*",
        "/cdn-cgi/local/email?from=a@b.test&to=c@d.test",
        "/cdn-cgi/local/queue/orders",
    ],
)
def test_an_event_fails_and_the_next_one_runs(ask: Any, run: Runner, kind: str, path: str) -> None:
    bodies = {
        "email": b"From: a@b.test\r\nTo: c@d.test\r\nMessage-ID: <a@b.test>\r\n\r\nhello",
        "queue": b'[{"body": 1}]',
    }
    body = next((each for name, each in bodies.items() if name in path), b"")

    async def program(flare: Any) -> Any:
        first = await request(flare, path, method="POST" if body else "GET", body=body)
        return first, await request(flare, "/")

    first, second = ask(program)

    assert (first.status, second.body) == (500, b"well")
    assert first.text != "Internal Server Error" or path == "/fetch"
    assert KINDS[kind] in run.err.text


@pytest.mark.parametrize("path", ["/wait", "/timer"])
def test_work_beside_an_event_fails_alone(ask: Any, run: Runner, kind: str, path: str) -> None:
    async def program(flare: Any) -> Any:
        return [(await request(flare, each)).body for each in (path, "/", "/")]

    assert ask(program) == [b"well"] * 3
    assert KINDS[kind] in run.err.text or kind == "cancelled"


async def method(env: Any, stub: Any) -> None:
    await stub.fails()


async def gets_a_function(env: Any, stub: Any) -> None:
    function = await stub.giver()
    await function()


async def other_fetch(env: Any, stub: Any) -> None:
    await env.OTHER.fetch("http://x/")


@pytest.mark.parametrize("call", [method, gets_a_function, other_fetch])
def test_a_call_fails_with_a_copy(ask: Any, kind: str, call: Any) -> None:
    async def program(flare: Any) -> Any:
        async def event() -> Any:
            env = flare.env()
            try:
                await call(env, env.SELF)
            except BaseException as error:
                return error
            return None

        return await flare.loaded().run(event())

    error = ask(program)

    assert isinstance(error, JsException | OSError)
    assert KINDS[kind] in str(error)


def test_a_main_module_that_raises_it_fails_every_event(
    run: Runner, tmp_path: Path, kind: str
) -> None:
    config = write_worker(tmp_path, SOURCE.replace("{kind}", kind) + "\nfail()\n")

    async def program(flare: Any) -> Any:
        return [(await request(flare, "/")).status for _ in range(2)]

    assert run(program, config) == [500, 500]
    assert KINDS[kind] in run.err.text
