"""What the server asks of the rooms below it: the shape of a worker, of its answer, and ASGI's own types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, Protocol, TypeAlias, TypeVar

__all__ = [
    "ASGIApplication",
    "Body",
    "HeaderPairs",
    "Receive",
    "Response",
    "Router",
    "Scope",
    "Send",
    "Worker",
]

T = TypeVar("T")

CloseConnection: TypeAlias = Callable[[int, str], None]

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApplication: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

HeaderPairs: TypeAlias = list[tuple[bytes, bytes]]
Body: TypeAlias = bytes | memoryview | AsyncIterator[bytes] | None


class Response(Protocol):
    """A worker's answer, as :class:`pyflare.js.response.Response` gives it."""

    encodeBody: str

    @property
    def status(self) -> int:
        """The status; 0 for a network error as a response."""
        ...

    @property
    def webSocket(self) -> Any:
        """The client's end of a WebSocket, null in other answers."""
        ...

    def take_payload(self, *, as_sent: bool = False) -> tuple[int, str, HeaderPairs, Body]:
        """Status, status text, lower-case header pairs and body; the response counts as read from here on.

        With ``as_sent`` an encoded body that comes from elsewhere is not decoded.
        """
        ...


class Connections(Protocol):
    """The WebSocket connections of a worker, which end with its code."""

    def add(self, close: CloseConnection) -> None: ...

    def discard(self, close: CloseConnection) -> None: ...


class Worker(Protocol):
    """A loaded worker."""

    @property
    def name(self) -> str: ...

    @property
    def connections(self) -> Connections:
        """The WebSockets that its clients hold open."""
        ...

    def run(self, event: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """The same coroutine as an event of this worker: with its context, modules and settings."""
        ...

    def fetch(self, request: Any) -> Coroutine[Any, Any, Any]:
        """Handle one request, inside :meth:`run`. Gives a :class:`Response`, raises the worker's own exception."""
        ...


Router: TypeAlias = Callable[[Scope], Worker]
