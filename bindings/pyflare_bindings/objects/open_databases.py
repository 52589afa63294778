"""How many databases of objects are open at a time, in all namespaces together."""

from __future__ import annotations

import resource
from typing import Final, Protocol

# A database in a file of its own has up to three open files, and the process needs others too.
_FILES_EACH = 3
_FILES_FOR_OTHERS = 256
_MOST: Final = 512
_LEAST: Final = 16


class Closable(Protocol):
    """An object's storage, as far as its open database goes."""

    def close_if_idle(self) -> bool:
        """Close the database, unless it was used since the last time, or is in use."""
        ...


def databases_allowed() -> int:
    """How many databases may be open under the limits of the process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _MOST
    return max(_LEAST, min(_MOST, (soft - _FILES_FOR_OTHERS) // _FILES_EACH))


class OpenDatabases:
    """Closes what has been idle longest when one more is opened.

    Databases with an open transaction or a cursor stay open, also above the limit.
    """

    __slots__ = ("_open", "limit")

    def __init__(self, limit: int | None = None) -> None:
        self.limit = databases_allowed() if limit is None else limit
        # In the order in which they were opened, or found to be in use.
        self._open: dict[Closable, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, database: Closable) -> None:
        """Make room for a database that is open now."""
        if len(self._open) >= self.limit:
            self._make_room()
        self._open[database] = None

    def closed(self, database: Closable) -> None:
        """A database has been closed by its storage."""
        self._open.pop(database, None)

    def close_idle(self) -> None:
        """Close all that have not been used since the last call."""
        for database in list(self._open):
            if database.close_if_idle():
                self._open.pop(database, None)

    def _make_room(self) -> None:
        # Twice round: the first look at one that is in use only notes that.
        for _ in range(2 * len(self._open)):
            database = next(iter(self._open))
            del self._open[database]
            if database.close_if_idle():
                return
            self._open[database] = None
