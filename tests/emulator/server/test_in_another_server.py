"""The application behind another framework's middleware, which wraps ``receive`` and ``send``."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.routing import Mount

from pyflare.js.response import Response
from pyflare.server.application import Application

from .conftest import Program, hang_up


class PassOn(BaseHTTPMiddleware):
    """Does nothing, through task groups and cancel scopes around every message."""

    async def dispatch(self, request: Any, call_next: Any) -> Any:
        return await call_next(request)


@pytest.fixture
def mounted(serving: Any) -> Any:
    """``async with mounted(handler) as client``: a worker below ``/edge`` in a Starlette application."""

    def start(handler: Any) -> Any:
        def make(log: Any) -> Starlette:
            program = Program(handler)
            inner = Application(route=lambda _: program, log=log)
            return Starlette(routes=[Mount("/edge", app=inner)], middleware=[Middleware(PassOn)])

        return serving(app=make)

    return start


def test_worker_sees_the_path_below_the_mount(mounted: Any) -> None:
    async def go() -> Any:
        async with mounted(lambda request: Response.new(request.url)) as client:
            return await client.get("/edge/a%20b?c=d", host="my.test")

    assert asyncio.run(go()).text == "http://my.test/a%20b?c=d"


def test_body_is_read_through_middleware(mounted: Any) -> None:
    async def echo(request: Any) -> Response:
        return Response.new(await request.text())

    async def go() -> Any:
        async with mounted(echo) as client:
            return await client.post(b"x" * 300_000, "/edge/")

    answer = asyncio.run(go())
    assert (answer.status, answer.body) == (200, b"x" * 300_000)


def test_stream_passes_through_middleware(mounted: Any) -> None:
    async def echo(request: Any) -> Response:
        return Response.new(request.body)

    async def go() -> Any:
        async with mounted(echo) as client:
            return await client.post(b"y" * 300_000, "/edge/")

    assert asyncio.run(go()).body == b"y" * 300_000


def test_client_that_goes_cancels_the_handler_without_an_error_of_the_host(
    mounted: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def go() -> None:
        started, ended = asyncio.Event(), asyncio.Event()

        async def handler(_: Any) -> Response:
            started.set()
            try:
                return await asyncio.Future[Response]()
            finally:
                ended.set()

        async with mounted(handler) as client:
            _, writer = await client.connect()
            writer.write(b"GET /edge/ HTTP/1.1\r\nhost: localhost\r\n\r\n")
            await started.wait()
            await hang_up(writer)
            await ended.wait()

    asyncio.run(go())
    assert "Exception in ASGI application" not in caplog.text


def test_background_work_survives_the_clients_going(mounted: Any) -> None:
    async def go() -> bool:
        work: list[asyncio.Task[Any]] = []
        released, done = asyncio.Event(), asyncio.Event()

        async def later() -> None:
            await released.wait()
            done.set()

        def handler(_: Any) -> Response:
            work.append(asyncio.ensure_future(later()))
            return Response.new("answered")

        async with mounted(handler) as client:
            answer = await client.get("/edge/")
            assert answer.text == "answered"
            released.set()
            async with asyncio.timeout(10):
                await done.wait()
        return done.is_set()

    assert asyncio.run(go())


def test_body_that_is_read_after_the_answer_is_lost(serving: Any) -> None:
    async def go() -> list[str]:
        seen: list[str] = []
        tasks: list[asyncio.Task[Any]] = []

        async def read(request: Any) -> None:
            try:
                await request.text()
            except Exception as error:
                seen.append(str(error))

        def handler(request: Any) -> Response:
            tasks.append(asyncio.ensure_future(read(request)))
            return Response.new("answered")

        async with serving(handler, direct=False) as client:
            reader, writer = await client.connect()
            writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc")
            await reader.readuntil(b"answered")
            async with asyncio.timeout(10):
                await asyncio.gather(*tasks)
        return seen

    assert asyncio.run(go()) == ["Error: Network connection lost."]
