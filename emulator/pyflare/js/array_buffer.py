"""``js.ArrayBuffer`` and what every JavaScript buffer offers to Python.

A buffer may stand on an immutable ``bytes`` object without copying it; the copy is made when somebody writes. So
bodies go from a socket to a worker and back without a copy unless the worker changes them.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.JsBuffer and
https://tc39.es/ecma262/#sec-arraybuffer-objects
"""

from __future__ import annotations

from typing import IO, Any, Final

from .error import RangeError, TypeError_
from .number import to_index, to_integer
from .value import JsClass, JsProxy, get_property, is_nullish

__all__ = ["ArrayBuffer", "JsBuffer", "as_bytes", "contiguous_bytes"]

_new: Final = object.__new__
#: The most bytes that an ArrayBuffer can hold on the platform.
_MAX_BYTES: Final = 2**32


class JsBuffer(JsProxy):
    """What an ArrayBuffer, a typed array and a DataView share towards Python. Every ``to_*`` copies."""

    __slots__ = ()

    #: The format of the elements, as in :mod:`struct`.
    _format: str = "B"

    def _view(self) -> memoryview:
        """The bytes of this buffer without a copy; read-only while they are shared with ``bytes``."""
        raise NotImplementedError

    def _shared(self) -> bytes | memoryview:
        """The bytes of this buffer without a copy, as ``bytes`` where that is what they are."""
        return self._view()

    def _writable(self) -> memoryview:
        """The bytes of this buffer, writable."""
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        """The contents as ``bytes``."""
        return bytes(self._view())

    def to_memoryview(self) -> memoryview:
        """A writable copy of the contents with the format of the elements."""
        copy = memoryview(bytearray(self._view()))
        if self._format == "B":
            return copy
        try:
            return copy.cast(self._format)  # type: ignore[call-overload, no-any-return]
        except ValueError:  # Python before 3.14 has no memoryview of half floats.
            return copy

    def to_string(self, encoding: str | None = None) -> str:
        """The contents as text, UTF-8 unless an encoding is named. Raises: ValueError for bytes that are no text."""
        return str(self._view(), encoding or "utf-8")

    def assign(self, source: Any) -> None:
        """Overwrite the contents from a Python buffer of the same size. Raises: ValueError for another size."""
        data = contiguous_bytes(source)
        target = self._writable()
        if len(data) != len(target):
            # The two numbers are exchanged, as in production's text.
            raise ValueError(
                f"cannot assign to TypedArray of length {len(data)} from buffer of length {len(target)}"
            )
        target[:] = data

    def assign_to(self, target: Any) -> None:
        """Copy the contents into a writable Python buffer of the same size. Raises: ValueError for another size."""
        with memoryview(target) as view, view.cast("B") as flat:
            data = self._view()
            if len(flat) != len(data):
                raise ValueError(
                    f"cannot assign from TypedArray of length {len(data)} to buffer of length {len(flat)}"
                )
            flat[:] = data

    def to_file(self, file: IO[bytes]) -> None:
        """Write the contents to an open binary file."""
        file.write(self._view())

    def from_file(self, file: IO[bytes]) -> None:
        """Fill the buffer from an open binary file. Raises: ValueError when the file holds too little."""
        target = self._writable()
        data = file.read(len(target))
        if len(data) != len(target):
            raise ValueError(
                f"the file holds {len(data)} bytes, the JavaScript buffer {len(target)}"
            )
        target[:] = data

    def _into_file(self, file: IO[bytes]) -> None:
        file.write(self._view())


class ArrayBuffer(JsBuffer, metaclass=JsClass, js_name="ArrayBuffer"):
    """Raw bytes. ``_data`` is ``bytes`` (shared until written), a ``bytearray`` or a ``memoryview``.

    ``_limit`` is set only in the rare buffers that can be resized (their maximum) or were transferred away (-1).
    """

    __slots__ = ("__weakref__", "_data", "_limit")

    _tag = "ArrayBuffer"
    _data: bytes | bytearray | memoryview
    _limit: int

    @classmethod
    def adopt(cls, data: bytes | bytearray | memoryview) -> ArrayBuffer:
        """A buffer over these bytes without a copy. ``bytes`` stay untouched, the mutable kinds are written through."""
        made: ArrayBuffer = _new(cls)
        made._data = data
        return made

    @classmethod
    def _construct(cls, length: Any = 0, options: Any = None, *_: Any) -> Any:
        size = to_integer(length)
        if not 0 <= size <= _MAX_BYTES:
            raise RangeError(
                "Array buffer allocation failed" if size > 0 else "Invalid array buffer length"
            )
        made = cls.adopt(bytearray(int(size)))
        most = None if is_nullish(options) else get_property(options, "maxByteLength")
        if most is not None:
            if most < size:
                raise RangeError("Invalid array buffer max length")
            made._limit = int(most)
        return made

    @staticmethod
    def isView(value: Any = None) -> bool:
        return isinstance(value, JsBuffer) and not isinstance(value, ArrayBuffer)

    @property
    def byteLength(self) -> int:
        return len(self._data)

    @property
    def maxByteLength(self) -> int:
        return max(len(self._data), getattr(self, "_limit", 0))

    @property
    def resizable(self) -> bool:
        return getattr(self, "_limit", -1) >= 0

    @property
    def detached(self) -> bool:
        return getattr(self, "_limit", 0) < 0

    def slice(self, start: Any = None, end: Any = None) -> ArrayBuffer:
        """A copy of a part."""
        size = len(self._data)
        first, last = to_index(start, size, 0), to_index(end, size, size)
        part = self._data[first:last]
        # A slice of `bytes` is already a copy of its own, and shareable.
        return ArrayBuffer.adopt(part if isinstance(part, bytes | bytearray) else bytes(part))

    def resize(self, length: Any) -> None:
        """Raises: TypeError for a buffer of fixed size, RangeError above its maximum."""
        if not self.resizable:
            raise TypeError_(
                "Method ArrayBuffer.prototype.resize called on incompatible receiver #<ArrayBuffer>"
            )
        size = int(to_integer(length))
        if not 0 <= size <= self._limit:
            raise RangeError("ArrayBuffer.prototype.resize: Invalid length parameter")
        kept = bytes(self._data[:size])
        self._data = bytearray(kept.ljust(size, b"\0"))

    def transfer(self, length: Any = None) -> ArrayBuffer:
        """Move the bytes to a new buffer and detach this one. Raises: TypeError when already detached."""
        if self.detached:
            raise TypeError_(
                "Cannot perform ArrayBuffer.prototype.transfer on a detached ArrayBuffer"
            )
        data = self._data
        if length is not None:
            size = int(to_integer(length))
            data = bytearray(bytes(data[:size]).ljust(size, b"\0"))
        self._data = b""
        self._limit = -1
        return ArrayBuffer.adopt(data)

    def to_bytes(self) -> bytes:
        data = self._data
        return data if type(data) is bytes else bytes(data)

    def _view(self) -> memoryview:
        return memoryview(self._data)

    def _shared(self) -> bytes | memoryview:
        data = self._data
        return data if type(data) is bytes else memoryview(data)

    def _writable(self) -> memoryview:
        data = self._data
        if isinstance(data, bytes) or (isinstance(data, memoryview) and data.readonly):
            data = self._data = bytearray(data)
        return memoryview(data)

    def __bool__(self) -> bool:
        return len(self._data) > 0


def as_bytes(value: Any) -> bytes | memoryview | None:
    """The bytes of a JavaScript or Python buffer without a copy where possible; None for anything else.

    A ``memoryview`` aliases memory that may still change; a caller that keeps it copies first.
    """
    kind = type(value)
    if kind is bytes:
        return value  # type: ignore[no-any-return]
    if isinstance(value, JsBuffer):
        return value._shared()
    if isinstance(value, bytearray | memoryview):
        return contiguous_bytes(value)
    # A proxy that `create_proxy` made of a Python buffer.
    unwrap = getattr(kind, "_proxied_buffer", None)
    return None if unwrap is None else unwrap(value)


def contiguous_bytes(source: Any) -> bytes | memoryview:
    """The bytes of any buffer as a flat view. Raises: TypeError for what is no buffer."""
    if isinstance(source, bytes):
        return source
    if isinstance(source, JsBuffer):
        return source._view()
    view = memoryview(source)
    if not view.c_contiguous:
        return view.tobytes()
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")
