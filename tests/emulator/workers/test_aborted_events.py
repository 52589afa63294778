"""``ctx.abort()`` of a Worker: the event ends at once, whoever waits for it gets the reason."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.embed.websocket import WebSocketClosed
from tests.emulator.conftest import Runner, request, write_worker

DEFAULT = "Worker execution was aborted due to call to ctx.abort()."

SOURCE = """
import asyncio
import js
from pyodide.ffi import create_proxy
from workers import Response, WorkerEntrypoint

seen = []

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        case = request.url.rsplit("/", 1)[1]
        if case == "seen":
            await asyncio.sleep(0)
            return Response(",".join(seen))
        if case == "background":
            self.ctx.waitUntil(self.late())
            await asyncio.sleep(0)
        if case == "swallowed":
            try:
                self.ctx.abort("the reason")
            except BaseException:
                return Response("swallowed")
        if case == "elsewhere":
            self.ctx.waitUntil(self.abort_soon())
            await asyncio.Future()
        if case == "timer":
            js.setTimeout(create_proxy(lambda: self.ctx.abort("the reason")), 1)
            try:
                await asyncio.Future()
            finally:
                seen.append("finally")
        if case == "after":
            self.ctx.waitUntil(self.abort_soon())
            return Response("answered")
        if case == "error":
            self.ctx.abort(js.TypeError.new("the reason"))
        if case == "nothing":
            self.ctx.abort()
        try:
            self.ctx.abort("the reason")
        except Exception:
            return Response("caught")
        return Response("went on")

    async def late(self):
        try:
            await asyncio.Future()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def abort_soon(self):
        await asyncio.sleep(0)
        self.ctx.abort("the reason")

    async def method(self, case):
        seen.append(case)
        if case == "elsewhere":
            self.ctx.waitUntil(self.abort_soon())
            await asyncio.Future()
        if case == "swallowed":
            try:
                self.ctx.abort("the reason")
            except BaseException:
                return "swallowed"
        self.ctx.abort("the reason")

    def instantly(self):
        self.ctx.abort("the reason")

    async def queue(self, batch):
        await self.method("queue")

    async def scheduled(self, controller):
        await self.method("scheduled")
"""


def answers(run: Runner, tmp_path: Path, *paths: str) -> list[tuple[int, str]]:
    async def program(flare: Any) -> Any:
        found = [await request(flare, path) for path in paths]
        return [(each.status, each.text) for each in found]

    found: list[tuple[int, str]] = run(program, write_worker(tmp_path, SOURCE))
    return found


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/reason", "Error: the reason"),
        ("/nothing", f"Error: {DEFAULT}"),
        ("/error", "TypeError: the reason"),
        ("/swallowed", "Error: the reason"),
        ("/elsewhere", "Error: the reason"),
        ("/timer", "Error: the reason"),
    ],
)
def test_a_request_fails_with_the_reason(run: Runner, tmp_path: Path, path: str, text: str) -> None:
    ((status, body),) = answers(run, tmp_path, path)

    assert status == 500
    assert text in body
    assert f"Uncaught {text}" in run.err.text


def test_code_that_waits_is_ended_in_order(run: Runner, tmp_path: Path) -> None:
    assert answers(run, tmp_path, "/timer", "/seen")[1] == (200, "finally")


def test_work_in_the_background_is_cancelled(run: Runner, tmp_path: Path) -> None:
    assert answers(run, tmp_path, "/background", "/seen")[1] == (200, "cancelled")


def test_an_abort_after_the_answer_is_reported(run: Runner, tmp_path: Path) -> None:
    assert answers(run, tmp_path, "/after", "/seen")[0] == (200, "answered")
    assert "Uncaught Error: the reason (in waitUntil)" in run.err.text


def test_the_next_event_knows_nothing_of_it(run: Runner, tmp_path: Path) -> None:
    assert answers(run, tmp_path, "/reason", "/seen")[1] == (200, "")


@pytest.mark.parametrize(
    "call",
    [
        lambda worker: worker.method("plain"),
        lambda worker: worker.method("swallowed"),
        lambda worker: worker.method("elsewhere"),
        lambda worker: worker.instantly(),
    ],
)
def test_a_call_fails_with_the_reason(
    run: Runner, tmp_path: Path, call: Callable[[Any], Awaitable[Any]]
) -> None:
    async def program(flare: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None
        with pytest.raises(Exception, match="the reason") as caught:
            await call(flare.worker())
        return caught.value.name, caught.value.message, task.cancelling()

    assert run(program, write_worker(tmp_path, SOURCE)) == ("Error", "the reason", 0)


def test_a_queue_event_fails_with_the_reason(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Any) -> Any:
        outcome = await flare.queue("jobs", [{"id": "1", "body": 1}])
        return outcome["outcome"]

    queues = {"consumers": [{"queue": "jobs"}]}
    assert run(program, write_worker(tmp_path, SOURCE, queues=queues)) == "exception"
    assert "Uncaught Error: the reason" in run.err.text


def test_a_cron_event_fails_with_the_reason(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Any) -> Any:
        return (await flare.scheduled("* * * * *")).outcome

    path = write_worker(tmp_path, SOURCE, triggers={"crons": ["* * * * *"]})
    assert run(program, path) == "exception"
    assert "Uncaught Error: the reason" in run.err.text


def test_it_is_undefined_what_the_platform_does_not_give(run: Runner, tmp_path: Path) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response(f"{self.ctx.cache} {self.ctx.access}")
    """

    async def program(flare: Any) -> Any:
        return (await request(flare, "/")).text

    assert run(program, write_worker(tmp_path, source)) == "None None"


def test_a_clients_websocket_is_cut_off(run: Runner, tmp_path: Path) -> None:
    source = """
    import js
    from pyodide.ffi import create_proxy
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            client, server = js.WebSocketPair.new()
            server.addEventListener("message", create_proxy(lambda event: self.ctx.abort("the reason")))
            server.accept()
            return Response(None, status=101, web_socket=client)
    """

    async def program(flare: Any) -> Any:
        async with flare.websocket("/") as socket:
            await socket.send("text")
            with pytest.raises(WebSocketClosed) as caught:
                await asyncio.wait_for(socket.receive(), 5)
        return caught.value.code

    assert run(program, write_worker(tmp_path, source)) == 1006
    assert "Uncaught Error: the reason" in run.err.text


def test_an_object_that_waits_for_the_event_goes_on(run: Runner, tmp_path: Path) -> None:
    source = """
    import asyncio
    from workers import DurableObject, Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def method(self):
            asyncio.create_task(self.abort_soon())
            await asyncio.Future()

        async def abort_soon(self):
            await asyncio.sleep(0)
            self.ctx.abort("the reason")

    class Thing(DurableObject):
        async def ask(self):
            try:
                await self.ctx.exports.default.method()
            except Exception as error:
                await asyncio.sleep(0)
                return [error.message, asyncio.current_task().cancelling()]
    """

    async def program(flare: Any) -> Any:
        thing = flare.env().THING.getByName("a")
        return await thing.ask(), await thing.ask()

    path = write_worker(
        tmp_path,
        source,
        compatibility_date="2026-05-01",
        durable_objects={"bindings": [{"name": "THING", "class_name": "Thing"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Thing"]}],
    )
    assert run(program, path) == (["the reason", 0], ["the reason", 0])
