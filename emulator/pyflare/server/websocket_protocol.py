"""The server's side of WebSocket connections under ``pyflare dev``: an ASGI server for one connection.

It offers what ASGI hosts offer, and two things more, by the extension ``HALF_OPEN`` of :mod:`.websocket_asgi`: the
answer to a close frame is left to the application, and frames without a status can be sent.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import MutableMapping
from http import HTTPStatus
from typing import Any, Final

from websockets.protocol import Protocol, Side

from pyflare.js.unlogged import NO_LOGGER
from pyflare.js.websocket_channel import NO_STATUS, Close, ConnectionLost
from pyflare.js.websocket_wire import LARGEST_MESSAGE, PatientFraming, WebSocketWire

from .contracts import ASGIApplication, HeaderPairs, Scope
from .websocket_asgi import FAILURE, HALF_OPEN
from .websocket_handshake import accept_value, offered_subprotocols

__all__ = ["WebSocketProtocol"]

_EXTENSIONS: Final[dict[str, Any]] = {"websocket.http.response": {}, HALF_OPEN: {}}
#: What may arrive before the handshake is answered, in bytes; nobody should send anything then.
_EARLY: Final = 64 * 1024
#: Seconds that a client gets to answer when the server stops.
_STOP_SECONDS: Final = 1.0
_GOING_AWAY: Final = Close(1001, "The server is stopping.")
#: When the kernel asks a silent client's machine whether it is still there, in seconds; then how often and how many
#: times. Not by WebSocket pings: a process that is held in a debugger answers none.
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


class _ServerFraming(PatientFraming, Protocol):
    """The server's side."""

    def __init__(self) -> None:
        super().__init__(Side.SERVER, max_size=LARGEST_MESSAGE, logger=NO_LOGGER)


class WebSocketProtocol(WebSocketWire):
    """One upgraded connection, run by an application of ASGI's ``websocket`` type.

    Args: ``scope`` of the HTTP request, its handshake checked; ``connections`` and ``tasks`` are the host's, who calls
    :meth:`shutdown` when it stops.
    """

    def __init__(
        self,
        app: ASGIApplication,
        scope: Scope,
        connections: set[Any],
        tasks: set[asyncio.Task[None]],
    ) -> None:
        super().__init__(_ServerFraming())
        headers: HeaderPairs = scope["headers"]
        self._app = app
        self._connections = connections
        self._tasks = tasks
        self._accept = accept_value(headers)
        self._scope = {
            **scope,
            "type": "websocket",
            "scheme": "wss" if scope.get("scheme") == "https" else "ws",
            "subprotocols": offered_subprotocols(headers),
            "extensions": _EXTENSIONS,
        }
        del self._scope["method"]
        self._early: list[bytes] | None = []
        self._connect_told = False
        self._answer_begun = False
        self._told_end = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connections.add(self)
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family != getattr(socket, "AF_UNIX", None):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _KEEPALIVE:
                if hasattr(socket, name):
                    connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        task = asyncio.get_running_loop().create_task(self._run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def data_received(self, data: bytes) -> None:
        if self._early is None:
            super().data_received(data)
            return
        self._early.append(data)
        if sum(map(len, self._early)) > _EARLY:
            self.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.discard(self)
        super().connection_lost(error)

    def shutdown(self) -> None:
        """The server stops: say so, and go when the client has answered."""
        if self._early is None:
            self._begin_closing(_GOING_AWAY, _STOP_SECONDS)
        else:
            self._answer_without_body(503)

    async def _run(self) -> None:
        try:
            await self._app(self._scope, self._asgi_receive, self._asgi_send)
        finally:
            if self._early is not None:
                self._answer_without_body(500)
            self.abort()

    async def _asgi_receive(self) -> MutableMapping[str, Any]:
        if not self._connect_told:
            self._connect_told = True
            return {"type": "websocket.connect"}
        if self._told_end:
            await self.gone()
            return {"type": "websocket.disconnect", "code": 1006}
        try:
            message = await self.receive()
        except ConnectionLost:
            return {"type": "websocket.disconnect", "code": 1006, "reason": ""}
        except Exception as error:
            return {"type": "websocket.disconnect", "code": 1002, "reason": "", FAILURE: error}
        if isinstance(message, Close):
            self._told_end = True
            return {
                "type": "websocket.disconnect",
                "code": message.code,
                "reason": message.reason,
            }
        kind = "text" if isinstance(message, str) else "bytes"
        return {"type": "websocket.receive", kind: message}

    async def _asgi_send(self, message: MutableMapping[str, Any]) -> None:
        if self._gone.done():
            raise ConnectionLost
        match message["type"]:
            case "websocket.send":
                data = message.get("bytes")
                await self.send(message["text"] if data is None else data)
            case "websocket.accept":
                self._take(message)
            case "websocket.close" if self._early is not None:
                self._answer_without_body(403)
            case "websocket.close":
                code = message.get("code")
                await self.close(
                    Close(NO_STATUS if code is None else code, message.get("reason") or "")
                )
            case "websocket.http.response.start":
                self._answer(message["status"], message["headers"])
            case "websocket.http.response.body":
                await self._until_writable()
                self.transport.write(message.get("body", b""))
                if not message.get("more_body"):
                    self.transport.close()
            case unknown:
                raise RuntimeError(f"unexpected message {unknown!r}")

    def _take(self, message: MutableMapping[str, Any]) -> None:
        lines: HeaderPairs = [
            (b"upgrade", b"websocket"),
            (b"connection", b"Upgrade"),
            (b"sec-websocket-accept", self._accept),
        ]
        subprotocol = message.get("subprotocol")
        if subprotocol:
            lines.append((b"sec-websocket-protocol", subprotocol.encode("latin-1")))
        self._write_head(101, [*lines, *message.get("headers", ())])
        early, self._early = self._early, None
        if early:
            self.data_received(b"".join(early))

    def _answer(self, status: int, headers: HeaderPairs) -> None:
        """An ordinary HTTP answer, which ends with the connection."""
        self._write_head(status, [*headers, (b"connection", b"close")])

    def _answer_without_body(self, status: int) -> None:
        if self._answer_begun or self.transport.is_closing():
            return
        self._answer(status, [(b"content-length", b"0")])
        self.transport.close()

    def _write_head(self, status: int, headers: HeaderPairs) -> None:
        try:
            phrase = HTTPStatus(status).phrase
        except ValueError:
            phrase = ""
        self._answer_begun = True
        lines = [b"HTTP/1.1 %d %s\r\n" % (status, phrase.encode())]
        lines += [b"%s: %s\r\n" % pair for pair in headers]
        self.transport.write(b"".join([*lines, b"\r\n"]))
