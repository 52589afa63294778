"""Private copies of databases that another program may have open."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import apsw

from pyflare_bindings.storage.errors import state_error

from .errors import SourceError

__all__ = ["copy_of"]

_TRIES: Final = 5
_LOGS: Final = ("-wal", "-journal")
_MAGIC: Final = b"SQLite format 3\0"


def copy_of(path: Path, directory: Path) -> Path:
    """Copy a database with its log into `directory`; the copy is whole, checked and has no log.

    The source is only read, and SQLite never opens it. Raises SourceError naming it.
    """
    copied = directory / path.name
    try:
        for _ in range(_TRIES):
            before = _state(path)
            _copy_files(path, copied)
            # Otherwise the database and its log might be from two different moments.
            if _state(path) == before:
                break
        else:
            raise SourceError(
                path, "this database is being written to", "Stop wrangler and try again"
            )
    except OSError as error:
        raise SourceError(
            Path(error.filename or path),
            f"this file cannot be copied ({os.strerror(error.errno or 0)})",
            "Make it readable, and see that there is enough space for a copy",
        ) from error
    _check_beginning(path, copied)
    _fold_log(path, copied)
    return copied


def _state(path: Path) -> list[tuple[int, int, int] | None]:
    found: list[tuple[int, int, int] | None] = []
    for suffix in ("", *_LOGS):
        try:
            status = os.stat(path.with_name(path.name + suffix))
        except FileNotFoundError:
            found.append(None)
        else:
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return found


def _copy_files(path: Path, copied: Path) -> None:
    shutil.copyfile(path, copied)
    for suffix in _LOGS:
        log = path.with_name(path.name + suffix)
        beside = copied.with_name(copied.name + suffix)
        beside.unlink(missing_ok=True)
        if log.exists():
            shutil.copyfile(log, beside)


def _check_beginning(path: Path, copied: Path) -> None:
    with copied.open("rb") as file:
        beginning = file.read(len(_MAGIC))
    # A database whose first pages are still in the log is empty.
    if beginning and beginning != _MAGIC:
        raise SourceError(
            path,
            "this file is not a SQLite database, or is cut off",
            "Copy the state directory once more, with wrangler stopped",
        )


def _fold_log(path: Path, copied: Path) -> None:
    try:
        connection = apsw.Connection(str(copied), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("PRAGMA synchronous = OFF").fetchall()
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchall()
            if verdict != ("ok",):
                raise apsw.CorruptError(str(verdict[0]))
            # The header then says that there is no log, and the copy is one file.
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        finally:
            connection.close(force=True)
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise SourceError(
            path,
            f"this database is damaged or cut off ({error})",
            "Copy the state directory once more, with wrangler stopped, the files -wal too",
        ) from error
    except apsw.Error as error:
        raise state_error(copied, error) from error
