"""``fetch`` through a binding: to another worker or an object in this process, never to the network."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .error import TypeError_
from .fetch import follow_redirects, until_aborted
from .request import Request
from .response import Response
from .rpc.bodies import detach_body
from .status import REDIRECT_STATUSES

if TYPE_CHECKING:
    from .fetcher import Channel

__all__ = ["fetch_through"]


async def fetch_through(channel: Channel, request: Request) -> Response:
    """The response of the other side, redirects followed through the same binding as the request says.

    In: a request that nobody else has; it becomes the other side's.
    Raises: TypeError for an address that is not http(s), and what the other side raised.
    """
    url = request.url
    if not url.startswith(("http://", "https://")):
        raise TypeError_(f"Fetch API cannot load: {url}")
    request.prepare_to_leave()
    if request.redirect == "manual":
        return await _exchange(channel, request)
    method, signal = request.method, request._signal
    response = await _exchange(channel, request)
    if response.status not in REDIRECT_STATUSES:
        return response
    again: Request = object.__new__(Request)
    again._copy_properties(request)
    again.url, again.method, again.redirect, again._signal = url, method, "follow", signal
    again._content, again._source = request._content, request._source
    return await follow_redirects(again, _Resumed(channel, response).send)


class _Resumed:
    """Sends, where the answer to the first request is there already."""

    __slots__ = ("_channel", "_response")

    def __init__(self, channel: Channel, response: Response) -> None:
        self._channel = channel
        self._response: Response | None = response

    async def send(self, request: Request) -> Response:
        response, self._response = self._response, None
        return await _exchange(self._channel, request) if response is None else response


async def _exchange(channel: Channel, request: Request) -> Response:
    """One request and its answer."""
    signal = request._signal
    request._signal = None
    request.redirect = "manual"
    request.headers._immutable = True
    if "#" in request.url:
        request.url = request.url.partition("#")[0]
    if request._stream is not None:
        detach_body(request)
    if request._cf is not None:
        from .structured_clone import structured_clone

        request._make_cf = partial(structured_clone, request._cf)
    if signal is None:
        return await channel.fetch(request)
    response = await until_aborted(channel.fetch(request), signal)
    if response._source is not None:
        from .abortable_body import AbortableBody

        response._source = AbortableBody(response._source, signal)
    return response
