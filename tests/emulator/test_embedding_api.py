"""What a program does with the workers that it embeds: requests, calls, triggers, the clock, the outside."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pyflare import Pyflare
from pyflare.config import ConfigError
from pyflare_bindings.adjustable_clock import AdjustableClock
from pyflare_bindings.clock import ManualClock, SystemClock
from tests.emulator.conftest import DATE, Runner, write_worker

ECHO = """
import json
from js import ReadableStream, Uint8Array, setTimeout
from workers import Response, WorkerEntrypoint, fetch

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = request.url.split("/", 3)[3]
        if path == "fails":
            raise ValueError("on purpose")
        if path == "out":
            answer = await fetch("https://api.test/v1", method="POST", body="ask")
            return Response(f"{answer.status} {await answer.text()}")
        if path == "stream":
            def pull(controller):
                nonlocal n
                controller.enqueue(Uint8Array.new(f"{n} ".encode()))
                n += 1
                if n == 3:
                    controller.close()
            n = 0
            return Response(ReadableStream.new({"pull": pull}))
        if path == "kv":
            return Response(str(await self.env.KV.get("k")))
        text = await request.text()
        return Response(json.dumps([request.method, request.url, text, request.headers.get("x-a"),
            request.js_object.cf.country]))

    async def add(self, a, b):
        return a + b

    async def breaks(self):
        raise LookupError("not here")

    async def scheduled(self, controller, env, ctx):
        await self.env.KV.put("k", f"cron {controller.cron}")

    async def queue(self, batch, env, ctx):
        for message in batch.messages:
            message.ack() if message.body["n"] else message.retry()

    async def later(self, milliseconds):
        from pyodide.ffi import create_proxy
        async def write():
            await self.env.KV.put("k", "rang")
        done = __import__("js").Promise.new(lambda resolve, _: setTimeout(resolve, milliseconds))
        async def wait():
            await done
            await write()
        self.ctx.waitUntil(wait())

class Other(WorkerEntrypoint):
    async def who(self):
        return "other"
"""
SETTINGS: dict[str, Any] = {
    "kv_namespaces": [{"binding": "KV", "id": "kv"}],
    "queues": {"consumers": [{"queue": "orders"}]},
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_worker(tmp_path / "echo", ECHO, **SETTINGS)


def test_a_path_is_a_request_to_localhost(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        return (await flare.fetch("/a?b=c", headers={"X-A": "1"}, cf={"country": "FR"})).json()

    assert run(program, config) == ["GET", "http://localhost/a?b=c", "", "1", "FR"]


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ({"json": {"a": 1}}, '{"a":1}'),
        ({"data": {"a": "1"}}, "a=1"),
        ({"body": "plain"}, "plain"),
        ({"body": b"bytes"}, "bytes"),
    ],
)
def test_a_body_makes_it_a_post(
    run: Runner, config: Path, options: dict[str, Any], body: str
) -> None:
    async def program(flare: Pyflare) -> Any:
        return (await flare.fetch("https://shop.test/", **options)).json()

    assert run(program, config)[:3] == ["POST", "https://shop.test/", body]


def test_a_body_that_streams_arrives_whole(run: Runner, config: Path) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 10

    async def program(flare: Pyflare) -> Any:
        return (await flare.fetch("/", method="PUT", body=parts())).json()

    assert run(program, config)[0::2][:2] == ["PUT", "x" * 400]


def test_what_leaves_the_worker_is_raised_with_its_own_traceback(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        with pytest.raises(ValueError, match="on purpose") as raised:
            await flare.fetch("/fails")
        answer = await flare.fetch("/fails", raise_failures=False)
        return [entry.name for entry in raised.traceback], answer.status_code

    names, status = run(program, config)
    assert names[-1] == "fetch"
    assert status == 500


def test_a_response_can_be_read_as_it_comes(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        response = await flare.fetch("/stream", stream=True)
        return [part async for part in response.aiter_raw()]

    assert b"".join(run(program, config)) == b"0 1 2 "


def test_a_response_can_be_given_up(run: Runner, tmp_path: Path) -> None:
    source = """
    from js import ReadableStream, Uint8Array
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            def pull(controller):
                controller.enqueue(Uint8Array.new(1000))
            return Response(ReadableStream.new({"pull": pull}))
    """

    async def program(flare: Pyflare) -> Any:
        response = await flare.fetch("/", stream=True)
        await response.aclose()
        return response.status_code

    assert run(program, write_worker(tmp_path, source)) == 200


def test_a_client_keeps_cookies_and_follows_redirects(run: Runner, tmp_path: Path) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            if request.url.endswith("/in"):
                return Response("", status=303, headers={"Location": "/", "Set-Cookie": "s=1; Path=/"})
            return Response(request.headers.get("cookie") or "")
    """

    async def program(flare: Pyflare) -> Any:
        async with flare.client(follow_redirects=True) as client:
            return (await client.get("/in")).text

    assert run(program, write_worker(tmp_path, source)) == "s=1"


def test_a_method_is_called_as_over_a_binding(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        worker = flare.worker("echo")
        return await worker.add(1, 2), await worker.entrypoint("Other").who()

    assert run(program, config) == (3, "other")


def test_a_method_that_fails_has_the_workers_exception_as_cause(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        with pytest.raises(Exception, match="not here") as raised:
            await flare.worker().breaks()
        error: BaseException | None = raised.value
        while error is not None and not isinstance(error, LookupError):
            error = error.__cause__
        return type(error)

    assert run(program, config) is LookupError


def test_an_unknown_method_is_named(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        with pytest.raises(Exception, match="Method nothing does not exist"):
            await flare.worker().nothing()

    run(program, config)


def test_a_request_to_a_worker_by_name_needs_no_route(run: Runner, tmp_path: Path) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response(self.env.NAME)
    """
    configs = [
        write_worker(tmp_path / name, {f"src/{name}.py": source}, main=f"src/{name}.py",
            vars={"NAME": name}) for name in ("one", "two")
    ]  # fmt: skip

    async def program(flare: Pyflare) -> Any:
        return [(await flare.worker(name).fetch()).text for name in ("one", "two")]

    assert run(program, *configs) == ["one", "two"]


def test_a_trigger_runs_its_handler_now(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        result = await flare.scheduled("0 6 * * *")
        return result.outcome, await flare.env().KV.get("k")

    assert run(program, config) == ("ok", "cron 0 6 * * *")


def test_the_outcome_of_a_batch_is_told(run: Runner, config: Path) -> None:
    messages = [{"id": "a", "body": {"n": 1}}, {"id": "b", "body": {"n": 0}}]

    async def program(flare: Pyflare) -> Any:
        return await flare.queue("orders", messages), await flare.worker().queue("any", messages)

    outcome, by_worker = run(program, config)
    assert outcome["explicitAcks"] == ["a"]
    assert outcome["retryMessages"] == [{"msgId": "b"}]
    assert by_worker == outcome


def test_a_queue_that_nobody_consumes_is_named(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        with pytest.raises(LookupError, match='consumes the queue "other"'):
            await flare.queue("other", [{"body": 1}])

    run(program, config)


@pytest.mark.parametrize("clock", [AdjustableClock(), ManualClock()])
def test_putting_the_clock_forward_runs_what_falls_due(
    run: Runner, config: Path, clock: Any
) -> None:
    async def program(flare: Pyflare) -> Any:
        await flare.worker().later(25_000)
        await flare.clock.advance(seconds=20)
        before = await flare.env().KV.get("k")
        await flare.clock.advance(seconds=20)
        return before, await flare.env().KV.get("k")

    assert run(program, config, clock=clock) == (None, "rang")


@pytest.mark.parametrize("clock", [AdjustableClock(), ManualClock()])
def test_a_clock_is_put_forward_by_numbers_that_lead_to_a_date(
    run: Runner, config: Path, clock: Any
) -> None:
    async def program(flare: Pyflare) -> None:
        before = flare.clock.now()
        for value in ("10", None, True):
            with pytest.raises(TypeError, match="minutes is a number"):
                await flare.clock.advance(minutes=value)  # type: ignore[arg-type]
        for value in (float("nan"), float("inf"), float("-inf"), 10**400):
            with pytest.raises(ValueError, match="leads to no moment"):
                await flare.clock.advance(value)
        with pytest.raises(ValueError, match="leads to no moment"):
            await flare.clock.advance(days=1e9)
        with pytest.raises(ValueError, match="turned back"):
            await flare.clock.advance(-1)
        assert (flare.clock.now() - before).total_seconds() < 60

    run(program, config, clock=clock)


@pytest.mark.parametrize("clock", [AdjustableClock(), ManualClock()])
def test_intervals_and_waits_of_a_worker_go_by_the_clock(
    run: Runner, tmp_path: Path, clock: Any
) -> None:
    source = """
    from js import Date, clearInterval, scheduler, setInterval
    from workers import Response, WorkerEntrypoint

    seen = []

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            async def work():
                start = Date.now()
                number = setInterval(lambda: seen.append("tick"), 10_000)
                await scheduler.wait(29_000)
                clearInterval(number)
                seen.append(round((Date.now() - start) / 1000))
            self.ctx.waitUntil(work())
            return Response("")

        async def seen(self):
            return seen
    """

    async def program(flare: Pyflare) -> Any:
        await flare.fetch()
        await flare.clock.advance(hours=1)
        return await flare.worker().seen()

    config = write_worker(tmp_path, source)
    assert run(program, config, clock=clock) == ["tick", "tick", 29]


def test_work_that_waits_for_something_else_holds_the_clock_up_once(
    run: Runner, tmp_path: Path
) -> None:
    source = """
    import asyncio
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            self.ctx.waitUntil(asyncio.sleep(3600))
            return Response("")
    """

    async def program(flare: Pyflare) -> Any:
        await flare.fetch()
        async with asyncio.timeout(20):
            await flare.clock.advance(minutes=120)
        await flare.close(grace=0)

    run(program, write_worker(tmp_path, source, triggers={"crons": ["0 0 1 1 *"]}))


def test_a_key_expires_when_the_clock_is_put_forward(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        await flare.env().KV.put("k", "v", expirationTtl=60)
        before = await flare.env().KV.get("k")
        await flare.clock.advance(hours=1)
        return before, await flare.env().KV.get("k")

    assert run(program, config) == ("v", None)


def test_a_cron_trigger_fires_when_the_clock_is_put_forward(run: Runner, tmp_path: Path) -> None:
    config = write_worker(tmp_path / "w", ECHO, triggers={"crons": ["0 * * * *"]}, **SETTINGS)

    async def program(flare: Pyflare) -> Any:
        await flare.clock.advance(hours=1)
        return await flare.env().KV.get("k")

    assert run(program, config) == "cron 0 * * * *"


def test_the_worker_sees_the_clock_in_its_dates(run: Runner, tmp_path: Path) -> None:
    source = """
    from js import Date
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response(Date.new().toISOString())
    """

    async def program(flare: Pyflare) -> Any:
        await flare.clock.advance(days=1)
        return (await flare.fetch()).text

    config = write_worker(tmp_path, source)
    assert run(program, config, clock=ManualClock(0)) == "1970-01-02T00:00:00.000Z"


@pytest.mark.parametrize(
    ("clock", "seconds", "error", "text"),
    [
        (SystemClock(), 1, TypeError, "SystemClock cannot be put forward"),
        (AdjustableClock(), -1, ValueError, "cannot be turned back"),
    ],
)
def test_a_clock_that_cannot_do_it_says_so(
    run: Runner, config: Path, clock: Any, seconds: float, error: Any, text: str
) -> None:
    async def program(flare: Pyflare) -> Any:
        with pytest.raises(error, match=text):
            await flare.clock.advance(seconds)

    run(program, config, clock=clock)


@pytest.mark.parametrize(
    ("outbound", "answer"),
    [
        (lambda request: httpx.Response(201, text=request.content.decode() + "ed"), "201 asked"),
        (lambda request: str(request.url), "200 https://api.test/v1"),
        (lambda request: {"a": request.method}, '200 {"a":"POST"}'),
        (httpx.MockTransport(lambda request: httpx.Response(202)), "202 "),
    ],
)
def test_the_outside_is_answered_by_a_function(
    run: Runner, config: Path, outbound: Any, answer: str
) -> None:
    async def program(flare: Pyflare) -> Any:
        return (await flare.fetch("/out")).text

    assert run(program, config, outbound=outbound) == answer


def test_an_answer_from_outside_that_is_none_is_refused(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        with pytest.raises(
            TypeError, match=r"outbound answered POST https://api.test/v1 with None"
        ):
            await flare.fetch("/out")

    run(program, config, outbound=lambda _: None)


def test_an_outside_that_is_no_function_is_refused(config: Path) -> None:
    with pytest.raises(TypeError, match="outbound is a function"):
        Pyflare(config, outbound="https://elsewhere")  # type: ignore[arg-type]


def test_a_configuration_can_be_a_mapping(run: Runner, config: Path, tmp_path: Path) -> None:
    settings = {"name": "made", "main": "src/entry.py", "compatibility_date": DATE,
        "compatibility_flags": ["python_workers"], **SETTINGS}  # fmt: skip

    async def program(flare: Pyflare) -> Any:
        first = (await flare.fetch("/a")).json()[1]
        source = config.parent / "src" / "entry.py"
        source.write_text(source.read_text().replace("[request.method", "['new'"))
        await flare.reload(source)
        return flare.worker().name, first, (await flare.fetch("/a")).json()[0]

    found = run(program, settings, cwd=config.parent)
    assert found == ("made", "http://localhost/a", "new")


@pytest.mark.parametrize(
    ("cwd", "path"),
    [
        (None, "project/src/entry.py"),
        ("project", "project/src/entry.py"),
        ("project", "src/entry.py"),
    ],
)
def test_a_reload_takes_paths_from_cwd_and_from_the_working_directory(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cwd: str | None, path: str
) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response("old")
    """
    project = tmp_path / "project"
    write_worker(project, source)
    monkeypatch.chdir(tmp_path)

    async def program(flare: Pyflare) -> str:
        entry = project / "src" / "entry.py"
        entry.write_text(entry.read_text().replace("old", "new"))
        await flare.reload(path)
        return (await flare.fetch("/")).text

    assert run(program, project / "wrangler.json", cwd=cwd) == "new"


def test_a_reload_of_a_file_of_no_worker_says_where_it_looked(
    run: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    async def program(flare: Pyflare) -> None:
        with pytest.raises(KeyError, match=r"belongs to no worker: looked for .*elsewhere"):
            await flare.reload("x.py")

    run(program, config)


def test_a_mapping_that_is_no_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="main"):
        Pyflare({"name": "x", "main": 3}, cwd=tmp_path)


@pytest.mark.parametrize("key", ["vars", "kv_namespaces", "bogus"])
def test_an_override_of_something_else_is_refused(config: Path, key: str) -> None:
    with pytest.raises(ConfigError, match=f"overrides takes assets, .*, routes, not {key}"):
        Pyflare(config, overrides={"name": "x", key: {}})


def test_an_embedded_one_starts_with_its_first_use_without_a_warning(
    run: Runner, config: Path
) -> None:
    async def program() -> Any:
        flare = Pyflare(config, persist_to=None)
        first = await flare.fetch("/a")
        await flare.close()
        return first.status_code

    assert asyncio.run(program()) == 200


MUCH_PENDING = """
from js import Date, WebSocketPair, setTimeout
from workers import DurableObject, Response, WorkerEntrypoint

class Bell(DurableObject):
    async def set(self):
        await self.ctx.storage.put("a", "b")
        await self.ctx.storage.setAlarm(Date.now() + 60_000)

    async def alarm(self):
        await self.ctx.storage.put("rang", True)

    async def rang(self):
        return await self.ctx.storage.get("rang")

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.headers.get("upgrade"):
            client, server = WebSocketPair.new().object_values()
            server.accept()
            return Response(None, status=101, web_socket=client)
        setTimeout(lambda: None, 60_000)
        await self.env.KV.put("a", "b")
        await self.env.DB.prepare("CREATE TABLE IF NOT EXISTS t (v)").run()
        await self.env.BELL.getByName("a").set()
        return Response("")
"""


@pytest.fixture
def pending(tmp_path: Path) -> Path:
    return write_worker(
        tmp_path,
        MUCH_PENDING,
        kv_namespaces=[{"binding": "KV", "id": "kv"}],
        d1_databases=[{"binding": "DB", "database_id": "db"}],
        durable_objects={"bindings": [{"name": "BELL", "class_name": "Bell"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Bell"]}],
    )


def test_many_lives_leave_nothing_behind(pending: Path) -> None:
    def left() -> tuple[int, int, int]:
        files = len(list(Path("/proc/self/fd").iterdir()))
        return len(asyncio.all_tasks()), files, threading.active_count()

    async def program() -> Any:
        counts = []
        for _ in range(50):
            flare = Pyflare(pending, persist_to=None)
            await flare.fetch()
            socket = flare.websocket()
            await socket.__aenter__()
            await flare.close(grace=0)
            await socket.close()
            counts.append(left())
        return counts

    counts = asyncio.run(program())
    assert counts[-1] == counts[2]


def test_pending_alarms_stay_for_the_next_start(pending: Path, tmp_path: Path) -> None:
    async def program() -> Any:
        async with Pyflare(pending, persist_to=tmp_path / "state") as first:
            await first.fetch()
        async with Pyflare(pending, persist_to=tmp_path / "state") as second:
            await second.clock.advance(minutes=2)
            return await second.env().BELL.getByName("a").rang()

    assert asyncio.run(program()) is True
