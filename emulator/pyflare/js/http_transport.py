"""Sending requests over the network with httpx.

Source of the behaviour: https://developers.cloudflare.com/workers/runtime-apis/fetch/
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from .connection_lost import connection_lost
from .error import TypeError_
from .httpx_loading import load_httpx
from .nobody import NOBODY, as_nobody
from .promise import as_error
from .request import Request
from .response import Response
from .status import NULL_BODY_STATUSES
from .unlogged import keep_unlogged
from .webidl import encode_text
from .websocket_client import is_upgrade, open_websocket

if TYPE_CHECKING:
    import httpx

__all__ = ["HttpTransport", "send_once"]

_NO_WEBSOCKET: Final = (
    "What answers this Worker's requests in place of the network takes no WebSockets."
)

_DECODED: Final = frozenset({"gzip", "deflate", "x-gzip"})

#: How many connections lie ready for the next request, and for how many seconds: less than the five after which usual
#: servers close theirs.
_IDLE_CONNECTIONS: Final = 100
_IDLE_SECONDS: Final = 4.0


#: Methods whose requests do not say that they have no body.
_BODILESS: Final = frozenset({"GET", "HEAD"})

#: Methods whose requests may be sent twice.
_REPEATABLE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class HttpTransport:
    """A pool of connections. ``send`` fits :data:`pyflare.js.fetch.outbound`; close it with ``aclose``.

    In: ``transport``, an httpx transport that answers in the place of the network. It belongs to one event loop between
    the first request and ``aclose``. Connections are shared, cookies never: what a server sets is for the worker to
    read.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        self._client: httpx.AsyncClient | None = None

    async def send(self, request: Request) -> Response:
        """Send one request; both bodies are streamed.

        Raises: Error "Network connection lost." when the other side cannot be reached.
        """
        if is_upgrade(request):
            if self._transport is not None:
                raise TypeError_(_NO_WEBSOCKET)
            return await open_websocket(request)
        return _response(await as_nobody(self._send(request, contextvars.copy_context())), request)

    async def _send(self, request: Request, context: contextvars.Context) -> httpx.Response:
        await load_httpx()
        import httpx

        client = self._client
        if client is None:
            client = self._client = _new_client(self._transport)
        # Whether a connection was made for it; the server may close one that was ready at the same moment.
        fresh = False

        async def trace(event: str, _info: Any) -> None:
            nonlocal fresh
            fresh = fresh or event == "connection.connect_tcp.started"

        content = _content(request, context)
        outgoing = httpx.Request(
            request.method,
            _address(request.url),
            headers=_headers(request),
            content=content,
            extensions={"trace": trace},
        )
        try:
            return await _answered(client, outgoing)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as failure:
            again = content is None and request.method in _REPEATABLE and not fresh
            if not again or self._transport is not None:
                raise connection_lost(_host(outgoing), failure) from None
        except httpx.HTTPError as failure:
            raise connection_lost(_host(outgoing), failure) from None
        try:
            return await _answered(client, outgoing)
        except httpx.HTTPError as failure:
            raise connection_lost(_host(outgoing), failure) from None

    async def aclose(self) -> None:
        """Close the connections; a later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await as_nobody(client.aclose())


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
        await transport.aclose()
        return response
    if source.closed:
        await transport.aclose()
    source.transport = transport
    return response


async def _answered(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    """The head of the answer, and all of it where there is no body: nobody reads that."""
    answer = await client.send(request, stream=True)
    if request.method == "HEAD" or answer.status_code in NULL_BODY_STATUSES or _length(answer) == 0:
        await answer.aread()
    return answer


def _new_client(transport: httpx.AsyncBaseTransport | None) -> httpx.AsyncClient:
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    import httpx

    keep_unlogged()
    return httpx.AsyncClient(
        timeout=None,
        follow_redirects=False,
        transport=transport,
        http2=find_spec("h2") is not None,
        limits=httpx.Limits(
            # Not bounded: a worker may hold many answers open and ask for one more to finish them.
            max_connections=None,
            max_keepalive_connections=_IDLE_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
        ),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
    )


#: Headers that belong to one connection; the address of a client is Cloudflare's to tell, whose servers refuse it from
#: anybody else.
_NOT_PASSED_ON: Final = frozenset(
    (b"host", b"content-length", b"connection", b"transfer-encoding", b"cf-connecting-ip")
)


def _headers(request: Request) -> list[tuple[bytes, bytes]]:
    pairs = [pair for pair in request.wire_headers() if pair[0] not in _NOT_PASSED_ON]
    if not any(name == b"accept-encoding" for name, _ in pairs):
        pairs.append((b"accept-encoding", b"gzip"))
    length = request._known_length() if request._has_body() else None
    if isinstance(length, int):
        pairs.append((b"content-length", b"%d" % length))
    elif length is None and not request._has_body() and request.method not in _BODILESS:
        pairs.append((b"content-length", b"0"))
    return pairs


def _address(url: str) -> str:
    """Where to send to. A user and password of the URL are not sent, as in production."""
    scheme, separator, rest = url.partition("#")[0].partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{path}"


def _content(request: Request, context: contextvars.Context) -> bytes | AsyncIterator[bytes] | None:
    content = request._content
    if content is not None:
        return encode_text(content) if isinstance(content, str) else bytes(content)
    if not request._has_body():
        return None
    request._check_unused()
    return _as_bytes(request, context)


async def _as_bytes(request: Request, context: contextvars.Context) -> AsyncIterator[bytes]:
    """The chunks of a body whose stream is the worker's code and runs as that."""
    loop = asyncio.get_running_loop()
    chunks = request.body.iterate_bytes()
    try:
        while True:
            chunk = await loop.create_task(_next_of(chunks), context=context)
            if chunk is None:
                return
            yield bytes(chunk)
    finally:
        await loop.create_task(chunks.aclose(), context=context)


async def _next_of(chunks: AsyncIterator[Any]) -> Any:
    return await anext(chunks, None)


def _response(answer: httpx.Response, request: Request) -> Response:
    pairs = [(name.lower(), value) for name, value in answer.headers.raw]
    encoded = answer.headers.get("content-encoding", "").lower() in _DECODED
    encoded = encoded and not answer.is_stream_consumed
    length = _length(answer)
    empty = request.method == "HEAD" or answer.status_code in NULL_BODY_STATUSES
    if encoded:
        # The body is given decoded, so the length on the wire is not its own.
        pairs = [pair for pair in pairs if pair[0] != b"content-length"]
    return Response.from_wire(
        answer.status_code,
        answer.reason_phrase,
        pairs,
        None if empty else _AnswerBody(answer, length, request._signal, encoded=encoded),
        url=request.url.partition("#")[0],
    )


def _host(request: httpx.Request) -> str:
    return request.url.netloc.decode("ascii")


def _length(answer: httpx.Response) -> int | None:
    value = answer.headers.get("content-length", "")
    return int(value) if value.isdigit() else None


class _AnswerBody:
    """The body of an answer as a source; aborting the signal fails the read that waits.

    The connection is free again when all has been read, with the last byte of a known length, when the rest is
    cancelled, and when nobody has the body any more.
    """

    __slots__ = (
        "_answer",
        "_chunks",
        "_encoded",
        "_loop",
        "_read",
        "_reading",
        "_sent_length",
        "_signal",
        "closed",
        "length",
        "transport",
    )

    def __init__(
        self, answer: httpx.Response, length: int | None, signal: Any, *, encoded: bool
    ) -> None:
        self._answer = answer
        self._chunks: AsyncIterator[bytes] | None = None
        self._encoded = encoded
        self._signal = signal
        self._reading: asyncio.Future[bytes] | None = None
        self._loop = asyncio.get_running_loop()
        self._read = 0
        self._sent_length = length
        self.closed = answer.is_closed
        self.length = None if encoded else length
        self.transport: HttpTransport | None = None
        if signal is not None:
            signal.on_abort(self._stop_reading)

    def __del__(self) -> None:
        if not self.closed and not self._loop.is_closed():
            # Any thread may collect garbage.
            self._loop.call_soon_threadsafe(
                _abandon, self._answer, self.transport, context=NOBODY.copy()
            )

    def take_encoded(self) -> bool:
        """Read the bytes as they were sent from here on. Whether their encoding, if any, would else be undone."""
        if not self._encoded or self._chunks is not None:
            return False
        self._chunks = self._answer.aiter_raw()
        self.length = self._sent_length
        return True

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    async def read(self) -> bytes:
        if self._signal is not None and self._signal.aborted:
            await self._close()
            raise as_error(self._signal.reason)
        self._reading = asyncio.get_running_loop().create_task(self._next(), context=NOBODY.copy())
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
        import httpx

        if self._chunks is None:
            self._chunks = self._answer.aiter_bytes()
        try:
            async for chunk in self._chunks:
                self._read += len(chunk)
                if self._read == self.length:
                    # Readers stop here: the end itself is read on their behalf.
                    chunk += await anext(self._chunks, b"")
                    await self._close()
                if chunk:
                    return chunk
        except httpx.HTTPError as failure:
            await self._close()
            raise connection_lost(_host(self._answer.request), failure) from None
        return b""

    async def cancel(self, _reason: Any) -> None:
        await self._close()

    async def _close(self) -> None:
        self.closed = True
        await as_nobody(self._answer.aclose())
        if self.transport is not None:
            await self.transport.aclose()


# asyncio itself holds tasks weakly only.
_closing: Final[set[asyncio.Task[None]]] = set()


def _abandon(answer: httpx.Response, transport: HttpTransport | None) -> None:
    """Close an answer that nobody has read."""

    async def close() -> None:
        await answer.aclose()
        if transport is not None:
            await transport.aclose()

    task = asyncio.get_running_loop().create_task(close())
    _closing.add(task)
    task.add_done_callback(_closing.discard)
