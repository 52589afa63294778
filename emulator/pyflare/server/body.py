"""The request's side of one ASGI call: the body, chunk by chunk, and the news that the client has gone.

ASGI has one ``receive`` for both. The reader (the worker) and the watcher (the server) share it: at most one of them
waits in it, and at most one chunk is held between them. So nothing is read ahead of the worker; a client that sends a
large body which nobody reads is held back by the transport, and its going is noticed when the body is read.

Middleware may bind ``receive`` to the task that calls it (a task group or a cancel scope inside). The worker's reading
can begin in one task and go on in another, so there only the watcher's own task calls it. A server's own ``receive`` is
called by the reader itself, which saves small uploads a task.
"""

from __future__ import annotations

import asyncio
from typing import Any

from .contracts import Receive

__all__ = ["RequestBody"]


class RequestBody:
    """The source of a request's body, and the place where a disconnect is noticed.

    ``direct`` says that any task may call ``receive``; else somebody has to run :meth:`watch` for a reader to get on.
    ``length`` is the announced length in bytes, ``None`` when the body is chunked. ``started`` says that the response
    has begun, ``disconnected`` that the client has gone, ``cancelled`` that the event was cancelled for it;
    ``request`` is the worker's request, which is told of a disconnect through its ``signal``.
    """

    __slots__ = (
        "_chunk",
        "_direct",
        "_ended",
        "_receive",
        "_receiving",
        "_waiters",
        "cancelled",
        "disconnected",
        "finished",
        "length",
        "request",
        "started",
    )

    def __init__(self, receive: Receive, length: int | None, *, direct: bool = True) -> None:
        self._receive = receive
        self._direct = direct
        self._receiving = False
        self._chunk: bytes | None = None
        self._ended = False
        self._waiters: list[asyncio.Future[None]] = []
        self.cancelled = False
        self.disconnected = False
        self.finished = False
        self.length = length
        self.request: Any = None
        self.started = False

    async def read(self) -> bytes:
        """The next chunk, never empty before the end; ``b""`` at the end.

        Raises ``js.Error`` "Network connection lost." when the client went away or the response was complete before
        the end, as production does.
        """
        while True:
            chunk = self._chunk
            if chunk is not None:
                self._chunk = None
                self._wake()
                return chunk
            if self._ended:
                return b""
            if self.disconnected or self.finished:
                from pyflare.js.error import Error

                raise Error("Network connection lost.")
            if self._direct and not self._receiving:
                await self._take()
            else:
                await self._change()

    async def watch(self) -> None:
        """Return when the client has gone."""
        while not self.disconnected:
            if self._receiving or self._chunk is not None:
                await self._change()
            else:
                await self._take()

    def finish(self) -> None:
        """The response is complete: whoever still reads is told that there is no more."""
        self.finished = True
        if self._waiters:
            self._wake()

    async def _take(self) -> None:
        self._receiving = True
        try:
            message = await self._receive()
        finally:
            self._receiving = False
            self._wake()
        if message["type"] == "http.disconnect":
            self.disconnected = True
            return
        self._chunk = message.get("body") or None
        if not message.get("more_body", False):
            self._ended = True

    async def _change(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
