"""uvicorn's HTTP protocol with what costs most taken out of it.

It writes a response's head and its body separately, and on loopback a write costs more than all that a small Worker
does. The transport that the protocol sees holds a piece back until the next one comes, at the latest until the event
loop's next turn; a response that is all there needs not even that (:mod:`pyflare.cli.whole_response`). And a connection
has one timer that looks now and then how long it has been idle, instead of one per request.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import unquote

from httptools import parse_url
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .whole_response import EXTENSIONS

__all__ = ["OneWriteProtocol"]

#: Bytes from which on joining two pieces costs more than a second write.
_LARGE: Final = 32 * 1024


class OneWriteProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol over a :class:`HoldingTransport`."""

    #: When the last response was complete, by the loop's clock; 0 while a request is under way.
    _idle_since = 0.0
    _idle_watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(HoldingTransport(transport, self.loop))  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._idle_watch is not None:
            self._idle_watch.cancel()
            self._idle_watch = None

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        cycle.scope["extensions"] = EXTENSIONS
        # Not by the loop's factory: the server's own tasks are plain ones.
        task = asyncio.Task(cycle.run_asgi(app), loop=self.loop)
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def _unset_keepalive_if_required(self) -> None:
        self._idle_since = 0.0

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self._idle_since = self.loop.time()
        if self._idle_watch is None:
            self._idle_watch = self.loop.call_later(self.timeout_keep_alive, self._check_idle)

    def _check_idle(self) -> None:
        self._idle_watch = None
        if self._idle_since == 0 or self.transport.is_closing():
            # The response of the request that is under way starts the next watch.
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left <= 0:
            self.timeout_keep_alive_handler()
        else:
            self._idle_watch = self.loop.call_later(left, self._check_idle)

    def _should_upgrade(self) -> bool:
        if self._get_upgrade() != b"websocket":
            return False
        from pyflare.server.websocket_handshake import missing_part

        # What is no complete handshake goes to the worker as the ordinary request that it is.
        return missing_part(self.scope["method"], self.scope["headers"]) is None

    def _unsupported_upgrade_warning(self) -> None:
        """The answer to the request says what is wrong with it."""

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to a protocol that speaks WebSocket."""
        # Imported by the first upgrade: most workers have none, and the start should not wait for it.
        from pyflare.server.websocket_protocol import WebSocketProtocol

        self.connections.discard(self)
        target = parse_url(self.url)
        path = unquote(target.path.decode("ascii"))
        transport: Any = self.transport
        scope = {
            **self.scope,
            "path": path,
            "raw_path": target.path,
            "query_string": target.query or b"",
        }
        state = self.server_state
        protocol = WebSocketProtocol(self.app, scope, state.connections, state.tasks)
        bare = transport.let_go()
        protocol.connection_made(bare)
        bare.set_protocol(protocol)


class HoldingTransport:
    """A transport that may hold one piece back for a moment; everything else is the transport's own."""

    __slots__ = ("_held", "_loop", "_transport", "_write")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._write = transport.write
        self._loop = loop
        self._held: bytes | None = None

    def write(self, data: bytes) -> None:
        held = self._held
        if held is None:
            self._held = data
            self._loop.call_soon(self._let_go)
            return
        self._held = None
        if len(data) < _LARGE:
            self._pass_on(held + data)
        else:
            self._pass_on(held)
            self._pass_on(data)

    def write_now(self, data: bytes) -> None:
        """Write what is held back and then this, holding nothing."""
        if self._held is not None:
            self._let_go()
        self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        # A client may go away at any moment; uvloop's transports raise when they are written to then.
        if not self._transport.is_closing():
            self._write(data)

    def let_go(self) -> asyncio.Transport:
        """Write what is held back, and give the transport itself."""
        self._let_go()
        return self._transport

    def _let_go(self) -> None:
        held = self._held
        if held is not None:
            self._held = None
            self._pass_on(held)

    def close(self) -> None:
        """Write what is held back, then close as usual."""
        self._let_go()
        self._transport.close()

    def write_eof(self) -> None:
        self._let_go()
        self._transport.write_eof()

    def abort(self) -> None:
        self._held = None
        self._transport.abort()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
