"""``ctx.storage.sql`` as a Python Worker sees it: the SDK's wrapper, without its detours.

A query is an ordinary function call here, made for every row that an object looks up, so the conversions of arguments
and rows that are known in advance are made directly. A test runs the same programs through both wrappers and compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from workers.rpc import JsDict, _BindingWrapper, python_to_rpc

from pyflare.js.value import MAX_SAFE_INTEGER
from pyflare_bindings.objects.sql_cursor import SqlCursor as OwnerCursor

from .sql import Cursor, RawIterator, all_rows, next_row, only_row, run
from .sql_values import Bindable, bindable, python_row, python_rows

__all__ = ["SqlStorageWrapper"]

_AS_THEY_ARE: Final = frozenset({str, float, bytes, type(None)})


class SqlStorageWrapper(_BindingWrapper):  # type: ignore[misc]
    """The SDK's wrapper of :class:`pyflare.env.objects.sql.SqlStorage`."""

    def exec(self, *arguments: Any, **named: Any) -> Any:
        if not arguments or named or type(arguments[0]) is not str:
            made = _BindingWrapper._getattr_helper(self, "exec")(*arguments, **named)
            return CursorWrapper(made._binding._cursor)
        query, *values = arguments
        if not _AS_THEY_ARE.issuperset(map(type, values)):
            values = [_bindable(value) for value in values]
        return CursorWrapper(run(self._binding._session, query, values))


def _bindable(value: Any) -> Bindable:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value  # type: ignore[no-any-return]
    if kind is int and -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return float(value)
    return bindable(python_to_rpc(value))


class CursorWrapper(_BindingWrapper):  # type: ignore[misc]
    """The SDK's wrapper of a cursor. What is not here, counters and names, the SDK reads and keeps."""

    def __new__(cls, *_: Any) -> CursorWrapper:
        return object.__new__(cls)

    def __init__(self, cursor: OwnerCursor) -> None:
        self._cursor = cursor

    @property
    def _binding(self) -> Any:
        return Cursor._make(self._cursor)

    def _shape(self, row: tuple[Any, ...]) -> JsDict:
        return JsDict(zip(self._cursor.columns, python_row(row), strict=True))

    def toArray(self) -> list[JsDict]:
        columns = self._cursor.columns
        rows = python_rows(all_rows(self._cursor))
        return [JsDict(zip(columns, row)) for row in rows]  # noqa: B905

    def one(self) -> JsDict:
        return self._shape(only_row(self._cursor))

    def next(self) -> JsDict:
        row = next_row(self._cursor)
        return JsDict(done=True) if row is None else JsDict(done=False, value=self._shape(row))

    def raw(self) -> RawWrapper:
        return RawWrapper(self._cursor)

    def __iter__(self) -> Iterator[JsDict]:
        while (row := next_row(self._cursor)) is not None:
            yield self._shape(row)


class RawWrapper(_BindingWrapper):  # type: ignore[misc]
    """The SDK's wrapper of ``cursor.raw()``."""

    def __new__(cls, *_: Any) -> RawWrapper:
        return object.__new__(cls)

    def __init__(self, cursor: OwnerCursor) -> None:
        self._cursor = cursor

    @property
    def _binding(self) -> Any:
        return RawIterator._make(self._cursor)

    def toArray(self) -> list[list[Any]]:
        return list(map(list, python_rows(all_rows(self._cursor))))

    def next(self) -> JsDict:
        row = next_row(self._cursor)
        return JsDict(done=True) if row is None else JsDict(done=False, value=list(python_row(row)))

    def __iter__(self) -> Iterator[list[Any]]:
        while (row := next_row(self._cursor)) is not None:
            yield list(python_row(row))
