"""A Worker that fails: the documented error for the client, a traceback for the person, and life goes on."""

from pathlib import Path

import pytest

from .conftest import Serve
from .projects import write_project

FAILING = """
import asyncio

from js import ReadableStream, Uint8Array
from pyodide.ffi import to_js
from workers import Response, WorkerEntrypoint


def helper():
    raise ValueError("the <reason>")


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = request.url.split("/", 3)[3]
        match path:
            case "raise":
                helper()
            case "later":
                await asyncio.sleep(0)
                helper()
            case "none":
                return None
            case "text":
                return "just text"
            case "body":
                return Response(object())
            case "status":
                return Response("x", status=99)
            case "null-body":
                return Response("x", status=204)
            case "midway":
                return Response(ReadableStream.new(start=self.start))
        return Response("fine")

    async def start(self, controller):
        controller.enqueue(to_js(b"first part"))
        await asyncio.sleep(0.05)
        raise RuntimeError("after the beginning")
"""
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "user-agent": "Mozilla/5.0"}
CURL = {"accept": "*/*", "user-agent": "curl/8.5.0"}
PROGRAM = {"accept": "application/json", "user-agent": "client"}


@pytest.mark.parametrize("path", ["/raise", "/later"])
def test_a_command_line_client_gets_the_traceback_as_text(
    serve: Serve, tmp_path: Path, path: str
) -> None:
    server = serve(write_project(tmp_path, FAILING))

    answer = server.get(path, headers=CURL)

    assert answer.status_code == 500
    assert answer.headers["content-type"].startswith("text/plain")
    assert "ValueError: the <reason>" in answer.text
    assert "entry.py" in answer.text
    assert server.get("/").text == "fine"


def test_a_browser_gets_a_page_that_shows_the_line_and_escapes_what_it_quotes(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(write_project(tmp_path, FAILING))

    answer = server.get("/raise", headers=BROWSER | {"cookie": "session=very-private"})

    assert answer.status_code == 500
    assert answer.headers["content-type"].startswith("text/html")
    assert "An error has occurred" in answer.text
    assert "the &lt;reason&gt;" in answer.text
    assert "the <reason>" not in answer.text
    assert "entry.py" in answer.text
    assert "very-private" not in answer.text
    assert server.get("/").text == "fine"


def test_a_program_that_asks_for_json_gets_name_message_and_stack(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(write_project(tmp_path, FAILING))

    answer = server.get("/raise", headers=PROGRAM)

    assert answer.status_code == 500
    error = answer.json()["error"]
    assert error["name"] == "ValueError"
    assert error["message"] == "the <reason>"
    assert "helper" in error["stack"]


def test_the_terminal_shows_a_traceback_that_begins_in_the_users_file(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(write_project(tmp_path, FAILING))
    server.get("/raise", headers=CURL)

    output = server.wait_for_output("GET /raise 500")
    _, _, shown = output.partition("✘ [ERROR] Uncaught ValueError: the <reason>")
    first_frame = next(line for line in shown.splitlines() if line.lstrip().startswith("File "))
    assert "src/entry.py" in first_frame
    assert "site-packages" not in shown


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/none", "Incorrect type for Promise: the Promise did not resolve to 'Response'."),
        ("/text", "Incorrect type for Promise: the Promise did not resolve to 'Response'."),
        ("/body", "Unsupported type in Response: object"),
        (
            "/status",
            "Responses may only be constructed with status codes in the range 200 to 599,"
            " inclusive.",
        ),
        (
            "/null-body",
            "Response with null body status (101, 204, 205, or 304) cannot have a body.",
        ),
    ],
)
def test_a_result_that_is_no_response_is_the_platforms_error(
    serve: Serve, tmp_path: Path, path: str, text: str
) -> None:
    server = serve(write_project(tmp_path, FAILING))

    answer = server.get(path, headers=CURL)

    assert answer.status_code == 500
    assert text in answer.text
    assert server.get("/").text == "fine"


def test_a_failure_after_the_response_began_cuts_the_body_instead_of_ending_it(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(write_project(tmp_path, FAILING))

    with server.connect() as connection:
        connection.sendall(b"GET /midway HTTP/1.1\r\nhost: x\r\n\r\n")
        received = b"".join(iter(lambda: connection.recv(65536), b""))

    assert received.startswith(b"HTTP/1.1 200 OK")
    assert b"first part" in received
    assert not received.endswith(b"0\r\n\r\n")
    assert "after the beginning" in server.wait_for_output("after the beginning")
    assert server.get("/").text == "fine"


def test_a_worker_that_raises_while_it_is_imported_answers_with_that_error(
    serve: Serve, tmp_path: Path
) -> None:
    broken = write_project(tmp_path / "broken", "import no_such_module\n", name="broken")
    sound = write_project(tmp_path / "sound", FAILING, name="sound")
    server = serve(sound, broken)

    answer = server.get("/", headers=CURL | {"host": "broken.localhost"})

    assert answer.status_code == 500
    assert "ModuleNotFoundError: No module named 'no_such_module'" in answer.text
    assert "entry.py" in answer.text
    assert server.get("/").text == "fine"


def test_an_import_error_is_told_the_same_however_often_it_is_asked_for(
    serve: Serve, tmp_path: Path
) -> None:
    project = write_project(tmp_path, "import no_such_module\n")
    server = serve(project, arguments=("--log-level", "debug"))
    for number in range(3):
        server.get(f"/{number}")

    output = server.wait_for_output("GET /2 500")
    told = [output.partition(f"GET /{number} 500")[0].count("File ") for number in range(3)]
    assert told[2] - told[1] == told[1] - told[0]


def test_a_worker_without_handlers_says_so(serve: Serve, tmp_path: Path) -> None:
    empty = write_project(tmp_path / "empty", "ANSWER = 42\n", name="empty")
    sound = write_project(tmp_path / "sound", FAILING, name="sound")
    server = serve(sound, empty)

    answer = server.get("/", headers=CURL | {"host": "empty.localhost"})

    assert answer.status_code == 500
    assert "Handler does not export a fetch() function." in answer.text
    assert server.get("/").text == "fine"


def test_a_failure_in_waituntil_does_not_change_the_answer_and_is_logged(
    serve: Serve, tmp_path: Path
) -> None:
    source = """
    import asyncio
    from workers import Response, WorkerEntrypoint

    async def fail():
        await asyncio.sleep(0)
        raise KeyError("in the background")

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            self.ctx.waitUntil(fail())
            return Response("fine")
    """
    server = serve(write_project(tmp_path, source))

    assert server.get("/").text == "fine"
    server.wait_for_output("in the background")
    assert server.get("/").text == "fine"
