"""The first thing a newcomer does: start the guest book, sign it, stop, start again."""

import signal
from pathlib import Path

from .conftest import Serve
from .projects import EXAMPLES

GUESTBOOK = EXAMPLES / "guestbook" / "wrangler.jsonc"


def test_what_was_written_is_there_after_ctrl_c_and_another_start(serve: Serve) -> None:
    first = serve(GUESTBOOK)
    signed = first.post("/", data={"name": "Ada", "message": "Hello, <World>"})
    assert (signed.status_code, signed.headers["location"]) == (303, "/")
    assert first.stop(signal.SIGINT) == 0

    second = serve(GUESTBOOK)

    entries = second.get("/api").json()
    assert [(entry["id"], entry["name"], entry["message"]) for entry in entries] == [
        (1, "Ada", "Hello, <World>")
    ]


def test_the_page_shows_what_was_written(serve: Serve) -> None:
    server = serve(GUESTBOOK)
    server.post("/", data={"name": "Ada", "message": "Hello, <World>"})

    page = server.get("/")

    assert page.headers["content-type"] == "text/html;charset=utf-8"
    assert "<h1>Guest book</h1>" in page.text
    assert "<b>Ada</b>: Hello, &lt;World&gt;" in page.text


def test_start_up_names_the_bindings_before_the_ready_line(serve: Serve) -> None:
    server = serve(GUESTBOOK)

    before, _, _ = server.output().partition("[wrangler:info] Ready on ")
    assert "Your Worker has access to the following bindings:" in before
    assert "env.DB (guestbook)" in before
    assert 'env.TITLE ("Guest book")' in before


def test_each_request_is_logged_with_path_and_status(serve: Serve) -> None:
    server = serve(GUESTBOOK)
    server.get("/nowhere?secret=1")

    output = server.wait_for_output("GET /nowhere 404 Not Found (")
    assert "secret" not in output


def test_state_lies_beside_the_configuration_when_no_place_is_named(
    serve: Serve, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "wrangler.jsonc").write_text(GUESTBOOK.read_text())
    (project / "src" / "entry.py").write_text((GUESTBOOK.parent / "src" / "entry.py").read_text())
    server = serve(project / "wrangler.jsonc", persist=False)
    server.post("/", data={"name": "Ada", "message": "Hello"})
    server.stop()

    databases = list((project / ".pyflare" / "state").glob("**/*.sqlite"))
    assert len(databases) == 1
