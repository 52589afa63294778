"""Two Workers that call each other, under the real command, over real HTTP and WebSockets."""

from pathlib import Path

import pytest
from websockets.sync.client import connect

from .conftest import Serve
from .dev_server import DevServer
from .projects import write_project

FRONT = """
import settings
from js import ReadableStream
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = request.url.split("/", 3)[3]
        if path == "call":
            shop = self.env.SHOP
            cart = await shop.open_cart("ann")
            await cart("apple", 2)
            total = await cart("pear", 1)
            seen = []
            await shop.report(lambda line: seen.append(f"{settings.NAME}: {line}"))
            return Response.from_json({"total": total, "seen": seen, "role": await self.env.ADMIN.role()})
        if path == "fail":
            return Response(await self.env.SHOP.fail())
        # Everything else is the shop's business: the request passes through, and so does the answer.
        return await self.env.SHOP.fetch(request)
"""

SHOP = """
import asyncio

import settings
from js import ReadableStream, WebSocketPair
from pyodide.ffi import create_proxy
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = request.url.split("/", 3)[3]
        if path == "socket":
            client, server = WebSocketPair.new().object_values()
            server.accept()
            server.addEventListener(
                "message", create_proxy(lambda event: server.send(f"{settings.NAME} {event.data}"))
            )
            return Response(None, status=101, web_socket=client)
        if path == "lines":
            async def lines():
                for number in range(3):
                    await asyncio.sleep(0.01)
                    yield f"line {number}\\n".encode()
            return Response(ReadableStream.from_(lines()))
        if path == "moved":
            return Response.redirect("http://elsewhere.example/", 302)
        body = await request.bytes()
        return Response(f"{settings.NAME} got {request.method} {len(body)}", status=201)

    def open_cart(self, name):
        cart = {}

        def add(what, count):
            cart[what] = cart.get(what, 0) + count
            return sum(cart.values())

        return add

    async def report(self, line):
        await line("one")
        await line("two")

    def fail(self):
        raise ValueError("sold out")


class Admin(WorkerEntrypoint):
    def role(self):
        return self.ctx.props.role
"""


@pytest.fixture
def server(serve: Serve, tmp_path: Path) -> DevServer:
    front = write_project(
        tmp_path / "front",
        {"src/entry.py": FRONT, "src/settings.py": "NAME = 'front'\n"},
        name="front",
        services=[
            {"binding": "SHOP", "service": "shop"},
            {
                "binding": "ADMIN",
                "service": "shop",
                "entrypoint": "Admin",
                "props": {"role": "boss"},
            },
        ],
    )
    shop = write_project(
        tmp_path / "shop",
        {"src/entry.py": SHOP, "src/settings.py": "NAME = 'shop'\n"},
        name="shop",
        services=[{"binding": "FRONT", "service": "front"}],
    )
    return serve(front, shop)


def test_methods_callbacks_and_props(server: DevServer) -> None:
    answer = server.client.get("/call").json()
    assert answer == {"total": 3, "seen": ["front: one", "front: two"], "role": "boss"}


def test_a_request_passes_through_with_its_body(server: DevServer) -> None:
    answer = server.client.post("/anything", content=b"x" * 3_000_000)
    assert (answer.status_code, answer.text) == (201, "shop got POST 3000000")


def test_a_stream_passes_through(server: DevServer) -> None:
    assert server.client.get("/lines").text == "line 0\nline 1\nline 2\n"


def test_a_redirect_of_a_forwarded_request_is_handed_back(server: DevServer) -> None:
    answer = server.client.get("/moved", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (302, "http://elsewhere.example/")


def test_an_exception_of_the_other_worker_is_shown_with_its_line(server: DevServer) -> None:
    answer = server.client.get("/fail", headers={"accept": "text/plain"})
    assert answer.status_code == 500
    assert 'raise ValueError("sold out")' in answer.text
    assert "src/entry.py" in answer.text


def test_a_websocket_passes_through(server: DevServer) -> None:
    with connect(f"ws://127.0.0.1:{server.port}/socket", proxy=None) as socket:
        socket.send("hello")
        assert socket.recv(timeout=5) == "shop hello"


def test_a_binding_to_a_worker_that_is_not_there_is_named(serve: Serve, tmp_path: Path) -> None:
    alone = write_project(
        tmp_path / "front",
        {"src/entry.py": FRONT, "src/settings.py": "NAME = 'front'\n"},
        name="front",
        services=[{"binding": "SHOP", "service": "shop"}],
    )
    server = serve(alone)
    answer = server.client.get("/anything")
    assert answer.status_code == 503
    assert answer.text.startswith('Worker "shop" not found.')
    assert 'the binding "SHOP" refers to the Worker "shop"' in server.output()
