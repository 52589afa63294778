"""The runtime's own network traffic is told to no Python logger; what a Worker or a host does by itself is."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.server import serve as serve_websockets

from pyflare.js.fetch import fetch
from tests.emulator.conftest import Runner, request, write_worker

LIBRARIES = ("httpx", "httpcore", "hpack", "websockets")


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The libraries that have logged something."""
    return sorted({record.name.partition(".")[0] for record in caplog.records} & {*LIBRARIES})


async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbody")
    await writer.drain()
    writer.close()


SOURCE = """
    import httpx
    import js
    from workers import Response, WorkerEntrypoint, fetch


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            path, _, address = request.url.partition("?")
            url = f"http://{address}/bot-token/send"
            match path.rpartition("/")[2]:
                case "js":
                    text = await (await js.fetch(url)).text()
                case "workers":
                    text = await (await fetch(url)).text()
                case "httpx":
                    async with httpx.AsyncClient() as client:
                        text = (await client.get(url)).text
            return Response(text)
"""


@pytest.mark.parametrize(
    ("way", "expected"),
    [("js", []), ("workers", []), ("httpx", ["httpcore", "httpx"])],
)
def test_requests_of_a_worker(
    run: Runner,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    way: str,
    expected: list[str],
) -> None:
    async def program(flare: Any) -> Any:
        server = await asyncio.start_server(answers, "127.0.0.1", 0)
        async with server:
            host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            return (await request(flare, f"/{way}?{host}")).text

    assert run(program, write_worker(tmp_path, SOURCE)) == "body"
    assert told(caplog) == expected
    assert bool(expected) == ("bot-token" in caplog.text)


def test_a_hosts_own_requests_are_logged_after_those_of_workers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        server = await asyncio.start_server(answers, "127.0.0.1", 0)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            await (await fetch(url)).text()
            assert told(caplog) == []
            async with httpx.AsyncClient() as client:
                await client.get(url)

    asyncio.run(main())

    assert told(caplog) == ["httpcore", "httpx"]


def test_websockets_of_a_worker(caplog: pytest.LogCaptureFixture) -> None:
    async def echo(connection: Any) -> None:
        async for message in connection:
            await connection.send(message)

    silent = logging.Logger("silent")
    silent.disabled = True

    async def main() -> str:
        async with serve_websockets(echo, "127.0.0.1", 0, logger=silent) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            response = await fetch(
                f"http://127.0.0.1:{port}/", headers={"Upgrade": "websocket"}.items()
            )
            socket = response.webSocket
            heard = asyncio.get_running_loop().create_future()
            socket.addEventListener("message", lambda event: heard.set_result(event.data))
            socket.accept()
            socket.send("hello")
            text: str = await heard
            socket.close()
            return text

    assert asyncio.run(main()) == "hello"
    assert told(caplog) == []
