"""Paths of URLs: decoded to look files up, and encoded in the one form that addresses of assets have."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote_to_bytes

__all__ = ["decode", "encode"]

#: What a segment of an address keeps as it is; the rest is percent-encoded.
_KEPT: Final = "-_.!~*'()"
_BROKEN: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLAIN: Final = re.compile(r"[A-Za-z0-9\-_.!~*'()/]*")


@lru_cache(maxsize=1024)
def decode(path: str) -> str:
    """Each segment percent-decoded once, or left alone where that makes no text; slashes in a row become one."""
    if "%" in path:
        path = "/".join(map(_decode_segment, path.split("/")))
    return re.sub("/+", "/", path) if "//" in path else path


def _decode_segment(segment: str) -> str:
    if "%" not in segment or _BROKEN.search(segment):
        return segment
    try:
        return unquote_to_bytes(segment).decode("utf-8")
    except UnicodeDecodeError:
        return segment


@lru_cache(maxsize=1024)
def encode(path: str) -> str:
    """The opposite of :func:`decode`: the canonical address of a file."""
    return path if _PLAIN.fullmatch(path) else quote(path, safe=_KEPT + "/", errors="surrogatepass")
