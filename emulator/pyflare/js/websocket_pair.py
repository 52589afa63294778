"""``WebSocketPair``: two sockets, where what is sent to one arrives at the other.

Source: https://developers.cloudflare.com/workers/runtime-apis/websockets/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .value import JsInstance
from .websocket import WebSocket
from .websocket_channel import channel

__all__ = ["WebSocketPair"]


class WebSocketPair(JsInstance, js_name="WebSocketPair"):
    """``WebSocketPair.new()``: an object with the keys ``"0"`` and ``"1"``, which can also be unpacked."""

    _sockets: tuple[WebSocket, WebSocket]

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        pair: WebSocketPair = object.__new__(cls)
        one, two = channel()
        one.free = two.free = True
        pair._sockets = WebSocket.over(one), WebSocket.over(two)
        return pair

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        yield "0", self._sockets[0]
        yield "1", self._sockets[1]

    def __iter__(self) -> Iterator[WebSocket]:
        return iter(self._sockets)

    def __getattr__(self, name: str) -> Any:
        if name in ("0", "1"):
            return self._sockets[int(name)]
        raise AttributeError(name)
