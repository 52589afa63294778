"""Strings, counts and property names as V8 writes them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from .tags import ONE_BYTE_STRING, PADDING, TWO_BYTE_STRING

__all__ = ["append_string", "append_varint", "array_index", "short_name"]

_LAST_INDEX: Final = 2**32 - 2
_SHORT: Final = 0x80


def append_varint(out: bytearray, number: int) -> None:
    """A count: seven bits a byte, the low ones first."""
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def append_string(out: bytearray, text: str) -> None:
    """A string: a byte a character where that suffices, else UTF-16 beginning at an even place."""
    try:
        encoded = text.encode("latin-1")
    except UnicodeEncodeError:
        encoded = text.encode("utf-16-le", "surrogatepass")
        if (len(out) + 1 + _varint_size(len(encoded))) & 1:
            out.append(PADDING)
        out.append(TWO_BYTE_STRING)
    else:
        out.append(ONE_BYTE_STRING)
    size = len(encoded)
    if size < _SHORT:
        out.append(size)
    else:
        append_varint(out, size)
    out += encoded


def _varint_size(number: int) -> int:
    return max(1, (number.bit_length() + 6) // 7)


def array_index(name: str) -> int | None:
    """The number that JavaScript takes this property name for, None when it is an ordinary name."""
    if not name or name[0] not in "0123456789" or len(name) > 10 or not name.isascii():
        return None
    if not name.isdigit() or (name[0] == "0" and name != "0"):
        return None
    number = int(name)
    return number if number <= _LAST_INDEX else None


@lru_cache(4096)
def short_name(name: object) -> bytes | None:
    """The bytes of an ordinary, short property name; None for any other, which takes the long way."""
    if type(name) is not str or len(name) >= _SHORT or array_index(name) is not None:
        return None
    try:
        encoded = name.encode("latin-1")
    except UnicodeEncodeError:
        return None
    return bytes((ONE_BYTE_STRING, len(encoded))) + encoded
