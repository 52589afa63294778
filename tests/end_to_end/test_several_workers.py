"""Several Workers whose modules have the same names, behind one port."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .conftest import Serve
from .dev_server import DevServer
from .projects import DATABASE, write_project

ENTRY = """
import asyncio
import importlib

import config
from app.models import Item
from js import setTimeout
from pyodide.ffi import create_once_callable
from workers import Response, WorkerEntrypoint, env


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = request.url.split("/", 3)[3]
        if path == "lazy":
            await asyncio.sleep(0)
            from app import late

            return Response(late.NAME)
        if path == "by-name":
            return Response(importlib.import_module("app.late").NAME)
        if path == "timer":
            found = asyncio.Event()
            names = []

            def later():
                import app.late

                names.append(app.late.NAME)
                found.set()

            setTimeout(create_once_callable(later), 1)
            await found.wait()
            return Response(names[0])
        if path == "task":
            return Response(await asyncio.create_task(self.in_a_task()))
        if path == "env":
            return Response(env.NAME)
        if path == "url":
            return Response(request.url)
        return Response(f"{config.NAME} {Item().owner} {self.env.NAME}")

    async def in_a_task(self):
        await asyncio.sleep(0)
        import helper

        return helper.NAME
"""


def worker(directory: Path, name: str, **config: object) -> Path:
    return write_project(
        directory / name,
        {
            "src/entry.py": ENTRY,
            "src/config.py": f"NAME = {name!r}\n",
            "src/helper.py": f"NAME = {name!r}\n",
            "src/app/__init__.py": "",
            "src/app/models.py": "import config\n\nclass Item:\n    owner = config.NAME\n",
            "src/app/late.py": "import config\n\nNAME = config.NAME\n",
        },
        name=name,
        vars={"NAME": name},
        **config,
    )


@pytest.fixture
def server(serve: Serve, tmp_path: Path) -> DevServer:
    return serve(worker(tmp_path, "alpha"), worker(tmp_path, "beta"))


def ask(server: DevServer, name: str, path: str = "/") -> str:
    return server.get(path, headers={"host": f"{name}.localhost:{server.port}"}).text


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_each_worker_has_its_own_modules_and_environment(server: DevServer, name: str) -> None:
    assert ask(server, name) == f"{name} {name} {name}"


@pytest.mark.parametrize("path", ["/lazy", "/by-name", "/timer", "/task", "/env"])
def test_each_worker_finds_its_own_modules_wherever_it_imports_them(
    server: DevServer, path: str
) -> None:
    with ThreadPoolExecutor(8) as clients:
        names = ["alpha", "beta"] * 20
        answers = list(clients.map(lambda name: ask(server, name, path), names))

    assert answers == names


def test_the_output_tells_how_each_worker_is_reached(server: DevServer) -> None:
    output = server.output()

    assert "alpha has access to the following bindings:" in output
    assert "beta has access to the following bindings:" in output
    assert f"http://alpha.localhost:{server.port}/" in output
    assert f"http://beta.localhost:{server.port}/" in output


def test_the_first_worker_answers_for_every_other_host(server: DevServer) -> None:
    assert server.get("/").text == "alpha alpha alpha"
    assert server.get("/", headers={"host": "gamma.localhost"}).text == "alpha alpha alpha"


def test_routes_choose_the_worker_exact_host_before_wildcard_and_longer_path_first(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(
        worker(tmp_path, "primary"),
        worker(tmp_path, "wide", routes=["*.example.test/*"]),
        worker(tmp_path, "exact", routes=["shop.example.test/*"]),
        worker(tmp_path, "deep", routes=["shop.example.test/cart/*"]),
    )

    def answered(host: str, path: str = "/") -> str:
        return server.get(path, headers={"host": host}).text.split()[0]

    assert answered("other.example.test") == "wide"
    assert answered("shop.example.test") == "exact"
    assert answered("SHOP.example.test:8787") == "exact"
    assert answered("shop.example.test", "/cart/1") == "deep"
    assert answered("shop.example.test.evil.test") == "primary"
    assert answered("notexample.test") == "primary"


def test_workers_that_name_one_database_share_it_and_others_do_not(
    serve: Serve, tmp_path: Path
) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            await self.env.DB.prepare("CREATE TABLE IF NOT EXISTS t (x)").run()
            await self.env.DB.prepare("INSERT INTO t VALUES (1)").run()
            return Response.json(await self.env.DB.prepare("SELECT count(*) AS n FROM t").first("n"))
    """
    other = DATABASE | {"database_id": "another-0001"}
    server = serve(
        write_project(tmp_path / "a", source, name="a", d1_databases=[DATABASE]),
        write_project(tmp_path / "b", source, name="b", d1_databases=[DATABASE]),
        write_project(tmp_path / "c", source, name="c", d1_databases=[other]),
    )

    assert [ask(server, name) for name in ("a", "b", "c", "a")] == ["1", "2", "1", "3"]


def test_workers_that_share_a_database_share_its_one_connection(
    serve: Serve, tmp_path: Path
) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            if request.method == "POST":
                await self.env.DB.prepare("CREATE TABLE t (id INTEGER PRIMARY KEY)").run()
                await self.env.DB.prepare("INSERT INTO t VALUES (4711)").run()
            found = await self.env.DB.prepare("SELECT 1").all()
            return Response.json(found.meta.last_row_id)
    """
    server = serve(
        write_project(tmp_path / "a", source, name="a", d1_databases=[DATABASE]),
        write_project(tmp_path / "b", source, name="b", d1_databases=[DATABASE]),
    )
    server.post("/", headers={"host": "a.localhost"})

    # SQLite keeps the last row id per connection, so only the connection that inserted knows it.
    assert ask(server, "b") == "4711"


def test_several_workers_with_one_name_are_refused(serve: Serve, tmp_path: Path) -> None:
    server = serve(worker(tmp_path / "one", "same"), worker(tmp_path / "two", "same"), ready=False)

    assert server.process.wait(20) == 1
    assert '"same"' in server.output()
