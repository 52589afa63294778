"""``Content-Encoding`` set by a worker: with ``encodeBody: "automatic"`` it means "compress this for me".

Source: https://developers.cloudflare.com/workers/runtime-apis/response/#parameters. What production adds by itself,
compression negotiated with the client, is left out: an answer without it is correct for every client.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import Any, Final

from .contracts import Body, HeaderPairs

__all__ = ["encode"]

_GZIP_WINDOW: Final = 31
# What the platform can compress to. Any other value of the header is passed on with the body as it is.
_KNOWN: Final = (b"gzip", b"br")


def encode(headers: HeaderPairs, body: Body) -> tuple[HeaderPairs, Body]:
    """Headers and body with the worker's own ``Content-Encoding`` carried out."""
    wanted = next((value for name, value in headers if name == b"content-encoding"), b"")
    wanted = wanted.strip().lower()
    if body is None or wanted not in _KNOWN:
        return headers, body
    if wanted == b"br":
        # Python has no Brotli: the same content uncompressed, which every client can read.
        return [pair for pair in headers if pair[0] != b"content-encoding"], body
    if isinstance(body, bytes | memoryview):
        press = zlib.compressobj(wbits=_GZIP_WINDOW)
        return headers, press.compress(body) + press.flush()
    return headers, _Gzipped(body)


class _Gzipped:
    """A stream, compressed chunk by chunk; each chunk can be read by the client before the next is made."""

    __slots__ = ("_body", "_ended", "_press")

    def __init__(self, body: AsyncIterator[bytes]) -> None:
        self._body = body
        self._press = zlib.compressobj(wbits=_GZIP_WINDOW)
        self._ended = False

    def __aiter__(self) -> _Gzipped:
        return self

    async def __anext__(self) -> bytes:
        if self._ended:
            raise StopAsyncIteration
        try:
            chunk = await anext(self._body)
        except StopAsyncIteration:
            self._ended = True
            return self._press.flush()
        return self._press.compress(chunk) + self._press.flush(zlib.Z_SYNC_FLUSH)

    async def aclose(self) -> None:
        body: Any = self._body
        await body.aclose()
