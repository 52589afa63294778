"""The part of ``ctx`` that is about WebSockets which outlive the object in memory.

Source: https://developers.cloudflare.com/durable-objects/api/state/ and workerd ``api/actor-state.c++``.
"""

from __future__ import annotations

from typing import Any, Final

from pyflare.js.array import JsArray, items_of
from pyflare.js.error import Error, RangeError, TypeError_
from pyflare.js.value import is_nullish
from pyflare.js.webidl import encode_text, integer, null, text

__all__ = ["WebSockets"]

_MOST_TAGS: Final = 10
_LONGEST_TAG: Final = 256
_LARGEST_AUTO_RESPONSE: Final = 2048
_LONGEST_EVENT: Final = 7 * 24 * 3600 * 1000
_LARGEST_NUMBER: Final = 2**32 - 1


class WebSockets:
    """A base of ``DurableObjectState``."""

    _life: Any

    def acceptWebSocket(self, ws: Any = None, tags: Any = None, *_: Any) -> None:
        """Take a WebSocket whose events call ``webSocketMessage``, ``webSocketClose`` and ``webSocketError``.

        Raises: TypeError for what is no WebSocket or no list of tags; Error for a socket that is in use, for more than
        10 tags or one of more than 256 bytes, and for more than 32768 sockets.
        """
        from pyflare.js.websocket_hibernation import check_can_hibernate

        socket = _socket(ws, "acceptWebSocket")
        check_can_hibernate(socket)
        self._life.sockets.accept(socket, _distinct(tags))

    def getWebSockets(self, tag: Any = None, *_: Any) -> JsArray:
        """The accepted sockets that are not closed, the newest first; those with a tag, the oldest first."""
        sockets = self._life.sockets
        return JsArray.adopt(sockets.all() if tag is None else sockets.tagged(text(tag)))

    def getTags(self, ws: Any = None, *_: Any) -> JsArray:
        """The tags of an accepted socket. Raises: Error for any other socket."""
        socket = _socket(ws, "getTags")
        if socket.record is not None:
            return JsArray.adopt(list(socket.record.tags))
        if socket._state == "accepted":
            raise Error("only hibernatable websockets can have tags.")
        raise Error(
            "you must call 'acceptWebSocket()' before attempting to access the tags of a WebSocket."
        )

    def setWebSocketAutoResponse(self, pair: Any = None, *_: Any) -> None:
        """Answer a message without the object; without a pair do so no more.

        Raises: TypeError for what is no pair, RangeError for more than 2048 bytes.
        """
        from pyflare.js.websocket_auto_response import WebSocketRequestResponsePair

        sockets = self._life.sockets
        if is_nullish(pair):
            sockets.request = None
            return
        if not isinstance(pair, WebSocketRequestResponsePair):
            raise _wrong_type("setWebSocketAutoResponse", 1, "WebSocketRequestResponsePair")
        for what, message in (("request", pair.request), ("response", pair.response)):
            size = len(encode_text(message))
            if size > _LARGEST_AUTO_RESPONSE:
                raise RangeError(
                    f"{what.capitalize()} cannot be larger than {_LARGEST_AUTO_RESPONSE} bytes. A {what} of size "
                    f"{size} was provided."
                )
        sockets.request, sockets.response = pair.request, pair.response

    def getWebSocketAutoResponse(self, *_: Any) -> Any:
        """The pair that is set, null without one."""
        from pyflare.js.websocket_auto_response import WebSocketRequestResponsePair

        sockets = self._life.sockets
        if sockets.request is None:
            return null()
        return WebSocketRequestResponsePair._make(sockets.request, sockets.response)

    def getWebSocketAutoResponseTimestamp(self, ws: Any = None, *_: Any) -> Any:
        """When a socket was last answered without the object, as a Date; null if never."""
        from pyflare.js.date import Date

        record = _socket(ws, "getWebSocketAutoResponseTimestamp").record
        if record is None or record.answered_at is None:
            return null()
        return Date.from_milliseconds(int(record.answered_at * 1000))

    def setHibernatableWebSocketEventTimeout(self, timeout: Any = None, *_: Any) -> None:
        """Limit the milliseconds that an event of a socket may take; 0 or nothing lifts the limit.

        An event that takes longer ends the object. Raises: Error for more than seven days, TypeError for no number.
        """
        limit = 0 if is_nullish(timeout) else integer(timeout)
        if not 0 <= limit <= _LARGEST_NUMBER:
            raise TypeError_(
                f"Value out of range. Must be between 0 and {_LARGEST_NUMBER} (inclusive)."
            )
        if limit > _LONGEST_EVENT:
            raise Error(f"Event timeout should not exceed {_LONGEST_EVENT} ms.")
        self._life.sockets.event_limit = limit

    def getHibernatableWebSocketEventTimeout(self, *_: Any) -> Any:
        """The limit in milliseconds, null without one."""
        return self._life.sockets.event_limit or null()


def _socket(value: Any, method: str) -> Any:
    from pyflare.js.websocket import WebSocket

    if not isinstance(value, WebSocket):
        raise _wrong_type(method, 1, "WebSocket")
    return value


def _distinct(tags: Any) -> list[str]:
    if tags is None:
        return []
    if isinstance(tags, str | bytes):
        raise _wrong_type("acceptWebSocket", 2, "Array")
    found: dict[str, None] = {}
    for tag in map(text, items_of(tags)):
        if len(found) >= _MOST_TAGS:
            raise Error(f"a Hibernatable WebSocket cannot have more than {_MOST_TAGS} tags")
        if len(encode_text(tag)) > _LONGEST_TAG:
            raise Error(f'"{tag}" is longer than the max tag length ({_LONGEST_TAG} characters).')
        found[tag] = None
    return list(found)


def _wrong_type(method: str, number: int, wanted: str) -> Exception:
    return TypeError_(
        f"Failed to execute '{method}' on 'DurableObjectState': parameter {number} is not of type '{wanted}'."
    )
