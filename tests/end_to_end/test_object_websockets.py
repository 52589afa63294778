"""Hibernatable WebSockets of Durable Objects through the real command, with real clients."""

import contextlib
import socket
import struct
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from .conftest import Serve
from .dev_server import PATIENCE, DevServer, eventually
from .projects import write_project

ROOM = """
import asyncio

from js import WebSocketPair
from workers import DurableObject, Response, WorkerEntrypoint


class Room(DurableObject):
    async def fetch(self, request):
        if request.headers.get("upgrade") != "websocket":
            tagged = {tag: len(self.ctx.getWebSockets(tag)) for tag in ("a", "b")}
            noted = self.ctx.storage.kv.get("noted") or []
            return Response.json({"listed": len(self.ctx.getWebSockets()), **tagged, "noted": noted})
        client, server = WebSocketPair.new().object_values()
        self.ctx.acceptWebSocket(server, [request.url[-1]])
        headers = {"Sec-WebSocket-Protocol": "chat.v1", "X-Room": "yes"}
        return Response(None, status=101, web_socket=client, headers=headers)

    def note(self, *what):
        self.ctx.storage.kv.put("noted", [*(self.ctx.storage.kv.get("noted") or []), list(what)])

    async def webSocketMessage(self, ws, message):
        match message:
            case "leave":
                ws.close(4000, "you asked")
            case "abort":
                self.ctx.abort("told to")
            case "wait":
                await asyncio.Event().wait()
            case _:
                ws.send(message)

    async def webSocketClose(self, ws, code, reason, clean):
        self.note(code, reason, clean)

    async def webSocketError(self, ws, error):
        self.note("error", str(error))


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return await self.env.ROOM.getByName("room").fetch(request)
"""

FRONT = """
from workers import WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return await self.env.BEHIND.fetch(request)
"""

LOST = "WebSocket disconnected without sending Close frame."


def room(directory: Path, **config: Any) -> Path:
    objects = {
        "durable_objects": {"bindings": [{"name": "ROOM", "class_name": "Room"}]},
        "migrations": [{"tag": "v1", "new_sqlite_classes": ["Room"]}],
    }
    return write_project(directory, ROOM, name="rooms", **{**objects, **config})


def join(server: DevServer, tag: str = "a") -> ClientConnection:
    return connect(
        f"ws://127.0.0.1:{server.port}/{tag}",
        subprotocols=[Subprotocol("chat.v1")],
        proxy=None,
        open_timeout=PATIENCE,
        close_timeout=PATIENCE,
    )


def state(server: DevServer) -> dict[str, Any]:
    answer = server.get("/")
    assert answer.status_code == 200
    return dict(answer.json())


def end_with_reset(client: ClientConnection) -> None:
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.socket.shutdown(socket.SHUT_RD)
    client.socket.close()


def end_with_broken_frame(client: ClientConnection) -> None:
    # An opcode that does not exist.
    client.socket.sendall(bytes([0x8B, 0x80, 0, 0, 0, 0]))


def closed(client: ClientConnection) -> tuple[int | None, str | None]:
    """How the connection ended for the client."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            client.recv(PATIENCE)
    return client.close_code, client.close_reason


def test_text_bytes_subprotocol_and_headers_pass_through_both(serve: Serve, tmp_path: Path) -> None:
    server = serve(room(tmp_path / "w"))
    with join(server) as client:
        assert client.subprotocol == "chat.v1"
        assert client.response is not None
        assert client.response.headers["x-room"] == "yes"
        for message in ("text", "", b"bytes", b"", "é" * 100_000, bytes(1_000_000)):
            client.send(message)
            assert client.recv(PATIENCE) == message


@pytest.mark.parametrize(
    ("end", "noted"),
    [
        (lambda client: client.close(1000, "bye"), [1000, "bye", True]),
        (lambda client: client.close(4001, "for a reason"), [4001, "for a reason", True]),
        (lambda client: client.close(1001), [1001, "", True]),
        (end_with_reset, [1006, LOST, False]),
        (end_with_broken_frame, ["error"]),
        (lambda client: client.send("leave"), [4000, "you asked", True]),
    ],
    ids=["1000", "4001", "1001", "reset", "broken frame", "the object closes"],
)
def test_the_object_hears_of_every_ending_once(
    serve: Serve, tmp_path: Path, end: Any, noted: list[Any]
) -> None:
    server = serve(room(tmp_path / "w"))
    with join(server, "b") as staying, join(server, "a") as client:
        assert state(server) == {"listed": 2, "a": 1, "b": 1, "noted": []}
        end(client)
        found = eventually(lambda: state(server)["noted"], "the end of the connection")
        staying.send("still here")
        assert staying.recv(PATIENCE) == "still here"
        after = state(server)
        assert [entry[: len(noted)] for entry in found] == [noted]
        assert after == {"listed": 1, "a": 0, "b": 1, "noted": found}
        client.close_socket()


def test_a_message_that_is_too_large_closes_with_1009(serve: Serve, tmp_path: Path) -> None:
    server = serve(room(tmp_path / "w"))
    with join(server) as client:
        with contextlib.suppress(ConnectionClosed):
            client.send(bytes(32 * 1024 * 1024 + 1))
        assert closed(client)[0] == 1009
    eventually(lambda: state(server)["noted"], "the error event")
    assert state(server)["listed"] == 0


def test_a_service_binding_carries_the_connection(serve: Serve, tmp_path: Path) -> None:
    behind = room(tmp_path / "behind")
    front = write_project(
        tmp_path / "front",
        FRONT,
        name="front",
        services=[{"binding": "BEHIND", "service": "rooms"}],
    )
    server = serve(front, behind)
    with join(server) as client:
        client.send("through two Workers")
        assert client.recv(PATIENCE) == "through two Workers"
        client.close(4002, "bye")
    assert eventually(lambda: state(server)["noted"], "the close event") == [[4002, "bye", True]]


def test_an_aborted_object_cuts_its_clients_and_takes_new_ones(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(room(tmp_path / "w"))
    with join(server) as one, join(server) as two:
        one.send("abort")
        assert [closed(client)[0] for client in (one, two)] == [1006, 1006]
    with join(server) as client:
        client.send("again")
        assert client.recv(PATIENCE) == "again"
    server.wait_for_output("told to")


def test_a_change_of_the_objects_code_closes_with_1012(serve: Serve, tmp_path: Path) -> None:
    behind = room(tmp_path / "behind")
    front = write_project(
        tmp_path / "front",
        FRONT,
        name="front",
        services=[{"binding": "BEHIND", "service": "rooms"}],
    )
    server = serve(front, behind)
    with join(server) as client:
        entry = behind.parent / "src" / "entry.py"
        entry.write_text(entry.read_text() + "\n# changed\n")
        assert closed(client) == (1012, "The Worker was reloaded.")
    eventually(lambda: server.get("/").status_code == 200, "the new code")


def test_a_stop_closes_with_1001(serve: Serve, tmp_path: Path) -> None:
    server = serve(room(tmp_path / "w"))
    with join(server) as client:
        assert server.stop() == 0
        assert closed(client)[0] == 1001


def test_a_client_that_floods_a_waiting_object_is_held_back(serve: Serve, tmp_path: Path) -> None:
    server = serve(room(tmp_path / "w"))
    with join(server) as client:
        client.send("warm")
        client.recv(PATIENCE)
        before = server.memory()
        for _ in range(128):
            client.send("wait")
        client.socket.settimeout(0.5)
        sent = 0
        chunk = bytes(64 * 1024)
        with contextlib.suppress(TimeoutError, ConnectionClosed):
            while sent < 256 * 1024 * 1024:
                client.send(chunk)
                sent += len(chunk)
        assert sent < 64 * 1024 * 1024
        assert server.memory() - before < 48 * 1024 * 1024
        client.close_socket()
    assert server.get("/").status_code == 200
