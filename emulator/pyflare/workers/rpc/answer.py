"""The response of one worker on its way to another: a copy, whose body and socket belong to the event that gave it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextvars import Context
from typing import Any

from pyflare.js.callbacks import supervise
from pyflare.js.response import Response
from pyflare.js.rpc.bodies import MovedStream, move_body
from pyflare.js.rpc.host import StubHost, current_host
from pyflare.js.status import NULL_BODY_STATUSES
from pyflare.js.websocket_keeping import KeepConnection, keep_going
from pyflare.js.websocket_relay import pass_on, relay

from .decoding import decode_body

__all__ = ["LentBody", "lend"]


async def lend(
    answering: Awaitable[Response],
    method: str,
    url: str,
    *,
    encoded: bool = False,
    keep: KeepConnection = keep_going,
    from_object: bool = False,
) -> Response:
    """Wait for a response and give the caller its own; to be run in the code of the worker that answers.

    The event lasts until the body has been read or cancelled, or the WebSocket has ended. ``encoded`` is whether the
    caller wants a body that the worker has compressed itself as it is; ``keep`` is told of the connection that a
    WebSocket becomes; ``from_object`` whether a Durable Object answers.
    Raises: what the handler raises; TypeError for a used body.
    """
    response = await answering
    if response._web_socket is not None:
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
    received._status_text = response._status_text
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
        received._source = LentBody(source, current_host())
    if received.encodeBody == "manual" and not encoded and received._has_body():
        decode_body(received)
    return received


class LentBody:
    """A body that comes from another worker, which goes on until it has been read, cancelled or forgotten."""

    __slots__ = ("_host", "_source", "length")

    def __init__(self, source: Any, host: StubHost) -> None:
        self._source = source
        self._host: StubHost | None = host
        self.length: int | None = source.length
        host.hold()

    async def read(self) -> bytes:
        try:
            chunk: bytes = await self._source.read()
        except BaseException:
            self._finish()
            raise
        if not chunk:
            self._finish()
        return chunk

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
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        loop.call_soon(_forgotten, source, host, context=Context())


def _forgotten(source: Any, host: StubHost) -> None:
    cancel = getattr(source, "cancel", None)
    host.release()
    if isinstance(source, MovedStream) and cancel is not None:
        supervise(_cancel(source))


async def _cancel(source: MovedStream) -> None:
    await source.cancel(None)
