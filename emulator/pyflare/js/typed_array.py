"""``js.Uint8Array`` and the other typed arrays.

Source: https://tc39.es/ecma262/#sec-typedarray-objects and
https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.JsTypedArray
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cmp_to_key
from typing import Any, ClassVar, Final

from .array import items_of
from .array_buffer import ArrayBuffer, JsBuffer, contiguous_bytes
from .array_methods import ArrayMethods
from .error import RangeError, TypeError_
from .number import to_index, to_integer, to_string
from .value import JsClass, is_nullish

__all__ = ["TypedArray"]

_new: Final = object.__new__


class TypedArray(ArrayMethods, JsBuffer, metaclass=JsClass, js_name="TypedArray"):
    """The common base: a view on an ArrayBuffer as elements of one kind."""

    __slots__ = ("__weakref__", "_buffer", "_length", "_offset")
    _python_names = frozenset({"view"})

    BYTES_PER_ELEMENT: ClassVar[int] = 1
    _buffer: ArrayBuffer
    _offset: int
    _length: int

    @classmethod
    def view(cls, buffer: ArrayBuffer, offset: int, length: int) -> Any:
        """A view on ``length`` elements from a byte offset that is known to be good."""
        made = _new(cls)
        made._buffer = buffer
        made._offset = offset
        made._length = length
        return made

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Any:
        """An array over these bytes without a copy; ``bytes`` are copied when somebody writes to the array."""
        buffer = _new(ArrayBuffer)
        buffer._data = data
        made = _new(cls)
        made._buffer = buffer
        made._offset = 0
        made._length = len(data) // cls.BYTES_PER_ELEMENT
        return made

    @classmethod
    def _construct(cls, source: Any = None, offset: Any = None, length: Any = None, *_: Any) -> Any:
        if cls is TypedArray:
            raise TypeError_("Abstract class TypedArray not directly constructable")
        if is_nullish(source):
            return cls.from_bytes(b"")
        if isinstance(source, int | float | str):
            size = to_integer(source)
            if not 0 <= size <= 2**32:
                raise RangeError(f"Invalid typed array length: {to_string(source)}")
            return cls.from_bytes(bytearray(int(size) * cls.BYTES_PER_ELEMENT))
        if isinstance(source, ArrayBuffer):
            return cls._over(source, offset, length)
        if isinstance(source, bytes) and cls._format == "B":
            return cls.from_bytes(source)
        if isinstance(source, bytearray | memoryview) and cls._format == "B":
            return cls.from_bytes(bytes(contiguous_bytes(source)))
        if isinstance(source, TypedArray) and source._format == cls._format:
            return cls.from_bytes(source.to_bytes())
        return cls.from_bytes(cls._pack(items_of(source)))

    @classmethod
    def _over(cls, buffer: ArrayBuffer, offset: Any, length: Any) -> Any:
        size = cls.BYTES_PER_ELEMENT
        start = int(to_integer(offset))
        if start < 0 or start % size:
            raise RangeError(f"start offset of {cls._js_name} should be a multiple of {size}")
        available = buffer.byteLength - start
        if length is None:
            if buffer.byteLength % size:
                raise RangeError(f"byte length of {cls._js_name} should be a multiple of {size}")
            if available < 0:
                raise RangeError(f"Start offset {start} is outside the bounds of the buffer")
            return cls.view(buffer, start, available // size)
        count = int(to_integer(length))
        if count < 0 or count * size > available:
            raise RangeError(f"Invalid typed array length: {to_string(length)}")
        return cls.view(buffer, start, count)

    @classmethod
    def _call(cls, *_: Any) -> Any:
        raise TypeError_(f"Constructor {cls._js_name} requires 'new'")

    @classmethod
    def of(cls, *items: Any) -> Any:
        return cls.from_bytes(cls._pack(items))

    @classmethod
    def from_(cls, source: Any, function: Any = None, this: Any = None) -> Any:
        items = items_of(source)
        if function is not None:
            items = [function(item, index) for index, item in enumerate(items)]
        return cls.from_bytes(cls._pack(items))

    @classmethod
    def _coerce(cls, value: Any) -> Any:
        """One element as the array stores it."""
        raise NotImplementedError

    @classmethod
    def _pack(cls, items: Sequence[Any]) -> bytes:
        code = f"={len(items)}{cls._format}"
        try:
            return struct.pack(code, *items)
        except (struct.error, OverflowError):
            return struct.pack(code, *map(cls._coerce, items))

    # The bytes below.

    @property
    def buffer(self) -> ArrayBuffer:
        return self._buffer

    @property
    def byteOffset(self) -> int:
        return self._offset

    @property
    def byteLength(self) -> int:
        return self.length * self.BYTES_PER_ELEMENT

    @property
    def length(self) -> int:
        # A buffer that was transferred away or has shrunk has nothing left for a view that reaches beyond it.
        end = self._offset + self._length * self.BYTES_PER_ELEMENT
        return self._length if end <= len(self._buffer._data) else 0

    def _view(self) -> memoryview:
        start = self._offset
        return memoryview(self._buffer._data)[start : start + self.byteLength]

    def _shared(self) -> bytes | memoryview:
        data = self._buffer._data
        size = self._length * self.BYTES_PER_ELEMENT
        if type(data) is bytes and size == len(data):
            return data
        return self._view()

    def _writable(self) -> memoryview:
        start = self._offset
        return self._buffer._writable()[start : start + self.byteLength]

    def to_bytes(self) -> bytes:
        data = self._shared()
        return data if type(data) is bytes else bytes(data)

    def _items(self) -> Any:
        view = self._view()
        if self._format == "B":
            return view
        cast: Any = view.cast
        return cast(self._format)

    # Python's sequence protocol.

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items())

    def __bool__(self) -> bool:
        return self.length > 0

    def _position(self, key: Any, action: str = "subscripting") -> int:
        if isinstance(key, slice):
            raise NotImplementedError(f"Slice {action} isn't implemented for typed arrays")
        if not isinstance(key, int):
            raise TypeError(f"Expected key to be an int, got '{type(key).__name__}'")
        length = self.length
        position = key + length if key < 0 else key
        if not 0 <= position < length:
            raise IndexError(key)
        return position

    def __getitem__(self, key: Any) -> Any:
        return self._items()[self._position(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._put(self._position(key, "assignment"), [value])

    def _put(self, position: int, items: Sequence[Any]) -> None:
        packed = self._pack(items)
        start = position * self.BYTES_PER_ELEMENT
        self._writable()[start : start + len(packed)] = packed

    # JavaScript's methods that write or make arrays.

    def set(self, source: Any, offset: Any = 0) -> None:
        """Copy elements in at an offset. Raises: RangeError when they do not fit."""
        at = to_integer(offset)
        same_kind = isinstance(source, TypedArray) and source._format == self._format
        # Taken before writing, as both may lie in one buffer.
        packed = source.to_bytes() if same_kind else self._pack(items_of(source))
        start, size = at * self.BYTES_PER_ELEMENT, self.byteLength
        if at < 0 or start + len(packed) > size:
            raise RangeError("offset is out of bounds")
        self._writable()[int(start) : int(start) + len(packed)] = packed

    def subarray(self, start: Any = None, end: Any = None) -> Any:
        """A view on a part of the same buffer."""
        length = self.length
        first, last = to_index(start, length, 0), to_index(end, length, length)
        offset = self._offset + first * self.BYTES_PER_ELEMENT
        return type(self).view(self._buffer, offset, max(0, last - first))

    def slice(self, start: Any = None, end: Any = None) -> Any:
        """A copy of a part."""
        length = self.length
        first, last = to_index(start, length, 0), to_index(end, length, length)
        size = self.BYTES_PER_ELEMENT
        if first == 0 and last == length:
            return type(self).from_bytes(self.to_bytes())
        return type(self).from_bytes(bytes(self._view()[first * size : max(first, last) * size]))

    def fill(self, value: Any = None, start: Any = None, end: Any = None) -> Any:
        length = self.length
        first, last = to_index(start, length, 0), to_index(end, length, length)
        if last > first:
            size = self.BYTES_PER_ELEMENT
            self._writable()[first * size : last * size] = self._pack([value]) * (last - first)
        return self

    def copyWithin(self, target: Any, start: Any = None, end: Any = None) -> Any:
        length = self.length
        at = to_index(target, length, 0)
        first, last = to_index(start, length, 0), to_index(end, length, length)
        count = min(last - first, length - at)
        if count > 0:
            size = self.BYTES_PER_ELEMENT
            moved = bytes(self._view()[first * size : (first + count) * size])
            self._writable()[at * size : (at + count) * size] = moved
        return self

    def _like(self, items: Iterable[Any]) -> Any:
        return type(self).from_bytes(self._pack(list(items)))

    def map(self, function: Callable[..., Any], this: Any = None) -> Any:
        return self._like(function(item, index, self) for index, item in enumerate(self._items()))

    def filter(self, function: Callable[..., Any], this: Any = None) -> Any:
        items = self._items()
        return self._like(items[index] for index in self._matches(function))

    def reverse(self) -> None:
        """In place; Python's method, which gives nothing back."""
        self._put(0, list(self)[::-1])

    def sort(self, compare: Any = None) -> Any:
        """Sort in place by number, or by ``compare(a, b)``."""
        self._put(0, self._sorted(compare))
        return self

    def _sorted(self, compare: Any) -> list[Any]:
        if compare is not None:
            return sorted(self, key=cmp_to_key(compare))
        return sorted(self, key=lambda item: (item != item, item, math.copysign(1, item)))

    def toSorted(self, compare: Any = None) -> Any:
        return self._like(self._sorted(compare))

    def toReversed(self) -> Any:
        return self._like(list(self)[::-1])

    def with_(self, index: Any, value: Any) -> Any:
        """A copy with one element replaced. Raises: RangeError when there is no such element."""
        position, length = to_integer(index), self.length
        if not -length <= position < length:
            raise RangeError("Invalid typed array index")
        copy = self.slice()
        copy[int(position)] = value
        return copy


Sequence.register(TypedArray)
