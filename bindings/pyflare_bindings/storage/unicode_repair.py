"""Reading text that is stored as something other than UTF-8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from .plan import Plan
from .sql_text import WHITESPACE

_LIFTED = (
    (apsw.SQLITE_LIMIT_COLUMN, 2000),
    (apsw.SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
)


def select_with_replacement(
    connection: apsw.Connection, plan: Plan, parameters: Sequence[Any]
) -> list[tuple[Any, ...]]:
    """Run a SELECT anew, with each invalid sequence in its texts read as U+FFFD.

    SQLite hands text out as it was stored, and apsw refuses what is not UTF-8. Here every text
    column is fetched as bytes, with a second column that tells which values were text.
    """
    columns = [f"c{index}" for index in range(len(plan.columns))]
    query = plan.sql.rstrip(WHITESPACE + ";")
    chosen = ", ".join(
        f"CASE typeof({c}) WHEN 'text' THEN CAST({c} AS BLOB) ELSE {c} END, typeof({c}) = 'text'"
        for c in columns
    )
    # The line break ends a comment that may close the query.
    wrapped = f"WITH q({', '.join(columns)}) AS ({query}\n) SELECT {chosen} FROM q"
    before = [(limit, connection.limit(limit, value)) for limit, value in _LIFTED]
    try:
        rows = connection.execute(wrapped, tuple(parameters), can_cache=False).fetchall()
    finally:
        for limit, value in before:
            connection.limit(limit, value)
    return [
        tuple(
            value.decode(errors="replace") if is_text and isinstance(value, bytes) else value
            for value, is_text in zip(row[::2], row[1::2], strict=True)
        )
        for row in rows
    ]
