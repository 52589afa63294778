"""An ASGI WebSocket as a connection that messages travel over.

Source: https://asgi.readthedocs.io/en/latest/specs/www.html#websocket
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any, Final

from pyflare.js.websocket_channel import NO_STATUS, Close, ConnectionLost, Item, Message

from .contracts import HeaderPairs, Receive, Scope, Send

__all__ = ["FAILURE", "HALF_OPEN", "AsgiWire"]

#: The extension by which our own server says that it leaves the answer to a close frame to the application: after
#: ``websocket.disconnect`` it still takes messages and a close, and a further ``receive`` tells of the real end.
HALF_OPEN: Final = "pyflare.half_open"
#: The member of our own server's ``websocket.disconnect`` that holds what broke the protocol.
FAILURE: Final = "pyflare.failure"

_LOST: Final = 1006


class AsgiWire:
    """The client of one connection. :meth:`listen` comes first, and then its outcome is the first to be received."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.half_open = HALF_OPEN in (scope.get("extensions") or {})
        self._receive = receive
        self._send = send
        self._first: asyncio.Task[Item] | None = None
        self._lost = False
        self._closed = False

    def listen(self) -> asyncio.Task[Item]:
        """Begin to receive, in the running task's context. Before ``accept`` nothing but a disconnect can come."""
        self._first = asyncio.get_running_loop().create_task(self._next())
        return self._first

    async def stop(self) -> None:
        """End what :meth:`listen` began and nobody received."""
        if self._first is not None:
            self._first.cancel()
            await asyncio.wait([self._first])

    async def accept(self, subprotocol: str | None, headers: HeaderPairs) -> None:
        """Take the connection. Raises ConnectionLost."""
        await self._out(
            {"type": "websocket.accept", "subprotocol": subprotocol, "headers": headers}
        )

    async def send(self, message: Message) -> None:
        """Send one message when the client has taken those before. Raises ConnectionLost."""
        kind = "text" if isinstance(message, str) else "bytes"
        await self._out({"type": "websocket.send", kind: message})

    async def close(self, close: Close) -> None:
        """Send a close frame, at most one. Hosts that know no frame without a status send 1000."""
        if self._closed:
            return
        self._closed = True
        code = 1000 if close.code == NO_STATUS and not self.half_open else close.code
        try:
            await self._out({"type": "websocket.close", "code": code, "reason": close.reason})
        except ConnectionLost:
            return

    async def receive(self) -> Message | Close:
        """The next message, or the close frame. Raises ConnectionLost, or what broke the protocol."""
        if self._first is None:
            item = await self._next()
        else:
            item = await self._first
            self._first = None
        if isinstance(item, BaseException):
            self._lost = True
            raise item
        return item

    async def gone(self) -> None:
        """Wait until there is no connection any more."""
        await self._receive()

    def abort(self) -> None:
        """Nothing is sent any more. The host closes the connection when the application returns."""
        self._lost = True

    async def _next(self) -> Item:
        while True:
            message = await self._receive()
            match message["type"]:
                case "websocket.receive":
                    data = message.get("bytes")
                    return message.get("text") or "" if data is None else bytes(data)
                case "websocket.disconnect":
                    return _end_of(message)

    async def _out(self, message: MutableMapping[str, Any]) -> None:
        if self._lost:
            raise ConnectionLost
        try:
            await self._send(message)
        except Exception as error:
            # Each host has an exception of its own for a client that is not there any more.
            raise ConnectionLost from error


def _end_of(message: MutableMapping[str, Any]) -> Close | BaseException:
    failure = message.get(FAILURE)
    if failure is not None:
        return failure  # type: ignore[no-any-return]
    code = message.get("code", NO_STATUS)
    reason = message.get("reason")
    # uvicorn says 1005 for a lost connection too, but then without a reason.
    if code in (None, _LOST) or (code == NO_STATUS and reason is None):
        return ConnectionLost()
    return Close(code, reason or "")
