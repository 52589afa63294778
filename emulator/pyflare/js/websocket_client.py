"""Opening WebSocket connections: for ``WebSocket.new(url)`` and for ``fetch`` with ``Upgrade: websocket``.

The package ``websockets`` is imported by the first connection.
"""

from __future__ import annotations

import re
from typing import Any, Final

from .error import DOMException, TypeError_
from .request import Request
from .response import Response
from .url import parse
from .value import is_nullish
from .webidl import text

__all__ = ["NO_UPGRADE", "connect", "connection_request", "is_upgrade", "open_websocket"]

#: What a worker is told that answers with a WebSocket where none was asked for.
NO_UPGRADE: Final = (
    "Worker tried to return a WebSocket in a response to a request which did not contain the header "
    '"Upgrade: websocket".'
)
_WHAT: Final = "WebSocket Constructor: "
#: A token of RFC 7230 as production reads it: visible characters without separators.
_TOKEN: Final = re.compile(r"[!-~]+")
_SEPARATORS: Final = re.compile(r"[()<>@,;:\\/\[\]?={}]")


def is_upgrade(request: Request) -> bool:
    """Whether a request asks for a WebSocket."""
    return (request.headers.lookup("upgrade") or "").lower() == "websocket"


def connection_request(address: str, protocols: Any) -> Request:
    """The request that ``WebSocket.new(address, protocols)`` sends.

    Raises: SyntaxError for an address that is no ``ws:`` or ``wss:`` URL or has a fragment, and for subprotocols that
    are no tokens or not all different.
    """
    url = parse(address)
    if url is None:
        raise _syntax_error("The url is invalid.")
    if url.protocol not in ("ws:", "wss:"):
        raise _syntax_error("The url scheme must be ws or wss.")
    if "#" in address:
        raise _syntax_error("The url fragment must be empty.")
    headers = [("upgrade", "websocket")]
    offered = _offered(protocols)
    if offered:
        headers.append(("sec-websocket-protocol", ", ".join(offered)))
    return Request.new(f"http{url.href[2:]}", headers=headers)


def _offered(protocols: Any) -> list[str]:
    if is_nullish(protocols):
        return []
    if isinstance(protocols, str):
        if not _is_token(protocols):
            raise _syntax_error("The protocol header token is invalid.")
        return [protocols]
    offered: list[str] = []
    for each in protocols:
        name = text(each)
        if not _is_token(name):
            raise _syntax_error("One of the protocol header tokens is invalid.")
        if name in offered:
            raise _syntax_error("The protocols header cannot have repeating values.")
        offered.append(name)
    return offered


def _is_token(name: str) -> bool:
    return _TOKEN.fullmatch(name) is not None and _SEPARATORS.search(name) is None


def _syntax_error(message: str) -> DOMException:
    made: DOMException = DOMException._make(_WHAT + message, "SyntaxError")
    return made


async def connect(request: Request) -> Response:
    """Send the request of a ``WebSocket.new`` where the worker's requests go, and give the answer with its socket.

    Raises: TypeError for any other answer, Error "Network connection lost." without one.
    """
    from .fetch import outbound

    send = outbound.get() or open_websocket
    response = await send(request)
    if response.status != 101:
        raise TypeError_(
            "Failed to establish the WebSocket connection: expected server to reply with HTTP status code 101 "
            f"(switching protocols), but received {response.status} instead."
        )
    if response._web_socket is None:
        raise TypeError_("Worker received body in a response to a request for a WebSocket.")
    return response


async def open_websocket(request: Request) -> Response:
    """Connect over the network. Any answer but 101 is an ordinary response.

    Raises: Error "Network connection lost." when the other side cannot be reached or does not speak the protocol.
    """
    from .websocket import WebSocket
    from .websocket_bridge import start_bridge
    from .websocket_channel import channel
    from .websocket_handshake import shake_hands

    url = parse(request.url)
    assert url is not None
    wire, answer = await shake_hands(url, request.wire_headers())
    pairs = [(name.lower().encode(), value.encode("latin-1")) for name, value in answer.headers]
    here = request.url.partition("#")[0]
    if wire is None:
        return Response.from_wire(answer.status, answer.reason, pairs, answer.body, url=here)
    near, far = channel()
    work = start_bridge(far, wire)
    if request._signal is not None:
        forget = request._signal.on_abort(work.cancel)
        work.add_done_callback(lambda _: forget())
    response = Response.from_wire(101, answer.reason, pairs, None, url=here)
    response._web_socket = WebSocket.over(near)
    return response
