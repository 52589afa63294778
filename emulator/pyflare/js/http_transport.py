"""Sending requests over the network with httpx.

Source of the behaviour: https://developers.cloudflare.com/workers/runtime-apis/fetch/
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .error import Error, TypeError_
from .promise import as_error
from .request import Request
from .response import Response
from .webidl import encode_text
from .websocket_client import is_upgrade, open_websocket

if TYPE_CHECKING:
    import httpx

__all__ = ["HttpTransport", "send_once"]

T = TypeVar("T")

_NO_WEBSOCKET: Final = "What answers this Worker's requests in place of the network takes no WebSockets."

_DECODED = frozenset({"gzip", "deflate", "x-gzip"})


class HttpTransport:
    """A pool of connections. ``send`` fits :data:`pyflare.js.fetch.outbound`; close it with ``aclose``.

    In: ``transport``, an httpx transport that answers in the place of the network.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        self._client: httpx.AsyncClient | None = None

    async def send(self, request: Request) -> Response:
        """Send one request; both bodies are streamed.

        Raises: Error "Network connection lost." when the other side cannot be reached, TypeError without httpx.
        """
        if is_upgrade(request):
            if self._transport is not None:
                raise TypeError_(_NO_WEBSOCKET)
            return await open_websocket(request)
        httpx = _httpx()
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=None, follow_redirects=False, transport=self._transport
            )
        outgoing = httpx.Request(
            request.method,
            request.url.partition("#")[0],
            headers=_headers(request),
            content=_content(request),
        )
        try:
            answer = await _in_task(self._client.send(outgoing, stream=True))
        except httpx.HTTPError as failure:
            raise _lost(failure) from failure
        return _response(answer, request)

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await _in_task(client.aclose())


async def send_once(request: Request) -> Response:
    """Send over a connection of its own, closed when the body has been read or cancelled."""
    transport = HttpTransport()
    try:
        response = await transport.send(request)
    except BaseException:
        await transport.aclose()
        raise
    source = response._source
    if not isinstance(source, _AnswerBody):
        return response
    source.transport = transport
    if source.length == 0:
        await source.cancel(None)
    return response


async def _in_task(work: Coroutine[Any, Any, T]) -> T:
    """Run from beginning to end in one Task, which httpx insists on and a promise's eager first step does not give."""
    return await asyncio.get_running_loop().create_task(work)


def _httpx() -> Any:
    # Only a worker that fetches pays for the import.
    import httpx

    return httpx


def _headers(request: Request) -> list[tuple[bytes, bytes]]:
    pairs = [
        pair
        for pair in request.wire_headers()
        if pair[0] not in (b"host", b"content-length", b"connection")
    ]
    if not any(name == b"accept-encoding" for name, _ in pairs):
        pairs.append((b"accept-encoding", b"gzip"))
    return pairs


def _content(request: Request) -> bytes | AsyncIterator[bytes] | None:
    content = request._content
    if content is not None:
        return encode_text(content) if isinstance(content, str) else bytes(content)
    if not request._has_body():
        return None
    request._check_unused()
    return _as_bytes(request)


async def _as_bytes(request: Request) -> AsyncIterator[bytes]:
    chunks = request.body.iterate_bytes()
    try:
        async for chunk in chunks:
            yield bytes(chunk)
    finally:
        await chunks.aclose()


def _response(answer: httpx.Response, request: Request) -> Response:
    pairs = [(name.lower(), value) for name, value in answer.headers.raw]
    encoded = answer.headers.get("content-encoding", "").lower() in _DECODED
    length = None if encoded else _length(answer)
    if encoded:
        # The body is given decoded, so the length on the wire is not its own.
        pairs = [pair for pair in pairs if pair[0] != b"content-length"]
    return Response.from_wire(
        answer.status_code,
        answer.reason_phrase,
        pairs,
        _AnswerBody(answer, length, request._signal),
        url=request.url.partition("#")[0],
    )


def _length(answer: httpx.Response) -> int | None:
    value = answer.headers.get("content-length", "")
    return int(value) if value.isdigit() else None


class _AnswerBody:
    """The body of an answer as a source; aborting the signal fails the read that waits."""

    __slots__ = ("_answer", "_chunks", "_reading", "_signal", "length", "transport")

    def __init__(self, answer: httpx.Response, length: int | None, signal: Any) -> None:
        self._answer = answer
        self._chunks = answer.aiter_bytes()
        self._signal = signal
        self._reading: asyncio.Future[bytes] | None = None
        self.length = length
        self.transport: HttpTransport | None = None
        if signal is not None:
            signal.on_abort(self._stop_reading)

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    async def read(self) -> bytes:
        if self._signal is not None and self._signal.aborted:
            await self._close()
            raise as_error(self._signal.reason)
        self._reading = asyncio.get_running_loop().create_task(self._next())
        try:
            chunk = await self._reading
        except asyncio.CancelledError:
            await self._close()
            if self._signal is not None and self._signal.aborted:
                raise as_error(self._signal.reason) from None
            raise
        finally:
            self._reading = None
        if not chunk:
            await self._close()
        return chunk

    async def _next(self) -> bytes:
        try:
            async for chunk in self._chunks:
                if chunk:
                    return chunk
        except _httpx().HTTPError as failure:
            await self._close()
            raise _lost(failure) from failure
        return b""

    async def cancel(self, _reason: Any) -> None:
        await self._close()

    async def _close(self) -> None:
        await _in_task(self._answer.aclose())
        if self.transport is not None:
            await self.transport.aclose()


def _lost(failure: Exception) -> Error:
    error: Error = Error._make("Network connection lost.")
    error.retryable = True  # type: ignore[attr-defined]
    error.__cause__ = failure
    return error
