"""httpx inside a Worker, where something answers its requests in the place of the network.

In production httpx sends by the platform's ``fetch``. Here it has the network to itself, which is faster; but an
embedder's ``outbound`` and the answers that a test has prepared count for it too.
"""

from __future__ import annotations

from functools import cache, wraps
from typing import Any

import httpx

from pyflare.js.fetch import outbound
from pyflare.js.http_transport import HttpTransport
from pyflare.workers.current import current

__all__ = ["answer_httpx"]


@cache
def answer_httpx() -> None:
    """From now on let the transports of httpx ask what answers in the place of the network, in code of Workers."""
    usual_async = httpx.AsyncHTTPTransport.handle_async_request
    usual_sync = httpx.HTTPTransport.handle_request

    @wraps(usual_async)
    async def handle_async_request(self: Any, request: httpx.Request) -> httpx.Response:
        other = _in_place_of_network()
        if other is None:
            return await usual_async(self, request)
        return await other.handle_async_request(request)

    @wraps(usual_sync)
    def handle_request(self: Any, request: httpx.Request) -> httpx.Response:
        other = _in_place_of_network()
        if other is None:
            return usual_sync(self, request)
        from pyflare.workers.suspend import run_sync

        request.read()
        answer: httpx.Response = run_sync(_whole(other, request))
        return answer

    httpx.AsyncHTTPTransport.handle_async_request = handle_async_request  # type: ignore[method-assign]
    httpx.HTTPTransport.handle_request = handle_request  # type: ignore[method-assign]


def _in_place_of_network() -> httpx.AsyncBaseTransport | None:
    # What runs for nobody is the runtime's own traffic, and outside of Workers it is the host's.
    if current.get() is None:
        return None
    way = getattr(outbound.get(), "__self__", None)
    return way._transport if isinstance(way, HttpTransport) else None


async def _whole(transport: httpx.AsyncBaseTransport, request: httpx.Request) -> httpx.Response:
    answer = await transport.handle_async_request(request)
    if isinstance(answer.stream, httpx.ByteStream):
        return answer
    assert isinstance(answer.stream, httpx.AsyncByteStream)
    try:
        parts = [part async for part in answer.stream]
    finally:
        await answer.stream.aclose()
    return httpx.Response(
        answer.status_code,
        headers=answer.headers,
        stream=httpx.ByteStream(b"".join(parts)),
        extensions=answer.extensions,
    )
