"""Whole database files: taking one over, and copying one that is in use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import apsw

from .errors import file_error, state_error
from .sqlite import make_private_directory

_SIDE_FILES: Final = ("-wal", "-shm")


def put_in_place(incoming: Path, path: Path, *, sync: bool) -> None:
    """Move the file `incoming`, a whole database without a log, to `path`, at once.

    In: `incoming` on the same file system; nobody has either of them open. `sync`, whether the
    change survives a power cut on return. What was at `path` is lost, and a crash in between
    leaves it as it was. Raises StateError.
    """
    make_private_directory(path.parent)
    try:
        incoming.chmod(0o600)
        if sync:
            _sync(incoming)
        if path.exists():
            _forget_log(path)
        incoming.replace(path)
        if sync:
            _sync(path.parent)
    except OSError as error:
        raise file_error(
            path,
            "this file cannot be written",
            error,
            "Free some space, or make the directory writable",
        ) from error


def copy_database(path: Path, destination: Path) -> None:
    """Write what has been committed to the database at `path` to a new file without a log.

    In: `destination`, which does not exist. The database may be in use by this process. Raises
    StateError.
    """
    try:
        source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            source.set_busy_timeout(10_000)
            source.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            _copy(source, destination)
        finally:
            source.close(force=True)
    except apsw.Error as error:
        raise state_error(path, error) from error


def _copy(source: apsw.Connection, destination: Path) -> None:
    target = apsw.Connection(str(destination))
    try:
        with target.backup("main", source, "main") as backup:
            backup.step()
    finally:
        target.close()


def _forget_log(path: Path) -> None:
    """Remove the log of the database that is about to be replaced: it must not reach the new one."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            # So that a crash behind the next lines finds the old database whole.
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            connection.close(force=True)
    except (apsw.NotADBError, apsw.CorruptError):
        # There is nothing to save.
        pass
    except apsw.Error as error:
        raise state_error(path, error) from error
    for suffix in _SIDE_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
