"""How many databases of objects are open at a time, in all namespaces together."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from ..storage.open_files import open_files_allowed

# A database in a file of its own has up to three open files, and the process needs others too.
_FILES_EACH = 3
_FILES_FOR_OTHERS = 256
_MOST: Final = 512
_LEAST: Final = 16
# What is given back at a time when the process has no descriptor left.
_GIVEN_BACK = 8


class Closable(Protocol):
    """An object's storage, as far as its open database goes."""

    def close_if_idle(self) -> bool:
        """Close the database, unless it was used since the last time, or is in use."""
        ...

    def close_early(self) -> bool:
        """Close the database, with what its object's last turn wrote committed, if that can be."""
        ...


def databases_allowed() -> int:
    """How many databases are kept open under the limits of the process."""
    return min(_MOST, files_allowed())


def files_allowed() -> int:
    """How many databases in files of their own may be open at a time."""
    allowed = open_files_allowed() or 1 << 20
    return max(_LEAST, (allowed - _FILES_FOR_OTHERS) // _FILES_EACH)


class OpenDatabases:
    """Closes what has been idle longest when one more is opened.

    Databases with an open transaction or a cursor stay open, also above the limit, as long as the
    process may open so many files: see `make_room`. `places` is for explicit transactions of
    objects with a file, which nobody can end early; the rest is left to the others.
    In: `limit`, of all that are kept; `files`, of those in files.
    """

    __slots__ = ("_in_files", "_making_room", "_open", "files", "limit", "places")

    def __init__(self, limit: int | None = None, files: int | None = None) -> None:
        self.limit = databases_allowed() if limit is None else limit
        self.files = files_allowed() if files is None else files
        self.places = asyncio.Semaphore(max(1, self.files * 3 // 4))
        # In the order in which they were opened, or found to be in use.
        self._open: dict[Closable, bool] = {}
        self._in_files = 0
        self._making_room = False

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, database: Closable, *, in_file: bool) -> None:
        """Note a database that is open now, and close another for it."""
        if len(self._open) >= self.limit:
            self._close_one_idle()
        self._open[database] = in_file
        self._in_files += in_file

    def closed(self, database: Closable) -> None:
        """A database has been closed by its storage."""
        self._in_files -= self._open.pop(database, False)

    def close_idle(self) -> None:
        """Close all that have not been used since the last call."""
        for database in list(self._open):
            if database.close_if_idle():
                self.closed(database)

    def make_room(self) -> None:
        """Close another, where one more file would be one too many.

        Only one object's code runs at a time: the turns in which the others wrote are over, and
        what they wrote may be committed now.
        """
        if self._in_files >= self.files:
            self._give_back(1)

    def give_back(self) -> bool:
        """Close some, since the process has no descriptor left. Out: whether there were any."""
        return self._give_back(_GIVEN_BACK)

    def _give_back(self, count: int) -> bool:
        if self._making_room:
            return False
        self._making_room = True
        before = self._in_files
        try:
            for database, in_file in list(self._open.items()):
                if not in_file:
                    continue
                if database.close_early():
                    self.closed(database)
                    if before - self._in_files >= count:
                        break
                elif database in self._open:
                    # Those that stay are not the first to be looked at again.
                    self._open[database] = self._open.pop(database)
        finally:
            self._making_room = False
        return self._in_files < before

    def _close_one_idle(self) -> None:
        # Twice round: the first look at one that is in use only notes that.
        for _ in range(2 * len(self._open)):
            database = next(iter(self._open))
            in_file = self._open[database]
            if database.close_if_idle():
                self.closed(database)
                return
            del self._open[database]
            self._open[database] = in_file
