"""One WebSocket upgrade: a fetch event in, its answer out, and for as long as the socket is open the messages.

The event runs in a task of its own, the server's side in the host's: nothing of one is seen in the other's context.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from pyflare.js.callbacks import FAILURES
from pyflare.js.error import TypeError_
from pyflare.js.request import Request
from pyflare.js.websocket import WebSocket
from pyflare.js.websocket_bridge import bridge
from pyflare.js.websocket_channel import ChannelEnd, ConnectionLost
from pyflare.workers.exits import readable
from pyflare.workers.suspend import can_run_sync

from .contracts import Body, HeaderPairs, Receive, Response, Scope, Send, Worker
from .error_response import error_response
from .inbound import BadRequest, Inbound, Upstream, read_scope
from .log import LogSink
from .outbound import (
    ERROR_RESPONSE,
    REASONS,
    ResponseAborted,
    mapped_outward,
    send_body,
    send_large,
    send_text,
    settle,
    start_message,
)
from .websocket_asgi import AsgiWire

__all__ = ["WebSocketExchange", "deny"]

_DENIAL: Final = "websocket.http.response"
_SUBPROTOCOL: Final = b"sec-websocket-protocol"
#: What the host itself says in its answer to a handshake.
_HANDSHAKE: Final = frozenset((b"sec-websocket-accept", b"sec-websocket-extensions", _SUBPROTOCOL))


async def deny(scope: Scope, receive: Receive, send: Send, status: int, text: str) -> None:
    """Answer an upgrade with a text of the server's own."""
    await receive()
    await send_text(_denial(scope, send), status, text)


class WebSocketExchange:
    """The call of one ASGI scope of type ``websocket``.

    Args as :class:`pyflare.server.application.Application` has them; ``cf`` gives ``request.cf``.
    """

    def __init__(
        self,
        worker: Worker,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        upstream: Upstream | None,
        log: LogSink,
        pretty: bool,
        cf: Callable[[Inbound], Any],
    ) -> None:
        self._worker = worker
        self._scope = scope
        self._receive = receive
        self._send = send
        self._upstream = upstream
        self._log = log
        self._pretty = pretty
        self._cf = cf
        self._wire = AsgiWire(scope, receive, send)
        self._outcome: asyncio.Future[Response | BaseException]
        self._outcome = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._inbound: Inbound
        self._began = 0.0

    async def run(self) -> None:
        """Serve the connection to its end."""
        await self._receive()
        secure = self._scope.get("scheme") in ("wss", "https")
        scope = {**self._scope, "scheme": "https" if secure else "http"}
        try:
            self._inbound = inbound = read_scope(scope, self._upstream)
        except BadRequest as error:
            await send_text(_denial(self._scope, self._send), 400, str(error))
            return
        request = Request.from_http(
            "GET", inbound.url, _with_upgrade(inbound.headers), None, lambda: self._cf(inbound)
        )
        self._began = perf_counter()
        event = asyncio.get_running_loop().create_task(self._worker.run(self._event(request)))
        try:
            await self._serve(request, event)
        finally:
            self._over.set()
            if not self._outcome.done():
                event.cancel()
            await self._wire.stop()
            await asyncio.wait({event})
            if not event.cancelled() and (aborted := event.exception()) is not None:
                self._log.uncaught(self._worker.name, aborted)

    async def _event(self, request: Request) -> None:
        try:
            self._outcome.set_result(await self._worker.fetch(request))
        except BaseException as error:
            error = readable(error)
            # Outside a carrier this coroutine is being closed; in one, the worker itself has raised it.
            if isinstance(error, GeneratorExit) and not can_run_sync():
                raise
            # sys.exit() in a handler, or awaiting a task that the worker itself has cancelled, is the worker's error.
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            self._outcome.set_result(error)
            return
        # What the worker does with its socket, timers and background work belongs to this event.
        await self._over.wait()

    async def _serve(self, request: Request, event: asyncio.Task[None]) -> None:
        left = self._wire.listen()
        first: set[asyncio.Future[Any]] = {left, event, self._outcome}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not self._outcome.done():
            request.client_disconnected()
            self._log.debug("The client disconnected; its request was cancelled.")
            return
        response = self._outcome.result()
        if isinstance(response, BaseException):
            await self._fail(response)
            return
        if response.status == 0:
            await self._fail(TypeError_(ERROR_RESPONSE))
            return
        try:
            socket = response.webSocket
            end = socket.give_away() if isinstance(socket, WebSocket) else None
            status, reason, headers, payload = response.take_payload(as_sent=True)
        except Exception as error:
            await self._fail(error)
            return
        headers, payload = settle(
            headers, payload, method="GET", automatic=response.encodeBody == "automatic"
        )
        if self._upstream is not None:
            headers = mapped_outward(headers, self._upstream, self._inbound.host)
        if self._scope.get("root_path"):
            from .mounted import prefixed

            headers = prefixed(headers, self._scope["root_path"], self._inbound.host)
        self._report(status, reason)
        if end is None:
            await self._refuse(status, headers, payload)
        else:
            await self._connect(end, headers, event)

    async def _connect(
        self, end: ChannelEnd, headers: HeaderPairs, event: asyncio.Task[None]
    ) -> None:
        chosen = [value.decode("latin-1") for name, value in headers if name == _SUBPROTOCOL]
        kept = [pair for pair in headers if pair[0] not in _HANDSHAKE]
        connections = self._worker.connections
        connections.add(end.interrupt)
        try:
            await self._wire.accept(chosen[0] if chosen else None, kept)
            carrying = asyncio.get_running_loop().create_task(bridge(end, self._wire))
            # It does not end by itself, but the worker may abort it.
            event.add_done_callback(lambda _: carrying.cancel())
            try:
                await carrying
            except asyncio.CancelledError:
                if not event.done():
                    raise
        except ConnectionLost:
            end.leave()
            await end.settled()
        finally:
            connections.discard(end.interrupt)

    async def _refuse(self, status: int, headers: HeaderPairs, payload: Body) -> None:
        """The worker's answer is an ordinary one."""
        send = _denial(self._scope, self._send)
        await send(start_message("GET", status, headers, payload))
        if payload is None or isinstance(payload, bytes | memoryview):
            await send_large(send, payload or b"")
            return
        try:
            await send_body(send, payload)
        except FAILURES as error:
            self._log.uncaught(self._worker.name, error, where="the response body")
            raise ResponseAborted(f"the response body of {self._worker.name!r} failed") from error
        finally:
            await payload.aclose()  # type: ignore[attr-defined]

    async def _fail(self, error: BaseException) -> None:
        failed = self._scope.get("pyflare.failed")
        if failed is not None:
            failed(error)
        self._log.uncaught(self._worker.name, error)
        content_type, text = error_response(
            error, self._scope, self._inbound.url, pretty=self._pretty
        )
        self._report(500, "")
        await send_text(_denial(self._scope, self._send), 500, text, content_type)

    def _report(self, status: int, reason: str) -> None:
        milliseconds = (perf_counter() - self._began) * 1000
        reason = reason or REASONS.get(status, "")
        self._log.request(
            self._worker.name, "GET", self._inbound.path, status, reason, milliseconds
        )


def _with_upgrade(headers: HeaderPairs) -> HeaderPairs:
    """HTTP/2 has no such header, but workers look for it."""
    if any(name == b"upgrade" for name, _ in headers):
        return headers
    return [*headers, (b"upgrade", b"websocket"), (b"connection", b"Upgrade")]


def _denial(scope: Scope, send: Send) -> Send:
    """``send`` for an HTTP answer instead of a connection; hosts without the extension make a bare 403 of it."""
    if _DENIAL in (scope.get("extensions") or {}):

        async def extended(message: Any) -> None:
            await send({**message, "type": message["type"].replace("http.response", _DENIAL)})

        return extended
    closed = False

    async def refused(_message: Any) -> None:
        nonlocal closed
        if not closed:
            closed = True
            await send({"type": "websocket.close", "code": 1000})

    return refused
