"""What goes over the wire: headers, methods, bodies in both directions."""

import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from .conftest import Serve
from .dev_server import PATIENCE, DevServer, eventually
from .projects import write_project

MEBIBYTE = 1024 * 1024
ANSWERS = """
import asyncio

from js import Headers, ReadableStream, Uint8Array
from js import Response as JsResponse
from pyodide.ffi import to_js
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match request.url.split("/", 3)[3].split("?")[0]:
            case "cookies":
                return Response("x", headers=[("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2; HttpOnly")])
            case "appended":
                headers = Headers.new()
                headers.append("set-cookie", "a=1")
                headers.append("set-cookie", "b=2, with a comma")
                headers.append("vary", "accept")
                headers.append("vary", "origin")
                return JsResponse.new("x", headers=headers)
            case "no-content":
                return Response(None, status=204)
            case "not-modified":
                return Response(None, status=304, headers={"etag": '"v1"'})
            case "ticks":
                self.gate = asyncio.Event()
                return Response(ReadableStream.new(pull=self.tick))
            case "echo":
                return Response(request.body)
            case "length":
                return Response.json(len(await request.bytes()))
            case "headers":
                return Response.json([[name, value] for name, value in request.headers.items()])
            case "url":
                return Response(request.url)
            case "teapot":
                return Response("short and stout", status=418, status_text="I am a teapot")
        return Response("hello")

    ticks = 0

    async def tick(self, controller):
        if self.ticks == 3:
            controller.close()
            return
        if self.ticks:
            await asyncio.sleep(0.05)
        self.ticks += 1
        controller.enqueue(to_js(f"tick {self.ticks}\\n".encode()))
"""


@pytest.fixture
def server(serve: Serve, tmp_path: Path) -> DevServer:
    return serve(write_project(tmp_path, ANSWERS))


def exchange(server: DevServer, request: bytes) -> bytes:
    """Sends raw bytes and returns everything that comes back until the server closes."""
    with server.connect() as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_several_cookies_stay_several_lines_in_order(server: DevServer) -> None:
    assert server.get("/cookies").headers.get_list("set-cookie") == [
        "a=1; Path=/",
        "b=2; HttpOnly",
    ]


def test_cookies_appended_to_headers_stay_apart_and_other_repeats_are_joined(
    server: DevServer,
) -> None:
    headers = server.get("/appended").headers

    assert headers.get_list("set-cookie") == ["a=1", "b=2, with a comma"]
    assert ", ".join(headers.get_list("vary")) == "accept, origin"


def test_head_has_the_headers_of_get_and_no_body(server: DevServer) -> None:
    raw = exchange(server, b"HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")

    head, _, body = raw.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert b"content-length: 5" in head.lower()
    assert b"content-type: text/plain;charset=utf-8" in head.lower()
    assert body == b""


def test_head_for_a_stream_has_no_body_either(server: DevServer) -> None:
    raw = exchange(server, b"HEAD /ticks HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")

    assert raw.partition(b"\r\n\r\n")[2] == b""


@pytest.mark.parametrize(("path", "status"), [("/no-content", 204), ("/not-modified", 304)])
def test_a_status_without_body_sends_none_and_the_connection_goes_on(
    server: DevServer, path: str, status: int
) -> None:
    request = f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n"
    last = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"

    raw = exchange(server, (request + last).encode())

    first, _, rest = raw.partition(b"\r\n\r\n")
    assert first.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"transfer-encoding" not in first.lower()
    assert rest.startswith(b"HTTP/1.1 200 OK")


def test_a_known_length_is_announced_and_a_stream_is_chunked(server: DevServer) -> None:
    assert server.get("/").headers["content-length"] == "5"
    assert server.get("/ticks").headers["transfer-encoding"] == "chunked"


def test_the_server_adds_no_headers_of_its_own(server: DevServer) -> None:
    assert set(server.get("/").headers) == {"content-length", "content-type"}


def test_a_stream_arrives_piece_by_piece(server: DevServer) -> None:
    with server.client.stream("GET", "/ticks") as answer:
        assert list(answer.iter_raw()) == [b"tick 1\n", b"tick 2\n", b"tick 3\n"]


def test_repeated_request_headers_reach_the_worker(server: DevServer) -> None:
    sent = [("x-a", "1"), ("x-a", "2"), ("cookie", "a=1"), ("cookie", "b=2")]

    seen = dict(server.get("/headers", headers=sent).json())

    assert seen["x-a"] == "1, 2"
    assert seen["cookie"] == "a=1; b=2"


def test_the_worker_sees_the_url_as_the_client_wrote_it(server: DevServer) -> None:
    raw = exchange(
        server,
        b"GET /url?q=%C3%A9&r=a+b HTTP/1.1\r\nhost: example.test\r\nconnection: close\r\n\r\n",
    )

    assert raw.endswith(b"http://example.test/url?q=%C3%A9&r=a+b")


def test_the_workers_own_reason_phrase_is_logged(server: DevServer) -> None:
    assert server.get("/teapot").status_code == 418
    server.wait_for_output("GET /teapot 418 I am a teapot (")


def chunks(total: int) -> Iterator[bytes]:
    piece = bytes(range(256)) * 256
    for _ in range(total // len(piece)):
        yield piece


def test_a_chunked_upload_is_read_whole(server: DevServer) -> None:
    assert server.post("/length", content=chunks(8 * MEBIBYTE)).json() == 8 * MEBIBYTE


def test_a_body_is_echoed_while_it_is_still_being_sent(server: DevServer) -> None:
    with server.connect() as connection:
        connection.sendall(
            b"POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n"
        )
        received = b""
        while b"first" not in received:
            piece = connection.recv(65536)
            assert piece, received
            received += piece
        connection.sendall(b"6\r\nsecond\r\n0\r\n\r\n")
        while not received.endswith(b"0\r\n\r\n"):
            piece = connection.recv(65536)
            assert piece, received
            received += piece

    assert b"second" in received


def _send(connection: socket.socket, total: int, sent: list[int]) -> None:
    for piece in chunks(total):
        connection.sendall(piece)
        sent.append(len(piece))


def test_an_echo_of_64_mebibytes_to_a_slow_reader_needs_little_memory(server: DevServer) -> None:
    total = 64 * MEBIBYTE
    server.post("/echo", content=b"warm")
    before = server.memory("VmHWM")
    sent: list[int] = []
    with server.connect() as connection:
        connection.sendall(
            f"POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {total}\r\n\r\n".encode()
        )
        sender = Thread(target=_send, args=(connection, total, sent), daemon=True)
        sender.start()
        stalled = _stalls(sent)
        received = b""
        size = -1
        while piece := connection.recv(MEBIBYTE):
            if size < 0:
                received += piece
                _, found, body = received.partition(b"\r\n\r\n")
                size = len(body) if found else -1
            else:
                size += len(piece)
        sender.join(PATIENCE)

    assert stalled < total // 2
    assert total <= size < total + total // 50
    assert server.memory("VmHWM") - before < 16 * MEBIBYTE


def _stalls(sent: list[int]) -> int:
    """How many bytes went out when nothing more can be sent because nobody reads the answer."""
    seen = [-1]

    def unchanged() -> bool:
        now = len(sent)
        same = now == seen[-1] and seen.count(now) > 20
        seen.append(now)
        return same

    eventually(unchanged, "the sender to stall")
    return sum(sent)
