"""The opening handshake of a WebSocket connection that a worker opens.

Source: https://www.rfc-editor.org/rfc/rfc6455#section-4
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from websockets.client import ClientProtocol
from websockets.http11 import Response
from websockets.uri import WebSocketURI

from .byte_sources import ContentSource
from .connection_lost import connection_lost
from .httpx_loading import load_httpx
from .nobody import as_nobody
from .unlogged import NO_LOGGER
from .websocket_wire import LARGEST_MESSAGE, PatientFraming, WebSocketWire

if TYPE_CHECKING:
    from .url import UrlRecord

__all__ = ["Answer", "shake_hands"]

#: What the handshake itself says, and what says how the connection is used.
_OWN_HEADERS: Final = frozenset(
    (
        b"connection",
        b"content-length",
        b"host",
        b"sec-websocket-extensions",
        b"sec-websocket-key",
        b"sec-websocket-protocol",
        b"sec-websocket-version",
        b"transfer-encoding",
        b"upgrade",
    )
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said. ``body`` is there when it did not change protocols."""

    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: ContentSource | None = None


class _ClientFraming(PatientFraming, ClientProtocol):
    """The client's side."""


class _ClientWire(WebSocketWire):
    """A connection whose first event is the server's answer, or what there is instead."""

    def __init__(self, framing: _ClientFraming) -> None:
        super().__init__(framing)
        loop = asyncio.get_running_loop()
        self.answered: asyncio.Future[Response | Exception | None] = loop.create_future()

    def eof_received(self) -> bool:
        if not self.answered.done():
            # The body of an answer without a length ends here.
            self._framing.receive_eof()
            self._take_answer()
        return False

    def data_received(self, data: bytes) -> None:
        if self.answered.done():
            super().data_received(data)
            return
        self._framing.receive_data(data)
        self._take_answer()
        if self.answered.done():
            super().data_received(b"")

    def connection_lost(self, error: Exception | None) -> None:
        if not self.answered.done():
            self.answered.set_result(error)
        super().connection_lost(error)

    def _take_answer(self) -> None:
        failure = self._framing.handshake_exc
        answer = self._framing.events.pop(0) if self._framing.events else None
        if isinstance(answer, Response) and (answer.status_code != 101 or failure is None):
            self.answered.set_result(answer)
            return
        if failure is not None:
            self.answered.set_result(failure)


async def shake_hands(
    url: UrlRecord, headers: list[tuple[bytes, bytes]]
) -> tuple[WebSocketWire | None, Answer]:
    """Connect and ask for a WebSocket.

    Args: ``url`` with ``http:`` or ``https:``; ``headers`` of the worker's request, of which the handshake's own are
    replaced. Gives the connection, None when the server answered with something else than 101, and the answer.
    Raises: Error "Network connection lost." when there is no connection or no handshake.
    """
    secure = url.protocol == "https:"
    host = url.hostname.strip("[]")
    port = int(url.port) if url.port else (443 if secure else 80)
    framing = _ClientFraming(
        WebSocketURI(secure, host, port, url.pathname, url.search.removeprefix("?")),
        subprotocols=_offered(headers),
        max_size=LARGEST_MESSAGE,
        logger=NO_LOGGER,
    )
    try:
        _, wire = await asyncio.get_running_loop().create_connection(
            lambda: _ClientWire(framing),
            host,
            port,
            ssl=await as_nobody(_tls()) if secure else None,
        )
    except OSError as failure:
        raise connection_lost(url.host, failure) from None
    try:
        request = framing.connect()
        for name, value in headers:
            if name not in _OWN_HEADERS:
                request.headers[name.decode()] = value.decode("latin-1")
        framing.send_request(request)
        wire._flush()
        answer = await wire.answered
        if not isinstance(answer, Response):
            raise connection_lost(url.host, answer) from None
    except BaseException:
        wire.abort()
        raise
    pairs = list(answer.headers.raw_items())
    if answer.status_code == 101:
        return wire, Answer(101, answer.reason_phrase, pairs)
    wire.abort()
    body = ContentSource(bytes(answer.body))
    return None, Answer(answer.status_code, answer.reason_phrase, pairs, body)


def _offered(headers: list[tuple[bytes, bytes]]) -> Any:
    offered = [
        token.strip()
        for name, value in headers
        if name == b"sec-websocket-protocol"
        for token in value.decode("latin-1").split(",")
        if token.strip()
    ]
    return offered or None


async def _tls() -> Any:
    await load_httpx()
    import httpx

    return httpx.create_ssl_context()
