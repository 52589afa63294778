"""The WebSocket connections that a worker holds open: its clients' and those that it has opened itself."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from pyflare.js.callbacks import supervise
from pyflare.js.websocket_keeping import CloseConnection

from .current import current_event
from .event import ExecutionContext

__all__ = ["RELOADED", "STOPPING", "Connections"]

#: Codes and reasons of the close frames.
RELOADED: Final = (1012, "The Worker was reloaded.")
STOPPING: Final = (1001, "The Worker is stopping.")


class Connections:
    """What is to be closed when the worker's code is replaced or the emulator stops."""

    __slots__ = ("_empty", "_open")

    def __init__(self) -> None:
        self._open: set[CloseConnection] = set()
        self._empty: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    def add(self, close: CloseConnection) -> None:
        """Take one in; :meth:`discard` it when it has ended."""
        self._open.add(close)

    def discard(self, close: CloseConnection) -> None:
        self._open.discard(close)
        if not self._open and self._empty is not None and not self._empty.done():
            self._empty.set_result(None)

    def keep(self, work: asyncio.Future[Any], close: CloseConnection | None) -> None:
        """Take in what the worker has opened itself: the running event lasts as long as this work."""
        event = current_event.get()
        if event is None:
            supervise(work)
        elif isinstance(event, ExecutionContext):
            event.connected(work)
        else:
            event.waitUntil(work)
        if close is not None:
            self.add(close)
            work.add_done_callback(lambda _: self.discard(close))

    def close_all(self, code: int, reason: str) -> None:
        """Send a close frame over each."""
        for close in tuple(self._open):
            close(code, reason)

    async def end(self, code: int, reason: str, *, grace: float) -> None:
        """Close each and give them ``grace`` seconds to end."""
        if not self._open:
            return
        self.close_all(code, reason)
        self._empty = asyncio.get_running_loop().create_future()
        await asyncio.wait({self._empty}, timeout=grace)
