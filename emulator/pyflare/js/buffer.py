"""Every kind of JavaScript buffer in one place: ArrayBuffer, the typed arrays, DataView."""

from .array_buffer import ArrayBuffer, JsBuffer, as_bytes, contiguous_bytes
from .data_view import DataView
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
    Uint8ClampedArray,
    Uint16Array,
    Uint32Array,
)

__all__ = [
    "ArrayBuffer",
    "BigInt64Array",
    "BigUint64Array",
    "DataView",
    "Float16Array",
    "Float32Array",
    "Float64Array",
    "Int8Array",
    "Int16Array",
    "Int32Array",
    "JsBuffer",
    "TypedArray",
    "Uint8Array",
    "Uint8ClampedArray",
    "Uint16Array",
    "Uint32Array",
    "as_bytes",
    "contiguous_bytes",
]
