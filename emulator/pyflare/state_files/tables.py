"""Reading tables of another program's databases, and writing databases that it can read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from pyflare_bindings.storage.errors import state_error

from .blob_files import unwritable
from .errors import SourceError

__all__ = ["ForeignDatabase", "move_database", "new_database", "values_in"]

Row = tuple[Any, ...]


class ForeignDatabase:
    """The private copy of a database; errors name `source`, what it is a copy of."""

    __slots__ = ("_source", "copy")

    def __init__(self, copy: Path, source: Path) -> None:
        self.copy = copy
        self._source = source

    def has_table(self, name: str) -> bool:
        """Whether there is such a table. Raises SourceError."""
        return any(self.rows("SELECT 1 FROM sqlite_schema WHERE name = ?", (name,)))

    def rows(self, sql: str, parameters: tuple[Any, ...] = ()) -> Iterator[Row]:
        """The rows of a query, read while they are asked for. Raises SourceError."""
        try:
            with closing(self._open()) as connection:
                yield from connection.execute(sql, parameters)
        except (apsw.SQLError, UnicodeDecodeError) as error:
            raise self.unexpected(str(error)) from error
        except apsw.Error as error:
            raise SourceError(
                self._source,
                f"this database is damaged or cut off ({error})",
                "Copy the state directory once more, with wrangler stopped, the files -wal too",
            ) from error

    def change(self, *statements: str) -> None:
        """Run statements on the copy. Raises SourceError."""
        try:
            with closing(self._open()) as connection, connection:
                for statement in statements:
                    connection.execute(statement).fetchall()
        except apsw.Error as error:
            raise self.unexpected(str(error)) from error

    def unexpected(self, what: str) -> SourceError:
        """The error for a database that is not as wrangler writes it."""
        return SourceError(
            self._source,
            f"this database is not laid out as wrangler's local state is ({what})",
            "Import the state of wrangler 3 or 4; move the file away to leave it out",
        )

    def _open(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.copy), flags=apsw.SQLITE_OPEN_READWRITE)
        # A copy that is cut off by a power failure is made again.
        connection.execute("PRAGMA synchronous = OFF").fetchall()
        return connection


def values_in(path: Path, query: str) -> list[Any]:
    """The first column of a query on a database that is to be replaced; nothing of one that cannot be read."""
    if not path.exists():
        return []
    try:
        return [row[0] for row in ForeignDatabase(path, path).rows(query)]
    except SourceError:
        return []


@contextmanager
def new_database(path: Path, schema: str) -> Iterator[apsw.Connection]:
    """Write a new database, which gets its name `path` when the block is left without an exception.

    A database that is there already is replaced, together with its log. Raises TargetError, and StateError.
    """
    unfinished = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        with closing(apsw.Connection(str(unfinished))) as connection:
            # It counts from the moment it has its name.
            connection.execute("PRAGMA synchronous = OFF").fetchall()
            connection.execute("PRAGMA journal_mode = MEMORY").fetchall()
            with connection:
                connection.execute(schema).fetchall()
                yield connection
    except apsw.Error as error:
        unfinished.unlink(missing_ok=True)
        raise state_error(unfinished, error) from error
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    move_database(unfinished, path)


def move_database(unfinished: Path, path: Path) -> None:
    """Give a whole database its name. The log of one that had it before goes first. Raises TargetError."""
    try:
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        for suffix in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise unwritable(path, error) from error
