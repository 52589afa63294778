"""A Worker that exits, interrupts or stops the loop: the failure of one event, whatever the event loop is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare.server.log import LogSink
from pyflare.server.outbound import ResponseAborted
from pyflare.server.own_loop import OwnLoop
from tests.emulator.conftest import Lines, Runner, request, write_worker

SOURCE = """
import asyncio
import sys

import asgi
import js
from pyodide.ffi import create_proxy
from workers import Response, WorkerEntrypoint


async def app(scope, receive, send):
    if scope["type"] == "http":
        sys.exit(1)
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


def leave(*_):
    raise SystemExit(3)


def interrupt(*_):
    raise KeyboardInterrupt


async def later(*_):
    await asyncio.sleep(0)
    sys.exit(2)


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        kept = await getattr(self, request.url.rpartition("/")[2])(request)
        if kept is not None:
            return kept
        await asyncio.sleep(0.005)
        return Response("still here")

    async def nothing(self, request):
        pass

    async def task(self, request):
        await asyncio.wait([asyncio.create_task(later())])

    async def awaited_task(self, request):
        await asyncio.create_task(later())

    async def caught(self, request):
        try:
            await asyncio.create_task(later())
        except SystemExit as error:
            return Response(f"caught {error.code}")

    async def timer(self, request):
        js.setTimeout(leave, 1)

    async def asynchronous_timer(self, request):
        js.setTimeout(later, 1)

    async def microtask(self, request):
        js.queueMicrotask(interrupt)

    async def then(self, request):
        await js.Promise.resolve(1).then(leave)

    async def executor(self, request):
        await js.Promise.new(leave)

    async def call_soon(self, request):
        asyncio.get_running_loop().call_soon(leave)

    async def call_later(self, request):
        asyncio.get_running_loop().call_later(0.001, interrupt)

    async def listener(self, request):
        target = js.EventTarget.new()
        target.addEventListener("x", leave)
        target.dispatchEvent(js.Event.new("x"))

    async def pull(self, request):
        await js.Response.new(js.ReadableStream.new(pull=create_proxy(leave))).text()

    async def write(self, request):
        await js.WritableStream.new(write=create_proxy(leave)).getWriter().write("x")

    async def wait_until(self, request):
        self.ctx.waitUntil(later())

    async def application(self, request):
        return await asgi.fetch(app, request, self.env)

    async def exit(self, request):
        sys.exit(4)

    async def interrupted(self, request):
        raise KeyboardInterrupt

    async def generator_exit(self, request):
        raise GeneratorExit

    async def late_generator_exit(self, request):
        await asyncio.sleep(0)
        raise GeneratorExit

    async def stop(self, request):
        asyncio.get_running_loop().stop()

    async def close(self, request):
        asyncio.get_running_loop().close()
"""

GOES_ON = [
    "task",
    "timer",
    "asynchronous_timer",
    "microtask",
    "call_soon",
    "call_later",
    "listener",
    "wait_until",
    "nothing",
]
FAILS = [
    "awaited_task",
    "then",
    "executor",
    "pull",
    "write",
    "application",
    "exit",
    "interrupted",
    "generator_exit",
    "late_generator_exit",
    "stop",
    "close",
]


def loops() -> list[Any]:
    """Every loop on which Workers run: asyncio's, our own, and uvloop as `pyflare dev` makes it."""
    made: list[Any] = [
        pytest.param(lambda flare: asyncio.SelectorEventLoop, id="asyncio"),
        pytest.param(lambda flare: flare.switching_loop, id="switching"),
    ]
    try:
        import uvloop  # noqa: F401
    except ImportError:
        return made
    from pyflare.workers.loop import new_uvloop

    return [*made, pytest.param(lambda flare: new_uvloop, id="uvloop")]


@pytest.fixture(params=loops())
def loop_of(request: pytest.FixtureRequest) -> Callable[[Pyflare], Any]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="asyncio")


def answers(
    loop_of: Callable[[Pyflare], Any], tmp_path: Path, *paths: str
) -> tuple[list[Any], str]:
    log = LogSink(stdout=Lines(), stderr=(err := Lines()))  # type: ignore[arg-type]
    flare = Pyflare(write_worker(tmp_path, SOURCE), log=log, persist_to=None)

    async def main() -> list[Any]:
        async with flare:
            return [await request(flare, f"/{path}") for path in paths]

    with asyncio.Runner(loop_factory=loop_of(flare)) as runner:
        return runner.run(main()), err.text


@pytest.mark.parametrize("way", GOES_ON)
def test_the_event_around_it_goes_on(
    loop_of: Callable[[Pyflare], Any], tmp_path: Path, way: str
) -> None:
    (answer, after), _ = answers(loop_of, tmp_path, way, "nothing")

    assert (answer.text, after.text) == ("still here", "still here")


@pytest.mark.parametrize("way", FAILS)
def test_the_event_fails_and_the_next_one_is_answered(
    loop_of: Callable[[Pyflare], Any], tmp_path: Path, way: str
) -> None:
    (answer, after), _ = answers(loop_of, tmp_path, way, "nothing")

    assert (answer.status, after.text) == (500, "still here")


def test_a_worker_can_catch_the_exit_of_its_task(
    loop_of: Callable[[Pyflare], Any], tmp_path: Path
) -> None:
    (answer,), _ = answers(loop_of, tmp_path, "caught")

    assert answer.text == "caught 2"


def test_who_may_not_stop_the_loop_is_told_why(
    loop_of: Callable[[Pyflare], Any], tmp_path: Path
) -> None:
    _, log = answers(loop_of, tmp_path, "stop")

    assert "cannot stop the event loop: it shares it with the server and other Workers" in log


def test_on_a_hosts_uvloop_an_exit_of_a_task_ends_nothing(tmp_path: Path) -> None:
    uvloop = pytest.importorskip("uvloop")
    ways = ["awaited_task", "caught", "timer", "application", "nothing"]

    found, _ = answers(lambda flare: uvloop.new_event_loop, tmp_path, *ways)

    assert [each.status for each in found] == [500, 200, 200, 500, 200]
    assert found[1].text == "caught 2"


def test_a_hosts_own_exit_still_leaves_the_loop(tmp_path: Path) -> None:
    flare = Pyflare(write_worker(tmp_path, SOURCE), log=_silent(), persist_to=None)

    def leave() -> None:
        raise SystemExit(7)

    async def main() -> None:
        async with flare:
            asyncio.get_running_loop().call_soon(leave)
            await asyncio.sleep(5)

    with pytest.raises(SystemExit, match="7"):
        asyncio.run(main())


def test_a_loop_of_its_own_outlives_an_exit() -> None:
    loop = OwnLoop(asyncio.SelectorEventLoop)

    def leave() -> None:
        raise SystemExit(7)

    async def main() -> str:
        async def there() -> None:
            asyncio.get_running_loop().call_soon(leave)

        async def after() -> str:
            return "answered"

        await loop.run(there())
        await asyncio.sleep(0.01)
        return await asyncio.wait_for(loop.run(after()), 5)

    assert asyncio.run(main()) == "answered"
    loop.stop()


def _silent() -> LogSink:
    return LogSink(stdout=Lines(), stderr=Lines())  # type: ignore[arg-type]


OTHERS = """
import js
from workers import DurableObject, Response, WorkerEntrypoint

KIND = {kind}


def leave(*_):
    raise KIND


class Room(DurableObject):
    async def fetch(self, request):
        leave()

    async def method(self):
        leave()

    async def fine(self):
        return "fine"


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        room = self.env.ROOM.get(self.env.ROOM.idFromName("a"))
        match request.url.rpartition("/")[2]:
            case "object":
                await room.fetch(request)
            case "method":
                await room.method()
            case "own":
                await self.env.SELF.method()
            case "body":
                return Response(js.ReadableStream.new(pull=leave))
        return Response(await room.fine())

    async def method(self):
        leave()

    async def scheduled(self, event):
        leave()

    async def queue(self, batch):
        leave()
"""


@pytest.mark.parametrize("kind", ["SystemExit", "KeyboardInterrupt", "GeneratorExit"])
@pytest.mark.parametrize("way", ["object", "method", "own", "body", "scheduled", "queue"])
def test_an_exit_in_any_other_kind_of_event_ends_that_only(
    run: Runner, tmp_path: Path, kind: str, way: str
) -> None:
    path = write_worker(
        tmp_path,
        OTHERS.replace("{kind}", kind),
        name="others",
        durable_objects={"bindings": [{"name": "ROOM", "class_name": "Room"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Room"]}],
        services=[{"binding": "SELF", "service": "others"}],
        queues={"consumers": [{"queue": "q"}]},
    )

    async def program(flare: Pyflare) -> str:
        async with asyncio.timeout(10):
            match way:
                case "scheduled":
                    assert (await flare.scheduled()).outcome == "exception"
                case "queue":
                    message = {"id": "1", "timestamp": 0, "body": "x"}
                    assert (await flare.queue("q", [message]))["outcome"] == "exception"
                case "body":
                    with pytest.raises(ResponseAborted):
                        await request(flare, "/body")
                case _:
                    assert (await request(flare, f"/{way}")).status == 500
            return (await request(flare, "/fine")).text

    assert run(program, path) == "fine"
