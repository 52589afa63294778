"""Connections to a file with an owner's own rows, and copying its write-ahead log into it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

import apsw

from .sqlite import Durability

__all__ = ["checkpoint", "connect", "copy_log"]

_log = logging.getLogger(__name__)

_WAL_FILE_BYTES_KEPT: Final = 16 * 1024 * 1024
_BUSY_MILLISECONDS: Final = 10_000


def connect(path: Path, durability: Durability) -> apsw.Connection:
    """Open or create a file; its log is copied by nobody but its owner. Raises apsw.Error."""
    connection = apsw.Connection(str(path))
    try:
        machine = durability == "machine"
        # A new file gets its first page here, which needs no more safety than what follows.
        connection.execute(f"PRAGMA synchronous={'FULL' if machine else 'OFF'}")
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute(f"PRAGMA synchronous={'FULL' if machine else 'NORMAL'}")
        connection.execute(f"PRAGMA journal_size_limit={_WAL_FILE_BYTES_KEPT}").fetchall()
        connection.execute("PRAGMA foreign_keys=ON")
        # Also the first look at the file: what is no database, or is cut off, shows here.
        _look_at(connection)
        if connection.readonly("main"):
            raise apsw.ReadOnlyError
    except BaseException:
        connection.close(force=True)
        raise
    connection.wal_autocheckpoint(0)
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    return connection


def checkpoint(connection: apsw.Connection, path: Path) -> bool:
    """Copy what is in the log now. Out: whether all of it could be copied. Never raises."""
    try:
        pages, copied = connection.wal_checkpoint()
    except apsw.Error as error:
        _note_uncopied(path, error)
        return False
    return copied >= pages


def copy_log(path: Path) -> bool:
    """Like `checkpoint`, through a connection of its own, while others use the file."""
    connection = None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        # A connection that has never read does not know of the log and would copy nothing.
        _look_at(connection)
        return checkpoint(connection, path)
    except apsw.Error as error:
        _note_uncopied(path, error)
        return False
    finally:
        if connection is not None:
            connection.close(force=True)


def _look_at(connection: apsw.Connection) -> None:
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()


def _note_uncopied(path: Path, error: apsw.Error) -> None:
    # Nothing is lost: the log keeps what could not be copied until the next attempt.
    _log.warning("%s: the write-ahead log could not be copied: %s", path, error)
