"""``MessageChannel`` and ``MessagePort``: messages between two ends in one worker.

Source: https://html.spec.whatwg.org/#message-channels
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from .error import TypeError_
from .events import EventTarget, MessageEvent
from .structured_clone import structured_clone
from .value import JsInstance, JsObject

__all__ = ["MessageChannel", "MessagePort"]


class MessagePort(EventTarget, js_name="MessagePort"):
    """One end. Messages wait until ``start()`` is called or ``onmessage`` is set; they are structured clones."""

    _peer: MessagePort | None = None
    _started: bool = False
    _waiting: deque[Any]
    _onmessage: Any = None

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        raise TypeError_("Illegal constructor")

    @classmethod
    def pair(cls) -> tuple[MessagePort, MessagePort]:
        """Two ends of one channel."""
        one: MessagePort = object.__new__(cls)
        two: MessagePort = object.__new__(cls)
        one._peer, two._peer = two, one
        one._waiting, two._waiting = deque(), deque()
        return one, two

    @property
    def onmessage(self) -> Any:
        return self._onmessage

    @onmessage.setter
    def onmessage(self, listener: Any) -> None:
        self._onmessage = listener
        self.start()

    def postMessage(self, message: Any = None, _options: Any = None) -> None:
        """Send a copy to the other end. Raises: DataCloneError for what cannot be copied."""
        copy = structured_clone(message)
        peer = self._peer
        if peer is None:
            return
        peer._waiting.append(copy)
        if peer._started:
            asyncio.get_running_loop().call_soon(peer._deliver_waiting)

    def start(self) -> None:
        """Let messages through."""
        self._started = True
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._deliver_waiting)

    def close(self) -> None:
        """Cut the channel: neither end receives anything any more."""
        peer, self._peer = self._peer, None
        if peer is not None:
            peer._peer = None

    def _deliver_waiting(self) -> None:
        while self._waiting:
            event = MessageEvent._make(
                "message", JsObject.adopt({"data": self._waiting.popleft()}), trusted=True
            )
            self.dispatchEvent(event)


class MessageChannel(JsInstance, js_name="MessageChannel"):
    """``MessageChannel.new()``: ``port1`` and ``port2``."""

    port1: MessagePort
    port2: MessagePort

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        channel: MessageChannel = object.__new__(cls)
        channel.port1, channel.port2 = MessagePort.pair()
        return channel
