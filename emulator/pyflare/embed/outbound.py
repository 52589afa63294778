"""Answers a worker's own requests in the place of the network."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, TypeAlias

import httpx

from .outbound_httpx import answer_httpx

__all__ = ["Handler", "Outbound", "transport_of"]

#: Takes the request, its body read, and gives the response, or what one is made of: a text, bytes, a dict or list for
#: JSON. May be a coroutine function.
Handler: TypeAlias = Callable[[httpx.Request], Any | Awaitable[Any]]

Outbound: TypeAlias = Handler | httpx.AsyncBaseTransport


def transport_of(outbound: Outbound) -> httpx.AsyncBaseTransport:
    """The transport that a function, or a transport such as :class:`httpx.MockTransport`, makes. Raises TypeError."""
    answer_httpx()
    if isinstance(outbound, httpx.AsyncBaseTransport):
        return outbound
    if not callable(outbound):
        raise TypeError(
            f"outbound is a function of an httpx.Request or an httpx transport, not {outbound!r}."
        )
    return _HandlerTransport(outbound)


class _HandlerTransport(httpx.AsyncBaseTransport):
    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        # The handler belongs to whoever gave it, not to the worker that asks.
        self._context = copy_context()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        loop = asyncio.get_running_loop()
        return await loop.create_task(self._answer(request), context=self._context.copy())

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = self._handler(request)
        if inspect.isawaitable(answer):
            answer = await answer
        match answer:
            case httpx.Response():
                return answer
            case str():
                return httpx.Response(200, text=answer)
            case bytes():
                return httpx.Response(200, content=answer)
            case dict() | list():
                return httpx.Response(200, json=answer)
        raise TypeError(
            f"outbound answered {request.method} {request.url} with {answer!r}; give an httpx.Response, a text, bytes, "
            "or a dict or list for JSON."
        )
