"""A WebSocket of the embedding program has the limits and the close frames that a client of a server sees."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare.embed.websocket import WebSocketClosed
from pyflare.js.websocket_wire import LARGEST_MESSAGE
from tests.emulator.conftest import Runner, write_worker

SOURCE = """
from js import WebSocketPair
from workers import DurableObject, Response, WorkerEntrypoint

seen = []

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.url.endswith("/room"):
            return await self.env.ROOM.getByName("x").fetch(request.js_object)
        client, server = WebSocketPair.new().object_values()
        server.binaryType = "arraybuffer"
        server.accept()

        def heard(event):
            if event.data == "close":
                server.close()
            elif isinstance(event.data, str):
                server.send(str(len(event.data)))
            else:
                server.send(str(event.data.byteLength))

        server.addEventListener("message", heard)
        server.addEventListener("close", lambda event: seen.append([event.code, event.reason]))
        server.addEventListener("error", lambda event: seen.append(event.error.message))
        return Response(None, status=101, web_socket=client)

    async def seen(self):
        return seen

class Room(DurableObject):
    async def fetch(self, request):
        client, server = WebSocketPair.new().object_values()
        self.ctx.acceptWebSocket(server)
        return Response(None, status=101, web_socket=client)

    async def webSocketMessage(self, ws, message):
        if message == "close":
            ws.close()
        else:
            ws.send(str(len(message) if isinstance(message, str) else message.byteLength))

    async def webSocketClose(self, ws, code, reason, was_clean):
        seen.append([code, reason])

    async def webSocketError(self, ws, error):
        seen.append("error")
"""

PATHS = ["/", "/room"]


@pytest.fixture
def connected(run: Runner, tmp_path: Path) -> Callable[..., Any]:
    """Gives what ``program(socket)`` gives, and what the Worker has seen of the end."""
    config = write_worker(
        tmp_path,
        SOURCE,
        durable_objects={"bindings": [{"name": "ROOM", "class_name": "Room"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Room"]}],
    )

    def go(path: str, program: Callable[[Any], Any]) -> Any:
        async def inside(flare: Pyflare) -> Any:
            async with flare.websocket(path) as socket:
                async with asyncio.timeout(30):
                    result = await program(socket)
            return result, await flare.worker().seen()

        return run(inside, config)

    return go


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("message", "size"),
    [
        (b"x" * (LARGEST_MESSAGE + 1), LARGEST_MESSAGE + 1),
        ("é" * (LARGEST_MESSAGE // 2 + 1), LARGEST_MESSAGE + 2),
    ],
    ids=["bytes", "text"],
)
def test_a_message_above_32_mib_closes_with_1009(
    connected: Callable[..., Any], path: str, message: str | bytes, size: int
) -> None:
    async def program(socket: Any) -> Any:
        await socket.send("before")
        heard = await socket.receive()
        await socket.send(message)
        with pytest.raises(WebSocketClosed) as closed:
            await socket.receive()
        with pytest.raises(WebSocketClosed):
            await socket.send("after")
        return heard, closed.value.code, closed.value.reason

    answer, _ = connected(path, program)
    assert answer == ("6", 1009, f"Message is too large: {size} > {LARGEST_MESSAGE}")


def test_the_worker_gets_an_error_for_it(connected: Callable[..., Any]) -> None:
    async def program(socket: Any) -> None:
        await socket.send(b"x" * (LARGEST_MESSAGE + 1))

    _, seen = connected("/", program)
    assert seen == [f"Message is too large: {LARGEST_MESSAGE + 1} > {LARGEST_MESSAGE}", [1006, ""]]


def test_an_object_gets_an_error_for_it(connected: Callable[..., Any]) -> None:
    async def program(socket: Any) -> None:
        await socket.send(b"x" * (LARGEST_MESSAGE + 1))

    assert connected("/room", program)[1] == ["error"]


@pytest.mark.parametrize("path", PATHS)
def test_a_message_of_32_mib_arrives(connected: Callable[..., Any], path: str) -> None:
    async def program(socket: Any) -> Any:
        await socket.send(b"x" * LARGEST_MESSAGE)
        return await socket.receive()

    assert connected(path, program)[0] == str(LARGEST_MESSAGE)


@pytest.mark.parametrize("path", PATHS)
def test_a_close_without_a_code_has_none(connected: Callable[..., Any], path: str) -> None:
    async def program(socket: Any) -> Any:
        await socket.send("close")
        with pytest.raises(WebSocketClosed) as closed:
            await socket.receive()
        return closed.value.code, closed.value.reason

    assert connected(path, program) == ((1005, ""), [[1005, ""]])
