"""What a Durable Object has sent over a WebSocket and what must not leave before its writes are durable.

The order of sending is kept: what has nothing to wait for waits for what was sent before it.

Source: https://developers.cloudflare.com/durable-objects/reference/in-memory-state/ (output gates)
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from .error import JsException
from .websocket_channel import ChannelEnd, Close, Message

__all__ = ["Outbox"]


class Outbox:
    """The way out of one socket. It belongs to the connection: it outlives the object that sends."""

    __slots__ = ("_end", "_items", "_size")

    def __init__(self, end: ChannelEnd) -> None:
        self._end = end
        self._items: deque[tuple[Message | Close | None, asyncio.Future[None] | None]] = deque()
        self._size = 0

    def put(self, item: Message | Close | None, pending: asyncio.Future[None] | None) -> None:
        """Send a message or a close frame, or with None leave the channel, when ``pending`` is done.

        Raises: Error when more waits than a worker's memory holds.
        """
        if pending is None and not self._items:
            self._pass_on(item)
            return
        if isinstance(item, str | bytes):
            self._end.check_room_for(item, self._size)
            self._size += len(item)
        self._items.append((item, pending))
        if pending is not None:
            pending.add_done_callback(self._flush)

    def _flush(self, _: Any) -> None:
        items = self._items
        while items:
            item, pending = items[0]
            if pending is not None:
                if not pending.done():
                    return
                if pending.cancelled() or pending.exception() is not None:
                    # The object is over, and what it says must not be heard.
                    items.clear()
                    self._end.leave()
                    return
            items.popleft()
            if isinstance(item, str | bytes):
                self._size -= len(item)
            try:
                self._pass_on(item)
            except JsException:
                # Meanwhile too much waits at the other side.
                items.clear()
                self._end.leave()

    def _pass_on(self, item: Message | Close | None) -> None:
        if item is None:
            self._end.leave()
        elif isinstance(item, Close):
            self._end.close(item)
        else:
            self._end.send(item)
