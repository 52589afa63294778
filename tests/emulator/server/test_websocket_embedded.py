"""WebSockets of whole Workers in somebody else's server: uvicorn with the lifespan of `Pyflare`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from uvicorn import Config, Server
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from pyflare import Pyflare

SOURCE = """
import asyncio

import helper
from js import WebSocket, WebSocketPair, setTimeout
from pyodide.ffi import run_sync
from workers import Response, WorkerEntrypoint

seen = []


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.headers.get("upgrade") != "websocket":
            if "dial" in request.url:
                outgoing = WebSocket.new(request.url.partition("dial=")[2])
                outgoing.onclose = lambda event: seen.append(["outgoing", event.code])
                opened = asyncio.get_running_loop().create_future()
                outgoing.onopen = lambda event: opened.set_result(None)
                await opened
            return Response.from_json([helper.NAME, seen])
        client, server = WebSocketPair.new()
        server.accept()

        def onmessage(event):
            import helper

            run_sync(asyncio.sleep(0))
            setTimeout(lambda: server.send(f"{helper.NAME} later"), 0)
            server.send(f"{helper.NAME} {event.data}")

        server.onmessage = onmessage
        server.onclose = lambda event: seen.append([event.code, event.wasClean])
        return Response(None, status=101, web_socket=client)
"""


def project(folder: Path, name: str, **config: Any) -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "entry.py").write_text(SOURCE)
    (folder / "src" / "helper.py").write_text(f"NAME = {name!r}\n")
    settings = {
        "name": name,
        "main": "src/entry.py",
        "compatibility_date": "2026-05-01",
        "compatibility_flags": ["python_workers"],
        "routes": [{"pattern": f"{name}.test/*", "zone_name": f"{name}.test"}],
    }
    path = folder / "wrangler.json"
    path.write_text(json.dumps(settings | config))
    return path


@contextlib.asynccontextmanager
async def mounted(flare: Pyflare) -> AsyncIterator[tuple[Server, int]]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = Config(
        flare,
        ws="websockets-sansio",
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    server = Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup([listener])
    try:
        yield server, listener.getsockname()[1]
    finally:
        await server.shutdown([listener])


def opened(port: int, name: str) -> Any:
    return connect(f"ws://{name}.test/", host="127.0.0.1", port=port, proxy=None, compression=None)


async def get(port: int, target: str, name: str) -> Any:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {target} HTTP/1.0\r\nhost: {name}.test\r\n\r\n".encode())
    head_and_body = await reader.read()
    writer.close()
    await writer.wait_closed()
    return json.loads(head_and_body.partition(b"\r\n\r\n")[2])


def run(test: Any) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(60):
            result = await test()
        async with asyncio.timeout(10):
            while len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.001)
        return result

    return asyncio.run(main())


@pytest.mark.parametrize(
    "names", [("ann",), ("ann", "bob")], ids=["one loop", "a loop of their own"]
)
def test_listeners_timers_and_run_sync_run_as_their_worker(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    flare = Pyflare([project(tmp_path / name, name) for name in names], persist_to=None)

    async def test() -> None:
        async with mounted(flare) as (_, port):
            clients = [await opened(port, name) for name in names]
            for number in range(20):
                for client in clients:
                    await client.send(str(number))
            for name, client in zip(names, clients, strict=True):
                got = sorted([await client.recv() for _ in range(40)])
                assert got == sorted([f"{name} {n}" for n in range(20)] + [f"{name} later"] * 20)
                await client.close(4000, "done")
            for name in names:
                # Over a thread the news may take longer than the next request.
                while await get(port, "/", name) != [name, [[4000, True]]]:
                    await asyncio.sleep(0.001)

    run(test)


@pytest.mark.parametrize(
    "names", [("ann",), ("ann", "bob")], ids=["one loop", "a loop of their own"]
)
def test_a_host_that_stops_ends_its_sockets_and_then_the_workers(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    flare = Pyflare([project(tmp_path / name, name) for name in names], persist_to=None)

    async def test() -> Any:
        async with mounted(flare) as (_, port):
            clients = [await opened(port, names[0]) for _ in range(5)]
            await clients[0].send("hello")
            got = [await clients[0].recv() for _ in range(2)]
            assert got == [f"{names[0]} hello", f"{names[0]} later"]
        codes = []
        for client in clients:
            with pytest.raises(ConnectionClosed) as caught:
                await client.recv()
            codes.append(caught.value.rcvd.code)
        return codes

    assert run(test) == [1012] * 5


def test_closing_the_emulator_closes_what_its_workers_hold_open(tmp_path: Path) -> None:
    flare = Pyflare(project(tmp_path, "ann"), persist_to=None)

    async def test() -> Any:
        async with mounted(flare) as (_, port):
            client = await opened(port, "ann")
            # A connection that a worker opened to itself, and left open when it had answered.
            dial = f"/?dial=ws://127.0.0.1:{port}/"
            assert await get(port, dial, "ann") == ["ann", []]
            worker = flare.loaded("ann")
            assert len(worker.connections) == 3
            await flare.close()
            assert len(worker.connections) == 0
            with pytest.raises(ConnectionClosed) as caught:
                await client.recv()
            return caught.value.rcvd

    received = run(test)
    assert (received.code, received.reason) == (1001, "The Worker is stopping.")


def test_a_reload_closes_the_connections_of_the_old_code(tmp_path: Path) -> None:
    path = project(tmp_path, "ann")
    flare = Pyflare(path, persist_to=None)

    async def test() -> Any:
        async with mounted(flare) as (_, port):
            client = await opened(port, "ann")
            (tmp_path / "src" / "helper.py").write_text("NAME = 'new'\n")
            await flare.reload(tmp_path / "src" / "helper.py")
            with pytest.raises(ConnectionClosed) as caught:
                await client.recv()
            async with opened(port, "ann") as fresh:
                await fresh.send("hello")
                assert await fresh.recv() == "new hello"
            return caught.value.rcvd.code

    assert run(test) == 1012


def test_emulators_one_after_the_other_leave_nothing_behind(tmp_path: Path) -> None:
    path = project(tmp_path, "ann")

    async def test() -> None:
        for _ in range(10):
            async with mounted(Pyflare(path, persist_to=None)) as (_, port):
                client = await opened(port, "ann")
                await client.send("hello")
                assert [await client.recv(), await client.recv()] == ["ann hello", "ann later"]
            with pytest.raises(ConnectionClosed):
                await client.recv()

    run(test)
