"""The scheduler's durable table: which object is to be woken when."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import apsw

from ..storage.errors import StateError, state_error
from ..storage.log_copy import LogCopy
from ..storage.owner_thread import OwnerThread
from ..storage.sqlite import Durability, file_identity, make_private_directory
from .outcome import ObjectKey

_log = logging.getLogger(__name__)

Changes = Mapping[ObjectKey, int | None]


class Position(NamedTuple):
    """A place in the order in which the alarms of a namespace are due."""

    time: int
    id: str


BEGINNING: Final = Position(-1, "")


class PendingAlarms(NamedTuple):
    """What waits in one namespace: how many alarms, and the time of the first.

    `alarms` is not counted further than `MOST_COUNTED` in all namespaces together.
    """

    namespace: str
    alarms: int
    earliest: int


class DamagedTableError(StateError):
    """The table cannot be read any more; it can be rebuilt from the objects."""


class AlarmTable(Protocol):
    """What the scheduler needs of its durable state. Reads see every change that has resolved."""

    def write(self, changes: Changes) -> asyncio.Future[None]:
        """Apply all changes or none; None removes. One write at a time; resolves when durable."""
        ...

    def due(self, namespace: str, after: Position, until: int, limit: int) -> list[Position]:
        """The first alarms behind `after` and not later than `until`, in order."""
        ...

    def first(self, namespace: str, after: Position) -> int | None:
        """The time of the first alarm behind `after`."""
        ...

    def times(self, keys: Sequence[ObjectKey]) -> list[int | None]:
        """The times of some objects."""
        ...

    def pending(self) -> list[PendingAlarms]:
        """All namespaces that have alarms."""
        ...

    def replace(self) -> None:
        """Set the damaged file aside and begin with an empty one."""
        ...

    async def close(self) -> None:
        """Finish and close the file."""
        ...


_SCHEMA = """
CREATE TABLE IF NOT EXISTS namespace(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS alarm(
    namespace INTEGER NOT NULL,
    id TEXT NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY(namespace, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS alarm_by_time ON alarm(namespace, time, id);
"""
_SET = (
    "INSERT INTO alarm VALUES(?, ?, ?) "
    "ON CONFLICT DO UPDATE SET time = excluded.time WHERE time <> excluded.time"
)
_REMOVE = "DELETE FROM alarm WHERE namespace = ? AND id = ?"
_DUE = (
    "SELECT time, id FROM alarm WHERE namespace = ? AND (time, id) > (?, ?) AND time <= ? "
    "ORDER BY time, id LIMIT ?"
)
_FIRST = (
    "SELECT time FROM alarm WHERE namespace = ? AND (time, id) > (?, ?) ORDER BY time, id LIMIT 1"
)
_TIME = "SELECT (SELECT time FROM alarm WHERE namespace = ? AND id = ?)"
_PENDING = (
    "SELECT name, number, earliest FROM (SELECT name, number, "
    "(SELECT min(time) FROM alarm WHERE namespace = number) AS earliest FROM namespace) "
    "WHERE earliest IS NOT NULL ORDER BY earliest"
)
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM alarm WHERE namespace = ? LIMIT ?)"
# Takes about 6 ms; a million would hold the event loop for 100.
MOST_COUNTED: Final = 100_000
_NO_NAMESPACE = 0
_CACHE_KIB = 8_192
_PAGE_BYTES = 1_024
_LOG_PAGES = 16_384
_DAMAGE = (apsw.CorruptError, apsw.NotADBError)
# A batch of this size takes about 10 ms, the most that may be done on the event loop.
_LARGE_BATCH = 1_000


class SqliteAlarmTable:
    """The table in a SQLite file of its own.

    Small batches are written at once; large ones, and at durability `machine` all of them, on the
    table's own thread. A file that is missing is created, one that is damaged set aside under
    another name; `rebuilt` then says that the objects have to be asked, and `begins_anew` is called
    before the new file is there. Raises StateError when the file can be neither used nor replaced.
    """

    def __init__(
        self,
        path: Path,
        durability: Durability = "process",
        begins_anew: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        self._durability = durability
        self._begins_anew = begins_anew
        self._thread = OwnerThread("alarms")
        self._log = LogCopy(path, _LOG_PAGES)
        self._log_pages = 0
        self.rebuilt = not path.exists()
        if self.rebuilt:
            begins_anew()
        try:
            self._open()
        except DamagedTableError:
            self.replace()

    def write(self, changes: Changes) -> asyncio.Future[None]:
        """Apply all changes or none. Raises StateError, through the future."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        on_thread = self._durability == "machine" or len(changes) > _LARGE_BATCH
        if on_thread or self._log.rest_due:
            self._thread.run(
                lambda: self._attempt(changes), lambda error: self._finish(written, error)
            )
        else:
            self._finish(written, self._attempt(changes))
        return written

    def _finish(self, written: asyncio.Future[None], error: Exception | None) -> None:
        if self._log_pages > self._log.limit:
            self._copy_log()
        if written.done():
            return
        if error is None:
            written.set_result(None)
        else:
            written.set_exception(error)

    def due(self, namespace: str, after: Position, until: int, limit: int) -> list[Position]:
        """The first alarms behind `after` and not later than `until`, in order."""
        number = self._numbers.get(namespace)
        if number is None:
            return []
        rows = self._read(_DUE, (number, *after, until, limit))
        return [Position(time, id) for time, id in rows]

    def first(self, namespace: str, after: Position) -> int | None:
        """The time of the first alarm behind `after`."""
        number = self._numbers.get(namespace)
        rows = [] if number is None else self._read(_FIRST, (number, *after))
        return rows[0][0] if rows else None

    def times(self, keys: Sequence[ObjectKey]) -> list[int | None]:
        """The times of some objects, in the order asked for."""
        numbers = self._numbers
        rows = [(numbers.get(namespace, _NO_NAMESPACE), id) for namespace, id in keys]
        try:
            # One transaction, so that the file is locked once and not for every row.
            with self._reader:
                found: Any = self._reader.executemany(_TIME, rows).fetchall()
        except apsw.Error as error:
            raise self._error(error) from error
        return [time for (time,) in found]

    def pending(self) -> list[PendingAlarms]:
        """All namespaces that have alarms, that of the earliest alarm first."""
        found = []
        left = MOST_COUNTED
        for name, number, earliest in self._read(_PENDING, ()):
            ((alarms,),) = self._read(_COUNT, (number, max(left, 1)))
            left -= alarms
            found.append(PendingAlarms(name, alarms, earliest))
        return found

    def replace(self) -> None:
        """Set the damaged file aside, keeping it for a person to look at, and begin anew."""
        self._close_connections()
        self._begins_anew()
        existed = self.path.exists()
        aside = self.path.with_name(f"{self.path.name}.damaged")
        try:
            for suffix in ("", "-wal", "-shm"):
                damaged = Path(f"{self.path}{suffix}")
                if damaged.exists():
                    os.replace(damaged, f"{aside}{suffix}")
        except OSError as error:
            raise StateError(
                self.path,
                f"this file is damaged and cannot be moved away ({os.strerror(error.errno or 0)})",
                "Move it away by hand; the alarms are then collected from the objects",
            ) from error
        _log.warning(
            "%s was %s; the alarms are collected from the objects",
            self.path,
            f"damaged, and is kept as {aside.name}" if existed else "deleted while it was in use",
        )
        self.rebuilt = True
        self._open()

    async def close(self) -> None:
        """Finish what is being written and close the file."""
        await self._thread.drain(float("inf"), lambda: None)
        await self._thread.finish(self._close_connections)

    def _open(self) -> None:
        self._numbers: dict[str, int] = {}
        self._connections: list[apsw.Connection] = []
        make_private_directory(self.path.parent)
        try:
            self._writer = self._connect()
            self._writer.execute(_SCHEMA).fetchall()
            self._writer.wal_autocheckpoint(0)
            self._writer.set_wal_hook(self._note_log)
            (verdict,) = self._writer.execute("PRAGMA integrity_check(1)").fetchall()
            if verdict != ("ok",):
                raise apsw.CorruptError(str(verdict[0]))
            # Reads go on while the thread writes.
            self._reader = self._connect()
            self._reader.execute("PRAGMA query_only = 1").fetchall()
            self._load_numbers()
            self._file = file_identity(self.path)
        except apsw.Error as error:
            self._close_connections()
            raise self._error(error) from error

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path))
        self._connections.append(connection)
        level = "FULL" if self._durability == "machine" else "NORMAL"
        # A change touches three pages, each of which is copied whole.
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}").fetchall()
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}").fetchall()
        connection.execute(f"PRAGMA synchronous = {level}").fetchall()
        return connection

    def _load_numbers(self) -> None:
        rows: Any = self._writer.execute("SELECT name, number FROM namespace").fetchall()
        self._numbers = dict(rows)

    def _read(self, sql: str, values: tuple[int | str, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._reader.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise self._error(error) from error

    def _attempt(self, changes: Changes) -> Exception | None:
        try:
            self._apply(changes)
        except apsw.Error as error:
            return self._undone(error)
        if file_identity(self.path) != self._file:
            return DamagedTableError(
                self.path,
                "this file was deleted while it was in use",
                "Restart; the alarms are then collected from the objects",
            )
        return None

    def _apply(self, changes: Changes) -> None:
        execute = self._writer.execute
        if len(changes) == 1:
            ((key, time),) = changes.items()
            number = self._numbers.get(key.namespace)
            if number is not None:
                if time is None:
                    execute(_REMOVE, (number, key.id))
                else:
                    execute(_SET, (number, key.id, time))
                return
        execute("BEGIN IMMEDIATE")
        set_rows, removed = [], []
        for key, time in changes.items():
            number = self._numbers.get(key.namespace) or self._new_number(key.namespace)
            if time is None:
                removed.append((number, key.id))
            else:
                set_rows.append((number, key.id, time))
        if removed:
            self._writer.executemany(_REMOVE, removed)
        if set_rows:
            self._writer.executemany(_SET, set_rows)
        execute("COMMIT")

    def _new_number(self, namespace: str) -> int:
        self._writer.execute("INSERT INTO namespace(name) VALUES(?)", (namespace,))
        number = self._numbers[namespace] = self._writer.last_insert_rowid()
        return number

    def _undone(self, error: apsw.Error) -> StateError:
        try:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            self._load_numbers()
        except apsw.Error as another:
            _log.debug("%s: the rollback failed too", self.path, exc_info=another)
        return self._error(error)

    def _error(self, error: apsw.Error) -> StateError:
        known = state_error(self.path, error)
        if isinstance(error, _DAMAGE):
            return DamagedTableError(
                self.path,
                "the table of alarms is damaged",
                "Restart; it is then set aside and collected anew from the objects",
            )
        return known

    def _note_log(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK

    def _copy_log(self) -> None:
        """Copy the log into the file on the thread, and then, with writes held, the rest of it."""
        if self._log.running:
            return
        self._log.running = True

        def copied(_: None) -> None:
            self._log.rest_due = True
            self._thread.run(self._copy_rest_of_log, finished)

        def finished(complete: bool) -> None:
            self._log.rest_due = False
            self._log.finish(complete, self._log_pages)

        self._thread.run(self._log.copy, copied)

    def _copy_rest_of_log(self) -> bool:
        try:
            busy, _, _ = self._writer.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()[0]
        except apsw.Error as error:
            _log.warning("%s: the log could not be copied: %s", self.path, error)
            return False
        return not busy

    def _close_connections(self) -> None:
        connections, self._connections = self._connections, []
        for connection in connections:
            try:
                connection.close(force=True)
            except apsw.Error as error:
                # The thread is using it; it is closed when that is over and nobody has it any more.
                _log.debug("%s: a connection could not be closed", self.path, exc_info=error)
