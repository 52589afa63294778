"""The statements over the tables that every object has: its key-value pairs and its metadata."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..storage.sandbox import INTERNAL_MARK

GET: Final = "SELECT value FROM _cf_KV WHERE key = ?" + INTERNAL_MARK
PUT: Final = (
    "INSERT INTO _cf_KV VALUES(?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
    + INTERNAL_MARK
)
DELETE: Final = "DELETE FROM _cf_KV WHERE key = ?" + INTERNAL_MARK
ANY_KEY: Final = "SELECT EXISTS (SELECT 1 FROM _cf_KV)" + INTERNAL_MARK

READ_METADATA: Final = "SELECT value FROM _cf_METADATA WHERE key = ?" + INTERNAL_MARK
WRITE_METADATA: Final = (
    "INSERT INTO _cf_METADATA VALUES(?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
    + INTERNAL_MARK
)
ANY_METADATA: Final = "SELECT EXISTS (SELECT 1 FROM _cf_METADATA WHERE key <= 2)" + INTERNAL_MARK

ALARM: Final = 1
BOOKMARK: Final = 2
NAME: Final = 3

# The alarm is stored in these; everywhere else it is in milliseconds.
NANOSECONDS: Final = 1_000_000

_LAST_CODE_POINT = 0x10FFFF
_BEFORE_SURROGATES = 0xD7FF
_AFTER_SURROGATES = 0xE000


class KeyRange(NamedTuple):
    """What `list` is asked for.

    Keys from `start`, or those after `start_after`, up to `end` without it, that begin with
    `prefix`, in ascending order of their UTF-8 bytes or in descending order with `reverse`;
    `limit` counts from where the order begins.
    """

    start: str | None = None
    start_after: str | None = None
    end: str | None = None
    prefix: str | None = None
    reverse: bool = False
    limit: int | None = None

    def statement(self) -> tuple[str, tuple[str | int, ...]]:
        """The text and the parameters of the query that gives the pairs."""
        low = self.start
        if self.start_after is not None:
            low = self.start_after + "\0"
        high = self.end
        if self.prefix:
            if low is None or low < self.prefix:
                low = self.prefix
            behind = _behind_prefix(self.prefix)
            if behind is not None and (high is None or behind < high):
                high = behind
        conditions, parameters = [], list[str | int]()
        if low is not None:
            conditions.append("key >= ?")
            parameters.append(low)
        if high is not None:
            conditions.append("key < ?")
            parameters.append(high)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        order = " DESC" if self.reverse else ""
        limit = "" if self.limit is None else " LIMIT ?"
        if self.limit is not None:
            parameters.append(self.limit)
        text = f"SELECT key, value FROM _cf_KV{where} ORDER BY key{order}{limit}{INTERNAL_MARK}"
        return text, tuple(parameters)


def _behind_prefix(prefix: str) -> str | None:
    """The least text behind all that begin with `prefix`; None when there is none."""
    # UTF-8 puts texts in the order of their code points.
    for index in range(len(prefix) - 1, -1, -1):
        point = ord(prefix[index])
        if point < _LAST_CODE_POINT:
            following = _AFTER_SURROGATES if point == _BEFORE_SURROGATES else point + 1
            return prefix[:index] + chr(following)
    return None
