"""A response written in one call is, on the wire, the one that two ASGI messages make."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from pyflare.cli.one_write import OneWriteProtocol

GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"
PLAIN = [(b"Content-Type", b"text/plain"), (b"x-a", b"1"), (b"x-a", b"2")]


class Wire(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""
        self.writes = 0
        self.closed = False

    def write(self, data: Any) -> None:
        self.data += bytes(data)
        self.writes += 1

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def exchange(app: Any, request: bytes = GET, *, paused: bool = False, defaults: Any = ()) -> Wire:
    """What an application writes in answer to a request."""

    async def program() -> Wire:
        config = Config(app, http=OneWriteProtocol, ws="none", log_config=None)
        config.load()
        state = ServerState()
        state.default_headers = list(defaults)
        protocol = OneWriteProtocol(config, state, {})
        wire = Wire()
        protocol.connection_made(wire)
        if paused:
            protocol.pause_writing()
        protocol.data_received(request)
        for _ in range(4):
            await asyncio.sleep(0)
        if paused:
            assert wire.data == b""
            protocol.resume_writing()
            for _ in range(4):
                await asyncio.sleep(0)
        protocol.connection_lost(None)
        return wire

    return asyncio.run(program())


def whole(status: int, headers: Any, body: bytes, *, taken: list[bool] | None = None) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        done = scope["extensions"]["pyflare.whole_response"](send, status, headers, body)
        if taken is not None:
            taken.append(done)
        if not done:
            await in_messages(status, headers, body)(scope, receive, send)

    return app


def in_messages(status: int, headers: Any, body: bytes) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        length = [(b"content-length", b"%d" % len(body))]
        await send(
            {"type": "http.response.start", "status": status, "headers": [*headers, *length]}
        )
        await send({"type": "http.response.body", "body": body})

    return app


@pytest.mark.parametrize("status", [200, 201, 404, 500, 599])
@pytest.mark.parametrize("headers", [[], PLAIN])
@pytest.mark.parametrize("body", [b"", b"hello", b"x" * 100_000], ids=["empty", "short", "long"])
@pytest.mark.parametrize(
    "request_",
    [GET, GET.replace(b"1.1", b"1.0"), GET[:-2] + b"connection: close\r\n\r\n"],
    ids=["kept-alive", "old", "closing"],
)
def test_both_ways_write_the_same(status: int, headers: Any, body: bytes, request_: bytes) -> None:
    taken: list[bool] = []
    at_once = exchange(whole(status, headers, body, taken=taken), request_)
    message_by_message = exchange(in_messages(status, headers, body), request_)
    assert taken == [True]
    assert (at_once.data, at_once.closed) == (message_by_message.data, message_by_message.closed)


def test_a_short_response_is_one_write() -> None:
    assert exchange(whole(200, PLAIN, b"hello")).writes == 1


@pytest.mark.parametrize(
    "headers",
    [
        [(b"connection", b"close")],
        [(b"transfer-encoding", b"chunked")],
        [(b"content-length", b"9")],
    ],
)
def test_headers_that_rule_the_connection_are_left_to_messages(headers: Any) -> None:
    taken: list[bool] = []
    exchange(whole(200, headers, b"", taken=taken))
    assert taken == [False]


@pytest.mark.parametrize("pair", [(b"a b", b"1"), (b"a", b"1\r\nset-cookie: x=1"), (b"a", b"\0")])
def test_a_header_that_would_split_the_response_is_never_written(pair: Any) -> None:
    assert b"set-cookie" not in exchange(whole(200, [pair], b"")).data.lower()


def test_a_client_that_does_not_read_is_waited_for() -> None:
    taken: list[bool] = []
    wire = exchange(whole(200, PLAIN, b"hello", taken=taken), paused=True)
    assert taken == [False]
    assert wire.data.endswith(b"hello")


def test_headers_of_the_server_itself_are_kept() -> None:
    taken: list[bool] = []
    wire = exchange(whole(200, [], b"", taken=taken), defaults=[(b"server", b"uvicorn")])
    assert taken == [False]
    assert b"server: uvicorn" in wire.data


def test_middleware_around_send_sees_every_message() -> None:
    seen: list[str] = []
    inner = whole(200, PLAIN, b"hello")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def watched(message: Any) -> None:
            seen.append(message["type"])
            await send(message)

        await inner(scope, receive, watched)

    assert exchange(app).data.endswith(b"hello")
    assert seen == ["http.response.start", "http.response.body"]


def test_a_second_response_is_refused() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        respond = scope["extensions"]["pyflare.whole_response"]
        assert respond(send, 200, [], b"first")
        assert not respond(send, 200, [], b"second")

    assert b"second" not in exchange(app).data


def test_requests_in_a_row_are_answered_in_order() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"].encode()
        scope["extensions"]["pyflare.whole_response"](send, 200, [], path)

    three = b"".join(GET.replace(b" / ", b" /%d " % n) for n in range(3))
    bodies = [
        part.split(b"\r\n\r\n")[1] for part in exchange(app, three).data.split(b"HTTP/1.1 ")[1:]
    ]
    assert bodies == [b"/0", b"/1", b"/2"]


def test_an_idle_connection_is_closed_and_a_busy_one_is_not() -> None:
    async def program() -> tuple[bool, float]:
        loop = asyncio.get_running_loop()
        config = Config(
            whole(200, [], b""), http=OneWriteProtocol, ws="none", log_config=None,
            timeout_keep_alive=5,
        )  # fmt: skip
        config.load()
        config.timeout_keep_alive = 0.05  # type: ignore[assignment]
        protocol, wire = OneWriteProtocol(config, ServerState(), {}), Wire()
        protocol.connection_made(wire)
        began = loop.time()
        while loop.time() - began < 0.15:
            protocol.data_received(GET)
            await asyncio.sleep(0.005)
        busy = not wire.closed
        last = loop.time()
        while not wire.closed:
            await asyncio.sleep(0.005)
        protocol.connection_lost(None)
        return busy, loop.time() - last

    busy, idle = asyncio.run(program())
    assert busy
    assert idle >= 0.03
