"""V8's bytes as JavaScript values: references, cycles, all kinds of objects, versions 13 to 15.

Nothing in the bytes is trusted: every length is held against what is left, so damage costs an error and no memory.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from pyflare.js import error as errors
from pyflare.js import typed_array_kinds
from pyflare.js.array import JsArray
from pyflare.js.array_buffer import ArrayBuffer
from pyflare.js.bigint import bigint
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.data_view import DataView
from pyflare.js.date import Date
from pyflare.js.date_text import time_clip
from pyflare.js.error import DOMException, Error, JsException, RangeError
from pyflare.js.number import Number, from_float, to_string
from pyflare.js.regexp import RegExp
from pyflare.js.string import Boolean, String
from pyflare.js.value import JsObject, jsnull

from . import tags

__all__ = ["read"]

#: The longest array with holes that is read: here its holes take memory.
_LONGEST_SPARSE_ARRAY: Final = 10_000_000
_WIDEST_BIGINT: Final = 1 << 27

_VIEW_CLASSES: Final[dict[int, Any]] = {
    tag: DataView if name == "DataView" else getattr(typed_array_kinds, name)
    for name, tag in tags.VIEWS.items()
}
_ERROR_CLASSES: Final[dict[str, Any]] = {
    "Error": errors.Error,
    "EvalError": errors.EvalError,
    "RangeError": errors.RangeError,
    "ReferenceError": errors.ReferenceError_,
    "SyntaxError": errors.SyntaxError_,
    "TypeError": errors.TypeError_,
    "URIError": errors.URIError,
}
_PROTOTYPES: Final = {tag: _ERROR_CLASSES[name] for name, tag in tags.ERROR_PROTOTYPES.items()}
_NATIVE_ERRORS: Final = {number: name for name, number in tags.NATIVE_ERRORS.items()}


class _Damaged(Exception):
    """The bytes do not hold a value."""


def read(data: bytes) -> Any:
    """The value. Raises: Error "Unable to deserialize cloned data." and its kin."""
    reader = _Reader(data)
    try:
        return reader.document()
    except (_Damaged, IndexError, struct.error, UnicodeDecodeError):
        raise Error("Unable to deserialize cloned data.") from None
    except RecursionError:
        raise RangeError("Maximum call stack size exceeded") from None


class _Reader:
    __slots__ = ("at", "data", "objects", "version")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.version = tags.OLDEST_VERSION
        self.objects: list[Any] = []

    def document(self) -> Any:
        if self.data[:1] == b"\xff":
            self.at = 1
            self.version = self._varint() if len(self.data) > 1 else 0
            if not tags.OLDEST_VERSION <= self.version <= tags.VERSION:
                raise Error(
                    "Unable to deserialize cloned data due to invalid or unsupported version."
                )
        return self._value()

    def _byte(self) -> int:
        byte = self.data[self.at]
        self.at += 1
        return byte

    def _tag(self) -> int:
        while (tag := self._byte()) == tags.PADDING:
            pass
        return tag

    def _peek(self) -> int:
        at = self.at
        data = self.data
        while at < len(data) and data[at] == tags.PADDING:
            at += 1
        return data[at] if at < len(data) else -1

    def _varint(self, bits: int = 32) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number & ((1 << bits) - 1)
            shift += 7
            if shift > bits + 6:
                raise _Damaged

    def _bytes(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise _Damaged
        part = self.data[self.at : end]
        self.at = end
        return part

    def _double(self) -> float:
        return struct.unpack("<d", self._bytes(8))[0]  # type: ignore[no-any-return]

    def _value(self) -> Any:
        value = self._begun(self._tag())
        if type(value) is ArrayBuffer and self._peek() == tags.ARRAY_BUFFER_VIEW:
            self._tag()
            return self._view(value)
        return value

    def _begun(self, tag: int) -> Any:
        match tag:
            case tags.INT32:
                zigzag = self._varint()
                return (zigzag >> 1) ^ -(zigzag & 1)
            case tags.UINT32:
                return self._varint()
            case tags.DOUBLE:
                return from_float(self._double())
            case tags.ONE_BYTE_STRING | tags.TWO_BYTE_STRING | tags.UTF8_STRING:
                return self._text(tag)
            case tags.UNDEFINED | tags.HOLE:
                return None
            case tags.NULL:
                return jsnull
            case tags.TRUE:
                return True
            case tags.FALSE:
                return False
            case tags.BIGINT:
                return bigint(self._bigint())
            case tags.REFERENCE:
                return self.objects[self._varint()]
            case tags.VERIFY_OBJECT_COUNT:
                self._varint()
                return self._value()
        return self._object(tag)

    def _object(self, tag: int) -> Any:
        match tag:
            case tags.OBJECT:
                made = self._known(JsObject.adopt({}))
                self._properties(made.__dict__, tags.END_OBJECT)
                return made
            case tags.DENSE_ARRAY:
                return self._dense_array()
            case tags.SPARSE_ARRAY:
                return self._sparse_array()
            case tags.MAP:
                return self._map()
            case tags.SET:
                return self._set()
            case tags.DATE:
                return self._known(Date._make(time_clip(from_float(self._double()))))
            case tags.ARRAY_BUFFER:
                return self._known(ArrayBuffer.adopt(self._bytes(self._varint())))
            case tags.RESIZABLE_ARRAY_BUFFER:
                return self._resizable_buffer()
            case tags.ERROR:
                return self._error()
            case tags.REGEXP:
                return self._regexp()
            case tags.TRUE_OBJECT | tags.FALSE_OBJECT:
                return self._known(Boolean._make(tag == tags.TRUE_OBJECT))
            case tags.NUMBER_OBJECT:
                return self._known(Number._make(from_float(self._double())))
            case tags.BIGINT_OBJECT:
                return self._known(Number._make(self._bigint()))
            case tags.STRING_OBJECT:
                return self._known(String._make(self._string()))
            case tags.HOST_OBJECT:
                return self._host_object()
        raise _Damaged

    def _known(self, made: Any) -> Any:
        self.objects.append(made)
        return made

    def _text(self, tag: int) -> str:
        part = self._bytes(self._varint())
        if tag == tags.ONE_BYTE_STRING:
            return part.decode("latin-1")
        if tag == tags.TWO_BYTE_STRING:
            return part.decode("utf-16-le", "surrogatepass")
        return part.decode("utf-8")

    def _string(self) -> str:
        value = self._begun(self._tag())
        if type(value) is not str:
            raise _Damaged
        return value

    def _bigint(self) -> int:
        field = self._varint()
        size = field >> 1
        if size > _WIDEST_BIGINT:
            raise _Damaged
        value = int.from_bytes(self._bytes(size), "little")
        return -value if field & 1 else value

    def _properties(self, properties: dict[str, Any], end: int) -> None:
        count = 0
        while self._peek() != end:
            key = self._begun(self._tag())
            if type(key) is not str:
                if isinstance(key, bool) or not isinstance(key, int | float):
                    raise _Damaged
                key = to_string(key)
            properties[key] = self._value()
            count += 1
        self._tag()
        if self._varint() != count:
            raise _Damaged

    def _dense_array(self) -> JsArray:
        length = self._varint()
        if length > len(self.data) - self.at:
            raise _Damaged
        items: list[Any] = [None] * length
        made = self._known(JsArray.adopt(items))
        for index in range(length):
            items[index] = self._value()
        # Properties that are no elements have no place in an array here.
        self._properties({}, tags.END_DENSE_ARRAY)
        if self._varint() != length:
            raise _Damaged
        return made  # type: ignore[no-any-return]

    def _sparse_array(self) -> JsArray:
        length = self._varint()
        if length > _LONGEST_SPARSE_ARRAY:
            raise RangeError(f"An array of {length} elements with holes is too long for pyflare.")
        items: list[Any] = [None] * length
        made = self._known(JsArray.adopt(items))
        properties: dict[str, Any] = {}
        self._properties(properties, tags.END_SPARSE_ARRAY)
        if self._varint() != length:
            raise _Damaged
        for key, value in properties.items():
            if key.isdecimal() and int(key) < length:
                items[int(key)] = value
        return made  # type: ignore[no-any-return]

    def _map(self) -> JsMap:
        made: JsMap = self._known(JsMap.empty())
        count = 0
        while self._peek() != tags.END_MAP:
            key = self._value()
            made.set(key, self._value())
            count += 2
        self._tag()
        if self._varint() != count:
            raise _Damaged
        return made

    def _set(self) -> JsSet:
        made: JsSet = self._known(JsSet.of_items(()))
        count = 0
        while self._peek() != tags.END_SET:
            made.add(self._value())
            count += 1
        self._tag()
        if self._varint() != count:
            raise _Damaged
        return made

    def _resizable_buffer(self) -> ArrayBuffer:
        size = self._varint()
        most = self._varint()
        if size > most:
            raise _Damaged
        made: ArrayBuffer = self._known(ArrayBuffer.adopt(bytearray(self._bytes(size))))
        made._limit = most
        return made

    def _view(self, buffer: ArrayBuffer) -> Any:
        kind = _VIEW_CLASSES.get(self._varint())
        offset = self._varint()
        size = self._varint()
        flags = self._varint() if self.version >= 14 else 0
        if kind is None or offset > buffer.byteLength:
            raise _Damaged
        if flags & tags.LENGTH_TRACKING:
            size = buffer.byteLength - offset
        if offset + size > buffer.byteLength:
            raise _Damaged
        if kind is DataView:
            return self._known(DataView._make(buffer, offset, size))
        width = kind.BYTES_PER_ELEMENT
        if flags & tags.LENGTH_TRACKING:
            size -= size % width
        if offset % width or size % width:
            raise _Damaged
        return self._known(kind.view(buffer, offset, size // width))

    def _regexp(self) -> RegExp:
        number = len(self.objects)
        self.objects.append(None)
        source = self._string()
        bits = self._varint()
        flags = "".join(flag for flag, bit in tags.REGEXP_FLAGS.items() if bits & bit)
        if bits & ~sum(tags.REGEXP_FLAGS.values()):
            raise errors.SyntaxError_(
                f"The flags of the regular expression /{source}/ are not supported by pyflare."
            )
        made: RegExp = RegExp._make("" if source == "(?:)" else source, flags)
        self.objects[number] = made
        return made

    def _error(self) -> JsException:
        made: JsException = self._known(Error._make(""))
        number = len(self.objects) - 1
        made.stack = ""
        while (tag := self._byte()) != tags.ERROR_END:
            if tag in _PROTOTYPES:
                kept = made
                made = self.objects[number] = _PROTOTYPES[tag]._make(kept.message)
                made.stack = kept.stack
            elif tag == tags.ERROR_MESSAGE:
                made.message = self._string()
            elif tag == tags.ERROR_STACK:
                made.stack = self._string()
            elif tag == tags.ERROR_CAUSE:
                made.cause = self._value()  # type: ignore[attr-defined]
            else:
                raise _Damaged
        return made

    def _host_object(self) -> Any:
        number = self._varint()
        if number == tags.HOST_NATIVE_ERROR:
            return self._native_error()
        if number == tags.HOST_DOM_EXCEPTION:
            name, message, stack = (self._host_text() for _ in range(3))
            made: DOMException = self._known(DOMException._make(message, name))
            made.stack = stack
            return made
        raise _Damaged

    def _host_text(self) -> str:
        return self._bytes(self._varint(64)).decode("utf-8", "surrogatepass")

    def _native_error(self) -> JsException:
        place = len(self.objects)
        self.objects.append(None)
        number = self._varint()
        name = self._string() if number == tags.UNKNOWN_NATIVE_ERROR else None
        made: JsException = _ERROR_CLASSES.get(_NATIVE_ERRORS.get(number, ""), Error)._make(
            self._string()
        )
        self.objects[place] = made
        if name is not None or number == tags.NATIVE_ERRORS["AggregateError"]:
            made.name = name or "AggregateError"
        properties = self._value()
        if not isinstance(properties, JsObject):
            raise _Damaged
        for key, value in properties.__dict__.items():
            setattr(made, key, value)
        return made
