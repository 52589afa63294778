"""``ctx.storage.sql`` as JavaScript sees it: SQL over the object's own database, and cursors over its rows.

Source: https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/ and
workerd ``src/workerd/api/sql.c++``
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from pyflare.js.array import JsArray
from pyflare.js.error import Error, TypeError_
from pyflare.js.number import to_string
from pyflare.js.value import JsInstance, JsObject
from pyflare_bindings.objects.sql_cursor import SqlCursor as OwnerCursor

from .owner_errors import OWNER_ERRORS, owner_failure
from .session import StorageSession
from .sql_values import Bindable, bindable, javascript_row

__all__ = ["Cursor", "RawIterator", "SqlStorage"]

NO_RESULTS = "Expected exactly one result from SQL query, but got no results."
MULTIPLE_RESULTS = "Expected exactly one result from SQL query, but got multiple results."
NO_QUERY = "Failed to execute 'exec' on 'SqlStorage': parameter 1 is not of type 'String'."


class SqlStorage(JsInstance, js_name="SqlStorage"):
    """The SQL interface."""

    Cursor: ClassVar[Any]

    def __init__(self, session: StorageSession) -> None:
        self._session = session

    def exec(self, *arguments: Any, **named: Any) -> Any:
        """Run SQL text, its last statement up to the first row, and give the cursor.

        Raises: Error with SQLite's text and code, TypeError for arguments that cannot be bound.
        """
        if not arguments:
            raise TypeError_(NO_QUERY)
        if named:
            arguments = (*arguments, JsObject.adopt(named))
        bindings = tuple([bindable(value) for value in arguments[1:]])
        return Cursor._make(run(self._session, to_string(arguments[0]), bindings))

    @property
    def databaseSize(self) -> int:
        """The bytes of the pages in use."""
        self._session.check_sql()
        try:
            return self._session.storage.database_size
        except OWNER_ERRORS as error:
            raise owner_failure(error) from None

    @databaseSize.setter
    def databaseSize(self, _: Any) -> None:
        raise TypeError_(
            "Cannot assign to read only property 'databaseSize' of object '#<SqlStorage>'"
        )


def run(session: StorageSession, query: str, bindings: Sequence[Bindable]) -> OwnerCursor:
    """Run SQL. Raises: Error."""
    if session.limited:
        session.check_sql()
    try:
        if session.watched:
            # Whatever SQL writes is confirmed.
            return session.write(True, session.storage.exec, query, bindings)
        return session.storage.exec(query, bindings)
    except OWNER_ERRORS as error:
        raise owner_failure(error) from None


def next_row(cursor: OwnerCursor) -> tuple[Any, ...] | None:
    """The next row, None at the end. Raises: Error."""
    try:
        return cursor.next()
    except OWNER_ERRORS as error:
        raise owner_failure(error) from None


def all_rows(cursor: OwnerCursor) -> list[tuple[Any, ...]]:
    """The remaining rows. Raises: Error."""
    try:
        return cursor.fetch_all()
    except OWNER_ERRORS as error:
        raise owner_failure(error) from None


def only_row(cursor: OwnerCursor) -> tuple[Any, ...]:
    """The one remaining row. Raises: Error when there are none or more, which also ends the cursor."""
    row = next_row(cursor)
    if row is None:
        raise Error(NO_RESULTS)
    if next_row(cursor) is not None:
        cursor.close()
        raise Error(MULTIPLE_RESULTS)
    return row


class _Rows(JsInstance, js_name="Iterator"):
    """Rows that are handed out one after the other; every reader of a cursor shares its position."""

    def __init__(self, cursor: OwnerCursor) -> None:
        self._cursor = cursor

    def _shape(self, row: tuple[Any, ...]) -> Any:
        raise NotImplementedError

    def next(self, *_: Any) -> JsObject:
        """``{done, value}``; at the end ``{done: true}``, as often as it is called."""
        row = next_row(self._cursor)
        if row is None:
            return JsObject.adopt({"done": True})
        return JsObject.adopt({"done": False, "value": self._shape(row)})

    def toArray(self, *_: Any) -> JsArray:
        """The remaining rows."""
        return JsArray.adopt([self._shape(row) for row in all_rows(self._cursor)])

    def __iter__(self) -> Iterator[Any]:
        while (row := next_row(self._cursor)) is not None:
            yield self._shape(row)


class Cursor(_Rows, js_name="Cursor"):
    """The rows of one statement as objects; where two columns share a name the last one wins."""

    def _shape(self, row: tuple[Any, ...]) -> JsObject:
        return JsObject.adopt(dict(zip(self._cursor.columns, javascript_row(row), strict=True)))

    def one(self, *_: Any) -> JsObject:
        """The one remaining row. Raises: Error when there are none or more."""
        return self._shape(only_row(self._cursor))

    def raw(self, *_: Any) -> Any:
        """The same rows as arrays of values."""
        return RawIterator._make(self._cursor)

    @property
    def columnNames(self) -> JsArray:
        """The names of the columns, duplicates kept."""
        return JsArray.adopt(list(self._cursor.columns))

    @property
    def rowsRead(self) -> int:
        """The rows visited so far; the statement is one row ahead of its reader."""
        return self._cursor.rows_read

    @property
    def rowsWritten(self) -> int:
        """The rows written so far."""
        return self._cursor.rows_written


class RawIterator(_Rows, js_name="RawIterator"):
    """The rows of a cursor as arrays."""

    def _shape(self, row: tuple[Any, ...]) -> JsArray:
        return JsArray.adopt(list(javascript_row(row)))


SqlStorage.Cursor = Cursor
