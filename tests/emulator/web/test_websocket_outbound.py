"""WebSocket connections that a worker opens, to real servers on 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as serve_websockets
from websockets.http11 import Request as Handshake
from websockets.http11 import Response as HandshakeAnswer

from pyflare.js.abort import AbortController
from pyflare.js.callbacks import console_sink
from pyflare.js.error import JsException
from pyflare.js.fetch import fetch, outbound
from pyflare.js.response import Response
from pyflare.js.semantics import Semantics, semantics
from pyflare.js.value import jsnull
from pyflare.js.websocket import WebSocket
from pyflare.js.websocket_pair import WebSocketPair

Handler = Callable[[ServerConnection], Awaitable[None]]
RULES = Semantics(close_is_answered=True)


def run(test: Coroutine[Any, Any, Any], rules: Semantics = RULES) -> Any:
    async def main() -> Any:
        semantics.set(rules)
        console_sink.set(lambda level, text: None)
        result = await test
        # Nothing that was begun is still going on.
        async with asyncio.timeout(10):
            while len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0)
        return result

    return asyncio.run(main())


@contextlib.asynccontextmanager
async def serving(handler: Handler, **options: Any) -> AsyncIterator[str]:
    """A server of the `websockets` package; gives its host and port."""
    options.setdefault("compression", None)
    async with serve_websockets(handler, "127.0.0.1", 0, **options) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"127.0.0.1:{port}"


@contextlib.asynccontextmanager
async def answering(answer: bytes, *, hang_up: bool = True) -> AsyncIterator[str]:
    """A server that says the same whatever it is asked."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            if not hang_up:
                await reader.read()
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


class Heard:
    """What a socket dispatches, to be waited for."""

    def __init__(self, ws: Any) -> None:
        self.ws = ws
        self.events: asyncio.Queue[Any] = asyncio.Queue()
        for kind in ("open", "message", "close", "error"):
            ws.addEventListener(kind, self.events.put_nowait)

    async def next(self) -> Any:
        async with asyncio.timeout(20):
            event = await self.events.get()
        match event.type:
            case "message":
                return event.data
            case "close":
                return (event.code, event.reason, event.wasClean)
            case "error":
                return event.message
            case kind:
                return kind


class TestTheConstructor:
    def test_a_conversation(self) -> None:
        async def test() -> None:
            async with serving(echo) as host:
                ws = WebSocket.new(f"ws://{host}/path?query")
                heard = Heard(ws)
                assert (ws.readyState, ws.url) == (0, f"ws://{host}/path?query")
                assert await heard.next() == "open"
                assert (ws.readyState, ws.protocol, ws.extensions) == (1, jsnull, jsnull)
                for message in ("text", "", "ü"):
                    ws.send(message)
                    assert await heard.next() == message
                for message in (b"bytes", b"", bytes(300_000)):
                    ws.send(message)
                    assert (await heard.next()).to_bytes() == message
                ws.close(4100, "done")
                assert await heard.next() == (4100, "done", True)
                assert ws.readyState == 3

        run(test())

    def test_the_server_sees_the_address_and_no_credentials_of_it(self) -> None:
        seen: list[Any] = []

        async def handler(connection: ServerConnection) -> None:
            assert connection.request is not None
            seen.append((connection.request.path, dict(connection.request.headers.raw_items())))

        async def test() -> str:
            async with serving(handler) as host:
                heard = Heard(WebSocket.new(f"ws://ann:secret@{host}/a%20b?c=d"))
                assert await heard.next() == "open"
                assert (await heard.next())[0] == 1000
            return host

        host = run(test())
        path, headers = seen[0]
        assert path == "/a%20b?c=d"
        assert headers["Host"] == host
        assert not {"Authorization", "Sec-WebSocket-Extensions"} & headers.keys()

    def test_a_subprotocol_is_chosen_from_those_offered(self) -> None:
        async def test() -> None:
            async with serving(echo, subprotocols=["b"]) as host:
                ws = WebSocket.new(f"ws://{host}/", ["a", "b"])
                heard = Heard(ws)
                assert await heard.next() == "open"
                assert ws.protocol == "b"
                ws.close()
                assert (await heard.next())[0] == 1005

        run(test())

    def test_the_server_closes(self) -> None:
        async def handler(connection: ServerConnection) -> None:
            await connection.send("last")
            await connection.close(4321, "over")

        async def test() -> None:
            async with serving(handler) as host:
                heard = Heard(WebSocket.new(f"ws://{host}/"))
                got = [await heard.next() for _ in range(3)]
                assert got == ["open", "last", (4321, "over", True)]

        run(test())

    def test_by_an_early_date_the_worker_answers_the_close(self) -> None:
        async def handler(connection: ServerConnection) -> None:
            await connection.close(4321, "over")

        async def test() -> Any:
            closed: asyncio.Queue[Any] = asyncio.Queue()

            async def note(connection: ServerConnection) -> None:
                await handler(connection)
                await closed.put(connection.protocol.close_rcvd)

            async with serving(note) as host:
                ws = WebSocket.new(f"ws://{host}/")
                heard = Heard(ws)
                assert await heard.next() == "open"
                assert await heard.next() == (4321, "over", True)
                assert ws.readyState == 2
                ws.close(4322, "and out")
                return await closed.get()

        received = run(test(), Semantics())
        assert (received.code, received.reason) == (4322, "and out")

    def test_a_server_that_is_gone_without_a_word(self) -> None:
        async def handler(connection: ServerConnection) -> None:
            connection.transport.abort()
            await connection.wait_closed()

        async def test() -> None:
            async with serving(handler) as host:
                heard = Heard(WebSocket.new(f"ws://{host}/"))
                text = "WebSocket disconnected without sending Close frame."
                assert [await heard.next(), await heard.next()] == ["open", (1006, text, False)]

        run(test())

    def test_nobody_listens_there(self) -> None:
        async def test() -> None:
            with socket.socket() as unused:
                unused.bind(("127.0.0.1", 0))
                ws = WebSocket.new(f"ws://127.0.0.1:{unused.getsockname()[1]}/")
                heard = Heard(ws)
                assert await heard.next() == "Uncaught Error: Network connection lost."
                failed = "Failed to establish websocket connection"
                assert await heard.next() == (1006, failed, False)
                assert ws.readyState == 3

        run(test())

    def test_an_answer_that_is_no_101(self) -> None:
        async def test() -> None:
            answer = b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno"
            async with answering(answer) as host:
                heard = Heard(WebSocket.new(f"ws://{host}/"))
                assert await heard.next() == (
                    "Uncaught TypeError: Failed to establish the WebSocket connection: expected server to reply with "
                    "HTTP status code 101 (switching protocols), but received 404 instead."
                )

        run(test())

    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            b"nonsense\r\n\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
            b"sec-websocket-accept: d3Jvbmc=\r\n\r\n",
        ],
        ids=["nothing", "nonsense", "half", "wrong key"],
    )
    def test_answers_that_are_no_handshake(self, answer: bytes) -> None:
        async def test() -> None:
            async with answering(answer) as host:
                heard = Heard(WebSocket.new(f"ws://{host}/"))
                assert await heard.next() == "Uncaught Error: Network connection lost."

        run(test())

    def test_closing_before_the_connection_is_there(self) -> None:
        async def test() -> None:
            async with answering(b"", hang_up=False) as host:
                ws = WebSocket.new(f"ws://{host}/")
                heard = Heard(ws)
                ws.close()
                text = "Uncaught Error: Called close before connection was established."
                assert await heard.next() == text
                assert (await heard.next())[0] == 1006

        run(test())

    def test_what_breaks_the_protocol_is_an_error_and_a_close(self) -> None:
        async def handler(connection: ServerConnection) -> None:
            # A text frame that is no text.
            connection.transport.write(b"\x81\x01\xff")
            await connection.wait_closed()

        async def test() -> None:
            async with serving(handler) as host:
                heard = Heard(WebSocket.new(f"ws://{host}/"))
                assert await heard.next() == "open"
                assert "invalid start byte" in await heard.next()
                assert await heard.next() == (1006, "", False)

        run(test())

    def test_a_failing_open_listener_ends_the_connection(self) -> None:
        async def test() -> Any:
            closed: asyncio.Queue[Any] = asyncio.Queue()

            async def handler(connection: ServerConnection) -> None:
                await connection.wait_closed()
                await closed.put(connection.protocol.close_rcvd)

            def listen(_: Any) -> None:
                raise ValueError

            async with serving(handler) as host:
                WebSocket.new(f"ws://{host}/").onopen = listen
                return await closed.get()

        assert run(test()).code == 1011


class TestFetch:
    def test_an_upgrade_gives_a_socket_to_accept(self) -> None:
        async def test() -> None:
            async with serving(echo) as host:
                response = await fetch(f"http://{host}/", headers={"Upgrade": "websocket"}.items())
                assert (response.status, response.headers.get("upgrade")) == (101, "websocket")
                ws = response.webSocket
                heard = Heard(ws)
                ws.accept()
                ws.send("hello")
                assert await heard.next() == "hello"
                ws.close(1000)
                assert await heard.next() == (1000, "", True)

        run(test())

    def test_what_comes_before_accept_waits_and_holds_the_server_back(self) -> None:
        async def test() -> None:
            pieces = 200
            sent = 0

            async def handler(connection: ServerConnection) -> None:
                nonlocal sent
                for _ in range(pieces):
                    await connection.send(bytes(100_000))
                    sent += 1

            async with serving(handler) as host:
                response = await fetch(f"http://{host}/", headers={"Upgrade": "websocket"}.items())
                for _ in range(2000):
                    await asyncio.sleep(0)
                assert sent < pieces
                heard = Heard(response.webSocket)
                response.webSocket.accept()
                for _ in range(pieces):
                    assert (await heard.next()).byteLength == 100_000
                assert (await heard.next())[0] == 1000

        run(test())

    def test_the_workers_own_headers_and_subprotocols_go_along(self) -> None:
        seen: list[Handshake] = []

        async def handler(connection: ServerConnection) -> None:
            assert connection.request is not None
            seen.append(connection.request)
            await connection.wait_closed()

        async def test() -> Any:
            async with serving(handler, subprotocols=["two"]) as host:
                response = await fetch(
                    f"http://{host}/",
                    headers={
                        "Upgrade": "websocket",
                        "Authorization": "Bearer x",
                        "Sec-WebSocket-Protocol": "one, two",
                        "Sec-WebSocket-Key": "not the worker's business",
                    }.items(),
                )
                response.webSocket.accept()
                response.webSocket.close()
                return response.headers.get("sec-websocket-protocol")

        assert run(test()) == "two"
        assert seen[0].headers["Authorization"] == "Bearer x"
        assert seen[0].headers["Sec-WebSocket-Key"] != "not the worker's business"

    def test_an_ordinary_answer_is_an_ordinary_response(self) -> None:
        def refuse(connection: ServerConnection, request: Handshake) -> HandshakeAnswer:
            return connection.respond(403, "not you\n")

        async def test() -> None:
            async with serving(echo, process_request=refuse) as host:
                response = await fetch(f"http://{host}/", headers={"Upgrade": "websocket"}.items())
                assert (response.status, response.webSocket) == (403, jsnull)
                assert await response.text() == "not you\n"

        run(test())

    def test_a_body_that_ends_with_the_connection_is_whole(self) -> None:
        async def test() -> None:
            async with answering(b"HTTP/1.1 426 Upgrade Required\r\n\r\nno length") as host:
                response = await fetch(f"http://{host}/", headers={"Upgrade": "websocket"}.items())
                assert (response.status, await response.text()) == (426, "no length")

        run(test())

    def test_nobody_there_is_a_lost_connection(self) -> None:
        async def test() -> None:
            with socket.socket() as unused:
                unused.bind(("127.0.0.1", 0))
                address = f"http://127.0.0.1:{unused.getsockname()[1]}/"
                with pytest.raises(JsException, match="Error: Network connection lost"):
                    await fetch(address, headers={"Upgrade": "websocket"}.items())

        run(test())

    def test_the_scheme_is_http_even_so(self) -> None:
        async def test() -> None:
            with pytest.raises(JsException, match="TypeError: Fetch API cannot load: ws://a/"):
                await fetch("ws://a/", headers={"Upgrade": "websocket"}.items())

        run(test())

    def test_aborting_the_signal_cuts_the_connection(self) -> None:
        async def test() -> None:
            async with serving(echo) as host:
                controller = AbortController.new()
                response = await fetch(
                    f"http://{host}/",
                    headers={"Upgrade": "websocket"}.items(),
                    signal=controller.signal,
                )
                ws = response.webSocket
                heard = Heard(ws)
                ws.accept()
                controller.abort()
                assert (await heard.next())[0] == 1006

        run(test())

    def test_a_signal_that_aborts_during_the_handshake_rejects(self) -> None:
        async def test() -> None:
            async with answering(b"", hang_up=False) as host:
                controller = AbortController.new()
                promise = fetch(
                    f"http://{host}/",
                    headers={"Upgrade": "websocket"}.items(),
                    signal=controller.signal,
                )
                await asyncio.sleep(0)
                controller.abort()
                with pytest.raises(JsException, match="AbortError"):
                    await promise

        run(test())


def test_requests_that_are_answered_in_process_may_be_upgrades_too() -> None:
    async def answer(request: Any) -> Response:
        assert request.headers.get("upgrade") == "websocket"
        assert request.url == "https://somewhere.test/chat"
        client, server = WebSocketPair.new()
        server.accept()
        server.onmessage = lambda event: server.send(f"echo {event.data}")
        return Response.new(None, status=101, webSocket=client)

    async def test() -> None:
        outbound.set(answer)
        ws = WebSocket.new("wss://somewhere.test/chat")
        heard = Heard(ws)
        assert await heard.next() == "open"
        ws.send("hi")
        assert await heard.next() == "echo hi"

    run(test())
