"""Saving a file makes the new version live; saving a broken one does not end the server."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import monotonic

import pytest

from pyflare.cli.watch import QUIET_MS

from .conftest import Serve
from .dev_server import DevServer, eventually
from .projects import write_project

ENTRY = """
from helper import VERSION
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(f"{VERSION} {self.env.NAME}")
"""
BROKEN = {
    "a syntax error": "def broken(:\n",
    "a missing module": "import no_such_module\n",
    "an import that raises": "raise RuntimeError('while importing')\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(
        tmp_path / "project",
        {"src/entry.py": ENTRY, "src/helper.py": "VERSION = 'one'\n"},
        vars={"NAME": "name"},
    )


def serves(server: DevServer, text: str) -> None:
    eventually(lambda: server.get("/").text == text, f"{text!r} to be served")


def test_a_changed_helper_module_is_live_by_itself(serve: Serve, project: Path) -> None:
    server = serve(project)
    assert server.get("/").text == "one name"

    (project.parent / "src" / "helper.py").write_text("VERSION = 'two'\n")

    serves(server, "two name")


def test_a_new_module_is_found(serve: Serve, project: Path) -> None:
    server = serve(project)
    source = project.parent / "src"

    (source / "added.py").write_text("VERSION = 'added'\n")
    (source / "helper.py").write_text("from added import VERSION\n")

    serves(server, "added name")


def test_a_changed_variable_is_live_by_itself(serve: Serve, project: Path) -> None:
    server = serve(project)

    project.write_text(project.read_text().replace('"name"\n', '"other"\n'))

    serves(server, "one other")


def test_a_local_secret_that_is_added_is_live_by_itself(serve: Serve, project: Path) -> None:
    server = serve(project)

    (project.parent / ".dev.vars").write_text("NAME=secret\n")

    serves(server, "one secret")


@pytest.mark.parametrize("text", BROKEN.values(), ids=list(BROKEN))
def test_a_broken_edit_keeps_the_server_and_a_repair_is_live_by_itself(
    serve: Serve, project: Path, text: str
) -> None:
    server = serve(project)
    assert server.get("/").text == "one name"
    helper = project.parent / "src" / "helper.py"

    helper.write_text(text)
    output = server.wait_for_output("[ERROR]")
    answer = server.get("/")
    assert answer.status_code == 500 or answer.text == "one name"
    assert "helper.py" in output

    helper.write_text("VERSION = 'repaired'\n")
    serves(server, "repaired name")


def test_a_broken_configuration_keeps_the_server(serve: Serve, project: Path) -> None:
    server = serve(project)
    text = project.read_text()

    project.write_text(text[:-3])
    server.wait_for_output("[ERROR]")
    broken = server.get("/", headers={"accept": "text/plain"})
    assert (broken.status_code, broken.text.startswith("pyflare.config")) == (500, True)

    project.write_text(text.replace('"name"\n', '"mended"\n'))
    serves(server, "one mended")


def test_an_entry_point_that_is_gone_for_a_while_comes_back(serve: Serve, project: Path) -> None:
    server = serve(project)
    entry = project.parent / "src" / "entry.py"

    entry.unlink()
    for _ in range(200):
        answer = server.get("/")
        assert answer.status_code == 500 or answer.text == "one name"

    entry.write_text(ENTRY.replace("{VERSION}", "back"))
    serves(server, "back name")


def test_of_two_saves_in_a_row_the_last_is_served(serve: Serve, project: Path) -> None:
    server = serve(project)
    helper = project.parent / "src" / "helper.py"

    helper.write_text("VERSION = 'first save'\n")
    helper.write_text("VERSION = 'second save'\n")

    serves(server, "second save name")


def test_a_request_under_way_finishes_on_the_old_version(serve: Serve, tmp_path: Path) -> None:
    source = """
    import asyncio
    from workers import Response, WorkerEntrypoint

    VERSION = "one"

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            if request.url.endswith("/long"):
                await asyncio.sleep(1.5)
            return Response(VERSION)
    """
    project = write_project(tmp_path / "project", source)
    server = serve(project)
    with ThreadPoolExecutor(1) as clients:
        long = clients.submit(server.get, "/long")
        Event().wait(0.2)  # the request has to be inside the handler

        entry = project.parent / "src" / "entry.py"
        entry.write_text(entry.read_text().replace('"one"', '"two"'))
        serves(server, "two")

        assert long.result().text == "one"


def test_requests_during_many_reloads_all_get_an_answer(serve: Serve, project: Path) -> None:
    server = serve(project)
    helper = project.parent / "src" / "helper.py"
    done = Event()
    longest = 0.0

    def poll() -> list[int]:
        statuses = []
        while not done.is_set():
            statuses.append(server.get("/").status_code)
        return statuses

    with ThreadPoolExecutor(1) as clients:
        polling = clients.submit(poll)
        try:
            for number in range(5):
                began = monotonic()
                with helper.open("w") as file:
                    Event().wait(0.02)  # an editor empties the file before it writes the new text
                    file.write(f"VERSION = 'version {number}'\n")
                longest = max(longest, monotonic() - began)
                serves(server, f"version {number} name")
        finally:
            done.set()

        # On a machine so busy that the file lay empty for longer than an editor leaves it, that was its text.
        assert set(polling.result()) == {200} or longest > QUIET_MS / 1000


def test_a_reload_of_one_worker_leaves_the_other_alone(serve: Serve, tmp_path: Path) -> None:
    counting = """
    from workers import Response, WorkerEntrypoint

    count = 0
    VERSION = "one"

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            global count
            count += 1
            return Response(f"{VERSION} {count}")
    """
    kept = write_project(tmp_path / "kept", counting, name="kept")
    changed = write_project(tmp_path / "changed", counting, name="changed")
    server = serve(kept, changed)
    assert server.get("/").text == "one 1"

    entry = changed.parent / "src" / "entry.py"
    entry.write_text(entry.read_text().replace('"one"', '"two"'))
    eventually(
        lambda: server.get("/", headers={"host": "changed.localhost"}).text.startswith("two"),
        "the new version",
    )

    assert server.get("/").text == "one 2"
