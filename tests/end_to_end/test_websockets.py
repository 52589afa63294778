"""WebSockets through the real command: plain Workers, FastAPI, several at once, reload and stop."""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import textwrap
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from .conftest import Serve
from .dev_server import PATIENCE, DevServer, eventually
from .projects import write_project

HANDSHAKE = (
    b"GET / HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
)

ROOM = """
import asyncio

from js import WebSocketPair, setTimeout
from pyodide.ffi import run_sync
from workers import Response, WorkerEntrypoint, wait_until


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.headers.get("upgrade") != "websocket":
            return Response("Expected Upgrade: websocket", status=426)
        client, server = WebSocketPair.new()
        server.accept()
        server.binaryType = "arraybuffer"

        async def later():
            await asyncio.sleep(0.05)
            print("background done")

        async def slow():
            await asyncio.sleep(0.01)
            return "slept"

        def onmessage(event):
            match event.data:
                case "timer":
                    setTimeout(lambda: server.send("tick"), 20)
                case "sync":
                    server.send(run_sync(slow()))
                case "background":
                    wait_until(later())
                    server.send("begun")
                case "raise":
                    raise ValueError("from a listener")
                case "many":
                    for number in range(1000):
                        server.send(str(number))
                case "leave":
                    server.close(4000, "you asked")
                case data:
                    server.send(data)

        def onclose(event):
            print("closed", event.code, event.reason, event.wasClean)

        server.addEventListener("message", onmessage)
        server.addEventListener("close", onclose)
        return Response(None, status=101, web_socket=client)
"""

FASTAPI = """
import asgi
from fastapi import FastAPI, Header, WebSocket, WebSocketDisconnect

app = FastAPI()


@app.get("/")
async def index():
    return {"hello": "http"}


@app.websocket("/echo/{name}")
async def echo(socket: WebSocket, name: str, q: str = "", x_token: str = Header("")):
    await socket.accept()
    await socket.send_json({"name": name, "q": q, "token": x_token, "has env": "env" in socket.scope})
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            print("disconnected", message["code"], message["reason"])
            return
        if message.get("text") is not None:
            await socket.send_text(message["text"])
        else:
            await socket.send_bytes(message["bytes"])


@app.websocket("/disconnect")
async def disconnect(socket: WebSocket):
    await socket.accept()
    try:
        await socket.receive_text()
    except WebSocketDisconnect as error:
        print("exception", error.code, error.reason)


@app.websocket("/close")
async def close(socket: WebSocket):
    await socket.accept()
    await socket.close(1011, "on purpose")
    try:
        await socket.send_text("too late")
    except RuntimeError as error:
        print("refused:", error)


@app.websocket("/reject")
async def reject(socket: WebSocket):
    await socket.close(1008)


@app.websocket("/return")
async def leave(socket: WebSocket):
    await socket.accept()


@app.websocket("/raise")
async def fail(socket: WebSocket):
    await socket.accept()
    raise RuntimeError("boom")


Default = asgi.entrypoint(app)
"""

PROXY = """
from js import fetch
from workers import WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return await fetch(f"http://127.0.0.1:{self.env.PORT}/", request.js_object)
"""


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    """Clients that are closed with the test."""
    with ExitStack() as stack:
        yield stack


def opened(
    server: DevServer, path: str = "/", stack: ExitStack | None = None, **options: Any
) -> Any:
    options.setdefault("compression", None)
    client = connect(f"ws://127.0.0.1:{server.port}{path}", proxy=None, **options)
    return client if stack is None else stack.enter_context(client)


def ending(client: ClientConnection) -> tuple[int, str]:
    """Reads to the end; the code and the reason that came."""

    def read_on() -> None:
        while True:
            client.recv(timeout=PATIENCE)

    with pytest.raises(ConnectionClosed) as caught:
        read_on()
    close = caught.value.rcvd
    assert close is not None, caught.value
    return close.code, close.reason


class TestAPlainWorker:
    def test_a_conversation(self, serve: Serve, tmp_path: Path) -> None:
        server = serve(write_project(tmp_path, ROOM))
        with opened(server) as client:
            for message in ("hello", "", "ü", b"bytes", b"", "x" * (1 << 20), bytes(1 << 20)):
                client.send(message)
                assert client.recv(timeout=PATIENCE) == message
            client.send("many")
            assert [client.recv(timeout=PATIENCE) for _ in range(1000)] == [
                str(number) for number in range(1000)
            ]
            client.close(4001, "bye")
        output = server.wait_for_output("closed 4001 bye True")
        assert "GET / 101 Switching Protocols" in output
        assert server.get("/").status_code == 426

    def test_timers_background_work_and_run_sync_work_while_the_socket_is_open(
        self, serve: Serve, tmp_path: Path, sockets: ExitStack
    ) -> None:
        server = serve(write_project(tmp_path, ROOM))
        client = opened(server, stack=sockets)
        for message, answer in (("timer", "tick"), ("sync", "slept"), ("background", "begun")):
            client.send(message)
            assert client.recv(timeout=PATIENCE) == answer
        client.close()
        server.wait_for_output("background done")

    def test_the_worker_closes(self, serve: Serve, tmp_path: Path, sockets: ExitStack) -> None:
        server = serve(write_project(tmp_path, ROOM))
        client = opened(server, stack=sockets)
        client.send("leave")
        assert ending(client) == (4000, "you asked")

    def test_an_exception_in_a_listener_is_reported_and_ends_its_socket_only(
        self, serve: Serve, tmp_path: Path, sockets: ExitStack
    ) -> None:
        server = serve(write_project(tmp_path, ROOM))
        other, client = opened(server, stack=sockets), opened(server, stack=sockets)
        client.send("raise")
        assert ending(client)[0] == 1011
        assert "entry.py" in server.wait_for_output("ValueError: from a listener")
        other.send("still here")
        assert other.recv(timeout=PATIENCE) == "still here"

    def test_a_connection_that_is_reset_is_1006(self, serve: Serve, tmp_path: Path) -> None:
        server = serve(write_project(tmp_path, ROOM))
        with server.connect() as connection:
            connection.sendall(HANDSHAKE)
            assert connection.recv(65536).startswith(b"HTTP/1.1 101 ")
            # Closing resets the connection, without a word to the other side.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        server.wait_for_output("closed 1006 WebSocket disconnected without sending Close frame.")

    def test_two_hundred_sockets_leave_nothing_behind(self, serve: Serve, tmp_path: Path) -> None:
        server = serve(write_project(tmp_path, ROOM))
        descriptors = Path(f"/proc/{server.process.pid}/fd")
        if not descriptors.exists():
            pytest.skip("needs /proc to count open files")

        def round_of(count: int) -> None:
            with ExitStack() as stack:
                clients = [opened(server, stack=stack) for _ in range(count)]
                for number, client in enumerate(clients):
                    client.send(str(number))
                for number, client in enumerate(clients):
                    assert client.recv(timeout=PATIENCE) == str(number)

        round_of(1)
        before = len(os.listdir(descriptors))
        round_of(200)
        eventually(lambda: len(os.listdir(descriptors)) <= before, "every file closed")
        memory = server.memory()
        for _ in range(4):
            round_of(100)
        assert server.memory() - memory < 20 << 20

    def test_a_socket_through_another_worker(
        self, serve: Serve, tmp_path: Path, sockets: ExitStack
    ) -> None:
        room = serve(write_project(tmp_path / "room", ROOM, name="room"))
        proxy = serve(
            write_project(tmp_path / "proxy", PROXY, name="proxy", vars={"PORT": str(room.port)}),
            arguments=("--persist-to", tmp_path / "proxy-state"),
            persist=False,
        )
        client = opened(proxy, stack=sockets)
        for message in ("hello", b"bytes", bytes(1 << 20)):
            client.send(message)
            assert client.recv(timeout=PATIENCE) == message
        client.close(4010, "through both")
        room.wait_for_output("closed 4010 through both True")

    def test_a_javascript_client(self, serve: Serve, tmp_path: Path) -> None:
        node = shutil.which("node")
        if node is None:
            pytest.skip("needs Node.js")
        program = """
            if (typeof WebSocket === "undefined") process.exit(77);
            const socket = new WebSocket(process.argv[1]);
            socket.binaryType = "arraybuffer";
            socket.onopen = () => { socket.send("text"); socket.send(new Uint8Array([1, 2])); };
            const seen = [];
            socket.onmessage = ({ data }) => {
                seen.push(typeof data === "string" ? data : [...new Uint8Array(data)]);
                if (seen.length === 2) socket.close(4123, "from node");
            };
            socket.onclose = (e) => console.log(JSON.stringify([seen, e.code, e.reason, e.wasClean]));
        """
        server = serve(write_project(tmp_path, ROOM))
        ran = subprocess.run(
            [node, "--experimental-websocket", "-e", program, f"ws://127.0.0.1:{server.port}/"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if ran.returncode in (9, 77):
            pytest.skip("this Node.js has no WebSocket")
        assert json.loads(ran.stdout) == [["text", [1, 2]], 4123, "from node", True]


class TestFastAPI:
    def test_an_echo_equal_in_kind_and_order(
        self, serve: Serve, tmp_path: Path, sockets: ExitStack
    ) -> None:
        server = serve(write_project(tmp_path, FASTAPI))
        client = opened(server, "/echo/ann?q=1", stack=sockets, additional_headers={"X-Token": "t"})
        greeting = json.loads(client.recv(timeout=PATIENCE))
        assert greeting == {"name": "ann", "q": "1", "token": "t", "has env": True}
        for message in ("text", "", b"binary", b"", bytes(range(256)) * 4096):
            client.send(message)
            assert client.recv(timeout=PATIENCE) == message
        assert server.get("/").json() == {"hello": "http"}

    @pytest.mark.parametrize(
        ("path", "expected"),
        [("/echo/ann", "disconnected 4000 why not"), ("/disconnect", "exception 4000 why not")],
        ids=["receive", "exception"],
    )
    def test_the_application_hears_why_the_client_leaves(
        self, serve: Serve, tmp_path: Path, path: str, expected: str
    ) -> None:
        server = serve(write_project(tmp_path, FASTAPI))
        with opened(server, path) as client:
            client.close(4000, "why not")
        server.wait_for_output(expected)

    def test_the_application_hears_that_the_client_vanished(
        self, serve: Serve, tmp_path: Path
    ) -> None:
        server = serve(write_project(tmp_path, FASTAPI))
        with opened(server, "/disconnect") as client:
            client.socket.shutdown(socket.SHUT_RDWR)
            server.wait_for_output("exception 1006")

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("/close", (1011, "on purpose")),
            # The SDK's adapter has sent 101 before the application is asked.
            ("/reject", (1008, "")),
            ("/return", (1000, "")),
            ("/raise", (1011, "")),
        ],
    )
    def test_how_the_application_ends_it(
        self,
        serve: Serve,
        tmp_path: Path,
        sockets: ExitStack,
        path: str,
        expected: tuple[int, str],
    ) -> None:
        server = serve(write_project(tmp_path, FASTAPI))
        assert ending(opened(server, path, stack=sockets)) == expected
        match path:
            case "/close":
                server.wait_for_output("refused: ")
            case "/raise":
                server.wait_for_output("RuntimeError: boom")

    def test_an_unknown_path_is_closed(
        self, serve: Serve, tmp_path: Path, sockets: ExitStack
    ) -> None:
        server = serve(write_project(tmp_path, FASTAPI))
        assert ending(opened(server, "/nowhere", stack=sockets)) == (1000, "")


SHARED_NAMES = """
import asyncio

from js import WebSocketPair
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        client, server = WebSocketPair.new()
        server.accept()

        def plain(event):
            import helper

            server.send(f"plain {helper.NAME} {event.data}")

        async def waiting(event):
            await asyncio.sleep(0)
            import helper

            server.send(f"async {helper.NAME} {event.data}")

        server.addEventListener("message", plain)
        server.addEventListener("message", waiting)
        return Response(None, status=101, web_socket=client)
"""


class TestSeveralWorkers:
    def test_listeners_see_their_own_modules_only(
        self, serve: Serve, tmp_path: Path, sockets: ExitStack
    ) -> None:
        projects = [
            write_project(
                tmp_path / name,
                {"src/entry.py": SHARED_NAMES, "src/helper.py": f"NAME = {name!r}\n"},
                name=name,
                routes=[{"pattern": f"{name}.test/*", "zone_name": f"{name}.test"}],
            )
            for name in ("ann", "bob")
        ]
        server = serve(*projects)
        clients = [
            connect(
                f"ws://{name}.test/",
                sock=server.connect(),
                proxy=None,
                compression=None,
            )
            for name in ("ann", "bob")
        ]
        for client in clients:
            sockets.enter_context(client)
        for number in range(50):
            for client in clients:
                client.send(str(number))
        for name, client in zip(("ann", "bob"), clients, strict=True):
            got = [client.recv(timeout=PATIENCE) for _ in range(100)]
            expected = [f"{how} {name} {n}" for n in range(50) for how in ("plain", "async")]
            assert sorted(got) == sorted(expected)


class TestReloadAndStop:
    def test_a_reload_closes_the_old_codes_sockets_and_the_new_code_takes_new_ones(
        self, serve: Serve, tmp_path: Path, sockets: ExitStack
    ) -> None:
        first = write_project(tmp_path / "one", ROOM, name="one")
        other = write_project(
            tmp_path / "two",
            {"src/other_entry.py": ROOM},
            name="two",
            main="src/other_entry.py",
            routes=[{"pattern": "two.test/*", "zone_name": "two.test"}],
        )
        server = serve(first, other)
        client = opened(server, stack=sockets)
        bystander = sockets.enter_context(
            connect("ws://two.test/", sock=server.connect(), proxy=None, compression=None)
        )
        client.send("before")
        assert client.recv(timeout=PATIENCE) == "before"
        entry = tmp_path / "one" / "src" / "entry.py"
        entry.write_text(textwrap.dedent(ROOM).replace("server.send(data)", "server.send('new')"))
        assert ending(client) == (1012, "The Worker was reloaded.")
        server.wait_for_output("closed 1012 The Worker was reloaded. True")
        server.wait_for_output("Local server updated and ready")
        fresh = opened(server, stack=sockets)
        fresh.send("after")
        assert fresh.recv(timeout=PATIENCE) == "new"
        bystander.send("undisturbed")
        assert bystander.recv(timeout=PATIENCE) == "undisturbed"

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
    def test_a_stop_says_going_away_and_is_soon_over(
        self, serve: Serve, tmp_path: Path, sockets: ExitStack, number: signal.Signals
    ) -> None:
        server = serve(write_project(tmp_path, ROOM))
        clients = [opened(server, stack=sockets) for _ in range(5)]
        began = time.monotonic()
        assert server.stop(number) == 0
        assert time.monotonic() - began < 2
        assert [ending(client)[0] for client in clients] == [1001] * 5
        assert server.output().count("closed 1001") == 5

    def test_a_client_that_never_answers_does_not_hold_up_a_stop(
        self, serve: Serve, tmp_path: Path
    ) -> None:
        server = serve(write_project(tmp_path, ROOM))
        with server.connect() as connection:
            connection.sendall(HANDSHAKE)
            assert connection.recv(65536).startswith(b"HTTP/1.1 101 ")
            assert server.stop() == 0

    def test_a_worker_that_does_not_import_answers_upgrades_with_its_failure(
        self, serve: Serve, tmp_path: Path
    ) -> None:
        server = serve(write_project(tmp_path, "raise ValueError('broken module')"))
        with server.connect() as connection:
            connection.sendall(HANDSHAKE)
            received = b""
            while piece := connection.recv(65536):
                received += piece
        assert received.startswith(b"HTTP/1.1 500 ")
        assert b"ValueError: broken module" in received
