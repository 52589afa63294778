"""Any cloneable JavaScript value as V8's bytes: references, cycles and all kinds of objects."""

from __future__ import annotations

import struct
from typing import Any, Final

from pyflare.js.array import JsArray
from pyflare.js.array_buffer import ArrayBuffer, JsBuffer
from pyflare.js.bigint import is_bigint
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.date import Date
from pyflare.js.error import DOMException, JsException, RangeError
from pyflare.js.number import Number
from pyflare.js.object_map import ObjectMap
from pyflare.js.regexp import RegExp
from pyflare.js.string import Boolean, String
from pyflare.js.structured_clone import refusal
from pyflare.js.value import JsNull, JsObject

from . import tags
from .text import append_string, append_varint, array_index

__all__ = ["write"]

_INT32: Final = 2**31
#: What an error has besides the properties that somebody gave it.
_ERROR_PROPERTIES: Final = frozenset({"name", "message"})


def write(value: Any, enhanced_errors: bool) -> bytes:
    """The bytes of a value. Raises: DOMException "DataCloneError", RangeError for values nested too deeply."""
    writer = _Writer(enhanced_errors)
    try:
        writer.value(value)
    except RecursionError:
        raise RangeError("Maximum call stack size exceeded") from None
    return bytes(writer.out)


class _Writer:
    __slots__ = ("enhanced_errors", "numbers", "out")

    def __init__(self, enhanced_errors: bool) -> None:
        self.enhanced_errors = enhanced_errors
        self.out = bytearray(tags.HEADER)
        #: id of an object -> its number. The objects live as long as the value that they are part of.
        self.numbers: dict[int, int] = {}

    def value(self, value: Any) -> None:
        if value is None:
            self.out.append(tags.UNDEFINED)
        elif isinstance(value, bool):
            self.out.append(tags.TRUE if value else tags.FALSE)
        elif isinstance(value, int):
            self._integer(value)
        elif isinstance(value, float):
            self._double(tags.DOUBLE, value)
        elif isinstance(value, str):
            append_string(self.out, value)
        elif isinstance(value, JsNull):
            self.out.append(tags.NULL)
        else:
            self._receiver(value)

    def _integer(self, value: int) -> None:
        if is_bigint(value):
            self.out.append(tags.BIGINT)
            self._digits(value)
        elif -_INT32 <= value < _INT32:
            self.out.append(tags.INT32)
            append_varint(self.out, value << 1 if value >= 0 else (-value << 1) - 1)
        else:
            self._double(tags.DOUBLE, value)

    def _double(self, tag: int, value: float) -> None:
        self.out.append(tag)
        self.out += struct.pack("<d", value)

    def _digits(self, value: int) -> None:
        size = (abs(value).bit_length() + 63) // 64 * 8
        append_varint(self.out, size << 1 | (value < 0))
        self.out += abs(value).to_bytes(size, "little")

    def _receiver(self, value: Any) -> None:
        if isinstance(value, ObjectMap):
            value = value._object
        number = self.numbers.get(id(value))
        if number is not None:
            self.out.append(tags.REFERENCE)
            append_varint(self.out, number)
            return
        if isinstance(value, JsBuffer) and not isinstance(value, ArrayBuffer):
            # The buffer comes first and is numbered first.
            self._receiver(value.buffer)  # type: ignore[attr-defined]
        self.numbers[id(value)] = len(self.numbers)
        match value:
            case JsObject():
                self.out.append(tags.OBJECT)
                self._properties(value.__dict__, tags.END_OBJECT)
            case JsArray():
                self._array(value._list)
            case JsMap():
                self._map(value)
            case JsSet():
                self._set(value)
            case Date():
                self._double(tags.DATE, value._time)
            case ArrayBuffer():
                self._buffer(value)
            case JsBuffer():
                self._view(value)
            case JsException():
                self._error(value)
            case RegExp():
                self._regexp(value)
            case Number() | String() | Boolean():
                self._boxed(value.valueOf())
            case _:
                raise refusal(value)

    def _properties(self, properties: dict[str, Any], end: int, *lengths: int) -> None:
        for name, value in _in_order(list(properties.items())):
            self.value(name)
            self.value(value)
        self.out.append(end)
        append_varint(self.out, len(properties))
        for length in lengths:
            append_varint(self.out, length)

    def _array(self, items: list[Any]) -> None:
        self.out.append(tags.DENSE_ARRAY)
        append_varint(self.out, len(items))
        for item in list(items):
            self.value(item)
        self._properties({}, tags.END_DENSE_ARRAY, len(items))

    def _map(self, entries: JsMap) -> None:
        self.out.append(tags.MAP)
        pairs = list(entries.items())
        for key, value in pairs:
            self.value(key)
            self.value(value)
        self.out.append(tags.END_MAP)
        append_varint(self.out, 2 * len(pairs))

    def _set(self, members: JsSet) -> None:
        self.out.append(tags.SET)
        items = list(members)
        for item in items:
            self.value(item)
        self.out.append(tags.END_SET)
        append_varint(self.out, len(items))

    def _buffer(self, buffer: ArrayBuffer) -> None:
        if buffer.detached:
            raise DOMException._make(
                "An ArrayBuffer is detached and could not be cloned.", "DataCloneError"
            )
        self.out.append(tags.RESIZABLE_ARRAY_BUFFER if buffer.resizable else tags.ARRAY_BUFFER)
        append_varint(self.out, buffer.byteLength)
        if buffer.resizable:
            append_varint(self.out, buffer.maxByteLength)
        self.out += buffer._view()

    def _view(self, view: Any) -> None:
        self.out.append(tags.ARRAY_BUFFER_VIEW)
        append_varint(self.out, tags.VIEWS[type(view)._js_name])
        append_varint(self.out, view.byteOffset)
        append_varint(self.out, view.byteLength)
        append_varint(self.out, tags.OF_RESIZABLE if view.buffer.resizable else 0)

    def _boxed(self, value: Any) -> None:
        if isinstance(value, bool):
            self.out.append(tags.TRUE_OBJECT if value else tags.FALSE_OBJECT)
        elif isinstance(value, str):
            self.out.append(tags.STRING_OBJECT)
            append_string(self.out, value)
        else:
            self._double(tags.NUMBER_OBJECT, value)

    def _regexp(self, expression: RegExp) -> None:
        self.out.append(tags.REGEXP)
        append_string(self.out, expression.source)
        append_varint(self.out, sum(tags.REGEXP_FLAGS[flag] for flag in expression.flags))

    def _error(self, error: JsException) -> None:
        if isinstance(error, DOMException):
            self.out.append(tags.HOST_OBJECT)
            append_varint(self.out, tags.HOST_DOM_EXCEPTION)
            for text in (error.name, error.message, error.stack):
                encoded = text.encode("utf-8", "surrogatepass")
                append_varint(self.out, len(encoded))
                self.out += encoded
        elif self.enhanced_errors:
            self._native_error(error)
        else:
            self._plain_error(error)

    def _plain_error(self, error: JsException) -> None:
        self.out.append(tags.ERROR)
        prototype = tags.ERROR_PROTOTYPES.get(error.name)
        if prototype is not None:
            append_varint(self.out, prototype)
        if error.message:
            self.out.append(tags.ERROR_MESSAGE)
            append_string(self.out, error.message)
        if hasattr(error, "cause"):
            self.out.append(tags.ERROR_CAUSE)
            self.value(error.cause)
        self.out.append(tags.ERROR_STACK)
        append_string(self.out, error.stack)
        self.out.append(tags.ERROR_END)

    def _native_error(self, error: JsException) -> None:
        self.out.append(tags.HOST_OBJECT)
        append_varint(self.out, tags.HOST_NATIVE_ERROR)
        number = tags.NATIVE_ERRORS.get(error.name, tags.UNKNOWN_NATIVE_ERROR)
        append_varint(self.out, number)
        if number == tags.UNKNOWN_NATIVE_ERROR:
            append_string(self.out, error.name)
        append_string(self.out, error.message)
        # The properties travel as an object of their own, which counts as one.
        self.numbers[-1 - len(self.numbers)] = len(self.numbers)
        self.out.append(tags.OBJECT)
        own = {name: value for name, value in vars(error).items() if name not in _ERROR_PROPERTIES}
        self._properties(own, tags.END_OBJECT)


def _in_order(pairs: list[tuple[str, Any]]) -> list[tuple[str | int, Any]]:
    """Properties as JavaScript orders them: those that are array indices first, by number, as numbers."""
    if not any(array_index(name) is not None for name, _ in pairs):
        return list(pairs)
    indexed: list[tuple[str | int, Any]] = []
    named: list[tuple[str | int, Any]] = []
    for name, value in pairs:
        index = array_index(name)
        if index is None:
            named.append((name, value))
        else:
            indexed.append((index, value))
    return sorted(indexed, key=lambda pair: pair[0]) + named
