"""The body of an answer whose request can still be aborted."""

from __future__ import annotations

import asyncio
from typing import Any

from .body import BodySource
from .promise import as_error

__all__ = ["AbortableBody"]


class AbortableBody:
    """A source over another one. Once the signal is aborted every read fails with its reason, also one that waits."""

    __slots__ = ("_signal", "_source", "length")

    def __init__(self, source: BodySource, signal: Any) -> None:
        self._source = source
        self._signal = signal
        self.length = source.length

    async def read(self) -> bytes:
        """Raises: the signal's reason; what the source raises."""
        signal = self._signal
        if not signal.aborted:
            reading: asyncio.Task[bytes] = asyncio.get_running_loop().create_task(
                self._source.read()
            )
            forget = signal.on_abort(reading.cancel)
            try:
                return await reading
            except asyncio.CancelledError:
                reading.cancel()
                if not signal.aborted:
                    raise
            finally:
                forget()
        await self.cancel(signal.reason)
        raise as_error(signal.reason)

    async def cancel(self, reason: Any) -> None:
        cancel = getattr(self._source, "cancel", None)
        if cancel is not None:
            await cancel(reason)
