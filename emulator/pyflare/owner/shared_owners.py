"""Single owners as an embedded Pyflare sees them when another process may have them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from contextvars import Context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyflare_bindings.storage.errors import StateError

from .frames import Connection, Gone
from .protocol import BODY, END, ERROR, ProtocolError, parse_json

if TYPE_CHECKING:
    from .shared import SharedRegistry

__all__ = ["LocalOwner", "OwnerEnded", "RemoteBody", "SharedDatabase", "SharedOwner", "failure"]


class OwnerEnded(StateError):
    """The process that owns the state directory ended while it was at work on a call."""

    def __init__(self, root: Path) -> None:
        super().__init__(
            root,
            "the process that owns this state directory ended while it was at work on this, which may or may not "
            "have been done",
            "Look, and do it again where it is missing",
        )


class LocalOwner:
    """An owner that works for its own process alone."""

    def __init__(self, registry: SharedRegistry, kind: str, ids: tuple[str, ...]) -> None:
        self.__dict__.update(registry=registry, kind=kind, ids=ids)

    def __getattr__(self, name: str) -> Any:
        registry, kind = self.__dict__["registry"], self.__dict__["kind"]
        if registry.local is not None:
            return getattr(getattr(registry.local, kind)(*self.__dict__["ids"]), name)
        raise StateError(
            registry.root,
            f"another process owns this state directory, and {kind.replace('_', ' ')} cannot be shared with it",
            "Stop that process, or choose another directory with persist_to",
        )


class SharedOwner:
    """One owner of another process. ``uploads.create`` and the like are methods too."""

    def __init__(self, registry: SharedRegistry, kind: str, id: str, prefix: str = "") -> None:
        self.id = id
        self._registry = registry
        self._kind = kind
        self._prefix = prefix

    @property
    def uploads(self) -> Any:
        """The multipart uploads of a bucket."""
        return SharedOwner(self._registry, self._kind, self.id, "uploads.")

    def __getattr__(self, name: str) -> Any:
        async def method(*args: Any, **kwargs: Any) -> Any:
            return await self._registry.call(self._kind, self.id, self._prefix + name, args, kwargs)

        return method


class SharedDatabase(SharedOwner):
    """A database, with the bookmark of its last answer."""

    bookmark: str | None = None

    async def query(self, statements: Any) -> Any:
        """Run statements in one transaction."""
        results = await self._registry.call("d1", self.id, "query", (list(statements),), {})
        self.bookmark = results.bookmark
        return results


class RemoteBody:
    """Content that is being read from another process.

    A connection is its own until it is read, closed or gone.
    """

    #: None of it is in memory here.
    content = None

    def __init__(self, registry: SharedRegistry, connection: Connection, found: Any) -> None:
        part = getattr(found, "range", None)
        self.size: int = found.size if part is None else part.length
        self._registry = registry
        self._connection: Connection | None = connection
        self._loop = asyncio.get_running_loop()
        registry.lend(connection)

    async def read(self) -> bytes:
        """All bytes. Raises StateError."""
        return b"".join([piece async for piece in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes in order. Raises StateError."""
        connection = self._connection
        if connection is None:
            return
        try:
            while True:
                kind, payload = await connection.receive()
                if kind == BODY:
                    yield payload
                    continue
                self._take()
                self._registry.release(connection)
                if kind != END:
                    raise failure(self._registry.root, kind, payload)
                return
        except (Gone, ProtocolError) as error:
            raise OwnerEnded(self._registry.root) from error
        finally:
            if self._take() is not None:
                connection.abort()

    def __del__(self) -> None:
        # Whoever only wanted to know that it is there never closes it. Any thread may collect garbage.
        connection = self._take()
        if connection is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(connection.abort, context=Context())

    def close(self) -> None:
        """Read no further."""
        connection = self._take()
        if connection is not None:
            connection.abort()

    def _take(self) -> Connection | None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._registry.lent.discard(connection)
        return connection


def failure(root: Path, kind: bytes, payload: bytes) -> Exception:
    """What a frame that is not the expected one means."""
    if kind == ERROR:
        return StateError(root, parse_json(payload)["text"], "Nothing of this request was kept")
    return ProtocolError(f"a frame {kind!r} came in an answer")
