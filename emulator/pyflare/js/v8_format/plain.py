"""The short way for values that JSON has too: plain objects, arrays, texts, numbers, booleans, null.

Both directions give up (:exc:`NotPlain`) at the first thing that needs more: a reference, a bigint, another class. One
function each serves JavaScript values and the native Python values of the SDK's side, which differ in their containers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pyflare.js.array import JsArray
from pyflare.js.number import from_float
from pyflare.js.value import MAX_SAFE_INTEGER, JsObject, jsnull

from .tags import (
    DENSE_ARRAY,
    DOUBLE,
    END_DENSE_ARRAY,
    END_OBJECT,
    FALSE,
    INT32,
    NULL,
    OBJECT,
    ONE_BYTE_STRING,
    PADDING,
    TRUE,
    TWO_BYTE_STRING,
    UNDEFINED,
)
from .text import append_string, append_varint, short_name

__all__ = ["NotPlain", "Shape", "read_plain", "write_plain"]


class NotPlain(Exception):
    """The value, or its bytes, need the long way."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What containers and null become when they are read."""

    mapping: Callable[[], dict[str, Any]]
    #: Makes an object of a filled mapping; None where the mapping is the object.
    object: Callable[[dict[str, Any]], Any] | None
    array: Callable[[list[Any]], Any] | None
    null: Any


_pack_double: Final = struct.Struct("<cd").pack
_unpack_double: Final = struct.Struct("<d").unpack_from
_DOUBLE: Final = bytes((DOUBLE,))
_SMALL: Final = 2**31


def write_plain(value: Any, out: bytearray, seen: set[int] | None) -> None:
    """Append a value.

    Args: ``seen`` the ids of the JavaScript containers met so far; None when the value is a native one of Python, where
    dicts and lists are the containers, each is its own copy, and ``None`` is null.
    Raises: NotPlain, with ``out`` half written.
    """
    kind = type(value)
    if kind is str:
        append_string(out, value)
    elif kind is int:
        if -_SMALL <= value < _SMALL:
            out.append(INT32)
            zigzag = value << 1 if value >= 0 else (-value << 1) - 1
            if zigzag < 0x80:
                out.append(zigzag)
            else:
                append_varint(out, zigzag)
        elif -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            out += _pack_double(_DOUBLE, value)
        else:
            raise NotPlain
    elif kind is float:
        out += _pack_double(_DOUBLE, value)
    elif kind is bool:
        out.append(TRUE if value else FALSE)
    elif value is None:
        out.append(NULL if seen is None else UNDEFINED)
    elif value is jsnull:
        out.append(NULL)
    elif seen is None:
        if isinstance(value, dict):
            _write_object(value, out, None)
        elif isinstance(value, list):
            _write_array(value, out, None)
        else:
            raise NotPlain
    else:
        identity = id(value)
        if identity in seen:
            raise NotPlain
        seen.add(identity)
        if kind is JsObject:
            _write_object(value.__dict__, out, seen)
        elif kind is JsArray:
            _write_array(value._list, out, seen)
        else:
            raise NotPlain


def _write_object(properties: dict[Any, Any], out: bytearray, seen: set[int] | None) -> None:
    out.append(OBJECT)
    for key, value in properties.items():
        name = short_name(key)
        if name is None:
            raise NotPlain
        out += name
        write_plain(value, out, seen)
    out.append(END_OBJECT)
    append_varint(out, len(properties))


def _write_array(items: list[Any], out: bytearray, seen: set[int] | None) -> None:
    out.append(DENSE_ARRAY)
    append_varint(out, len(items))
    for item in items:
        write_plain(item, out, seen)
    out += b"$\0"
    append_varint(out, len(items))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift > 28:
            raise NotPlain


def read_plain(data: bytes, at: int, shape: Shape) -> tuple[Any, int]:
    """The value that begins at a place, and the place behind it. Raises: NotPlain, IndexError."""
    tag = data[at]
    if tag == INT32:
        number = data[at + 1]
        at += 2
        if number >= 0x80:
            number, at = _varint(data, at - 1)
            if number > 0xFFFFFFFF:
                raise NotPlain
        return (number >> 1) ^ -(number & 1), at
    if tag == ONE_BYTE_STRING:
        size = data[at + 1]
        at += 2
        if size >= 0x80:
            size, at = _varint(data, at - 1)
        end = at + size
        if end > len(data):
            raise NotPlain
        return data[at:end].decode("latin-1"), end
    if tag == OBJECT:
        return _read_object(data, at + 1, shape)
    if tag == DOUBLE:
        if at + 9 > len(data):
            raise NotPlain
        return from_float(_unpack_double(data, at + 1)[0]), at + 9
    if tag == DENSE_ARRAY:
        return _read_array(data, at + 1, shape)
    if tag == TRUE:
        return True, at + 1
    if tag == FALSE:
        return False, at + 1
    if tag == NULL:
        return shape.null, at + 1
    if tag == UNDEFINED:
        return None, at + 1
    if tag == PADDING:
        return read_plain(data, at + 1, shape)
    if tag == TWO_BYTE_STRING:
        size, at = _varint(data, at + 1)
        end = at + size
        if size & 1 or end > len(data):
            raise NotPlain
        return data[at:end].decode("utf-16-le", "surrogatepass"), end
    raise NotPlain


def _read_object(data: bytes, at: int, shape: Shape) -> tuple[Any, int]:
    properties = shape.mapping()
    while True:
        tag = data[at]
        if tag == ONE_BYTE_STRING:
            size = data[at + 1]
            at += 2
            if size >= 0x80:
                raise NotPlain
            end = at + size
            name = data[at:end].decode("latin-1")
            properties[name], at = read_plain(data, end, shape)
        elif tag == END_OBJECT:
            break
        else:
            raise NotPlain
    if data[at + 1] != len(properties):
        # More than 127 of them, one that came twice, or damage.
        count, end = _varint(data, at + 1)
        if count != len(properties):
            raise NotPlain
        at = end - 2
    made = properties if shape.object is None else shape.object(properties)
    return made, at + 2


def _read_array(data: bytes, at: int, shape: Shape) -> tuple[Any, int]:
    count, at = _varint(data, at)
    if count > len(data) - at:
        raise NotPlain
    items = []
    for _ in range(count):
        item, at = read_plain(data, at, shape)
        items.append(item)
    if data[at] != END_DENSE_ARRAY or data[at + 1]:
        raise NotPlain
    again, at = _varint(data, at + 2)
    if again != count:
        raise NotPlain
    return items if shape.array is None else shape.array(items), at
