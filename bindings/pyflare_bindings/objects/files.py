"""What all objects of one namespace share: their directory, the young ones, the slow work."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path

import apsw

from ..storage.errors import StateError
from ..storage.owner_thread import OwnerThread
from ..storage.sqlite import Durability, make_private_directory
from .images import log_of, sync_directory, unwritable
from .open_databases import OpenDatabases
from .schemas import Schemas
from .young_objects import YoungObjects

_log = logging.getLogger(__name__)

_SUFFIX = ".sqlite"
_ID_DIGITS = 64
_YOUNG_FILE = "young.sqlite"
_LOG_PAGES = 1_024
_YOUNG_LOG_PAGES = 4_096
_MOST_WAIT_MS = 1_000
# After an attempt that a reader made vain the log may grow so much longer before the next one.
_GROWTH = 2


class ObjectFiles:
    """The directory of one namespace.

    In: `prepare`, called before the first file is created; `durability`; `open_databases`, which
    limits how many are open.
    """

    __slots__ = (
        "_copying",
        "_log_limits",
        "_prepare",
        "_prepared",
        "_sync_running",
        "_sync_waiting",
        "_thread",
        "directory",
        "durability",
        "open_databases",
        "schemas",
        "young",
    )

    def __init__(
        self,
        directory: Path,
        durability: Durability,
        open_databases: OpenDatabases,
        prepare: Callable[[], None],
    ) -> None:
        self.directory = directory
        self.durability = durability
        self.open_databases = open_databases
        self.schemas = Schemas()
        self.young = YoungObjects(directory / _YOUNG_FILE, durability, self.prepare)
        self._prepare = prepare
        self._prepared = False
        self._thread = OwnerThread(f"objects-{directory.name}")
        self._copying: set[Path] = set()
        self._log_limits: dict[Path, int] = {}
        self._sync_waiting: dict[Path, list[asyncio.Future[None]]] = {}
        self._sync_running = False

    def path_of(self, id: bytes) -> Path:
        """The file of an object that has one of its own."""
        return self.directory / f"{id.hex()}{_SUFFIX}"

    def ids_with_file(self) -> list[bytes]:
        """The objects that have a file of their own. Raises StateError."""
        try:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise unwritable(self.directory, error) from error
        ids = []
        for name in names:
            digits, dot, _ = name.rpartition(_SUFFIX)
            if dot and len(digits) == _ID_DIGITS and name.endswith(_SUFFIX):
                ids.append(bytes.fromhex(digits))
        return ids

    def changed(self, path: Path, since: float | None) -> bool:
        """Whether a database was written to after a time, in seconds since the epoch."""
        return since is None or any(_modified(each) >= since for each in (path, log_of(path)))

    def prepare(self) -> None:
        """Create the directory, when something is written for the first time. Raises StateError."""
        if not self._prepared or not self.directory.exists():
            self._prepare()
            make_private_directory(self.directory)
            self._prepared = True

    # Copying logs

    def is_copying(self, path: Path) -> bool:
        """Whether another connection is copying the log of a file."""
        return path in self._copying

    def copy_log(self, path: Path, pages: int) -> None:
        """Copy the log of a file on the thread, if it is long enough."""
        if pages > _LOG_PAGES:
            self._copy_above(path, pages, _LOG_PAGES)

    def copy_young_log(self) -> None:
        """Copy the log of the young objects on the thread, if it is long enough."""
        if self.young.log_pages > _YOUNG_LOG_PAGES:
            self._copy_above(self.young.path, self.young.log_pages, _YOUNG_LOG_PAGES)

    def _copy_above(self, path: Path, pages: int, limit: int) -> None:
        if path in self._copying or pages <= self._log_limits.get(path, limit):
            return
        self._copying.add(path)

        def copied(complete: bool) -> None:
            self._copying.discard(path)
            if complete:
                self._log_limits.pop(path, None)
            else:
                self._log_limits[path] = pages * _GROWTH

        self._thread.run(lambda: _copy(path), copied)

    # What survives the machine

    def sync(self, log: Path) -> asyncio.Future[None]:
        """Put what was committed to a log on the disk; those who wait together share the fsync.

        Raises StateError, through the future.
        """
        synced: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sync_waiting.setdefault(log, []).append(synced)
        if not self._sync_running:
            self._start_sync()
        return synced

    def _start_sync(self) -> None:
        waiting, self._sync_waiting = self._sync_waiting, {}
        self._sync_running = True

        def synced(failures: dict[Path, StateError]) -> None:
            self._sync_running = False
            for log, futures in waiting.items():
                failure = failures.get(log)
                for future in futures:
                    if future.done():
                        continue
                    if failure is None:
                        future.set_result(None)
                    else:
                        future.set_exception(failure)
            if self._sync_waiting:
                self._start_sync()

        self._thread.run(lambda: _sync(list(waiting)), synced)

    async def close(self) -> None:
        """Finish the work of the thread and close the file of the young objects."""
        await self._thread.drain(float("inf"), lambda: None)
        await self._thread.finish(self.young.close)


def _modified(path: Path) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _copy(path: Path) -> bool:
    """Copy a log into its file, through a connection of its own. Out: whether it can begin anew."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            # A connection that has not read yet does not know of the log, and would copy nothing.
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            connection.wal_checkpoint()
            # The little that was added meanwhile, with writers waiting, so that the log can begin
            # anew however steady the writes are.
            connection.set_busy_timeout(_MOST_WAIT_MS)
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        finally:
            connection.close(force=True)
    except (apsw.BusyError, apsw.CantOpenError):
        # A reader is in the way, or the object has been deleted meanwhile.
        return False
    except apsw.Error as error:
        _log.warning("%s: the write-ahead log could not be copied: %s", path, error)
        return False
    return True


def _sync(logs: list[Path]) -> dict[Path, StateError]:
    failures = {}
    for log in logs:
        try:
            descriptor = os.open(log, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            sync_directory(log.parent)
        except FileNotFoundError:
            # Deleted since, and with it what was in it.
            continue
        except OSError as error:
            failures[log] = unwritable(log, error)
    return failures
