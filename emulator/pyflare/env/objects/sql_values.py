"""Values on their way into SQL of an object and out of it.

The rules differ from D1's: a boolean is its word, an array or object its text form, infinities stay.

Source: https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/ and
workerd ``src/workerd/api/sql.c++``
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from pyflare.js.array_buffer import ArrayBuffer, as_bytes
from pyflare.js.bigint import is_bigint
from pyflare.js.error import TypeError_
from pyflare.js.number import from_float, to_string
from pyflare.js.symbol import Symbol
from pyflare.js.value import MAX_SAFE_INTEGER, JsClass, jsnull

__all__ = ["Bindable", "bindable", "javascript_row", "python_row", "python_rows"]

Bindable: TypeAlias = str | float | bytes | None

_UNCHANGED: Final = frozenset({str, type(None)})
_MANY: Final = 8
_TEXT: Final = frozenset({str})


def bindable(value: Any) -> Bindable:
    """A JavaScript value as SQLite takes it. Raises TypeError for bigints and symbols."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if value is None or value is jsnull:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if is_bigint(value):
            raise TypeError_("Cannot convert a BigInt value to a number")
        return float(value)
    if isinstance(value, float):
        return value
    if isinstance(value, Symbol):
        raise TypeError_("Cannot convert a Symbol value to a string")
    data = None if isinstance(value, JsClass) else as_bytes(value)
    return to_string(value) if data is None else bytes(data)


def python_row(row: tuple[Any, ...]) -> Iterable[Any]:
    """A row as Python gets it through the SDK: null is None, a BLOB a memoryview."""
    if _UNCHANGED.issuperset(map(type, row)):
        return row
    return [_number(value) if type(value) is not bytes else _view(value) for value in row]


def javascript_row(row: tuple[Any, ...]) -> Iterable[Any]:
    """A row as JavaScript sees it."""
    if _TEXT.issuperset(map(type, row)):
        return row
    return [_javascript_value(value) for value in row]


def python_rows(rows: list[tuple[Any, ...]]) -> Iterable[Iterable[Any]]:
    """Rows as Python gets them. Many rows are looked at by columns, most of which need no change."""
    if len(rows) < _MANY:
        return map(python_row, rows)
    changed = False
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
    for index, column in enumerate(columns):
        if not _stays(column):
            columns[index] = [
                _number(item) if type(item) is not bytes else _view(item) for item in column
            ]
            changed = True
    return zip(*columns, strict=True) if changed else rows


def _stays(column: Sequence[Any]) -> bool:
    types = set(map(type, column))
    types.discard(type(None))
    if types == {int}:
        numbers = column if None not in column else [item for item in column if item is not None]
        return bool(min(numbers) >= -MAX_SAFE_INTEGER and max(numbers) <= MAX_SAFE_INTEGER)
    return types <= _TEXT


def _javascript_value(value: Any) -> Any:
    if value is None:
        return jsnull
    return ArrayBuffer.adopt(value) if type(value) is bytes else _number(value)


def _number(value: Any) -> Any:
    kind = type(value)
    if kind is int:
        return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else float(value)
    return from_float(value) if kind is float else value


def _view(value: bytes) -> memoryview:
    return memoryview(bytearray(value))
