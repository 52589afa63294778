"""One ASGI scope of type `websocket`, message by message, for what differs between hosts."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.js.response import Response
from pyflare.server.application import Application
from pyflare.server.inbound import Upstream
from pyflare.server.local import Guard
from pyflare.server.log import LogSink

from .websocket_hosts import MODERN, SocketProgram, accepting

DENIAL = {"websocket.http.response": {}}


class Conversation:
    """A host made of lists: gives `incoming` in order and keeps what is sent.

    `then` comes when the worker has said something."""

    def __init__(
        self,
        *incoming: dict[str, Any],
        then: dict[str, Any] | None = None,
        fails_after: int | None = None,
    ) -> None:
        self._then = then
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for message in ({"type": "websocket.connect"}, *incoming):
            self.incoming.put_nowait(message)
        self.sent: list[dict[str, Any]] = []
        self._fails_after = fails_after

    async def receive(self) -> dict[str, Any]:
        return await self.incoming.get()

    async def send(self, message: dict[str, Any]) -> None:
        if len(self.sent) == self._fails_after:
            raise OSError("the client has gone")
        self.sent.append(message)
        if self._then is not None and message["type"] in ("websocket.send", "websocket.close"):
            self.incoming.put_nowait(self._then)


def serve(
    handler: Callable[[Any], Any],
    conversation: Conversation,
    *,
    extensions: dict[str, Any] | None = DENIAL,
    headers: tuple[tuple[bytes, bytes], ...] = ((b"host", b"a.test"),),
    options: dict[str, Any] | None = None,
    **changes: Any,
) -> list[dict[str, Any]]:
    """Serves one scope to its end, and gives what was sent."""
    log = LogSink(stdout=io.StringIO(), stderr=io.StringIO(), colour=False)
    program = SocketProgram(handler, MODERN)
    app = Application(route=lambda _: program, log=log, **(options or {}))
    scope = {
        "type": "websocket",
        "scheme": "ws",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "root_path": "",
        "headers": list(headers),
        "client": ("10.0.0.1", 5),
        "server": ("a.test", 80),
        "subprotocols": [],
        "extensions": extensions,
    } | changes

    async def main() -> None:
        async with asyncio.timeout(20):
            await app(scope, conversation.receive, conversation.send)
        assert len(asyncio.all_tasks()) == 1
        assert program.running == 0

    asyncio.run(main())
    return conversation.sent


def gone(code: int | None = 1000, reason: str | None = "") -> dict[str, Any]:
    message: dict[str, Any] = {"type": "websocket.disconnect", "code": code}
    return message if reason is None else message | {"reason": reason}


@pytest.mark.parametrize(
    "message",
    [
        {"type": "websocket.receive", "text": "a"},
        {"type": "websocket.receive", "text": "a", "bytes": None},
        {"type": "websocket.receive", "bytes": b"a"},
        {"type": "websocket.receive", "bytes": b"a", "text": None},
        {"type": "websocket.receive", "bytes": b"", "text": None},
        {"type": "websocket.receive", "bytes": None, "text": ""},
        {"type": "websocket.receive", "bytes": bytearray(b"a")},
    ],
    ids=str,
)
def test_hosts_may_leave_the_other_kind_out_or_say_none(message: dict[str, Any]) -> None:
    handler, _ = accepting()
    data = message.get("bytes")
    expected = {"text": message["text"]} if data is None else {"bytes": bytes(data)}
    sent = serve(handler, Conversation(message, then=gone()))
    assert sent[0] == {"type": "websocket.accept", "subprotocol": None, "headers": []}
    assert sent[1] == {"type": "websocket.send"} | expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (gone(1001, "left"), (1001, "left", True)),
        (gone(1005, ""), (1005, "", True)),
        (gone(1005, None), (1006, "WebSocket disconnected without sending Close frame.", False)),
        (gone(1006), (1006, "WebSocket disconnected without sending Close frame.", False)),
        (gone(None), (1006, "WebSocket disconnected without sending Close frame.", False)),
        (
            {"type": "websocket.disconnect"},
            (1006, "WebSocket disconnected without sending Close frame.", False),
        ),
        (gone(4000, None), (4000, "", True)),
    ],
    ids=str,
)
def test_what_hosts_say_of_a_client_that_has_left(message: Any, expected: Any) -> None:
    handler, heard = accepting()
    serve(handler, Conversation(message))
    assert heard == [expected]


def test_a_close_without_a_status_goes_out_as_1000_where_hosts_know_no_other() -> None:
    handler, _ = accepting(lambda server, event: server.close())
    conversation = Conversation({"type": "websocket.receive", "text": "go"}, then=gone())
    sent = serve(handler, conversation)
    assert sent[1] == {"type": "websocket.close", "code": 1000, "reason": ""}


def test_a_host_that_fails_to_accept_has_lost_its_client() -> None:
    handler, heard = accepting()
    assert serve(handler, Conversation(gone(), fails_after=0)) == []
    assert [event[0] for event in heard] == [1006]


def test_a_host_that_fails_to_send_has_lost_its_client() -> None:
    handler, _ = accepting()
    conversation = Conversation({"type": "websocket.receive", "text": "a"}, gone(), fails_after=1)
    assert len(serve(handler, conversation)) == 1


def test_a_refusal_is_a_bare_close_where_hosts_cannot_send_an_answer() -> None:
    sent = serve(
        lambda _: Response.new("no", status=401),
        Conversation(),
        extensions=None,
    )
    assert sent == [{"type": "websocket.close", "code": 1000}]


def test_a_host_name_that_is_none_is_refused() -> None:
    handler, _ = accepting()
    sent = serve(handler, Conversation(), headers=((b"host", b"no host"),))
    assert (sent[0]["status"], sent[1]["body"]) == (
        400,
        b"The Host header is not a valid host name.",
    )


@pytest.mark.parametrize(
    ("scheme", "url"), [("ws", "http://a.test/"), ("wss", "https://a.test/")], ids=str
)
def test_the_worker_sees_http_schemes(scheme: str, url: str) -> None:
    seen: list[Any] = []
    handler, _ = accepting()

    def look(request: Any) -> Any:
        seen.append((request.url, request.headers.get("upgrade")))
        return handler(request)

    serve(look, Conversation(gone()), scheme=scheme)
    # HTTP/2 has no header for it, but workers ask for it.
    assert seen == [(url, "websocket")]


def test_the_worker_sees_the_configured_host_and_answers_with_the_clients() -> None:
    seen: list[Any] = []
    handler, _ = accepting(headers={"X-Where": "https://real.test/x"}.items())

    def look(request: Any) -> Any:
        seen.append(request.url)
        return handler(request)

    sent = serve(
        look,
        Conversation(gone()),
        options={"upstreams": {"program": Upstream("real.test", "https")}},
    )
    assert seen == ["https://real.test/"]
    assert sent[0]["headers"] == [(b"x-where", b"http://a.test/x")]


class TestLocalEndpoints:
    def test_a_foreign_page_is_kept_out(self) -> None:
        handler, _ = accepting()
        headers = ((b"host", b"127.0.0.1"), (b"origin", b"https://evil.test"))
        sent = serve(handler, Conversation(), path="/cdn-cgi/local/health", headers=headers)
        assert (sent[0]["status"], sent[1]["body"]) == (403, b"Invalid Origin header")

    def test_an_endpoint_is_no_socket(self) -> None:
        handler, _ = accepting()
        headers = ((b"host", b"127.0.0.1"),)
        sent = serve(handler, Conversation(), path="/cdn-cgi/local/health", headers=headers)
        assert (sent[0]["status"], sent[1]["body"]) == (
            400,
            b"/cdn-cgi/local/health takes no WebSockets.",
        )

    def test_other_paths_there_are_the_workers(self) -> None:
        handler, heard = accepting()
        headers = ((b"host", b"a.test"),)
        serve(
            handler,
            Conversation(gone()),
            path="/cdn-cgi/other",
            headers=headers,
            options={"guard": Guard(["a.test"])},
        )
        assert heard == [(1000, "", True)]


def test_other_kinds_of_scopes_are_refused_by_name() -> None:
    handler, _ = accepting()
    with pytest.raises(RuntimeError, match="serves HTTP and WebSockets, not 'carrier pigeon'"):
        serve(handler, Conversation(), type="carrier pigeon")
