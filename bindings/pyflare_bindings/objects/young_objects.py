"""Objects that have hardly been used, all in one file.

A file of its own, with its log, costs an object two entries of a directory and an open file each
time it wakes. An object that is touched a few times needs neither: its database is kept as one
value in a table that all young objects of the namespace share, and lives in memory while in use.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import apsw

from ..storage.errors import FileGoneError, state_error
from ..storage.sqlite import Durability, file_identity

# An image is mostly zeros; the fastest level already gets rid of them.
_COMPRESSION = 1
LARGEST_IMAGE: Final = 64 * 1024
_ROWS_AT_ONCE = 1_000

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS young(id BLOB PRIMARY KEY, alarm INTEGER, image BLOB NOT NULL)"
    " WITHOUT ROWID"
)
_LOAD = "SELECT image FROM young WHERE id = ?"
_STORE = (
    "INSERT INTO young VALUES(?, ?, ?)"
    " ON CONFLICT DO UPDATE SET alarm = excluded.alarm, image = excluded.image"
)
_REMOVE = "DELETE FROM young WHERE id = ?"
_IDS = "SELECT id FROM young WHERE id > ? ORDER BY id LIMIT ?"
_ALARMS = "SELECT id, alarm FROM young WHERE id > ? AND alarm IS NOT NULL ORDER BY id LIMIT ?"


class YoungObjects:
    """The table of one namespace. Nothing is created before the first `store`.

    In: `prepare_file`, called before the file is created. `log_pages` is the length of the
    write-ahead log after the last write.
    """

    __slots__ = (
        "_connection",
        "_durability",
        "_execute",
        "_file",
        "_prepare_file",
        "log_pages",
        "path",
    )

    def __init__(
        self, path: Path, durability: Durability, prepare_file: Callable[[], None]
    ) -> None:
        self.path = path
        self._durability = durability
        self._prepare_file = prepare_file
        self._connection: apsw.Connection | None = None
        self._file: tuple[int, int] | None = None
        self.log_pages = 0

    def load(self, id: bytes) -> bytes | None:
        """The image of an object; None when it is not here. Raises StateError."""
        if not self.in_place:
            self.close()
        execute = self._reading()
        if execute is None:
            return None
        try:
            stored: Any = execute(_LOAD, (id,)).get
            return None if stored is None else zlib.decompress(stored, bufsize=LARGEST_IMAGE)
        except apsw.Error as error:
            raise state_error(self.path, error) from error
        except zlib.error as error:
            raise state_error(self.path, apsw.CorruptError(str(error))) from error

    def store(self, id: bytes, image: bytes, alarm: int | None) -> None:
        """Keep the image of an object and its alarm, in one transaction. Raises StateError."""
        execute = self._writing()
        try:
            execute(_STORE, (id, alarm, zlib.compress(image, _COMPRESSION)))
        except apsw.Error as error:
            raise state_error(self.path, error) from error
        self._check_in_place()

    def remove(self, id: bytes) -> None:
        """Forget an object that has a file of its own now, or nothing at all. Raises StateError."""
        execute = self._reading()
        if execute is not None:
            try:
                execute(_REMOVE, (id,))
            except apsw.Error as error:
                raise state_error(self.path, error) from error

    def ids(self) -> Iterator[bytes]:
        """The ids that are here, in order. Raises StateError."""
        for id, *_ in self._pages(_IDS):
            yield id

    def alarms(self) -> Iterator[tuple[bytes, int]]:
        """The objects that have an alarm, in milliseconds since the epoch. Raises StateError."""
        yield from self._pages(_ALARMS)

    @property
    def in_place(self) -> bool:
        """Whether the open file is the one at its path."""
        return self._connection is None or file_identity(self.path) == self._file

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(force=True)

    def _pages(self, query: str) -> Iterator[Any]:
        last = b""
        while True:
            execute = self._reading()
            if execute is None:
                return
            try:
                rows: list[Any] = execute(query, (last, _ROWS_AT_ONCE)).fetchall()
            except apsw.Error as error:
                raise state_error(self.path, error) from error
            yield from rows
            if len(rows) < _ROWS_AT_ONCE:
                return
            last = bytes(rows[-1][0])

    def _reading(self) -> Callable[..., apsw.Cursor] | None:
        if self._connection is None:
            if not self.path.exists():
                return None
            self._open()
        return self._execute

    def _writing(self) -> Callable[..., apsw.Cursor]:
        if self._connection is None:
            self._prepare_file()
            self._open()
        return self._execute

    def _open(self) -> None:
        try:
            connection = apsw.Connection(str(self.path))
        except apsw.Error as error:
            raise state_error(self.path, error) from error
        try:
            connection.set_busy_timeout(10_000)
            # A new file gets its first pages here, which need no more safety than what follows.
            level = "FULL" if self._durability == "machine" else "OFF"
            connection.execute(f"PRAGMA synchronous = {level}").fetchall()
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.wal_autocheckpoint(0)
            connection.execute(_SCHEMA).fetchall()
            connection.execute("PRAGMA synchronous = NORMAL").fetchall()
        except apsw.Error as error:
            connection.close(force=True)
            raise state_error(self.path, error) from error
        connection.set_wal_hook(self._note_log)
        self._execute = connection.execute
        self._file = file_identity(self.path)
        self._connection = connection

    def _check_in_place(self) -> None:
        if not self.in_place:
            self.close()
            raise FileGoneError(self.path)

    def _note_log(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self.log_pages = pages
        return apsw.SQLITE_OK
