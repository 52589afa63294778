"""Workers behind real servers that take WebSockets, and clients of them."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from uvicorn import Config, Server
from websockets.asyncio.client import ClientConnection, connect

from pyflare.cli.one_write import OneWriteProtocol
from pyflare.js.response import Response
from pyflare.js.semantics import Semantics, semantics
from pyflare.js.websocket_pair import WebSocketPair
from pyflare.server.application import Application
from pyflare.server.log import LogSink
from pyflare.workers.connections import Connections

T = TypeVar("T")

#: The server of `pyflare dev`, and uvicorn as somebody else would start it.
OWN, FOREIGN = "own", "foreign"

#: What a recent compatibility date brings, and what an early one leaves to the worker.
MODERN, EARLY = Semantics(close_is_answered=True), Semantics()


class SocketProgram:
    """A worker made of one handler."""

    name = "program"

    def __init__(self, handler: Callable[[Any], Any], rules: Semantics) -> None:
        self.connections = Connections()
        self.running = 0
        self._handler = handler
        self._rules = rules

    async def run(self, event: Coroutine[Any, Any, T]) -> T:
        semantics.set(self._rules)
        self.running += 1
        try:
            return await event
        finally:
            self.running -= 1

    async def fetch(self, request: Any) -> Response:
        answer = self._handler(request)
        return await answer if isinstance(answer, Awaitable) else answer


@dataclass
class Host:
    """A running server. `heard` holds what the sockets of `accepting` have dispatched."""

    port: int
    program: SocketProgram
    server: Server
    out: io.StringIO
    err: io.StringIO
    log: LogSink
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    def connect(self, path: str = "/", **options: Any) -> Any:
        options.setdefault("compression", None)
        return connect(f"ws://127.0.0.1:{self.port}{path}", proxy=None, **options)

    async def raw(self, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        writer.write(request)
        return reader, writer

    async def upgraded(
        self, **headers: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
        """A raw connection after its handshake, and the head of the answer."""
        reader, writer = await self.raw(handshake(**headers))
        return reader, writer, await reader.readuntil(b"\r\n\r\n")

    async def idle(self) -> None:
        """Wait until no event runs and no connection is held."""
        async with asyncio.timeout(20):
            while self.program.running or len(self.program.connections):
                await asyncio.sleep(0.001)


def handshake(path: str = "/", method: str = "GET", **changes: str | None) -> bytes:
    """A request for a WebSocket; a header of None is left out, `_` in a name stands for `-`."""
    headers: dict[str, str | None] = {
        "host": "127.0.0.1",
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-key": base64.b64encode(os.urandom(16)).decode(),
        "sec-websocket-version": "13",
    }
    headers |= {name.replace("_", "-"): value for name, value in changes.items()}
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()


def frame(opcode: int, data: bytes = b"", *, fin: bool = True, mask: bool = True) -> bytes:
    """One frame as a client sends it."""
    head = bytes([(0x80 if fin else 0) | opcode])
    bit = 0x80 if mask else 0
    if len(data) < 126:
        head += bytes([bit | len(data)])
    elif len(data) < 1 << 16:
        head += bytes([bit | 126]) + struct.pack("!H", len(data))
    else:
        head += bytes([bit | 127]) + struct.pack("!Q", len(data))
    if not mask:
        return head + data
    key = b"\1\2\3\4"
    return head + key + bytes(byte ^ key[index % 4] for index, byte in enumerate(data))


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """One whole frame of a server: its opcode and data."""
    first, length = await reader.readexactly(2)
    if length == 126:
        (length,) = struct.unpack("!H", await reader.readexactly(2))
    elif length == 127:
        (length,) = struct.unpack("!Q", await reader.readexactly(8))
    return first & 15, await reader.readexactly(length)


def close_data(code: int, reason: str = "") -> bytes:
    return struct.pack("!H", code) + reason.encode()


def accepting(
    listen: Callable[[Any, Any], Any] | None = None, **init: Any
) -> tuple[Callable[[Any], Response], list[Any]]:
    """A handler that accepts every socket, and the list of what arrives.

    `listen(server, event)` is called for each message; without it messages are sent back."""
    heard: list[Any] = []

    def handle(_request: Any) -> Response:
        client, server = WebSocketPair.new()
        server.accept()
        server.binaryType = "arraybuffer"

        def message(event: Any) -> Any:
            heard.append(event.data)
            return server.send(event.data) if listen is None else listen(server, event)

        server.addEventListener("message", message)
        server.addEventListener(
            "close", lambda event: heard.append((event.code, event.reason, event.wasClean))
        )
        server.addEventListener("error", lambda event: heard.append(event.message))
        return Response.new(None, status=101, webSocket=client, **init)

    return handle, heard


@contextlib.asynccontextmanager
async def hosted(
    handler: Callable[[Any], Any],
    kind: str = OWN,
    *,
    rules: Semantics = MODERN,
    **options: Any,
) -> AsyncIterator[Host]:
    """One worker behind a server; in the end everything has to be over."""
    out, err = io.StringIO(), io.StringIO()
    log = LogSink(stdout=out, stderr=err, colour=False)
    program = SocketProgram(handler, rules)
    app = Application(
        route=lambda _: program, log=log, direct=True, **({"pretty_errors": False} | options)
    )
    config = Config(
        app,
        http=OneWriteProtocol if kind == OWN else "httptools",
        ws="none" if kind == OWN else "websockets-sansio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup([listener])
    host = Host(listener.getsockname()[1], program, server, out, err, log)
    try:
        yield host
        await host.idle()
    finally:
        for writer in host.writers:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        await server.shutdown([listener])
        log.flush()


def run(test: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a test; afterwards no task of it may be left."""

    async def main() -> T:
        async with asyncio.timeout(60):
            result = await test()
        async with asyncio.timeout(10):
            while len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.001)
        return result

    return asyncio.run(main())


__all__ = [
    "EARLY",
    "FOREIGN",
    "MODERN",
    "OWN",
    "ClientConnection",
    "Host",
    "SocketProgram",
    "accepting",
    "close_data",
    "frame",
    "handshake",
    "hosted",
    "read_frame",
    "run",
]
