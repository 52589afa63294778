"""A WebSocket to a worker from the program that embeds it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare.embed.websocket import WebSocketClosed, WebSocketRefused
from tests.emulator.conftest import Runner, write_worker

SOURCE = """
import asyncio
from js import WebSocketPair
from pyodide.ffi import create_proxy
from workers import Response, WorkerEntrypoint

seen = []

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.url.endswith("/refuse"):
            return Response("not here", status=426)
        if request.url.endswith("/fails"):
            raise ValueError("on purpose")
        client, server = WebSocketPair.new().object_values()
        server.binaryType = "arraybuffer"
        server.accept()

        def heard(event):
            if event.data == "close":
                server.close(4000, "as you wish")
            elif event.data == "many":
                for n in range(200):
                    server.send(str(n))
            else:
                server.send(event.data)

        server.addEventListener("message", create_proxy(heard))
        server.addEventListener("close", create_proxy(lambda event: seen.append(event.code)))
        headers = {"Sec-WebSocket-Protocol": "chat"} if request.headers.get("sec-websocket-protocol") else {}
        return Response(None, status=101, web_socket=client, headers=headers)

    async def seen(self):
        return seen
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_worker(tmp_path, SOURCE)


def test_messages_go_both_ways(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        async with flare.websocket("/") as socket:
            await socket.send("text")
            await socket.send(b"bytes")
            return await socket.receive(), await socket.receive()

    assert run(program, config) == ("text", b"bytes")


def test_the_worker_learns_of_the_close(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        async with flare.websocket("/") as socket:
            await socket.close(4001, "bye")
            await socket.close()
            with pytest.raises(WebSocketClosed):
                await socket.send("late")
            with pytest.raises(WebSocketClosed):
                await socket.receive()
        return await flare.worker().seen()

    assert run(program, config) == [4001]


def test_the_close_of_the_worker_is_told(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        async with flare.websocket("/") as socket:
            await socket.send("close")
            with pytest.raises(WebSocketClosed, match="closed with 4000: as you wish") as closed:
                await socket.receive()
            return closed.value.code

    assert run(program, config) == 4000


def test_iterating_ends_with_the_connection(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        async with flare.websocket("/") as socket:
            for text in ("a", "b", "close"):
                await socket.send(text)
            return [message async for message in socket]

    assert run(program, config) == ["a", "b"]


def test_messages_that_nobody_reads_hold_nothing_up(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        async with asyncio.timeout(20):
            async with flare.websocket("/") as socket:
                await socket.send("many")
                return await socket.receive()

    assert run(program, config) == "0"


def test_a_subprotocol_is_chosen(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        async with flare.websocket("/", subprotocols=["chat", "other"]) as socket:
            return socket.subprotocol

    assert run(program, config) == "chat"


def test_a_response_in_its_place_is_told(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        with pytest.raises(WebSocketRefused) as refused:
            async with flare.websocket("/refuse"):
                pass
        return refused.value.status, refused.value.body

    assert run(program, config) == (426, b"not here")


def test_what_leaves_the_worker_is_raised(run: Runner, config: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        with pytest.raises(ValueError, match="on purpose"):
            async with flare.websocket("/fails"):
                pass

    run(program, config)
