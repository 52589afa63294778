"""A response with a WebSocket on its way from one worker to another in this process.

The socket that the caller gets is another object than the one that the callee gave, and the callee's event lasts as
long as the connection between them.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

from .response import Response
from .websocket import WebSocket
from .websocket_bridge import begin_bridge
from .websocket_channel import ChannelEnd, Close, Message, channel

__all__ = ["pass_on", "relay"]


def relay(response: Response) -> tuple[Response, asyncio.Task[None]]:
    """What the caller gets in place of the callee's response, and what the callee's event has to await.

    Raises: TypeError for a socket that cannot be in a response.
    """
    callee = response._web_socket.give_away()
    near, far = channel()
    return _received(response, near), begin_bridge(callee, _ChannelWire(far))


def pass_on(response: Response) -> Response:
    """What the caller gets where the connection does not depend on the callee's event.

    Raises: TypeError for a socket that cannot be in a response.
    """
    return _received(response, response._web_socket.give_away())


def _received(response: Response, end: ChannelEnd) -> Response:
    received: Response = object.__new__(Response)
    received._copy_properties(response)
    received._web_socket = WebSocket.over(end)
    return received


class _ChannelWire:
    """The caller as a connection."""

    half_open: ClassVar[bool] = True

    def __init__(self, end: ChannelEnd) -> None:
        self._end = end

    async def send(self, message: Message) -> None:
        await self._end.room()
        self._end.send(message)

    async def close(self, close: Close) -> None:
        self._end.close(close)

    async def receive(self) -> Message | Close:
        return await self._end.receive()

    async def gone(self) -> None:
        await self._end.until_cut()

    def abort(self) -> None:
        self._end.leave()
