"""One process owns a state directory; who cannot have it is told why."""

import signal
from pathlib import Path

import pytest

from .conftest import Serve
from .projects import DATABASE, write_project

SOURCE = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        await self.env.DB.prepare("CREATE TABLE IF NOT EXISTS t (x)").run()
        await self.env.DB.prepare("INSERT INTO t VALUES (1)").run()
        return Response.json(await self.env.DB.prepare("SELECT count(*) AS n FROM t").first("n"))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "project", SOURCE, d1_databases=[DATABASE])


def test_a_second_command_is_told_which_process_holds_the_directory(
    serve: Serve, project: Path
) -> None:
    first = serve(project)
    second = serve(project, ready=False)

    assert second.process.wait(20) == 1
    assert f"is in use by process {first.process.pid}" in second.output()
    assert "--persist-to" in second.output()
    assert "Traceback" not in second.output()
    assert first.get("/").json() == 1


def test_the_directory_of_a_killed_process_is_free_at_once(serve: Serve, project: Path) -> None:
    first = serve(project)
    assert first.get("/").json() == 1
    first.stop(signal.SIGKILL)

    assert serve(project).get("/").json() == 2


def test_a_state_directory_that_is_a_file_is_named(
    serve: Serve, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("something else")
    server = serve(project, ready=False)

    assert server.process.wait(20) == 1
    assert str(tmp_path / "state") in server.output()
    assert "Traceback" not in server.output()


def test_a_database_file_that_is_none_is_an_error_that_names_the_file(
    serve: Serve, project: Path, tmp_path: Path
) -> None:
    first = serve(project)
    first.get("/")
    first.stop()
    (database,) = (tmp_path / "state").glob("**/d1/*.sqlite")
    database.write_bytes(b"not a database, " * 1000)

    second = serve(project)
    answer = second.get("/", headers={"user-agent": "curl/8"})

    assert answer.status_code == 500
    assert database.name in answer.text
    assert database.read_bytes() == b"not a database, " * 1000


def test_nothing_is_written_outside_the_state_directory(
    serve: Serve, project: Path, tmp_path: Path
) -> None:
    server = serve(project)
    server.get("/")
    server.stop()

    written = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")}
    assert written == {"project", "state", "server-0.log"}
    assert {path.name for path in (tmp_path / "project").rglob("*")} == {
        "src",
        "entry.py",
        "wrangler.jsonc",
    }
