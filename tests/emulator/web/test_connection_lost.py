"""A request without an answer: what the Worker is told, and what whoever reads the terminal is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker

SOURCE = """
    import traceback

    import js
    from workers import Response, WorkerEntrypoint


    async def failing(address):
        {call}


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            path, _, address = request.url.partition("?")
            if not path.endswith("/caught"):
                await failing(address)
            try:
                await failing(address)
            except js.Error as error:
                shown = [str(error), error.retryable, error.__cause__ is None, traceback.format_exc()]
                return Response.json(shown)
"""

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.close()


async def breaks_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort")
    await writer.drain()
    writer.close()


async def speaks_otherwise(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"220 mail.example ESMTP\r\n\r\n")
    await writer.drain()
    writer.close()


@asynccontextmanager
async def serving(serve: Serve | None) -> Any:
    """The host and port of a server; without one, of none."""
    server = await asyncio.start_server(serve or hangs_up, "127.0.0.1", 0)
    host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    if serve is None:
        server.close()
    try:
        yield host
    finally:
        server.close()
        await server.wait_closed()


GET = 'await js.fetch(f"http://{address}/")'
POST = 'await js.fetch(f"http://{address}/", method="POST", body="x")'
TEXT = 'await (await js.fetch(f"http://{address}/")).text()'
UPGRADE = 'await js.fetch(f"http://{address}/", headers={"Upgrade": "websocket"}.items())'


@pytest.mark.parametrize(
    ("call", "serve", "reason"),
    [
        (GET, None, "All connection attempts failed (ConnectError)"),
        (GET, hangs_up, "(RemoteProtocolError)"),
        (POST, hangs_up, "(RemoteProtocolError)"),
        (GET, speaks_otherwise, "(RemoteProtocolError)"),
        (TEXT, breaks_off, "without sending complete message body"),
        (UPGRADE, None, "(ConnectionRefusedError)"),
        (UPGRADE, hangs_up, "did not receive a valid HTTP response (InvalidMessage)"),
        (UPGRADE, speaks_otherwise, "(InvalidMessage)"),
    ],
    ids=[
        "nobody there",
        "hangs up",
        "hangs up on POST",
        "no HTTP",
        "body breaks off",
        "WebSocket, nobody there",
        "WebSocket, hangs up",
        "WebSocket, no HTTP",
    ],
)
def test_the_reason_is_told_in_one_line_without_frames_of_the_network(
    run: Runner, tmp_path: Path, call: str, serve: Serve | None, reason: str
) -> None:
    async def program(flare: Any) -> Any:
        async with serving(serve) as host:
            failed = await request(flare, f"/?{host}")
            flare.log.flush()
            return failed.text, (await request(flare, f"/caught?{host}")).json, host

    path = write_worker(tmp_path, SOURCE.replace("{call}", call))

    answer, (text, retryable, has_no_cause, shown), host = run(program, path)

    assert (text, retryable, has_no_cause) == ("Error: Network connection lost.", True, True)
    for told in (answer, run.err.text, shown):
        assert f"The connection to {host} failed: " in told
        assert reason in told
        assert "in failing" in told
        assert "The above exception" not in told
        assert "During handling" not in told
    assert "httpx" not in answer + run.err.text
