"""What D1's ``bind`` makes of JavaScript values, and the texts of D1's errors.

Source: https://developers.cloudflare.com/d1/worker-api/ (type conversion) and workerd's ``d1-api.ts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from pyflare.js.error import Error
from pyflare.js.value import MAX_SAFE_INTEGER, JsProxy, js_class_name, jsnull, type_of
from pyflare_bindings.d1 import Bindable

__all__ = ["bindable", "bytes_from_numbers", "failure", "type_failure"]

_WIDE_ARRAYS = frozenset(
    {
        "Int8Array",
        "Int16Array",
        "Uint16Array",
        "Int32Array",
        "Uint32Array",
        "Float16Array",
        "Float32Array",
        "Float64Array",
        "BigInt64Array",
        "BigUint64Array",
    }
)
_INFINITY = float("inf")


def failure(prefix: str, message: str, cause: str | None = None) -> Error:
    """The platform's error ``<prefix>: <message>`` whose ``cause`` carries the bare text."""
    return Error(f"{prefix}: {message}", {"cause": Error(message if cause is None else cause)})


def type_failure(value: Any, shown: str | None = None, kind: str | None = None) -> Error:
    """``D1_TYPE_ERROR`` for a value that cannot be bound."""
    if shown is None:
        from pyflare.js.number import to_string

        shown = to_string(value)
    return failure(
        "D1_TYPE_ERROR", f"Type '{kind or type_of(value)}' not supported for value '{shown}'"
    )


def bindable(value: Any) -> Bindable:
    """One value as the owner takes it: numbers and booleans as ``float``, text, bytes or None.

    Raises the platform's ``D1_TYPE_ERROR`` for undefined, bigints, functions and objects.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return 1.0 if value else 0.0
    if isinstance(value, int):
        if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            return float(value)
        raise type_failure(value, str(value), "bigint")
    if isinstance(value, float):
        # NaN and the infinities travel as JSON null in production.
        return value if -_INFINITY < value < _INFINITY else None
    if value is jsnull:
        return None
    if value is None:
        raise type_failure(value, "undefined", "undefined")
    if isinstance(value, list):
        return bytes_from_numbers(value)
    if isinstance(value, JsProxy):
        return _from_object(value)
    raise type_failure(value)


def _from_object(value: JsProxy) -> bytes:
    name = js_class_name(value)
    if name == "Array":
        return bytes_from_numbers(list(value))  # type: ignore[call-overload]
    if name in ("ArrayBuffer", "Uint8Array", "Uint8ClampedArray"):
        from pyflare.js.buffer import as_bytes

        return bytes(as_bytes(value) or b"")
    if name in _WIDE_ARRAYS:
        # Production sends the elements, and each is cut to a byte.
        return bytes(_low_byte(item) for item in value)  # type: ignore[attr-defined]
    if name == "DataView":
        return b""
    raise type_failure(value)


def _low_byte(number: float) -> int:
    return int(number) & 0xFF if number == number and abs(number) != _INFINITY else 0


def bytes_from_numbers(items: Sequence[Any]) -> bytes:
    """A list of numbers from 0 up to 255 as a BLOB; fractions are cut off."""
    for item in items:
        if type(item) not in (int, float) or not 0 <= item < 256:
            _refuse_list(items)
    return bytes(map(int, items))


def _refuse_list(items: Sequence[Any]) -> NoReturn:
    from pyflare.js.number import to_string

    shown = ",".join("" if item is None or item is jsnull else to_string(item) for item in items)
    raise type_failure(items, shown, "object")
