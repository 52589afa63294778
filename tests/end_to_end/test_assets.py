"""Static assets through the real command and real sockets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .conftest import Serve
from .dev_server import DevServer, eventually
from .projects import write_project

SOURCE = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("the Worker at " + request.url)

    async def scheduled(self, controller, env, ctx):
        print("ran", controller.cron)
"""
SECRET = b"SECRET"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    public = tmp_path / "project" / "public"
    public.mkdir(parents=True)
    (public / "index.html").write_text("home")
    (public / "style.css").write_text("body {}")
    (public / "large.txt").write_text("0123456789" * 100_000)
    for name in ("secret.txt", "public-secret/f"):
        path = public.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(SECRET)
    (public / "leak.txt").symlink_to("../secret.txt")
    return write_project(tmp_path / "project", SOURCE, assets={"directory": "public"})


def raw(server: DevServer, target: str) -> bytes:
    with server.connect() as connection:
        head = f"GET {target} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
        connection.sendall(head.encode("utf-8", "surrogateescape"))
        return b"".join(iter(lambda: connection.recv(65536), b""))


ATTACKS = [
    "/../secret.txt",
    "/%2e%2e/secret.txt",
    "/..%2fsecret.txt",
    "/%252e%252e/secret.txt",
    "/..\\secret.txt",
    "/%5c../secret.txt",
    "/a/../../secret.txt",
    "/../public-secret/f",
    "/%2e%2e/public-secret/f",
    "//secret.txt",
    "//etc/passwd",
    "/C:/secret.txt",
    "/style.css%00.txt",
    "/leak.txt",
    "http://127.0.0.1/../secret.txt",
    "http://127.0.0.1/leak.txt",
    "..%2fsecret.txt",
    "/\udcff\udcfe/../secret.txt",
]


def test_no_request_reaches_a_file_outside(serve: Serve, project: Path) -> None:
    server = serve(project)

    for target in ATTACKS:
        answer = raw(server, target)
        assert SECRET not in answer, target
        assert b"root:" not in answer, target
        assert answer[:13] in (b"HTTP/1.1 200 ", b"HTTP/1.1 307 ", b"HTTP/1.1 400 "), target

    assert server.get("/style.css").text == "body {}"


def test_files_and_the_worker_share_one_address(serve: Serve, project: Path) -> None:
    server = serve(project)

    assert server.get("/").text == "home"
    assert server.get("/api").text.startswith("the Worker at ")
    head = server.client.head("/large.txt")
    assert (head.headers["content-length"], head.content) == ("1000000", b"")
    tag = head.headers["etag"]
    assert server.get("/large.txt", headers={"if-none-match": tag}).status_code == 304


def test_a_saved_file_is_answered_at_once_and_does_not_reload_the_worker(
    serve: Serve, project: Path
) -> None:
    server = serve(project)
    style, new = (project.parent / "public" / name for name in ("style.css", "new.css"))
    assert server.get("/style.css").text == "body {}"
    for number in range(20):
        style.write_text(f"body {{{number}}}")
        assert server.get("/style.css").text == f"body {{{number}}}"
    assert server.get("/new.css").text.startswith("the Worker")
    new.write_text("new")
    assert server.get("/new.css").text == "new"
    new.unlink()
    assert server.get("/new.css").text.startswith("the Worker")
    (project.parent / "src" / "entry.py").write_text(SOURCE.replace("the Worker", "another"))
    server.wait_for_output("updated and ready")

    assert server.get("/new.css").text.startswith("another")
    assert server.output().count("Reloading local server") == 1


def test_many_clients_get_a_large_file_at_once(serve: Serve, project: Path) -> None:
    server = serve(project)

    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(lambda _: len(server.get("/large.txt").content), range(40)))

    assert sizes == [1_000_000] * 40


def test_clients_that_leave_early_do_no_harm(serve: Serve, project: Path) -> None:
    server = serve(project)
    for _ in range(30):
        with server.connect() as connection:
            connection.sendall(b"GET /large.txt HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            connection.recv(100)
    opened = Path(f"/proc/{server.process.pid}/fd")

    assert server.get("/style.css").text == "body {}"
    if opened.exists():
        eventually(
            lambda: all("large.txt" not in str(_target(link)) for link in opened.iterdir()),
            "the file is closed",
        )


def _target(link: Path) -> Path | str:
    try:
        return link.readlink()
    except OSError:
        return ""


def test_a_directory_on_the_command_line_wins(serve: Serve, tmp_path: Path) -> None:
    config = write_project(tmp_path / "project", SOURCE)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("from the flag")

    assert serve(config, arguments=("--assets", "files")).get("/a.txt").text == "from the flag"


def test_a_project_without_code_is_served(serve: Serve, project: Path) -> None:
    project.write_text('{"name": "static", "compatibility_date": "2026-05-01", "assets": '
                       '{"directory": "public", "not_found_handling": "single-page-application"}}')  # fmt: skip
    server = serve(project)

    assert server.get("/profile").text == "home"
    assert server.get("/style.css").text == "body {}"


def test_the_flag_for_scheduled_tests_adds_its_address(serve: Serve, project: Path) -> None:
    server = serve(project, arguments=("--test-scheduled", "--no-cron"))

    assert server.get("/__scheduled?cron=*+*+*+*+*").text == "Ran scheduled event"
    assert "ran * * * * *" in server.wait_for_output('CRON "* * * * *" ok')
