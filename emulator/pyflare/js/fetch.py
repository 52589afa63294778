"""``fetch``: requests that leave the worker.

:data:`outbound` says where they go; without it they go to the network through httpx, which is an optional dependency.

Source: https://developers.cloudflare.com/workers/runtime-apis/fetch/ and workerd ``api/http.c++``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from .departure import start
from .error import TypeError_
from .promise import JsPromise, as_error
from .request import Request
from .response import Response
from .status import REDIRECT_STATUSES
from .url import parse

__all__ = ["Send", "fetch", "follow_redirects", "outbound", "until_aborted"]

#: Sends one request and gives its response, redirects not followed.
Send: TypeAlias = Callable[[Request], Awaitable[Response]]

#: Where a worker's requests go. Whoever runs a worker sets it for that worker's context.
outbound: ContextVar[Send | None] = ContextVar("outbound", default=None)

MAX_REDIRECTS: Final = 20

# What else describes a body stays on a request that loses its own, as in production.
_BODY_HEADERS: Final = ("content-length", "transfer-encoding")


def fetch(input: Any = None, init: Any = None, *_: Any, **options: Any) -> JsPromise:
    """A promise of the response.

    Rejects: TypeError for what makes no request, for a scheme other than http(s), for more than 20 redirects; the
    signal's reason when aborted; Error "Network connection lost." when the other side cannot be reached.
    """
    return start(_fetch(input, init, options))


async def _fetch(input: Any, init: Any, options: dict[str, Any]) -> Response:
    request = Request.new(input, init, **options)
    if not request.url.startswith(("http://", "https://")):
        raise TypeError_(f"Fetch API cannot load: {request.url}")
    request.prepare_to_leave()
    send = outbound.get()
    if send is None:
        from .http_transport import send_once

        send = send_once
    return await until_aborted(follow_redirects(request, send), request._signal)


async def until_aborted(work: Awaitable[Response], signal: Any) -> Response:
    """The result of the work, unless the signal, if there is one, aborts first: then the work is cancelled.

    Raises: the signal's reason.
    """
    if signal is None:
        return await work
    task = asyncio.ensure_future(work)
    forget = signal.on_abort(task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        if signal.aborted:
            raise as_error(signal.reason) from None
        task.cancel()
        raise
    finally:
        forget()


async def follow_redirects(request: Request, send: Send) -> Response:
    """Send, and follow redirects as ``request.redirect`` says.

    Raises: TypeError for too many redirects, a ``Location`` that is no URL, and a body that cannot be sent twice.
    """
    response = await send(request)
    if request.redirect != "follow":
        return response
    addresses: list[str] = []
    while response.status in REDIRECT_STATUSES:
        location = response.headers.lookup("location")
        if location is None:
            break
        addresses.append(request.url.partition("#")[0])
        if len(addresses) > MAX_REDIRECTS:
            raise TypeError_(f"Too many redirects.{', '.join(addresses)}")
        request = _redirected(request, response.status, location)
        if response._has_body() and not response.bodyUsed:
            await response.body.cancel()
        response = await send(request)
        response.redirected = True
    return response


def _redirected(request: Request, status: int, location: str) -> Request:
    target = parse(location, request.url)
    if target is None or target.protocol not in ("http:", "https:"):
        raise TypeError_("Invalid Location header; unable to follow redirect.")
    method = request.method
    to_get = (status == 303 and method not in ("GET", "HEAD")) or (
        status in (301, 302) and method == "POST"
    )
    url = target.href if target.hash else target.href + _fragment(request.url)
    followed: Request = object.__new__(Request)
    followed._copy_properties(request)
    followed.url = url
    headers = followed.headers
    if to_get:
        followed.method = "GET"
        for name in _BODY_HEADERS:
            headers.delete(name)
    elif request._has_body():
        if request._content is None:
            raise TypeError_(
                "A request with a one-time-use body (it was initialized from a stream, not a buffer) encountered a "
                "redirect requiring the body to be retransmitted. To avoid this error in the future, construct this "
                "request from a buffer-like body initializer."
            )
        followed._content = request._content
    previous = parse(request.url)
    if previous is None or previous.origin != target.origin:
        headers.delete("authorization")
    return followed


def _fragment(url: str) -> str:
    _, mark, fragment = url.partition("#")
    return mark + fragment
