"""WebSockets that clients open: under the server of `pyflare dev` and under an ASGI host."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from pyflare.js.error import Error
from pyflare.js.readable import ReadableStream
from pyflare.js.response import Response
from pyflare.js.websocket_pair import WebSocketPair

from .websocket_hosts import FOREIGN, OWN, accepting, handshake, hosted, run

MESSAGES = ["text", "", "ü€😀", b"bytes", b"", "x" * 1_000_000, b"y" * (1 << 20)]


@pytest.fixture(params=[OWN, FOREIGN])
def kind(request: Any) -> str:
    chosen: str = request.param
    return chosen


class TestMessages:
    def test_every_message_comes_back_equal_in_kind_and_order(self, kind: str) -> None:
        handler, _ = accepting()

        async def test() -> list[Any]:
            async with hosted(handler, kind) as host, host.connect() as client:
                for message in MESSAGES:
                    await client.send(message)
                return [await client.recv() for _ in MESSAGES]

        assert run(test) == MESSAGES

    def test_a_message_in_fragments_arrives_whole(self, kind: str) -> None:
        handler, heard = accepting()

        async def test() -> None:
            async with hosted(handler, kind) as host, host.connect() as client:
                await client.send(["one ", "", "message"])
                assert await client.recv() == "one message"

        run(test)
        assert heard[0] == "one message"

    def test_the_worker_speaks_first_and_as_often_as_it_likes(self, kind: str) -> None:
        def handler(_: Any) -> Response:
            client, server = WebSocketPair.new()
            server.accept()
            for number in range(500):
                server.send(str(number))
            server.close(1000, "that was all")
            return Response.new(None, status=101, webSocket=client)

        async def test() -> list[Any]:
            async with hosted(handler, kind) as host, host.connect() as client:
                got = [message async for message in client]
                return [*got, client.close_code, client.close_reason]

        assert run(test) == [*map(str, range(500)), 1000, "that was all"]

    def test_a_ping_is_answered_without_the_worker(self, kind: str) -> None:
        handler, heard = accepting()

        async def test() -> None:
            async with hosted(handler, kind) as host, host.connect() as client:
                await (await client.ping(b"are you there"))

        run(test)
        assert heard == [(1000, "", True)]

    def test_two_hundred_at_once(self, kind: str) -> None:
        handler, heard = accepting()

        async def test() -> list[Any]:
            async with hosted(handler, kind) as host:

                async def talk(number: int) -> Any:
                    async with host.connect(open_timeout=60) as client:
                        await client.send(f"from {number}")
                        answer = await client.recv()
                        # Nobody leaves before everybody has come.
                        opened.append(number)
                        while len(opened) < 200:
                            await asyncio.sleep(0.001)
                        return answer

                opened: list[int] = []
                return await asyncio.gather(*(talk(number) for number in range(200)))

        assert run(test) == [f"from {number}" for number in range(200)]
        assert heard.count((1000, "", True)) == 200


class TestHandshake:
    def test_the_worker_sees_an_ordinary_request_with_upgrade(self, kind: str) -> None:
        seen: list[Any] = []
        handler, _ = accepting()

        def look(request: Any) -> Response:
            seen.append(request)
            return handler(request)

        async def test() -> int:
            async with (
                hosted(look, kind) as host,
                host.connect("/a%20b?c=d", additional_headers={"X-Own": "1"}),
            ):
                return host.port

        port = run(test)
        (request,) = seen
        assert request.method == "GET"
        assert request.url == f"http://127.0.0.1:{port}/a%20b?c=d"
        headers = request.headers
        assert headers.get("upgrade") == "websocket"
        assert headers.get("connection") == "Upgrade"
        assert headers.get("x-own") == "1"
        assert headers.get("cf-connecting-ip") == "127.0.0.1"
        assert request.cf.httpProtocol == "HTTP/1.1"

    def test_headers_and_subprotocol_of_the_101(self, kind: str) -> None:
        handler, _ = accepting(
            headers=[
                ("X-Own", "1"),
                ("Set-Cookie", "a=1"),
                ("Set-Cookie", "b=2"),
                ("Sec-WebSocket-Protocol", "two"),
                ("Sec-WebSocket-Accept", "wrong"),
                ("Connection", "close"),
                ("Upgrade", "nonsense"),
                ("Content-Length", "3"),
            ]
        )

        async def test() -> Any:
            async with (
                hosted(handler, kind) as host,
                host.connect(subprotocols=["one", "two"]) as client,
            ):
                return client.subprotocol, client.response.headers

        subprotocol, headers = run(test)
        assert subprotocol == "two"
        assert headers["X-Own"] == "1"
        assert headers.get_all("Set-Cookie") == ["a=1", "b=2"]

    def test_without_a_choice_there_is_no_subprotocol(self, kind: str) -> None:
        handler, _ = accepting()

        async def test() -> Any:
            async with (
                hosted(handler, kind) as host,
                host.connect(subprotocols=["one"]) as client,
            ):
                return client.subprotocol

        assert run(test) is None

    def test_it_is_logged_like_a_request(self, kind: str) -> None:
        handler, _ = accepting()

        async def test() -> str:
            async with hosted(handler, kind) as host:
                async with host.connect("/room?secret=1"):
                    pass
                await host.idle()
                host.log.flush()
                return host.out.getvalue()

        assert "GET /room 101 Switching Protocols (" in run(test)


class TestRefusals:
    def test_another_answer_is_an_ordinary_http_answer(self, kind: str) -> None:
        def handler(_: Any) -> Response:
            headers = {"X-Why": "because", "Content-Type": "text/x-own"}.items()
            return Response.new("who are you?", status=401, headers=headers)

        async def test() -> Any:
            async with hosted(handler, kind) as host:
                with pytest.raises(InvalidStatus) as caught:
                    await host.connect()
                return caught.value.response

        response = run(test)
        assert (response.status_code, response.body) == (401, b"who are you?")
        assert response.headers["x-why"] == "because"
        assert response.headers["content-type"] == "text/x-own"

    def test_an_answer_that_streams(self, kind: str) -> None:
        async def pull(controller: Any) -> None:
            await asyncio.sleep(0)
            controller.enqueue(b"piece ")
            left.pop()
            if not left:
                controller.close()

        left = [1, 2, 3]

        async def test() -> Any:
            async with hosted(
                lambda _: Response.new(ReadableStream.new(pull=pull), status=400), kind
            ) as host:
                with pytest.raises(InvalidStatus) as caught:
                    await host.connect()
                return caught.value.response.body

        assert run(test) == b"piece piece piece "

    def test_an_exception_in_the_handler_is_a_500_with_its_traceback(self, kind: str) -> None:
        def handler(_: Any) -> Response:
            raise ValueError("no socket for you")

        async def test() -> Any:
            async with hosted(handler, kind) as host:
                with pytest.raises(InvalidStatus) as caught:
                    await host.connect()
                host.log.flush()
                return caught.value.response, host.err.getvalue()

        response, logged = run(test)
        assert response.status_code == 500
        assert b"ValueError: no socket for you" in response.body
        assert "Uncaught ValueError: no socket for you" in logged

    @pytest.mark.parametrize("how", ["exit", "cancelled"])
    def test_neither_sys_exit_nor_a_cancelled_task_of_its_own_ends_the_server(
        self, kind: str, how: str
    ) -> None:
        async def handler(_: Any) -> Response:
            if how == "exit":
                raise SystemExit(2)
            task = asyncio.ensure_future(asyncio.sleep(60))
            task.cancel()
            await task
            return Response.new("not reached")

        async def test() -> list[int]:
            statuses = []
            async with hosted(handler, kind) as host:
                for _ in range(2):
                    with pytest.raises(InvalidStatus) as caught:
                        await host.connect()
                    statuses.append(caught.value.response.status_code)
            return statuses

        assert run(test) == [500, 500]

    def test_a_socket_that_was_accepted_cannot_be_returned(self, kind: str) -> None:
        def handler(_: Any) -> Response:
            client, _server = WebSocketPair.new()
            client.accept()
            return Response.new(None, status=101, webSocket=client)

        async def test() -> Any:
            async with hosted(handler, kind) as host:
                with pytest.raises(InvalidStatus) as caught:
                    await host.connect()
                return caught.value.response.body

        expected = b"Can't return WebSocket in a Response after calling accept()."
        assert expected in run(test)

    def test_a_client_that_leaves_before_the_answer_cancels_the_event(self, kind: str) -> None:
        ended: list[str] = []

        async def handler(request: Any) -> Response:
            ended.append("begun")
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")
            return Response.new("not reached")

        async def test() -> None:
            async with hosted(handler, kind) as host:
                _, writer = await host.raw(handshake())
                while not ended:
                    await asyncio.sleep(0.001)
                writer.transport.abort()
                await host.idle()

        run(test)
        assert ended == ["begun", "cancelled"]


class TestEndings:
    def test_the_client_closes_with_code_and_reason(self, kind: str) -> None:
        handler, heard = accepting()

        async def test() -> None:
            async with hosted(handler, kind) as host:
                client = await host.connect()
                await client.close(4000, "bye")

        run(test)
        assert heard == [(4000, "bye", True)]

    def test_the_worker_closes_with_code_and_reason(self, kind: str) -> None:
        handler, heard = accepting(lambda server, event: server.close(4001, "enough"))

        async def test() -> Any:
            async with hosted(handler, kind) as host, host.connect() as client:
                await client.send("please")
                with pytest.raises(ConnectionClosed) as caught:
                    await client.recv()
                return caught.value.rcvd

        received = run(test)
        assert (received.code, received.reason) == (4001, "enough")
        assert heard == ["please", (4001, "enough", True)]

    def test_a_client_that_vanishes_is_1006(self, kind: str) -> None:
        handler, heard = accepting()

        async def test() -> None:
            async with hosted(handler, kind) as host:
                client = await host.connect()
                await client.send("last words")
                await client.recv()
                client.transport.abort()
                await host.idle()
                await client.wait_closed()

        run(test)
        text = "WebSocket disconnected without sending Close frame."
        assert heard == ["last words", (1006, text, False)]

    def test_a_listener_that_raises_is_1011(self, kind: str) -> None:
        def listen(_server: Any, _event: Any) -> None:
            raise Error._make("broken")

        handler, heard = accepting(listen)

        async def test() -> Any:
            async with hosted(handler, kind) as host, host.connect() as client:
                await client.send("go")
                with pytest.raises(ConnectionClosed) as caught:
                    await client.recv()
                return caught.value.rcvd.code

        assert run(test) == 1011
        assert heard == ["go", "Uncaught Error: broken"]

    def test_a_worker_whose_end_is_gone_cuts_the_client(self, kind: str) -> None:
        sockets: list[Any] = []

        def handler(_: Any) -> Response:
            client, server = WebSocketPair.new()
            server.accept()
            sockets.append(server)
            return Response.new(None, status=101, webSocket=client)

        async def test() -> Any:
            async with hosted(handler, kind) as host, host.connect() as client:
                sockets[0].send("last words")
                sockets[0]._end.leave()
                assert await client.recv() == "last words"
                with pytest.raises(ConnectionClosed):
                    await client.recv()
                return client.close_code

        assert run(test) == 1006

    def test_sending_after_the_client_has_left_is_ignored(self, kind: str) -> None:
        sockets: list[Any] = []
        handler, _ = accepting(lambda server, event: sockets.append(server))

        async def test() -> None:
            async with hosted(handler, kind) as host:
                client = await host.connect()
                await client.send("hello")
                while not sockets:
                    await asyncio.sleep(0.001)
                client.transport.abort()
                await host.idle()
                sockets[0].send("nobody there")
                sockets[0].close(1000)
                await client.wait_closed()

        run(test)

    def test_the_event_lasts_as_long_as_the_socket(self, kind: str) -> None:
        handler, _ = accepting()

        async def test() -> list[int]:
            running = []
            async with hosted(handler, kind) as host:
                async with host.connect() as client:
                    await client.send("a")
                    await client.recv()
                    running.append(host.program.running)
                await host.idle()
                running.append(host.program.running)
            return running

        assert run(test) == [1, 0]

    def test_closing_a_workers_connections_says_why_to_both_sides(self, kind: str) -> None:
        handler, heard = accepting()

        async def test() -> Any:
            async with hosted(handler, kind) as host, host.connect() as client:
                await client.send("a")
                await client.recv()
                await host.program.connections.end(1012, "reloaded", grace=10)
                with pytest.raises(ConnectionClosed) as caught:
                    await client.recv()
                return caught.value.rcvd

        received = run(test)
        assert (received.code, received.reason) == (1012, "reloaded")
        assert heard == ["a", (1012, "reloaded", True)]

    def test_a_server_that_stops_says_so(self, kind: str) -> None:
        handler, heard = accepting()

        async def test() -> Any:
            async with hosted(handler, kind) as host, host.connect() as client:
                await client.send("a")
                await client.recv()
                await host.server.shutdown()
                with pytest.raises(ConnectionClosed) as caught:
                    await client.recv()
                return caught.value.rcvd.code

        assert run(test) == (1001 if kind == OWN else 1012)
        assert heard[1][0] in (1001, 1012)


class TestBackpressure:
    def test_a_worker_that_never_accepts_holds_its_client_back(self, kind: str) -> None:
        def handler(_: Any) -> Response:
            client, server = WebSocketPair.new()
            kept.append(server)
            return Response.new(None, status=101, webSocket=client)

        kept: list[Any] = []

        async def test() -> int:
            sent = 0
            async with hosted(handler, kind) as host:
                client = await host.connect()
                try:
                    async with asyncio.timeout(1):
                        while True:
                            await client.send(bytes(100_000))
                            sent += 1
                except TimeoutError:
                    pass
                client.transport.abort()
                await client.wait_closed()
                # Nobody learns that it has gone before somebody reads.
                kept[0].accept()
            return sent

        # What the sockets of the machine hold, but nowhere near what one second would carry.
        assert run(test) * 100_000 < 64 * 1024 * 1024

    def test_a_stop_does_not_wait_for_a_worker_that_never_accepts(self, kind: str) -> None:
        def handler(_: Any) -> Response:
            client, server = WebSocketPair.new()
            kept.append(server)
            return Response.new(None, status=101, webSocket=client)

        kept: list[Any] = []

        async def test() -> Any:
            async with hosted(handler, kind) as host, host.connect() as client:
                for _ in range(100):
                    await client.send("x")
                await host.program.connections.end(1001, "stopping", grace=10)
                with pytest.raises(ConnectionClosed) as caught:
                    await client.recv()
                return caught.value.rcvd.code

        assert run(test) == 1001

    def test_a_client_that_does_not_read_holds_up_what_is_sent_but_not_the_worker(
        self, kind: str
    ) -> None:
        def listen(server: Any, _event: Any) -> None:
            for _ in range(300):
                server.send(bytes(100_000))

        handler, _ = accepting(listen)

        async def test() -> int:
            async with (
                hosted(handler, kind) as host,
                host.connect(max_queue=1, max_size=None) as client,
            ):
                await client.send("go")
                size = 0
                for _ in range(300):
                    size += len(await client.recv())
                return size

        assert run(test) == 30_000_000
