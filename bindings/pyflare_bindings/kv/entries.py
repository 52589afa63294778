"""What a KV namespace gives back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from ..storage.blobs import BlobReader


@dataclass(slots=True)
class KVEntry:
    """A value that was found.

    `content` is the value where it is small, else a reader that stays valid when the value is
    overwritten; `size` its length in bytes; `metadata` JSON text; `expires` in seconds since the
    epoch.
    """

    content: bytes | BlobReader
    size: int
    metadata: str | None = None
    expires: int | None = None

    async def read(self) -> bytes:
        """The whole value. Raises StateError when it is damaged or cannot be read."""
        content = self.content
        return content if isinstance(content, bytes) else await content.read()

    def close(self) -> None:
        """Let go of a value that is not read any further. Harmless for small ones, and twice."""
        if not isinstance(self.content, bytes):
            self.content.close()

    def chunks(self) -> AsyncIterator[bytes]:
        """The value as a stream."""
        content = self.content
        return _once(content) if isinstance(content, bytes) else content.chunks()


async def _once(content: bytes) -> AsyncIterator[bytes]:
    if content:
        yield content


@dataclass(slots=True)
class KVKey:
    """A key in a listing, with its metadata as JSON text and its expiry in seconds."""

    name: str
    expires: int | None = None
    metadata: str | None = None


@dataclass(slots=True)
class KVPage:
    """Keys in ascending order of their UTF-8 bytes; `cursor` leads to the next page, if any."""

    keys: list[KVKey]
    cursor: str | None = None
