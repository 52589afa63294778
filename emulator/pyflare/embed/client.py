"""Requests to a Pyflare from its own process, without a socket: an httpx transport over the ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any, Final

import httpx

from pyflare.server.contracts import ASGIApplication, Scope

from .sent_body import sent_body

__all__ = ["EmulatorTransport", "Exchanges", "absolute", "headers_of", "request_of", "scope_of"]

#: Parts of a response that may wait for whoever reads it.
_AHEAD: Final = 16

#: For the worker's side, where the request's own has failed.
_END_SECONDS: Final = 1.0

_BASE: Final = httpx.URL("http://localhost")


def absolute(url: str | httpx.URL) -> httpx.URL:
    """The URL, a mere path taken as one of ``http://localhost``."""
    return _BASE.join(url)


def request_of(
    url: str | httpx.URL,
    method: str,
    *,
    headers: Any = None,
    params: Any = None,
    json: Any = None,
    data: Any = None,
    files: Any = None,
    body: Any = None,
) -> httpx.Request:
    """A request; arguments as those of :meth:`pyflare.embed.Pyflare.fetch`."""
    known = headers_of(headers)
    if isinstance(body, str):
        # Source: https://fetch.spec.whatwg.org/#concept-bodyinit-extract
        known.setdefault("content-type", "text/plain;charset=UTF-8")
    return httpx.Request(
        method,
        absolute(url),
        headers=known,
        params=params,
        json=json,
        data=data,
        files=files,
        content=body,
    )


def headers_of(given: Any) -> httpx.Headers:
    """Headers as they go to a worker, which reads their bytes as UTF-8."""
    return httpx.Headers(given, encoding="utf-8")


class EmulatorTransport(httpx.AsyncBaseTransport):
    """Hands requests to an ASGI application. Bodies stream both ways, with at most a few parts waiting.

    Args: ``exchanges`` where those under way are kept; ``cf`` members of ``request.cf``; ``raise_failures`` whether
    an exception that leaves the worker is raised here, with its traceback, rather than answered with status 500.
    """

    def __init__(
        self,
        app: ASGIApplication,
        exchanges: Exchanges,
        *,
        cf: Mapping[str, Any] | None = None,
        raise_failures: bool = True,
    ) -> None:
        self._app = app
        self._exchanges = exchanges
        self._cf = cf
        self._raise_failures = raise_failures

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Gives the response as soon as its head is there. Raises what leaves the worker, if that is wanted."""
        exchange = _Exchange(request)
        scope = scope_of(request)
        if self._cf is not None:
            scope["pyflare.cf"] = self._cf
        if self._raise_failures:
            scope["pyflare.failed"] = exchange.failed
        self._exchanges.add(
            exchange, exchange.begin(self._app(scope, exchange.receive, exchange.send))
        )
        try:
            await exchange.answered.wait()
        except BaseException:
            exchange.leave()
            raise
        if exchange.failure is not None:
            await exchange.leave_and_wait(_END_SECONDS)
            raise exchange.failure
        return httpx.Response(
            exchange.status, headers=exchange.headers, stream=exchange, request=request
        )


class _Exchange(httpx.AsyncByteStream):
    """One request, and the stream of its response's body."""

    def __init__(self, request: httpx.Request) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.failure: BaseException | None = None
        self.answered = asyncio.Event()
        assert isinstance(request.stream, httpx.AsyncByteStream | httpx.SyncByteStream)
        self._sent = sent_body(request.stream)
        declared = request.headers.get("content-length", "")
        self._declared = int(declared) if declared.isascii() and declared.isdigit() else None
        self._size = 0
        self._gone = asyncio.Event()
        self._body: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)
        self._task: asyncio.Task[None] | None = None

    def begin(self, call: Awaitable[None]) -> asyncio.Task[None]:
        self._task = asyncio.ensure_future(self._run(call))
        return self._task

    def cut(self) -> None:
        """The Pyflare is closed: whoever waits is told, and the worker's side as if the client had gone."""
        self._give_up(RuntimeError("This Pyflare was closed before the request was answered."))

    def _give_up(self, error: BaseException) -> None:
        self.failed(error)
        self.leave()
        self.answered.set()
        self._body.put_nowait(None)

    def leave(self) -> None:
        """To the worker it is as if the client had gone."""
        self._gone.set()
        self._sent.leave()
        while not self._body.empty():
            self._body.get_nowait()

    async def _run(self, call: Awaitable[None]) -> None:
        try:
            await call
        except Exception as error:
            # An application that fails in the middle of a body says why in the cause.
            self.failed(error.__cause__ or error)
        finally:
            if not self.answered.is_set() and self.failure is None:
                self.failure = RuntimeError("the application ended without an answer")
            self.answered.set()
            if not self._gone.is_set():
                await self._body.put(None)
            await self._sent.close()

    def failed(self, error: BaseException) -> None:
        if self.failure is None:
            self.failure = error

    async def receive(self) -> dict[str, Any]:
        sent = self._sent
        if not self._gone.is_set() and not sent.ended:
            part = await sent.next()
            failure = sent.failure or self._wrong_length(part)
            if failure is not None:
                self._give_up(failure)
            elif not self._gone.is_set():
                return {"type": "http.request", "body": part or b"", "more_body": not sent.ended}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    def _wrong_length(self, part: bytes | None) -> httpx.LocalProtocolError | None:
        # Over a socket such a body is one that breaks off, or the beginning of the next request.
        self._size += len(part or b"")
        if self._declared is None or (part is not None and self._size <= self._declared):
            return None
        if self._size == self._declared:
            return None
        size = "fewer" if self._size < self._declared else "more"
        return httpx.LocalProtocolError(
            f"The body has {size} bytes than its Content-Length says: {self._size}, not {self._declared}."
        )

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = list(message["headers"])
            return
        if self._gone.is_set():
            return
        self.answered.set()
        part = message.get("body", b"")
        if part:
            await self._body.put(bytes(part))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while (part := await self._body.get()) is not None:
                yield part
        except BaseException:
            self.leave()
            raise
        if self.failure is not None:
            raise self.failure

    async def aclose(self) -> None:
        await self.leave_and_wait(None)

    async def leave_and_wait(self, seconds: float | None) -> None:
        """Leave, and wait for the worker's end, ``seconds`` at most."""
        self.leave()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=seconds)


class Exchanges:
    """The requests of one Pyflare that are under way."""

    def __init__(self) -> None:
        self._open: dict[asyncio.Task[None], _Exchange] = {}

    def add(self, exchange: _Exchange, task: asyncio.Task[None]) -> None:
        self._open[task] = exchange
        task.add_done_callback(lambda task: self._open.pop(task, None))

    async def end(self, grace: float) -> None:
        """Wait ``grace`` seconds for their ends, then cut them."""
        here = asyncio.get_running_loop()
        own = [task for task in self._open if task.get_loop() is here]
        if own:
            await asyncio.wait(own, timeout=grace)
        for task, exchange in tuple(self._open.items()):
            loop = task.get_loop()
            if loop is here:
                exchange.cut()
            elif not loop.is_closed():
                loop.call_soon_threadsafe(exchange.cut)


def scope_of(request: httpx.Request) -> Scope:
    """The ASGI scope of a request."""
    url = request.url
    port = url.port or (443 if url.scheme == "https" else 80)
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": url.raw_path.partition(b"?")[0],
        "query_string": url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": ("127.0.0.1", 0),
        "server": (url.host, port),
        "pyflare.embedded": True,
    }
