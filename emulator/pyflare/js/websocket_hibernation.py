"""A ``WebSocket`` that a Durable Object has handed over to the platform: events go to the object, not to listeners.

The connection outlives the object in memory; each life of the object sees it through a ``WebSocket`` of its own.

Source: https://developers.cloudflare.com/durable-objects/best-practices/websockets/ and workerd ``api/web-socket.c++``,
``api/actor-state.c++``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .error import Error, python_error
from .websocket import WebSocket
from .websocket_channel import ChannelEnd, Close

__all__ = ["check_can_hibernate", "closed_by_peer", "cut", "failed", "fresh", "hand_over", "over"]

_KEPT: Final = (
    "_attachment",
    "_closed_here",
    "_closed_there",
    "_extensions",
    "_half_open",
    "_outbox",
    "_protocol",
    "_url",
    "record",
)


def check_can_hibernate(socket: WebSocket) -> None:
    """Raises: Error for a socket that is accepted already, or whose pair is in use."""
    if socket._state in ("accepted", "hibernatable"):
        raise Error(
            "Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`"
        )
    end = socket._end or socket._given
    if end is None or not end.peer_is_free:
        raise Error(
            "Cannot call `acceptWebSocket()` on this WebSocket because its pair has already been accepted or used in "
            "a Response."
        )
    if socket._state != "waiting":
        raise Error(
            "Tried to make an api::WebSocket hibernatable when it was in an incompatible state."
        )


def hand_over(socket: WebSocket, record: Any, arrived: Callable[[], None]) -> ChannelEnd:
    """Make a socket that was checked hibernatable; ``arrived`` is called when something can be taken from the end."""
    end = socket._end
    assert end is not None
    socket._state = "hibernatable"
    socket.record = record
    end.free = False
    end.hibernates = True
    end.on_arrival = arrived
    return end


def fresh(socket: WebSocket) -> WebSocket:
    """The same connection as the next life of the object sees it: without listeners and what was set on it."""
    end = socket._end
    assert end is not None
    made = WebSocket.over(end)
    made._state = "hibernatable"
    for name in _KEPT:
        setattr(made, name, getattr(socket, name))
    socket._end = None
    socket._state = "released"
    return made


def closed_by_peer(socket: WebSocket, answer: Close | None) -> None:
    """The other side has sent a close frame, or is gone. The ``answer`` is sent where the runtime answers."""
    socket._closed_there = True
    if answer is not None and not socket._half_open and not socket._closed_here:
        socket._closed_here = True
        socket._give(answer)


def failed(socket: WebSocket, failure: BaseException) -> Any:
    """The connection has failed. Gives the error for the object."""
    socket._closed_there = True
    socket._error = failure
    return python_error(failure)


def over(socket: WebSocket) -> None:
    """The object has been told of the end: after what it has sent, whoever is still connected is cut off."""
    if socket._state == "hibernatable":
        socket._give(None)
        _release(socket)


def cut(socket: WebSocket, close: Close | None) -> None:
    """The object is over: what still waits is not sent, only the close frame, if one is given."""
    end = socket._end
    if socket._state == "hibernatable" and end is not None:
        if close is not None:
            end.close(close)
        end.leave()
        _release(socket)


def _release(socket: WebSocket) -> None:
    socket._state = "released"
    socket._closed_here = socket._closed_there = True
