"""Bodies that a worker has compressed itself, on their way to another one, which reads them as they were before.

Source: https://developers.cloudflare.com/workers/runtime-apis/response/#parameters (``encodeBody``): a request over a
binding decodes its answer as any ``fetch`` does.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

from pyflare.js.byte_sources import ContentSource
from pyflare.js.error import TypeError_
from pyflare.js.response import Response
from pyflare.js.webidl import encode_text

__all__ = ["decode_body"]

_GZIP_WINDOW: Final = 31
#: The most bytes that a read gives, however well they were compressed.
_PIECE: Final = 256 * 1024


def decode_body(response: Response) -> None:
    """Have the body of such a response decoded as it is read. Brotli, which Python does not have, stays as it is."""
    headers = response.headers
    if (headers.lookup("content-encoding") or "").strip().lower() != "gzip":
        return
    content = response._content
    if content is not None:
        source: Any = ContentSource(encode_text(content) if isinstance(content, str) else content)
    else:
        source = response._source
    response._content = None
    response._source = _Unzipped(source)
    response.encodeBody = "automatic"
    headers._fields.pop("content-length", None)


class _Unzipped:
    """A source over a compressed one."""

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
