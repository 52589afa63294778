"""``js.DataView``: numbers of any kind at any place of an ArrayBuffer.

Source: https://tc39.es/ecma262/#sec-dataview-objects
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from .array_buffer import ArrayBuffer, JsBuffer
from .bigint import bigint
from .equality import to_boolean
from .error import RangeError, TypeError_
from .number import from_float, to_integer, to_string
from .typed_array import TypedArray
from .typed_array_kinds import (
    BigInt64Array,
    BigUint64Array,
    Float16Array,
    Float32Array,
    Float64Array,
    Int8Array,
    Int16Array,
    Int32Array,
    Uint8Array,
    Uint16Array,
    Uint32Array,
)
from .value import JsClass

__all__ = ["DataView"]


def _getter(kind: type[TypedArray]) -> Callable[..., Any]:
    arrive: Callable[[Any], Any]
    arrive = bigint if kind in (BigInt64Array, BigUint64Array) else from_float

    def get(self: DataView, offset: Any = 0, little_endian: Any = None) -> Any:
        code = ("<" if to_boolean(little_endian) else ">") + kind._format
        at = self._at(offset, kind.BYTES_PER_ELEMENT)
        (value,) = struct.unpack_from(code, self._view(), at)
        return arrive(value)

    return get


def _setter(kind: type[TypedArray]) -> Callable[..., None]:
    def set_(self: DataView, offset: Any = 0, value: Any = None, little_endian: Any = None) -> None:
        code = ("<" if to_boolean(little_endian) else ">") + kind._format
        at = self._at(offset, kind.BYTES_PER_ELEMENT)
        struct.pack_into(code, self._writable(), at, kind._coerce(value))

    return set_


class DataView(JsBuffer, metaclass=JsClass, js_name="DataView"):
    """A window on an ArrayBuffer."""

    __slots__ = ("__weakref__", "_buffer", "_length", "_offset")

    _tag = "DataView"
    _buffer: ArrayBuffer
    _offset: int
    _length: int

    def __init__(self, buffer: ArrayBuffer, offset: int, length: int) -> None:
        self._buffer = buffer
        self._offset = offset
        self._length = length

    @classmethod
    def _construct(cls, buffer: Any = None, offset: Any = 0, length: Any = None, *_: Any) -> Any:
        if not isinstance(buffer, ArrayBuffer):
            raise TypeError_("First argument to DataView constructor must be an ArrayBuffer")
        start, available = to_integer(offset), buffer.byteLength
        if not 0 <= start <= available:
            raise RangeError(
                f"Start offset {to_string(offset)} is outside the bounds of the buffer"
            )
        count = available - start if length is None else to_integer(length)
        if not 0 <= count <= available - start:
            raise RangeError(f"Invalid DataView length {to_string(length)}")
        return cls._make(buffer, int(start), int(count))

    @property
    def buffer(self) -> ArrayBuffer:
        return self._buffer

    @property
    def byteOffset(self) -> int:
        return self._offset

    @property
    def byteLength(self) -> int:
        return self._length

    def _view(self) -> memoryview:
        return memoryview(self._buffer._data)[self._offset : self._offset + self._length]

    def _writable(self) -> memoryview:
        return self._buffer._writable()[self._offset : self._offset + self._length]

    def __bool__(self) -> bool:
        return self._length > 0

    def _at(self, offset: Any, size: int) -> int:
        at = to_integer(offset)
        if not 0 <= at <= len(self._view()) - size:
            raise RangeError("Offset is outside the bounds of the DataView")
        return int(at)

    getInt8, setInt8 = _getter(Int8Array), _setter(Int8Array)
    getUint8, setUint8 = _getter(Uint8Array), _setter(Uint8Array)
    getInt16, setInt16 = _getter(Int16Array), _setter(Int16Array)
    getUint16, setUint16 = _getter(Uint16Array), _setter(Uint16Array)
    getInt32, setInt32 = _getter(Int32Array), _setter(Int32Array)
    getUint32, setUint32 = _getter(Uint32Array), _setter(Uint32Array)
    getFloat16, setFloat16 = _getter(Float16Array), _setter(Float16Array)
    getFloat32, setFloat32 = _getter(Float32Array), _setter(Float32Array)
    getFloat64, setFloat64 = _getter(Float64Array), _setter(Float64Array)
    getBigInt64, setBigInt64 = _getter(BigInt64Array), _setter(BigInt64Array)
    getBigUint64, setBigUint64 = _getter(BigUint64Array), _setter(BigUint64Array)
