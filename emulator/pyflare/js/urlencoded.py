"""``application/x-www-form-urlencoded``: query strings and simple forms.

Source: https://url.spec.whatwg.org/#application/x-www-form-urlencoded
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from .webidl import encode_text

__all__ = ["encode_pairs", "parse_pairs"]

_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_PLAIN: Final = re.compile(r"[A-Za-z0-9*\-._ ]*")
_SAFE: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*-._")
_ENCODED: Final = [
    chr(byte) if byte in _SAFE else "+" if byte == 0x20 else f"%{byte:02X}" for byte in range(256)
]


def parse_pairs(text: str) -> list[tuple[str, str]]:
    """The names and values in a query string without its question mark."""
    pairs = []
    for field in text.split("&"):
        if field:
            name, _, value = field.partition("=")
            pairs.append((_decoded(name), _decoded(value)))
    return pairs


def encode_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """The query string for these names and values."""
    return "&".join([f"{_escaped(name)}={_escaped(value)}" for name, value in pairs])


def _decoded(text: str) -> str:
    if "+" in text:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    raw = _ESCAPE.sub(lambda found: bytes((int(found[1], 16),)), encode_text(text))
    return raw.decode("utf-8", "replace")


def _escaped(text: str) -> str:
    if _PLAIN.fullmatch(text) is not None:
        return text.replace(" ", "+")
    encoded = _ENCODED
    return "".join([encoded[byte] for byte in encode_text(text)])
