"""A body that is read as it was before it was compressed."""

from __future__ import annotations

import zlib
from typing import Any, Final

from .error import TypeError_

__all__ = ["Unzipped"]

_GZIP_WINDOW: Final = 31
#: The most bytes that a read gives, however well they were compressed.
_PIECE: Final = 256 * 1024


class Unzipped:
    """A source over one of gzip; its own length is not known."""

    __slots__ = ("_ended", "_source", "_unzip", "length")

    def __init__(self, source: Any) -> None:
        self._source = source
        self._unzip = zlib.decompressobj(_GZIP_WINDOW)
        self._ended = False
        self.length: int | None = None

    async def read(self) -> bytes:
        """Raises: TypeError for what is not gzip, or is cut off."""
        unzip = self._unzip
        while not self._ended:
            chunk = unzip.unconsumed_tail or await self._source.read()
            try:
                data = unzip.decompress(chunk, _PIECE) if chunk else unzip.flush()
            except zlib.error:
                raise TypeError_("Decompression failed.") from None
            self._ended = not chunk
            if self._ended and not unzip.eof:
                raise TypeError_("Called close() on a decompression stream with incomplete data")
            if data:
                return data
        return b""

    async def cancel(self, reason: Any) -> None:
        self._ended = True
        cancel = getattr(self._source, "cancel", None)
        if cancel is not None:
            await cancel(reason)
