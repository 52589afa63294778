"""A WebSocket to a Pyflare from its own process, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, MutableMapping, Sequence
from typing import Any, Final, Self

import httpx

from pyflare.js.error import Error
from pyflare.js.websocket_channel import NO_STATUS
from pyflare.js.websocket_wire import LARGEST_MESSAGE
from pyflare.server.contracts import ASGIApplication, Scope
from pyflare.server.websocket_asgi import FAILURE, HALF_OPEN

from .client import headers_of, scope_of

__all__ = ["EmbeddedWebSocket", "WebSocketClosed", "WebSocketRefused"]

#: Messages that may wait for whoever reads them.
_AHEAD: Final = 64
_TOO_BIG: Final = 1009
#: What a host says when there is no connection any more.
_GONE: Final = {"type": "websocket.disconnect", "code": 1006}


class WebSocketRefused(Exception):
    """The worker answered with a response instead. ``status`` and ``body`` are its."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"no WebSocket but a response with status {status}: {body[:200]!r}")
        self.status = status
        self.body = body


class WebSocketClosed(Exception):
    """The other side has closed. ``code`` and ``reason`` are what it said; 1005 stands for no code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"closed with {code}{f': {reason}' if reason else ''}")
        self.code = code
        self.reason = reason


class EmbeddedWebSocket:
    """The client's end, an async context manager. Iterating gives messages until the other side closes.

    Raises WebSocketRefused on entering, where the worker takes no WebSocket, and the exception that leaves the worker.
    """

    def __init__(
        self,
        app: ASGIApplication,
        url: httpx.URL,
        headers: Mapping[str, str] | None,
        subprotocols: Sequence[str],
    ) -> None:
        self._app = app
        self._url = url
        self._headers = dict(headers or {})
        self._subprotocols = list(subprotocols)
        self._outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_AHEAD)
        self._incoming: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue(_AHEAD)
        self._task: asyncio.Task[None] | None = None
        self._closed: WebSocketClosed | None = None
        #: Why nothing more is taken from here, which is told after what the worker had said before.
        self._refused: WebSocketClosed | None = None
        self._failure: BaseException | None = None
        #: The subprotocol that the worker has chosen.
        self.subprotocol: str | None = None

    async def __aenter__(self) -> Self:
        await self._outgoing.put({"type": "websocket.connect"})
        self._task = asyncio.get_running_loop().create_task(self._run(self._scope()))
        answer = await self._incoming.get()
        if answer["type"] == "websocket.accept":
            self.subprotocol = answer.get("subprotocol")
            return self
        status, body = answer.get("status", 403), b""
        while answer["type"].startswith("websocket.http"):
            body += answer.get("body", b"")
            if answer["type"].endswith("body") and not answer.get("more_body"):
                break
            answer = await self._incoming.get()
        await self._end(1006)
        if self._failure is not None:
            raise self._failure
        if answer["type"] == "ended" and answer["error"] is not None:
            raise answer["error"]
        raise WebSocketRefused(status, body)

    def _failed(self, error: BaseException) -> None:
        self._failure = error

    def _scope(self) -> Scope:
        request = httpx.Request("GET", self._url, headers=headers_of(self._headers))
        scope = scope_of(request)
        del scope["method"]
        handshake = [
            (b"connection", b"Upgrade"),
            (b"upgrade", b"websocket"),
            (b"sec-websocket-key", b"cHlmbGFyZSBlbWJlZGRlZA=="),
            (b"sec-websocket-version", b"13"),
        ]
        if self._subprotocols:
            offered = ", ".join(self._subprotocols).encode("latin-1")
            handshake.append((b"sec-websocket-protocol", offered))
        kept = [pair for pair in scope["headers"] if pair[0] != b"connection"]
        scope["pyflare.failed"] = self._failed
        scope.update(
            type="websocket",
            scheme="wss" if scope["scheme"] in ("https", "wss") else "ws",
            headers=[*kept, *handshake],
            subprotocols=self._subprotocols,
            extensions={"websocket.http.response": {}, HALF_OPEN: {}},
        )
        return scope

    async def _run(self, scope: Scope) -> None:
        error: Exception | None = None
        try:
            await self._app(scope, self._outgoing.get, self._take)
        except Exception as failure:
            error = failure
        await self._incoming.put({"type": "ended", "error": error})

    async def _take(self, message: MutableMapping[str, Any]) -> None:
        await self._incoming.put(message)

    async def send(self, message: str | bytes) -> None:
        """Send a text or bytes. Raises WebSocketClosed after the end.

        More than 32 MiB at once, as UTF-8, end the connection with 1009, as a server ends it.
        """
        ended = self._closed or self._refused
        if ended is not None:
            raise ended
        if (size := _size(message)) > LARGEST_MESSAGE:
            await self._refuse(f"Message is too large: {size} > {LARGEST_MESSAGE}")
            return
        kind = "text" if isinstance(message, str) else "bytes"
        await self._outgoing.put({"type": "websocket.receive", kind: message})

    async def _refuse(self, reason: str) -> None:
        self._refused = WebSocketClosed(_TOO_BIG, reason)
        failure = Error._make(reason)
        await self._outgoing.put({"type": "websocket.disconnect", "code": 1002, FAILURE: failure})
        await self._outgoing.put(dict(_GONE))

    async def receive(self) -> str | bytes:
        """The next message. Raises WebSocketClosed."""
        if self._closed is not None:
            raise self._closed
        message = await self._incoming.get()
        match message["type"]:
            case "websocket.send":
                text = message.get("text")
                data: str | bytes = message["bytes"] if text is None else text
                return data
            case "websocket.close":
                self._closed = WebSocketClosed(
                    message.get("code", NO_STATUS), message.get("reason") or ""
                )
                await self._end(self._closed.code)
                raise self._closed
        self._closed = self._refused or WebSocketClosed(1006, "")
        if message["error"] is not None:
            raise message["error"]
        raise self._closed

    async def __aiter__(self) -> AsyncIterator[str | bytes]:
        while True:
            try:
                yield await self.receive()
            except WebSocketClosed:
                return

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close, and wait until the worker's side has ended. Idempotent."""
        if self._closed is None:
            self._closed = WebSocketClosed(code, reason)
            await self._end(code, reason)

    async def _end(self, code: int, reason: str = "") -> None:
        await self._outgoing.put({"type": "websocket.disconnect", "code": code, "reason": reason})
        await self._outgoing.put(dict(_GONE))
        assert self._task is not None
        while not self._task.done():
            # What the worker still says is taken, so that it does not wait for a reader.
            reading = asyncio.ensure_future(self._incoming.get())
            await asyncio.wait([reading, self._task], return_when=asyncio.FIRST_COMPLETED)
            reading.cancel()

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _size(message: str | bytes) -> int:
    """The bytes of a message on a wire."""
    if isinstance(message, str) and not message.isascii():
        return len(message.encode("utf-8", "surrogatepass"))
    return len(message)
