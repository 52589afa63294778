"""httpx inside a Worker asks what answers in the place of the network; httpx elsewhere does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pyflare import Pyflare
from pyflare.embed.outbound import transport_of
from pyflare.js.fetch import fetch, outbound
from pyflare.js.http_transport import HttpTransport
from tests.emulator.conftest import write_worker

SOURCE = """
    import httpx
    from workers import Response, WorkerEntrypoint


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            address = "https://api.test/things?a=1"
            if request.url.endswith("/async"):
                async with httpx.AsyncClient() as client:
                    answer = await client.post(address, json={"b": 2})
            elif request.url.endswith("/sync"):
                answer = httpx.post(address, json={"b": 2})
            elif request.url.endswith("/stream"):
                async with httpx.AsyncClient() as client, client.stream("GET", address) as answer:
                    await answer.aread()
            elif request.url.endswith("/mounted"):
                transport = httpx.MockTransport(lambda _: httpx.Response(200, text="the Worker's own"))
                async with httpx.AsyncClient(transport=transport) as client:
                    answer = await client.get(address)
            return Response(f"{answer.status_code} {answer.text}")
"""


def answers(tmp_path: Path, path: str, outbound: Any) -> str:
    config = write_worker(tmp_path, SOURCE)

    async def run() -> str:
        async with Pyflare(config, persist_to=None, outbound=outbound) as flare:
            return (await flare.fetch(path)).text

    return asyncio.run(run())


@pytest.mark.parametrize("path", ["/async", "/sync"])
def test_a_worker_gets_the_prepared_answer(tmp_path: Path, path: str) -> None:
    def prepared(request: httpx.Request) -> httpx.Response:
        text = f"{request.method} {request.url} {request.content.decode()}"
        return httpx.Response(201, text=text)

    found = answers(tmp_path, path, prepared)
    assert found.replace(" ", "") == '201POSThttps://api.test/things?a=1{"b":2}'


@pytest.mark.parametrize("path", ["/async", "/sync", "/stream"])
def test_the_body_of_a_transport_may_be_a_stream(tmp_path: Path, path: str) -> None:
    class Streaming(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            async def parts() -> AsyncIterator[bytes]:
                yield b"one "
                yield b"two"

            return httpx.Response(200, content=parts())

    assert answers(tmp_path, path, Streaming()) == "200 one two"


@pytest.mark.parametrize("path", ["/async", "/sync"])
def test_what_answers_with_an_error_raises_it_in_the_worker(tmp_path: Path, path: str) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody there", request=request)

    with pytest.raises(httpx.ConnectError, match="nobody there"):
        answers(tmp_path, path, refuse)


def test_a_transport_of_the_workers_own_is_its_own(tmp_path: Path) -> None:
    assert answers(tmp_path, "/mounted", lambda _: "prepared") == "200 the Worker's own"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nreal")
    await writer.drain()
    writer.close()


def test_httpx_of_a_test_goes_to_the_network_while_its_fetch_is_answered() -> None:
    async def run() -> list[str]:
        outbound.set(HttpTransport(transport_of(lambda _: "prepared")).send)
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with server, httpx.AsyncClient() as client:
            return [(await client.get(address)).text, await (await fetch(address)).text()]

    assert asyncio.run(run()) == ["real", "prepared"]


def test_the_hosts_own_requests_go_to_the_network(tmp_path: Path) -> None:
    config = write_worker(tmp_path, SOURCE)

    async def run() -> list[str]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

        async def prepared(request: httpx.Request) -> str:
            # The handler is the host's: it may itself ask the network.
            async with httpx.AsyncClient() as client:
                return "by way of " + (await client.get(address)).text

        async with server, Pyflare(config, persist_to=None, outbound=prepared) as flare:
            async with httpx.AsyncClient() as client:
                own = (await client.get(address)).text
            return [own, (await flare.fetch("/async")).text]

    assert asyncio.run(run()) == ["real", "200 by way of real"]
