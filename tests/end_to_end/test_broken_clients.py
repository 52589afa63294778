"""Clients that misbehave or go away: their own request ends, nobody else's does."""

import socket
import struct
from pathlib import Path

import pytest

from .conftest import Serve
from .dev_server import DevServer, eventually
from .projects import DATABASE, write_project

SOURCE = """
import asyncio

from js import ReadableStream
from pyodide.ffi import to_js
from workers import Response, WorkerEntrypoint

state = {"cancelled": [], "begun": [], "written": 0}


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = request.url.split("/", 3)[3]
        match path:
            case "state":
                return Response.json(state)
            case "wait":
                return await self.until_cancelled("wait")
            case "read":
                state["begun"].append("read")
                try:
                    await request.text()
                except BaseException as error:
                    state["cancelled"].append(f"read {type(error).__name__}")
                    raise
                return Response("read")
            case "stream":
                return Response(ReadableStream.new(pull=self.pull, cancel=self.cancelled))
            case "background":
                self.ctx.waitUntil(self.write_later())
                return await self.until_cancelled("background")
        return Response("fine")

    async def until_cancelled(self, name):
        state["begun"].append(name)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            state["cancelled"].append(name)
            raise

    async def pull(self, controller):
        await asyncio.sleep(0.005)
        controller.enqueue(to_js(b"x" * 10_000))

    def cancelled(self, reason=None):
        state["cancelled"].append("stream")

    async def write_later(self):
        while "background" not in state["cancelled"]:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        state["written"] += 1
"""
CLOSE = b"connection: close\r\n\r\n"


@pytest.fixture
def server(serve: Serve, tmp_path: Path) -> DevServer:
    return serve(write_project(tmp_path, SOURCE, d1_databases=[DATABASE]))


def state_of(server: DevServer) -> dict[str, object]:
    found: dict[str, object] = server.get("/state").json()
    return found


def has(server: DevServer, kind: str, name: str) -> bool:
    entries = state_of(server)[kind]
    assert isinstance(entries, list)
    return any(str(entry).startswith(name) for entry in entries)


def reset(connection: socket.socket) -> None:
    """Closes the way a crashed client does: a reset instead of an orderly end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"THIS IS NOT HTTP\r\n\r\n",
        b"GET / HTTP/9.9\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nbroken header line\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nx: a\x00b\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["garbage", "version", "header line", "zero byte", "length", "two lengths", "TLS hello"],
)
def test_a_malformed_request_is_refused_and_the_next_one_works(
    server: DevServer, request_bytes: bytes
) -> None:
    with server.connect() as connection:
        connection.sendall(request_bytes)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(65536)

    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert server.get("/").text == "fine"


def test_a_body_that_never_ends_disturbs_nobody(server: DevServer) -> None:
    with server.connect() as endless:
        endless.sendall(b"POST /read HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nonly this")
        eventually(lambda: has(server, "begun", "read"), "the request to begin")

        assert [server.get("/").text for _ in range(20)] == ["fine"] * 20


def test_a_chunked_body_that_breaks_off_fails_the_read_of_that_request(server: DevServer) -> None:
    connection = server.connect()
    connection.sendall(
        b"POST /read HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"
    )
    eventually(lambda: has(server, "begun", "read"), "the request to begin")
    connection.close()

    eventually(lambda: has(server, "cancelled", "read"), "the reading to end")
    assert server.get("/").text == "fine"


def test_a_client_that_leaves_before_the_answer_cancels_the_event(server: DevServer) -> None:
    connection = server.connect()
    connection.sendall(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n")
    eventually(lambda: has(server, "begun", "wait"), "the request to begin")
    reset(connection)

    eventually(lambda: has(server, "cancelled", "wait"), "the event to be cancelled")
    assert server.get("/").text == "fine"


def test_a_client_that_leaves_amid_the_body_cancels_the_stream(server: DevServer) -> None:
    connection = server.connect()
    connection.sendall(b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n")
    assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK")
    reset(connection)

    eventually(lambda: has(server, "cancelled", "stream"), "the stream to be cancelled")
    assert server.get("/").text == "fine"


def test_work_handed_to_waituntil_finishes_after_the_client_has_left(server: DevServer) -> None:
    connection = server.connect()
    connection.sendall(b"GET /background HTTP/1.1\r\nhost: x\r\n\r\n")
    eventually(lambda: has(server, "begun", "background"), "the request to begin")
    reset(connection)

    eventually(lambda: state_of(server)["written"] == 1, "the background work to finish")


def test_of_a_hundred_clients_that_leave_at_once_every_event_is_cancelled(
    server: DevServer,
) -> None:
    connections = [server.connect() for _ in range(100)]
    for connection in connections:
        connection.sendall(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n")
    eventually(lambda: state_of(server)["begun"] == ["wait"] * 100, "all requests to begin")

    for connection in connections:
        reset(connection)

    eventually(lambda: state_of(server)["cancelled"] == ["wait"] * 100, "all to be cancelled")
    assert server.get("/").text == "fine"


def test_two_requests_sent_at_once_are_answered_in_order(server: DevServer) -> None:
    with server.connect() as connection:
        connection.sendall(
            b"GET /state HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\r\nhost: x\r\n" + CLOSE
        )
        received = b"".join(iter(lambda: connection.recv(65536), b""))

    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert received.index(b"cancelled") < received.index(b"fine")
