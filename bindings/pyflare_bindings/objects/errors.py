"""What the storage of an object can fail with."""

from __future__ import annotations

from typing import Final

from ..storage.errors import SqlError

CPU_TIME_EXCEEDED: Final = "Durable Object exceeded its CPU time limit and was reset."
CANCELLED_BY_DELETE_ALL: Final = "SQLite query was canceled because the database was deleted."
ABORTED_BY_ROLLBACK: Final = "abort due to ROLLBACK: SQLITE_ABORT (extended: SQLITE_ABORT_ROLLBACK)"
CONSTRAINT_AT_COMMIT: Final = (
    "Durable Object was reset and rolled back to its last known good state because the application "
    "left the database in a state where constraints were violated: "
)
TRANSACTION_LOST: Final = "cannot commit - no transaction is active: SQLITE_ERROR"


class CriticalSqlError(SqlError):
    """A failure after which the object has to be built anew: memory and database may disagree."""
