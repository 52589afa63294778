"""Requests to a D1 database, shared by the two faces of ``env.DB`` (raw and through the SDK).

Source: workerd ``src/cloudflare/internal/d1-api.ts``; https://developers.cloudflare.com/d1/worker-api/
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyflare.js.error import TypeError_
from pyflare.js.value import is_nullish
from pyflare.js.webidl import text
from pyflare_bindings.d1 import D1Database as Owner
from pyflare_bindings.d1 import D1Error, Results, Statement, StatementResult
from pyflare_bindings.d1.values import d1_value
from pyflare_bindings.storage.errors import ClosedError, StateError

from .d1_values import failure

__all__ = ["Connection", "first_row", "first_value"]


@dataclass(slots=True)
class Connection:
    """A database as one worker, or one session, sees it.

    ``bookmark`` is None outside sessions and until the first answer of a session that began with a constraint;
    ``constraint`` is then what the session began with.
    """

    owner: Owner
    in_session: bool = False
    bookmark: str | None = None
    constraint: str | None = None

    async def query(self, statements: Sequence[Statement]) -> Results:
        """Run statements as one transaction. Raises the platform's ``D1_ERROR``."""
        try:
            results = await self.owner.query(statements)
        except (D1Error, StateError, ClosedError) as error:
            raise failure("D1_ERROR", str(error)) from None
        if self.in_session:
            self._take_bookmark(results.bookmark)
        return results

    async def exec(self, text: str) -> tuple[int, float]:
        """Run every line of ``text`` as one statement; gives their number and the time in ms.

        The local tools always report line 1; production names the line at fault, and so do we.
        """
        lines = text.strip().split("\n")
        try:
            results = await self.owner.query([Statement(line, ()) for line in lines])
        except D1Error as error:
            index = error.statement_index or 0
            raise failure(
                "D1_EXEC_ERROR", f"Error in line {index + 1}: {lines[index]}: {error}"
            ) from None
        except (StateError, ClosedError) as error:
            raise failure("D1_EXEC_ERROR", str(error)) from None
        return len(results), sum(result.meta.duration for result in results)

    def session(self, start: Any) -> Connection:
        """``withSession``: a constraint such as ``first-primary``, or a bookmark; nothing else is validated.

        Raises: TypeError for what is neither a text nor null nor undefined.
        """
        if not (is_nullish(start) or isinstance(start, str)):
            raise TypeError_("constraintOrBookmark?.trim is not a function")
        text = start.strip() if isinstance(start, str) else ""
        text = text or "first-unconstrained"
        if text.startswith("first-"):
            return Connection(self.owner, in_session=True, constraint=text)
        return Connection(self.owner, in_session=True, bookmark=text)

    def _take_bookmark(self, seen: str) -> None:
        if self.bookmark is None or seen > self.bookmark:
            self.bookmark = seen


def first_row(result: StatementResult) -> tuple[Any, ...]:
    """The first row's values as a worker sees them; there must be one."""
    return tuple(map(d1_value, result.rows[0]))


def first_value(result: StatementResult, given: Any) -> Any:
    """A column of the first row; the last column of that name. Raises ``D1_COLUMN_NOTFOUND``."""
    column = text(given)
    if column not in result.columns:
        raise failure("D1_COLUMN_NOTFOUND", f"Column not found ({column})", "Column not found")
    return dict(zip(result.columns, first_row(result), strict=True))[column]
