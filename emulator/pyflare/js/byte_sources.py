"""Bytes that a stream reads on demand: content in memory, and asynchronous iterators."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from .callbacks import call

__all__ = ["ContentSource", "IteratorSource", "close_iterator"]


class ContentSource:
    """Bytes in memory as a source."""

    __slots__ = ("content", "length")

    def __init__(self, content: bytes | memoryview) -> None:
        self.content: bytes | memoryview | None = content
        self.length: int | None = len(content)

    async def read(self) -> Any:
        content, self.content = self.content, None
        return content or b""


class IteratorSource:
    """The chunks of an asynchronous iterator as a source; empty ones are skipped."""

    __slots__ = ("_cancel", "_cancelled", "_chunks", "_reading", "length")

    def __init__(
        self,
        chunks: AsyncIterator[bytes | memoryview],
        length: int | None,
        cancel: Callable[[Any], Any] | None,
    ) -> None:
        self._chunks = chunks
        self._cancel = cancel
        self._cancelled = False
        self._reading: asyncio.Task[Any] | None = None
        self.length = length

    async def read(self) -> Any:
        # A Task, so that a cancelled stream can stop an iterator that waits.
        self._reading = asyncio.get_running_loop().create_task(self._next())
        try:
            return await self._reading
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._cancelled and (task is None or not task.cancelling()):
                return b""
            raise
        finally:
            self._reading = None

    async def _next(self) -> Any:
        async for chunk in self._chunks:
            if chunk:
                return chunk
        return b""

    async def cancel(self, reason: Any) -> None:
        self._cancelled = True
        if self._cancel is not None:
            await call(self._cancel, reason)
            return
        await close_iterator(self._chunks, self._reading)


async def close_iterator(iterator: Any, under_way: asyncio.Future[Any] | None) -> None:
    """Close an asynchronous iterator, which cannot be done while it runs: what is under way is stopped first."""
    close = getattr(iterator, "aclose", None)
    if close is None:
        return
    if under_way is not None and not under_way.done():
        under_way.cancel()
        await asyncio.wait([under_way])
    await close()
