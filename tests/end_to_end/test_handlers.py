"""The ways in which a Python Worker may be written."""

from pathlib import Path

from .conftest import Serve
from .projects import DATABASE, write_project

SCHEMA = "CREATE TABLE IF NOT EXISTS t (x INTEGER)"


def test_a_synchronous_handler_waits_for_d1_with_run_sync(serve: Serve, tmp_path: Path) -> None:
    source = f"""
    from pyodide.ffi import run_sync
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        def fetch(self, request):
            db = self.env.DB
            run_sync(db.prepare("{SCHEMA}").run())
            run_sync(db.prepare("INSERT INTO t VALUES (?)").bind(7).run())
            return Response.json(run_sync(db.prepare("SELECT sum(x) AS total FROM t").first("total")))
    """
    server = serve(write_project(tmp_path, source, d1_databases=[DATABASE]))

    assert [server.get("/").json() for _ in range(3)] == [7, 14, 21]


def test_requests_that_wait_in_run_sync_do_not_wait_for_each_other(
    serve: Serve, tmp_path: Path
) -> None:
    source = """
    import asyncio
    from pyodide.ffi import run_sync
    from workers import Response, WorkerEntrypoint

    waiting = asyncio.Event()

    def deep(count):
        return deep(count - 1) if count else run_sync(waiting.wait())

    class Default(WorkerEntrypoint):
        def fetch(self, request):
            if request.url.endswith("/open"):
                waiting.set()
                return Response("opened")
            deep(20)
            return Response("through")
    """
    server = serve(write_project(tmp_path, source))
    with server.connect() as first, server.connect() as second:
        for connection in (first, second):
            connection.sendall(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n")

        assert server.get("/open").text == "opened"

        for connection in (first, second):
            answer = b""
            while not answer.endswith(b"through"):
                answer += connection.recv(65536)


def test_legacy_module_handlers_work_with_an_old_compatibility_date(
    serve: Serve, tmp_path: Path
) -> None:
    source = f"""
    from js import Response

    async def on_fetch(request, env, ctx):
        await env.DB.prepare("{SCHEMA}").run()
        row = await env.DB.prepare("SELECT count(*) AS n FROM t").first()
        return Response.new(f"{{request.method}} {{env.GREETING}} {{row.n}}")
    """
    project = write_project(
        tmp_path,
        source,
        compatibility_date="2025-06-01",
        vars={"GREETING": "hello"},
        d1_databases=[DATABASE],
    )
    server = serve(project)

    assert server.get("/").text == "GET hello 0"


def test_a_module_handler_is_not_found_with_a_recent_date(serve: Serve, tmp_path: Path) -> None:
    source = """
    from js import Response

    async def on_fetch(request, env, ctx):
        return Response.new("never")
    """
    server = serve(write_project(tmp_path, source))

    answer = server.get("/", headers={"user-agent": "curl/8"})

    assert answer.status_code == 500
    assert "Handler does not export a fetch() function." in answer.text


FASTAPI = """
import asyncio

import asgi
from fastapi import BackgroundTasks, Depends, FastAPI, Request, Response
from starlette.responses import StreamingResponse
from starlette.background import BackgroundTask
from workers import WorkerEntrypoint

events = []


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return await asgi.fetch(app, request.js_object, self.env)


app = FastAPI()


async def resource():
    events.append("opened")
    try:
        yield "resource"
    finally:
        events.append("closed")


@app.get("/items/{item}")
async def read(item: int, request: Request, double: bool = False):
    found = await request.scope["env"].DB.prepare("SELECT ? AS item").bind(item).first("item")
    return {"item": found * 2 if double else found}


@app.post("/echo")
async def echo(value: dict):
    return value


@app.get("/cookies")
async def cookies(response: Response):
    response.set_cookie("a", "1")
    response.set_cookie("b", "2")
    return {}


@app.get("/big")
async def big():
    async def pieces():
        events.append("first piece")
        for index in range(2000):
            yield bytes([index % 256]) * 1024
            if index % 100 == 0:
                await asyncio.sleep(0)
        events.append("last piece")

    async def done():
        events.append("background")

    return StreamingResponse(pieces(), background=BackgroundTask(done))


@app.get("/gated")
async def gated():
    async def pieces():
        yield b"first"
        while "gate" not in events:
            await asyncio.sleep(0.005)
        yield b"second"

    return StreamingResponse(pieces())


@app.get("/gate")
async def gate():
    events.append("gate")
    return {}


@app.get("/task")
async def task(background: BackgroundTasks, found: str = Depends(resource)):
    background.add_task(events.append, "task")
    return found


@app.get("/events")
async def seen():
    return events
"""


def fastapi_project(directory: Path) -> Path:
    return write_project(directory, FASTAPI, d1_databases=[DATABASE])


def test_a_fastapi_application_serves_paths_queries_bodies_and_d1(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(fastapi_project(tmp_path))

    assert server.get("/items/21?double=true").json() == {"item": 42}
    assert server.get("/items/none").status_code == 422
    assert server.post("/echo", json={"a": [1, None]}).json() == {"a": [1, None]}
    assert server.get("/missing").status_code == 404
    assert server.get("/cookies").headers.get_list("set-cookie") == [
        "a=1; Path=/; SameSite=lax",
        "b=2; Path=/; SameSite=lax",
    ]


def test_a_fastapi_stream_arrives_whole_and_its_background_task_runs_after_it(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(fastapi_project(tmp_path))

    answer = server.get("/big")

    assert len(answer.content) == 2_048_000
    assert answer.content == b"".join(bytes([index % 256]) * 1024 for index in range(2000))
    assert server.get("/events").json() == ["first piece", "last piece", "background"]


def test_the_first_piece_of_a_fastapi_stream_arrives_before_the_last_is_made(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(fastapi_project(tmp_path))
    with server.client.stream("GET", "/gated") as answer:
        pieces = answer.iter_raw()
        first = next(pieces)
        server.get("/gate")

        assert first == b"first"
        assert b"".join(pieces) == b"second"


def test_a_fastapi_background_task_runs_and_its_resources_close(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(fastapi_project(tmp_path))

    assert server.get("/task").json() == "resource"
    assert sorted(server.get("/events").json()) == ["closed", "opened", "task"]
