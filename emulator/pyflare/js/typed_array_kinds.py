"""The kinds of typed arrays: ``js.Int8Array`` to ``js.BigUint64Array``.

Source: https://tc39.es/ecma262/#table-the-typedarray-constructors
"""

from __future__ import annotations

import math
import struct
from typing import Any, Final

from . import semantics
from .error import TypeError_
from .number import from_float, to_integer, to_number, to_string
from .typed_array import TypedArray
from .value import JsBigInt

__all__ = [
    "BigInt64Array",
    "BigUint64Array",
    "Float16Array",
    "Float32Array",
    "Float64Array",
    "Int8Array",
    "Int16Array",
    "Int32Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "Uint16Array",
    "Uint32Array",
    "class_of_format",
]


class _IntegerArray(TypedArray, js_name="TypedArray"):
    __slots__ = ()

    @classmethod
    def _coerce(cls, value: Any) -> int:
        number = to_integer(value)
        bits = 8 * cls.BYTES_PER_ELEMENT
        wrapped = 0 if isinstance(number, float) else number & ((1 << bits) - 1)
        signed = cls._format.islower()
        return wrapped - (1 << bits) if signed and wrapped >> (bits - 1) else wrapped


class _FloatArray(TypedArray, js_name="TypedArray"):
    __slots__ = ()

    @classmethod
    def _coerce(cls, value: Any) -> float:
        try:
            number = float(to_number(value))
            struct.pack("=" + cls._format, number)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
        return number

    def _items(self) -> Any:
        # Integral numbers reach Python as int.
        view = self._view()
        code = f"={len(view) // self.BYTES_PER_ELEMENT}{self._format}"
        return [from_float(item) for item in struct.unpack(code, view)]


class _BigIntArray(_IntegerArray, js_name="TypedArray"):
    __slots__ = ()

    @classmethod
    def _coerce(cls, value: Any) -> int:
        if not isinstance(value, int):
            raise TypeError_(f"Cannot convert {to_string(value)} to a BigInt")
        return super()._coerce(value)

    def _items(self) -> Any:
        items = super()._items()
        return list(map(JsBigInt, items)) if semantics.current().bigints_have_a_class else items


class Int8Array(_IntegerArray):
    __slots__ = ()
    _format = "b"


class Uint8Array(_IntegerArray):
    __slots__ = ()


class Uint8ClampedArray(_IntegerArray):
    __slots__ = ()

    @classmethod
    def _coerce(cls, value: Any) -> int:
        number = to_number(value)
        # Halves go to the even neighbour, as Python's `round` does.
        return 0 if number != number else round(min(max(number, 0), 255))


class Int16Array(_IntegerArray):
    __slots__ = ()
    BYTES_PER_ELEMENT = 2
    _format = "h"


class Uint16Array(_IntegerArray):
    __slots__ = ()
    BYTES_PER_ELEMENT = 2
    _format = "H"


class Int32Array(_IntegerArray):
    __slots__ = ()
    BYTES_PER_ELEMENT = 4
    _format = "i"


class Uint32Array(_IntegerArray):
    __slots__ = ()
    BYTES_PER_ELEMENT = 4
    _format = "I"


class Float16Array(_FloatArray):
    __slots__ = ()
    BYTES_PER_ELEMENT = 2
    _format = "e"


class Float32Array(_FloatArray):
    __slots__ = ()
    BYTES_PER_ELEMENT = 4
    _format = "f"


class Float64Array(_FloatArray):
    __slots__ = ()
    BYTES_PER_ELEMENT = 8
    _format = "d"


class BigInt64Array(_BigIntArray):
    __slots__ = ()
    BYTES_PER_ELEMENT = 8
    _format = "q"


class BigUint64Array(_BigIntArray):
    __slots__ = ()
    BYTES_PER_ELEMENT = 8
    _format = "Q"


_CLASSES: Final[dict[str, type[TypedArray]]] = {
    "b": Int8Array,
    "B": Uint8Array,
    "c": Uint8Array,
    "h": Int16Array,
    "H": Uint16Array,
    "i": Int32Array,
    "I": Uint32Array,
    "l": BigInt64Array,
    "L": BigUint64Array,
    "q": BigInt64Array,
    "Q": BigUint64Array,
    "e": Float16Array,
    "f": Float32Array,
    "d": Float64Array,
}


def class_of_format(format: str) -> type[TypedArray] | None:
    """The typed array whose elements have a format of :mod:`struct`, None when there is none."""
    return _CLASSES.get(format.lstrip("@=<"))
