"""What a D1 request can fail with."""

from __future__ import annotations

from ..storage.errors import SqlError

NO_STATEMENTS = "No SQL statements detected."
TOO_MANY_WAITING = "D1 DB is overloaded. Too many requests queued."

# What production reports for a constraint that is checked when the transaction ends. The local
# tools reset the database object instead and report that.
DEFERRED_FOREIGN_KEY = "FOREIGN KEY constraint failed"


class D1Error(SqlError):
    """A request was refused or failed, and nothing of it was kept.

    `str()` is the bare text; the `D1_ERROR: ` in front of it belongs to the worker's view.
    `statement_index` is the place in the request, from 0, of the statement at fault; None when the
    request as a whole is.
    """

    def __init__(self, text: str, statement_index: int | None = None) -> None:
        super().__init__(text)
        self.statement_index = statement_index
