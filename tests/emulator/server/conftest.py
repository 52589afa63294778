"""What the server's tests share: worker programs, and real sockets for the application to answer on."""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from uvicorn import Config, Server

from pyflare.js.response import Response
from pyflare.server.application import Application
from pyflare.server.log import LogSink

T = TypeVar("T")
Handler = Callable[[Any], Any]


class Program:
    """A worker made of one handler, which takes the request and gives a response, or an awaitable of one."""

    def __init__(self, handler: Handler, name: str = "program") -> None:
        self.name = name
        self._handler = handler

    async def run(self, event: Coroutine[Any, Any, T]) -> T:
        return await event

    async def fetch(self, request: Any) -> Response:
        answer = self._handler(request)
        if isinstance(answer, Awaitable):
            answer = await answer
        return answer


@dataclass
class Answer:
    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes
    complete: bool

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    def get(self, name: str) -> str | None:
        return next(iter(self.all(name)), None)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Client:
    """A client that sees every byte: it sends requests as given and notices truncated bodies."""

    port: int
    log: LogSink
    out: io.StringIO
    err: io.StringIO
    opened: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.opened.append(writer)
        return reader, writer

    async def send(self, request: bytes, *, method: str = "GET") -> Answer:
        reader, writer = await self.connect()
        writer.write(request)
        answer = await read_answer(reader, head=method == "HEAD")
        await hang_up(writer)
        return answer

    async def get(self, path: str = "/", *, method: str = "GET", **headers: str) -> Answer:
        headers.setdefault("host", f"127.0.0.1:{self.port}")
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        request = f"{method} {path} HTTP/1.1\r\nconnection: close\r\n{lines}\r\n"
        return await self.send(request.encode("latin-1"), method=method)

    async def post(self, body: bytes, path: str = "/", **headers: str) -> Answer:
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = (
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\nconnection: close\r\n"
            f"content-length: {len(body)}\r\n{lines}\r\n"
        )
        return await self.send(head.encode("latin-1") + body)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def read_head(reader: asyncio.StreamReader) -> tuple[int, str, list[tuple[str, str]]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status_line, *lines = head.strip().split("\r\n")
    _, status, reason = (status_line + " ").split(" ", 2)
    pairs = [tuple(line.split(": ", 1)) for line in lines]
    return int(status), reason.strip(), [(name.lower(), value) for name, value in pairs]


async def read_answer(reader: asyncio.StreamReader, *, head: bool = False) -> Answer:
    status, reason, headers = await read_head(reader)
    known = dict(headers)
    complete = True
    body = b""
    try:
        if head or status in (204, 304):
            pass
        elif known.get("transfer-encoding") == "chunked":
            while size := int(await reader.readuntil(b"\r\n"), 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readexactly(2)
        else:
            body = await reader.readexactly(int(known.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        complete = False
    return Answer(status, reason, headers, body, complete)


@contextlib.asynccontextmanager
async def serve(
    app: Any, log: LogSink, out: io.StringIO, err: io.StringIO
) -> AsyncIterator[Client]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = Server(
        Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
    )
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup([listener])
    client = Client(listener.getsockname()[1], log, out, err)
    try:
        yield client
    finally:
        for writer in client.opened:
            await hang_up(writer)
        await server.shutdown([listener])
        log.flush()


@pytest.fixture
def serving() -> Callable[..., contextlib.AbstractAsyncContextManager[Client]]:
    """``async with serving(handler) as client``: one worker, or ``app=`` made from the log by a function."""

    def start(
        handler: Handler | None = None,
        *,
        app: Callable[[LogSink], Any] | None = None,
        level: str = "log",
        **options: Any,
    ) -> contextlib.AbstractAsyncContextManager[Client]:
        out, err = io.StringIO(), io.StringIO()
        log = LogSink(level=level, stdout=out, stderr=err, colour=False)
        if app is not None:
            return serve(app(log), log, out, err)
        assert handler is not None
        program = Program(handler)
        return serve(
            Application(route=lambda _: program, log=log, **({"direct": True} | options)),
            log,
            out,
            err,
        )

    return start


@pytest.fixture
def program() -> Callable[[Handler, str], Program]:
    return Program
