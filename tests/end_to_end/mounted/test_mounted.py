"""pyflare in other people's applications, on other people's servers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.end_to_end.dev_server import eventually

from .server import GRACE, SERVERS, HostServer

CONFIG = Path(__file__).parents[1] / "workers" / "mounted" / "wrangler.json"
NO_LIFESPAN = "The server has sent no lifespan event"


class Start(Protocol):
    def __call__(self, server: str, application: str) -> HostServer: ...


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[HostServer] = []

    def begin(server: str, application: str) -> HostServer:
        running.append(HostServer(server, application, CONFIG, tmp_path))
        return running[-1]

    yield begin
    for each in running:
        each.close()


every_server = pytest.mark.parametrize("server", SERVERS)


async def talk(port: int, path: str) -> str:
    async with connect(f"ws://127.0.0.1:{port}{path}", proxy=None) as socket:
        await socket.send("hello")
        return str(await socket.recv())


@every_server
def test_fastapi_has_two_instances_below_its_own_routes(start: Start, server: str) -> None:
    host = start(server, "fastapi")

    assert host.get("/").json() == {"host": "fastapi"}
    assert [host.get(f"/{name}/count").text for name in ("edge", "edge", "second")] == [
        "1",
        "2",
        "1",
    ]
    assert host.get("/edge/a%20b?c=d").text == f"http://127.0.0.1:{host.port}/a%20b?c=d"
    assert host.get("/edge/prefix").text == "/edge"
    assert host.get("/second/redirect").headers["location"] == "/second/count"
    assert asyncio.run(talk(host.port, "/edge/socket")) == "echo hello"
    with host.client.stream("GET", "/edge/events") as events:
        assert next(events.iter_bytes()).startswith(b"data: x")
    assert NO_LIFESPAN not in host.output

    assert host.stop() < GRACE + 6
    assert "host: stopped" in host.output


@every_server
def test_without_a_lifespan_it_starts_with_the_first_request_and_works_on(
    start: Start, server: str
) -> None:
    host = start(server, "without_lifespan")
    assert NO_LIFESPAN not in host.output

    assert host.get("/edge/alarm").text == "set"
    assert host.output.count(NO_LIFESPAN) == 1
    eventually(lambda: host.get("/edge/value?alarm").text == "rang", "the alarm has run")
    assert host.stop() < GRACE + 6


@every_server
def test_background_work_and_streams_end_though_their_client_has_gone(
    start: Start, server: str
) -> None:
    host = start(server, "without_lifespan")

    with host.client.stream("GET", "/edge/ticks") as ticks:
        next(ticks.iter_bytes())
    host.get("/edge/later")
    host.client.close()
    host.client = httpx.Client(base_url=f"http://127.0.0.1:{host.port}", trust_env=False)

    eventually(lambda: host.get("/edge/value?later").text == "written", "waitUntil work is done")
    eventually(lambda: host.get("/edge/closed").text == "closed", "the stream is closed")


@every_server
def test_at_the_root_the_server_starts_and_closes_it(start: Start, server: str) -> None:
    host = start(server, "plain")

    assert host.get("/count").text == "1"
    assert host.get("/prefix").text == "none"
    assert NO_LIFESPAN not in host.output
    host.stop()
    assert start(server, "plain").get("/count").text == "2"


@every_server
def test_django_serves_what_is_not_below_the_path(start: Start, server: str) -> None:
    host = start(server, "django")

    assert host.get("/").text == "django"
    assert host.get("/edge/count").text == "1"
    assert asyncio.run(talk(host.port, "/edge/socket")) == "echo hello"
    assert host.get("/edge/redirect").headers["location"] == "/edge/count"
    assert host.stop() < GRACE + 6


@every_server
@pytest.mark.parametrize("application", ["fastapi", "without_lifespan"])
def test_a_stop_under_load_loses_nothing_that_was_answered(
    start: Start, server: str, application: str
) -> None:
    host = start(server, application)
    host.get("/edge/count")
    answered: list[int] = []
    clients = [threading.Thread(target=count_until_refused, args=(host.port, answered))
        for _ in range(4)]  # fmt: skip
    for client in clients:
        client.start()
    sockets = asyncio.run(stop_with_open_connections(host, answered))
    for client in clients:
        client.join()

    assert host.process.poll() is not None
    assert sockets == 5
    again = start(server, application)
    assert int(again.get("/edge/count").text) > max(answered)


def count_until_refused(port: int, answered: list[int]) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=20) as client:
        while True:
            try:
                response = client.get("/edge/slow")
            except httpx.TransportError:
                return
            if response.status_code != 200:
                return
            answered.append(int(response.text))


async def stop_with_open_connections(host: HostServer, answered: list[int]) -> int:
    """Stop the server with sockets and event streams open; gives the number of sockets that were told of it."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        events = [
            asyncio.create_task(read_events(client, f"http://127.0.0.1:{host.port}/edge/events"))
            for _ in range(5)
        ]
        sockets = [
            await connect(f"ws://127.0.0.1:{host.port}/edge/socket", proxy=None) for _ in range(5)
        ]
        await until(lambda: len(answered) > 4)
        seconds = await asyncio.to_thread(host.stop)
        assert seconds < GRACE + 8, host.output
        ended = await asyncio.gather(*map(is_closed, sockets))
        await asyncio.wait(events, timeout=5)
        for task in events:
            task.cancel()
        return sum(ended)


async def read_events(client: httpx.AsyncClient, url: str) -> None:
    try:
        async with client.stream("GET", url) as response:
            async for _ in response.aiter_bytes():
                pass
    except httpx.TransportError:
        return


async def is_closed(socket: Any) -> bool:
    try:
        async with asyncio.timeout(5):
            await socket.recv()
    except ConnectionClosed:
        return True
    return False


async def until(probe: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not probe():
            await asyncio.sleep(0.01)
