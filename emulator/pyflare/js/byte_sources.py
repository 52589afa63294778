"""Bytes that a stream reads on demand: content in memory, and asynchronous iterators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from .callbacks import call

__all__ = ["ContentSource", "IteratorSource"]


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
    __slots__ = ("_cancel", "_chunks", "length")

    def __init__(
        self,
        chunks: AsyncIterator[bytes | memoryview],
        length: int | None,
        cancel: Callable[[Any], Any] | None,
    ) -> None:
        self._chunks = chunks
        self._cancel = cancel
        self.length = length

    async def read(self) -> Any:
        async for chunk in self._chunks:
            if chunk:
                return chunk
        return b""

    async def cancel(self, reason: Any) -> None:
        if self._cancel is not None:
            await call(self._cancel, reason)
            return
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()
