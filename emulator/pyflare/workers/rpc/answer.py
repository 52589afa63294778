"""The response of one worker on its way to another: a copy, whose body and socket belong to the event that gave it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from contextvars import Context
from typing import Any

from pyflare.js.callbacks import supervise
from pyflare.js.error import TypeError_
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.rpc.bodies import MovedStream, move_body
from pyflare.js.rpc.errors import crossing
from pyflare.js.rpc.host import StubHost, current_host
from pyflare.js.status import NULL_BODY_STATUSES
from pyflare.js.websocket_client import NO_UPGRADE, is_upgrade
from pyflare.js.websocket_keeping import KeepConnection, keep_going
from pyflare.js.websocket_relay import pass_on, relay

from .decoding import decode_body

__all__ = ["LentBody", "lend"]


async def lend(
    answering: Awaitable[Response],
    request: Request,
    *,
    keep: KeepConnection = keep_going,
    from_object: bool = False,
) -> Response:
    """Wait for a response and give the caller its own; to be run in the code of the worker that answers.

    The event lasts until the body has been read or cancelled, or the WebSocket has ended. ``request`` is what the
    worker was sent; ``keep`` is told of the connection that a WebSocket becomes; ``from_object`` whether a Durable
    Object answers.
    Raises: what the handler raises; TypeError for a used body, and for a WebSocket where none was asked for.
    """
    # The handler may change the request.
    method, url = request.method, request.url
    response = await answering
    if response._web_socket is not None:
        if not is_upgrade(request):
            raise TypeError_(NO_UPGRADE)
        end = response._web_socket._end
        if from_object and end is not None and end.peer_hibernates:
            # It belongs to no event: the object need not stay in memory for it.
            received = pass_on(response)
            received.url = url
            return received
        received, carrying = relay(response)
        received.url = url
        keep(carrying, end.interrupt)
        return received
    received = object.__new__(Response)
    received.status = response.status
    received._status_text = response.reason()
    received._headers = response.headers.copy(immutable=True)
    received.encodeBody = response.encodeBody
    received.url = url
    if method == "HEAD" or response.status in NULL_BODY_STATUSES:
        if response._has_body() and not response.bodyUsed:
            await response.body.cancel()
        return received
    move_body(response, received)
    source: Any = received._source
    if source is not None:
        host = current_host()
        received._source = lent = LentBody(source, host)
        if not from_object:
            host.receive((lent,))
    if (
        received.encodeBody == "manual"
        and request._encode_response_body != "manual"
        and received._has_body()
    ):
        # What the worker has compressed itself, where the caller does not want it as it is.
        decode_body(received)
    return received


class LentBody:
    """A body that comes from another worker, which goes on until it has been read, cancelled or forgotten."""

    __slots__ = ("__weakref__", "_failure", "_host", "_loop", "_source", "length")

    def __init__(self, source: Any, host: StubHost) -> None:
        self._source = source
        self._failure: BaseException | None = None
        self._host: StubHost | None = host
        self._loop = asyncio.get_running_loop()
        self.length: int | None = source.length
        host.hold()

    async def read(self) -> bytes:
        try:
            chunk: bytes = await self._source.read()
            if not chunk and self._failure is not None:
                raise self._failure
        except BaseException:
            self._finish()
            raise
        if not chunk:
            self._finish()
        return chunk

    def fail(self, reason: BaseException) -> None:
        """There is no more to come, because the worker's event was aborted."""
        self._failure = crossing(reason)
        cancel = getattr(self._source, "cancel", None)
        if cancel is not None:
            supervise(cancel(self._failure))

    async def cancel(self, reason: Any) -> None:
        cancel = getattr(self._source, "cancel", None)
        try:
            if cancel is not None and self._host is not None:
                await cancel(reason)
        finally:
            self._finish()

    def _finish(self) -> None:
        host, self._host = self._host, None
        if host is not None:
            host.release()

    def __del__(self) -> None:
        # Nobody will read it any more; the worker that fills it must learn of that.
        host, source = self._host, self._source
        if host is None:
            return
        with suppress(RuntimeError):
            # Any thread may collect garbage, and when the loop has ended nobody is to learn of it.
            self._loop.call_soon_threadsafe(_forgotten, source, host, context=Context())


def _forgotten(source: Any, host: StubHost) -> None:
    cancel = getattr(source, "cancel", None)
    host.release()
    if isinstance(source, MovedStream) and cancel is not None:
        supervise(_cancel(source))


async def _cancel(source: MovedStream) -> None:
    await source.cancel(None)
