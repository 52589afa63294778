"""``encodeURIComponent`` and its three kin, ``escape`` and ``unescape``.

Source: https://tc39.es/ecma262/#sec-uri-handling-functions
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import quote

from .error import URIError
from .number import to_string

__all__ = [
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "escape",
    "unescape",
]

_COMPONENT_SAFE: Final = "!'()*-._~"
_RESERVED: Final = ";/?:@&=+$,#"
_ESCAPES: Final = re.compile("(?:%[0-9A-Fa-f]{2})+")
_BROKEN_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_ESCAPE_SAFE: Final = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@*_+-./"
)
_UNESCAPE: Final = re.compile("%u([0-9A-Fa-f]{4})|%([0-9A-Fa-f]{2})")


def encodeURIComponent(value: Any = None) -> str:
    """Percent-encode all but letters, digits and ``-_.!~*'()``. Raises: URIError for a lone surrogate."""
    return _encode(value, _COMPONENT_SAFE)


def encodeURI(value: Any = None) -> str:
    """Percent-encode what cannot stand in a whole URI. Raises: URIError for a lone surrogate."""
    return _encode(value, _COMPONENT_SAFE + _RESERVED)


def decodeURIComponent(value: Any = None) -> str:
    """Undo :func:`encodeURIComponent`. Raises: URIError for a broken escape or bytes that are not UTF-8."""
    return _decode(value, "")


def decodeURI(value: Any = None) -> str:
    """Undo :func:`encodeURI`; escapes of reserved characters stay. Raises: URIError as above."""
    return _decode(value, _RESERVED)


def _encode(value: Any, safe: str) -> str:
    try:
        text = to_string(value).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise URIError("URI malformed") from None
    return quote(text, safe=safe)


def _decode(value: Any, keep: str) -> str:
    text = to_string(value)
    if "%" not in text:
        return text
    if _BROKEN_ESCAPE.search(text):
        raise URIError("URI malformed")

    def decoded(found: re.Match[str]) -> str:
        escapes = found.group()
        try:
            characters = bytes.fromhex(escapes.replace("%", "")).decode()
        except UnicodeDecodeError:
            raise URIError("URI malformed") from None
        if not keep:
            return characters
        # An escape of a reserved character is one byte and must come back as it was written.
        parts, position = [], 0
        for character in characters:
            width = 3 * len(character.encode())
            parts.append(escapes[position : position + width] if character in keep else character)
            position += width
        return "".join(parts)

    return _ESCAPES.sub(decoded, text)


def escape(value: Any = None) -> str:
    """The legacy ``escape``: ``%XX`` for Latin-1, ``%uXXXX`` beyond."""
    units = to_string(value).encode("utf-16-le", "surrogatepass")
    parts = []
    for index in range(0, len(units), 2):
        code = units[index] | units[index + 1] << 8
        if code < 128 and chr(code) in _ESCAPE_SAFE:
            parts.append(chr(code))
        else:
            parts.append(f"%{code:02X}" if code < 256 else f"%u{code:04X}")
    return "".join(parts)


def unescape(value: Any = None) -> str:
    """Undo :func:`escape`; broken escapes stay as they are."""
    text = _UNESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), to_string(value))
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
