"""Small Workers in the style of the platform's own examples, each through the real command, byte by byte."""

import io
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import itemgetter
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import httpx
import pytest
from PIL import Image, ImageDraw

from .conftest import Serve
from .dev_server import DevServer

WORKERS = Path(__file__).parent / "workers"
TEXT = ("content-type", "text/plain;charset=UTF-8")
JSON = ("content-type", "application/json")
CHUNKED = ("transfer-encoding", "chunked")


class Answer(NamedTuple):
    """What goes over the wire. Headers are sorted by name; lines of one name keep their order."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def answer(response: httpx.Response) -> Answer:
    headers = [(key.decode(), value.decode()) for key, value in response.headers.raw]
    return Answer(response.status_code, sorted(headers, key=itemgetter(0)), response.content)


def whole(status: int, body: bytes, *headers: tuple[str, str]) -> Answer:
    """What is expected of a response of known length."""
    return chunked(status, body, *headers, ("content-length", str(len(body))))


def chunked(status: int, body: bytes, *headers: tuple[str, str]) -> Answer:
    """What is expected of a response with exactly these headers."""
    return Answer(status, sorted(headers, key=itemgetter(0)), body)


Start = Callable[[str], DevServer]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts `pyflare dev` for the Worker of that name, once for all tests of this file."""
    running: dict[str, DevServer] = {}

    def start(name: str) -> DevServer:
        if name not in running:
            folder = tmp_path_factory.mktemp(name)
            running[name] = server = DevServer(
                ["-c", WORKERS / name / "wrangler.jsonc", "--port", "0", "--persist-to", folder],
                cwd=folder,
                log=folder / "server.log",
            )
            server.wait_until_ready()
        return running[name]

    yield start
    try:
        for server in running.values():
            assert server.stop() == 0, server.output()
            server.check_output()
    finally:
        for server in running.values():
            server.kill()


class TestHello:
    def test_every_byte_of_the_answer(self, worker: Start) -> None:
        with worker("hello").connect() as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            raw = b"".join(iter(lambda: connection.recv(65536), b""))

        assert raw == (
            b"HTTP/1.1 200 OK\r\n"
            b"content-type: text/plain;charset=UTF-8\r\n"
            b"content-length: 13\r\n"
            b"connection: close\r\n"
            b"\r\n"
            b"Hello, World!"
        )

    def test_a_handler_at_module_level_of_an_older_worker(self, worker: Start) -> None:
        assert answer(worker("legacy").get("/")) == whole(
            200,
            b"GET Good day",
            ("content-type", "text/plain;charset=UTF-8"),
            ("x-greeting", "from a module"),
        )


class TestKeyValue:
    def test_a_value_is_put_and_got(self, worker: Start) -> None:
        assert answer(worker("store").get("/")) == whole(200, b"baz", TEXT)


class TestFastAPIWithTemplates:
    def test_a_variable_of_the_environment_as_json(self, worker: Start) -> None:
        assert answer(worker("templates").get("/")) == whole(
            200, b'{"message":"Cats & dogs"}', JSON
        )

    def test_a_template_beside_the_module_through_the_frameworks_own_loader(
        self, worker: Start
    ) -> None:
        assert answer(worker("templates").get("/page", params={"name": "J\u00f6rg"})).body == (
            b"<!doctype html>\n<title>Cats &amp; dogs</title>\n<ul>\n"
            b"  <li>1. J\xc3\xb6rg</li>\n  <li>2. &lt;Spike&gt;</li>\n</ul>"
        )

    def test_a_template_rendered_in_a_synchronous_route(self, worker: Start) -> None:
        body = (
            b"<!doctype html>\n<title>Names</title>\n<ul>\n  <li>1. a</li>\n  <li>2. b</li>\n</ul>"
        )
        assert answer(worker("templates").get("/rendered?name=a,b")) == whole(
            200, body, ("content-type", "text/html; charset=utf-8")
        )

    def test_a_path_without_a_route(self, worker: Start) -> None:
        assert answer(worker("templates").get("/nowhere")) == whole(
            404, b'{"detail":"Not Found"}', JSON
        )


class TestDatabase:
    QUOTES = (
        {"quote": "Know thyself", "author": "Thales"},
        {"quote": "Everything flows", "author": "Heraclitus"},
        {"quote": "Water is best", "author": "Thales"},
    )

    def test_a_batch_then_one_row_then_a_query_with_a_parameter(self, worker: Start) -> None:
        server = worker("database")

        stored = server.post("/", json=self.QUOTES)
        last = server.get("/")
        thales = server.get("/", params={"author": "Thales"})

        assert answer(stored) == whole(201, b"[1, 1, 1]", JSON)
        assert answer(last) == whole(200, b'{"quote": "Water is best", "author": "Thales"}', JSON)
        assert answer(thales) == whole(200, b'["Know thyself", "Water is best"]', JSON)


class TestImage:
    def test_a_picture_drawn_with_pillow(self, worker: Start) -> None:
        image = Image.new("RGB", (160, 40), "white")
        pen = ImageDraw.Draw(image)
        pen.rectangle((2, 2, 157, 37), outline="navy")
        pen.text((10, 12), "Pyodide?", fill="black")
        expected = io.BytesIO()
        image.save(expected, format="PNG")

        assert answer(worker("image").get("/", params={"text": "Pyodide?"})) == whole(
            200, expected.getvalue(), ("cache-control", "max-age=60"), ("content-type", "image/png")
        )


class Backend(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    protocol_version = "HTTP/1.1"

    def answer_request(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        sent = self.rfile.read(size)
        body = f"{self.command} {self.path} {self.headers['x-client']} ".encode() + sent
        self.send_response(404 if self.path == "/missing" else 200)
        self.send_header("x-answer", "yes")
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer_request

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def backend() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


CLIENTS = pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/urllib", b"urllib"),
        ("/requests", b"requests"),
        ("/httpx", b"httpx"),
        ("/async-httpx", b"async httpx"),
    ],
)


class TestHTTPClients:
    @CLIENTS
    def test_get(self, worker: Start, backend: str, path: str, name: bytes) -> None:
        response = worker("sync_http").get(path, params={"of": f"{backend}/a?b=c"})

        assert answer(response) == whole(200, b"GET /a?b=c " + name + b" ", ("x-answer", "yes"))

    @CLIENTS
    def test_post(self, worker: Start, backend: str, path: str, name: bytes) -> None:
        body = bytes(range(256))
        response = worker("sync_http").post(path, params={"of": f"{backend}/up"}, content=body)

        assert answer(response) == whole(
            200, b"POST /up " + name + b" " + body, ("x-answer", "yes")
        )

    @CLIENTS
    def test_an_error_status(self, worker: Start, backend: str, path: str, name: bytes) -> None:
        response = worker("sync_http").get(path, params={"of": f"{backend}/missing"})

        assert answer(response) == whole(404, b"GET /missing " + name + b" ", ("x-answer", "yes"))


class TestStreams:
    def test_lines_written_after_the_response_was_returned(self, worker: Start) -> None:
        assert answer(worker("streams").get("/transform")) == chunked(
            200, b"line 0\nline 1\nline 2\nline 3\n", ("content-type", "text/plain"), CHUNKED
        )

    def test_a_transformer_with_an_asynchronous_step(self, worker: Start) -> None:
        pieces = ["gr\u00fc\u00dfe ".encode(), "caf\u00e9".encode()[:4], "caf\u00e9".encode()[4:]]
        response = worker("streams").post("/upper", content=iter(pieces))

        assert answer(response) == chunked(200, "GR\u00dcSSE CAF\u00c9.".encode(), CHUNKED)

    def test_a_stream_of_a_fixed_length_announces_it(self, worker: Start) -> None:
        response = worker("streams").post("/fixed", content=iter([b"twelve", b" bytes"]))

        assert answer(response) == whole(200, b"twelve bytes")

    def test_a_body_compressed_and_decompressed_on_the_way(self, worker: Start) -> None:
        body = bytes(range(256)) * 3000
        response = worker("streams").post("/gzip", content=body)

        assert answer(response) == chunked(
            200, body, ("content-type", "application/octet-stream"), CHUNKED
        )

    def test_both_branches_of_a_tee_give_everything(self, worker: Start) -> None:
        response = worker("streams").post("/tee", content=iter([b"ab", b"cd"]))

        assert answer(response) == whole(200, b"abcd|abcd", TEXT)

    def test_an_asynchronous_generator_as_a_body(self, worker: Start) -> None:
        assert answer(worker("streams").get("/from")) == chunked(200, b"onetwothree", CHUNKED)

    def test_a_reader_counts_the_bytes_of_a_long_body(self, worker: Start) -> None:
        response = worker("streams").post("/count", content=bytes(3_000_000))

        assert answer(response) == whole(200, b"3000000", TEXT)


class TestForms:
    def test_the_page_with_the_form(self, worker: Start) -> None:
        body = (
            b'<form method="post" enctype="multipart/form-data">\n'
            b'<input name="title"><input type="file" name="photo" multiple><button>Send</button></form>\n'
        )
        assert answer(worker("forms").get("/")) == whole(200, body, ("content-type", "text/html"))

    def test_fields_and_files_of_a_multipart_form(self, worker: Start) -> None:
        response = worker("forms").post(
            "/",
            data={"title": 'sun "and" \u00e9', "tag": ["a", "b"]},
            files=[
                ("photo", ("sun \u00e9.png", b"\x89PNG\r\n\x00--", "image/png")),
                ("photo", ("empty", b"", "text/plain")),
            ],
        )

        assert response.status_code == 200
        assert response.json() == [
            ["title", 'sun "and" \u00e9'],
            ["tag", "a"],
            ["tag", "b"],
            ["photo", "sun \u00e9.png", "image/png", b"\x89PNG\r\n\x00--".hex()],
            ["photo", "empty", "text/plain", ""],
        ]

    def test_an_urlencoded_form(self, worker: Start) -> None:
        body = b"title=a+b%26c&tag=&tag=%C3%A9&%FF"
        response = worker("forms").post(
            "/", content=body, headers={"content-type": "application/x-www-form-urlencoded"}
        )

        assert response.json() == [
            ["title", "a b&c"],
            ["tag", ""],
            ["tag", "\u00e9"],
            ["\ufffd", ""],
        ]

    def test_a_body_that_is_no_form_is_an_error_that_says_so(self, worker: Start) -> None:
        response = worker("forms").post("/", content=b"x", headers={"content-type": "text/plain"})

        assert response.status_code == 500
        assert "Unrecognized Content-Type header value." in response.text


class TestCookies:
    def test_each_cookie_is_a_header_line_of_its_own_in_order(self, worker: Start) -> None:
        response = worker("cookies").get("/login")

        assert answer(response) == whole(
            200,
            b"welcome",
            TEXT,
            ("set-cookie", 'session="a b\\054c"; HttpOnly; Path=/'),
            ("set-cookie", "theme=dark; Max-Age=60"),
            ("x-after", "2"),
            ("x-before", "1"),
        )

    def test_cookies_come_back(self, worker: Start) -> None:
        response = worker("cookies").get("/", headers={"cookie": 'session="a b\\054c"; theme=dark'})

        assert answer(response) == whole(200, b'{"session": "a b,c", "theme": "dark"}', JSON)

    def test_cookies_are_dropped_together_with_a_redirect(self, worker: Start) -> None:
        assert answer(worker("cookies").get("/logout")) == whole(
            303,
            b"",
            ("location", "/"),
            ("set-cookie", "session=; Max-Age=0"),
            ("set-cookie", "theme=; Max-Age=0"),
        )


class TestRedirects:
    @pytest.mark.parametrize(
        ("path", "status", "location"),
        [
            ("/old", 301, "https://example.com/new?a=1#top"),
            ("/caf%C3%A9", 301, "https://example.com/%C3%A9%20%C3%BC"),
            ("/found", 302, "https://example.com/"),
            ("/a/b?q=1", 308, "http://www.example.com/search?q=1&from=%2Fa%2Fb"),
        ],
    )
    def test_status_and_place(self, worker: Start, path: str, status: int, location: str) -> None:
        assert answer(worker("redirect").get(path)) == whole(status, b"", ("location", location))

    def test_a_status_that_redirects_nowhere_is_refused(self, worker: Start) -> None:
        body = b"200 is not a redirect status code. It must be one of: 301, 302, 303, 307, or 308."
        response = worker("redirect").get("/bad")

        assert (response.status_code, response.content[-len(body) :]) == (400, body)


class TestWaitingInSynchronousCode:
    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("at_import", "imported"),
            ("in_comparisons", [1, 2, 3]),
            ("in_attributes", "COLOUR"),
            ("in_a_generator", 10),
            ("in_a_reduction", "abc"),
            ("in_a_coroutine_run_from_synchronous_code", "inside"),
            ("in_sleep", True),
            ("gathered", [1, 2]),
            ("as_an_exception", "nothing there"),
            ("can_run_sync", True),
            ("in_a_task", 10),
            ("in_a_timer", 10),
            ("in_a_then", 12),
        ],
    )
    def test_run_sync(self, worker: Start, path: str, found: Any) -> None:
        response = worker("waiting").get(f"/{path}")

        assert (response.status_code, json.loads(response.text)) == (200, found)

    def test_the_request_body_in_a_synchronous_handler(self, worker: Start) -> None:
        response = worker("waiting").post("/body", content=iter([b"abc", b"def"]))

        assert answer(response) == whole(200, b"fedcba", TEXT)


class TestThreads:
    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("anyio", [True, 1]),
            ("asyncio", [True, 2]),
            ("executor", [True, 3]),
            ("starlette", [True, 4]),
            ("cancelled", [True, "moved on"]),
            ("group", [0, 1, 2]),
        ],
    )
    def test_work_for_a_thread_runs_on_the_loop_and_may_wait(
        self, worker: Start, path: str, found: Any
    ) -> None:
        assert worker("threads").get(f"/{path}").json() == found


class TestFiles:
    @pytest.mark.parametrize(
        ("path", "file", "content_type"),
        [
            ("/", "index.html", "text/html; charset=utf-8"),
            ("/greeting", "greeting.txt", "text/plain;charset=UTF-8"),
            ("/resource", "parts/note.txt", "text/plain;charset=UTF-8"),
        ],
    )
    def test_a_file_beside_the_module(
        self, worker: Start, path: str, file: str, content_type: str
    ) -> None:
        body = (WORKERS / "files" / "src" / file).read_bytes()

        assert answer(worker("files").get(path)) == whole(200, body, ("content-type", content_type))

    def test_binary_data_has_no_type_of_its_own(self, worker: Start) -> None:
        assert answer(worker("files").get("/data")) == whole(200, bytes(range(256)))

    def test_a_file_opened_in_the_handler(self, worker: Start) -> None:
        assert worker("files").get("/open").json() == [
            "Gr\u00fc\u00dfe aus der Datei",
            "zweite Zeile",
        ]


TOGETHER = {
    "hello": "/",
    "legacy": "/",
    "store": "/",
    "templates": "/page?name=Kim",
    "image": "/?text=together",
    "streams": "/from",
    "forms": "/",
    "cookies": "/login",
    "redirect": "/old",
    "waiting": "/in_a_task",
    "threads": "/anyio",
    "files": "/resource",
}


class TestTogether:
    def test_all_of_them_in_one_process_answer_as_each_alone(
        self, worker: Start, serve: Serve, tmp_path: Path
    ) -> None:
        configurations = []
        for name in TOGETHER:
            configuration = json.loads((WORKERS / name / "wrangler.jsonc").read_text())
            configuration["main"] = str(WORKERS / name / "src" / "entry.py")
            configuration["routes"] = [f"{name}.test/*"]
            configurations.append(tmp_path / f"{name}.jsonc")
            configurations[-1].write_text(json.dumps(configuration))
        server = serve(*configurations)

        found = {
            name: answer(server.get(path, headers={"host": f"{name}.test"}))
            for name, path in TOGETHER.items()
        }

        assert found == {name: answer(worker(name).get(path)) for name, path in TOGETHER.items()}
