"""An object whose WebSockets a test holds the other ends of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare_bindings.clock import ManualClock
from tests.emulator.actors.conftest import write_objects
from tests.emulator.conftest import Runner

#: More than the seconds after which an idle object leaves memory.
LONG = 30.0

ROOM = """
    class Thing(DurableObject):
        def __init__(self, ctx, env):
            super().__init__(ctx, env)
            self.lives = (ctx.storage.kv.get("lives") or 0) + 1
            ctx.storage.kv.put("lives", self.lives)
            self.in_memory = []

        async def fetch(self, request):
            tags = request.url.rpartition("/")[2]
            client, server = js.WebSocketPair.new()
            self.ctx.acceptWebSocket(server, tags.split(",") if tags else [])
            return Response(None, status=101, web_socket=client)

        async def webSocketMessage(self, ws, message):
            self.in_memory.append(message)
            ws.send(f"{self.lives} {len(self.in_memory)} {message}")

        async def life(self):
            return self.lives

        async def heard(self):
            return self.in_memory
"""


class Peer:
    """The client's end of a socket: what it has received, and how it ended."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.messages: list[Any] = []
        self.closes: list[tuple[int, str, bool]] = []
        socket.binaryType = "arraybuffer"
        socket.addEventListener("message", self._message)
        socket.addEventListener(
            "close", lambda event: self.closes.append((event.code, event.reason, event.wasClean))
        )
        socket.accept()

    def _message(self, event: Any) -> None:
        data = event.data
        self.messages.append(data if isinstance(data, str) else data.to_bytes())

    def send(self, message: Any) -> None:
        self.socket.send(message)

    def close(self, *how: Any) -> None:
        self.socket.close(*how)

    def vanish(self) -> None:
        """As a client does whose machine is switched off."""
        self.socket._end.leave()


async def turns(number: int = 60) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def until(true: Callable[[], Any]) -> None:
    async with asyncio.timeout(5):
        while not true():
            await asyncio.sleep(0.001)


class House:
    """A started worker with a class ``Thing``, whose clock the test turns."""

    def __init__(self, flare: Pyflare, clock: ManualClock) -> None:
        self.flare = flare
        self.env = flare.env()
        self.clock = clock

    def stub(self, name: str = "a") -> Any:
        return self.env.THING.getByName(name)

    async def connect(self, tags: str = "", name: str = "a") -> Peer:
        response = await self.stub(name).fetch(
            f"http://object/{tags}", headers={"Upgrade": "websocket"}
        )
        assert response.status == 101
        return Peer(response.js_object.webSocket)

    async def sleep(self, seconds: float = LONG) -> None:
        """Long enough for every object without work to leave memory."""
        await turns()
        await self.clock.advance(seconds)

    @property
    def namespace(self) -> Any:
        (namespace,) = self.flare._objects.host.namespaces.values()
        return namespace

    @property
    def awake(self) -> int:
        """How many objects are in memory."""
        return len(self.namespace)


Program = Callable[[House], Awaitable[Any]]


@pytest.fixture
def house(tmp_path: Path, run: Runner) -> Callable[..., Any]:
    """Runs ``program(house)`` beside a worker with this source."""

    def go(program: Program, source: str = ROOM, **config: Any) -> Any:
        path = write_objects(tmp_path / "w", source, **config)
        clock = ManualClock()

        async def inside(flare: Pyflare) -> Any:
            return await program(House(flare, clock))

        return run(inside, path, clock=clock)

    return go
