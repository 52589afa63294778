"""The rows of one statement of an object, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import apsw

from ..storage.errors import SqlError
from ..storage.plan import Plan
from ..storage.sandbox import Row

if TYPE_CHECKING:
    from .connection import ObjectConnection

_ROWS_AHEAD = 10_000


class SqlCursor:
    """What `exec` gives: rows as tuples with SQLite's values, and the counters.

    The statement is always one row ahead of what was handed out, so that an error in the next row
    is raised in place of the one before it. `columns` are the names, duplicates kept.
    Source: https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/ and
    `src/workerd/api/sql.c++` of workerd.
    """

    __slots__ = (
        "__weakref__",
        "_ahead",
        "_connection",
        "_failure",
        "_held",
        "_is_long",
        "_measured",
        "_parameters",
        "_plan",
        "_source",
        "_stepped",
        "columns",
        "depth",
    )

    def __init__(self, connection: ObjectConnection, plan: Plan, parameters: Sequence[Any]) -> None:
        self.columns = plan.columns
        self.depth = 0
        self._connection = connection
        self._plan = plan
        self._parameters = parameters
        self._ahead: Row | None = None
        self._source: apsw.Cursor | None = None
        self._held: Iterator[Row] | None = None
        self._failure: SqlError | None = None
        self._measured: tuple[int, int] | None = None
        self._stepped = 0
        self._is_long = False

    # How the connection fills it.

    def begin(self, first: Row, source: apsw.Cursor) -> None:
        """The statement is at its first row."""
        self._ahead = first
        self._source = source
        self._stepped = 1
        if len(first) != len(self.columns):
            self.columns = tuple(column[0] for column in source.get_description())

    def hold(self, rows: list[Row], read: int, written: int) -> None:
        """The statement has come to its end, or is far ahead, with these rows and counters."""
        self._measured = (read, written)
        self.hold_rows(rows)

    def hold_rows(self, rows: list[Row]) -> None:
        """These are all the rows, but they are counted as they are handed out."""
        if rows:
            self._held = iter(rows)
            self._ahead = next(self._held)
            self._stepped += 1

    def continue_with(self, row: Row, source: apsw.Cursor) -> None:
        """Behind the rows that are held there are more."""
        self._held = _chain(self._held, row, source)
        self._source = source

    def fail_behind(self, error: Exception) -> None:
        """The statement failed behind the rows that are held."""
        self._held = _failing(self._held, error)

    # What a reader uses.

    @property
    def rows_read(self) -> int:
        """The rows that the statement has visited so far, as the platform bills them."""
        if self._measured is not None:
            return self._measured[0]
        rule = self._plan.rule
        read = rule.base + rule.per_row * self._stepped
        return read if read > rule.least else rule.least

    @property
    def rows_written(self) -> int:
        """The rows that the statement has written, as the platform bills them."""
        return 0 if self._measured is None else self._measured[1]

    @property
    def is_open(self) -> bool:
        """Whether the statement is still running."""
        return self._source is not None

    def next(self) -> Row | None:
        """The next row, None behind the last one.

        Raises SqlError when the row after it cannot be had, or the cursor was cancelled.
        """
        row = self._ahead
        if row is None:
            if self._failure is not None:
                raise self._failure
            return None
        source = self._held or self._source
        try:
            ahead = None if source is None else next(source, None)
        except Exception as error:
            ahead = self._recover(error)
        self._ahead = ahead
        if ahead is None:
            self._end()
        else:
            self._stepped += 1
        return row

    def fetch_all(self) -> list[Row]:
        """All remaining rows. Raises SqlError."""
        row = self._ahead
        if row is None:
            if self._failure is not None:
                raise self._failure
            return []
        rows = [row]
        try:
            if self._held is not None:
                rows += self._held
            elif self._source is not None:
                rows += self._source.fetchall()
        except Exception as error:
            again = self._recover(error)
            assert again is not None
            rows += [again, *(self._held or ())]
        self._stepped += len(rows) - 1
        self._end()
        return rows

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        row = self.next()
        if row is None:
            raise StopIteration
        return row

    def read_ahead(self) -> bool:
        """Read the remaining rows, so that the database can be closed. Out: whether those were all."""
        source = self._source
        if source is None:
            return True
        if self._is_long:
            return False
        rest: Iterator[Row] = source if self._held is None else self._held
        rows: list[Row] = []
        behind: Iterator[Row]
        try:
            # Those before a row that fails are kept.
            rows.extend(islice(rest, _ROWS_AHEAD))
            behind = rest
        except Exception as error:
            behind = _failing(None, error)
        else:
            if len(rows) < _ROWS_AHEAD:
                self._held = iter(rows)
                self._source = None
                self._connection.take_back(source)
                return True
        # Whoever gets behind these rows needs the database.
        self._held = chain(rows, behind)
        self._is_long = True
        return False

    def close(self) -> None:
        """Give up the remaining rows."""
        source, self._source = self._source, None
        self._ahead = None
        self._held = None
        if source is not None:
            source.close(force=True)

    def cancel(self, reason: str) -> None:
        """Give up the remaining rows; whoever asks for them gets an SqlError with this text."""
        if self._source is not None:
            self.close()
            self._failure = SqlError(reason)

    def _end(self) -> None:
        self._ahead = None
        self._held = None
        source, self._source = self._source, None
        if source is not None:
            self._connection.take_back(source)

    def _recover(self, error: Exception) -> Row | None:
        """Go on behind a row that is not text in UTF-8; raise everything else."""
        handed_out = self._stepped
        self.close()
        try:
            rows = self._connection.recover(error, self._plan, self._parameters)
        except SqlError as failure:
            self._failure = failure
            raise
        self._held = iter(rows[handed_out:])
        return next(self._held, None)


def _chain(held: Iterator[Row] | None, row: Row, source: apsw.Cursor) -> Iterator[Row]:
    if held is not None:
        yield from held
    yield row
    yield from source


def _failing(held: Iterator[Row] | None, error: Exception) -> Iterator[Row]:
    if held is not None:
        yield from held
    raise error
