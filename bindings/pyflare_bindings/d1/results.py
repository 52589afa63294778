"""What goes into a D1 request and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from .bookmarks import bookmark_at

Bindable: TypeAlias = float | str | bytes | None

SERVED_BY = "pyflare.db"
# One of the platform's names of regions, for there is no better one for a machine of one's own.
SERVED_BY_REGION = "WEUR"


class Statement(NamedTuple):
    """One SQL text with the values of its parameters.

    Numbers are given as `float`, as D1 binds them; None is NULL.
    """

    sql: str
    params: tuple[Bindable, ...] = ()


class Meta:
    """What D1 tells about the run of one statement.

    `duration` is in milliseconds, `size_after` in bytes.
    Source: https://developers.cloudflare.com/d1/worker-api/return-object/
    """

    __slots__ = (
        "changed_db",
        "changes",
        "duration",
        "last_row_id",
        "rows_read",
        "rows_written",
        "size_after",
    )

    served_by = SERVED_BY

    def __init__(
        self,
        duration: float,
        changes: int,
        last_row_id: int,
        changed_db: bool,
        size_after: int,
        rows_read: int,
        rows_written: int,
    ) -> None:
        self.duration = duration
        self.changes = changes
        self.last_row_id = last_row_id
        self.changed_db = changed_db
        self.size_after = size_after
        self.rows_read = rows_read
        self.rows_written = rows_written

    def as_dict(self, make: Callable[[dict[str, Any]], Any] = dict) -> dict[str, Any]:
        """The fields under the names, and in the order, that a worker sees.

        `make` makes of the object inside what its holder is made of.
        """
        return {
            "served_by": SERVED_BY,
            "served_by_region": SERVED_BY_REGION,
            "served_by_primary": True,
            "timings": make({"sql_duration_ms": self.duration}),
            "duration": self.duration,
            "changes": self.changes,
            "last_row_id": self.last_row_id,
            "changed_db": self.changed_db,
            "size_after": self.size_after,
            "rows_read": self.rows_read,
            "rows_written": self.rows_written,
            "total_attempts": 1,
        }


class StatementResult:
    """The rows of one statement, with values as SQLite gave them, and its meta."""

    __slots__ = ("columns", "meta", "rows")

    def __init__(self, columns: tuple[str, ...], rows: list[tuple[Any, ...]], meta: Meta) -> None:
        self.columns = columns
        self.rows = rows
        self.meta = meta


class Results(list[StatementResult]):
    """The results of one request, in the order of its statements.

    `counter` numbers the successful requests of the database.
    """

    __slots__ = ("counter",)

    counter: int

    @property
    def bookmark(self) -> str:
        """The bookmark of the moment after this request."""
        return bookmark_at(self.counter)
