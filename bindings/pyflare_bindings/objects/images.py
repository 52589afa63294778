"""Databases of objects as bytes, in memory and as files.

An image is what SQLite would have in a file without a write-ahead log.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, Final

import apsw

from ..storage.authorizer import Authorizer
from ..storage.errors import StateError, file_error, state_error
from ..storage.sqlite import sandboxed
from .key_values import ALARM, NANOSECONDS, READ_METADATA

PAGE_BYTES: Final = 4096
_STATEMENTS_KEPT = 128
_LOG_FILE_BYTES_KEPT = 4 * 1024 * 1024

# Two bytes of the header say whether there is a log beside the file; a database in memory has none.
_LOG_BYTES = slice(18, 20)
_WITHOUT_LOG = b"\1\1"
_WITH_LOG = b"\2\2"

#: The platform's own tables, by name, with what creates them.
KEY_TABLES: Final = {
    "_cf_KV": "CREATE TABLE _cf_KV(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID",
    "_cf_METADATA": "CREATE TABLE _cf_METADATA(key INTEGER PRIMARY KEY, value BLOB)",
}
_OWN_TABLES = "SELECT count(*) FROM sqlite_schema WHERE name IN ('_cf_KV', '_cf_METADATA')"


@cache
def empty_image() -> bytes:
    """The database of an object that has stored nothing."""
    connection = apsw.Connection(":memory:")
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}").fetchall()
    for statement in KEY_TABLES.values():
        connection.execute(statement).fetchall()
    image = connection.serialize("main")
    connection.close()
    return image


def open_image(image: bytes) -> tuple[apsw.Connection, Authorizer]:
    """A database in memory that begins with `image`. Raises apsw.Error."""
    connection = apsw.Connection(":memory:", statementcachesize=_STATEMENTS_KEPT)
    connection.deserialize("main", image)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 1)
    return connection, sandboxed(connection)


def open_file(path: Path, *, shared: bool) -> tuple[apsw.Connection, Authorizer]:
    """Open the file of an object, which must exist.

    In: `shared`, whether another connection is to copy its log; without that there is no index of
    the log on disk, which saves a file. Raises StateError.
    """
    try:
        connection = apsw.Connection(
            str(path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=_STATEMENTS_KEPT
        )
    except apsw.Error as error:
        raise state_error(path, error) from error
    try:
        # What is in the log is read back at the next start; copying it would need an fsync here.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 1)
        if not shared:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        # An empty log cannot hold old frames, so that its header need not be on the disk first.
        level = "NORMAL" if _has_log(path) else "OFF"
        connection.execute(f"PRAGMA synchronous = {level}").fetchall()
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_FILE_BYTES_KEPT}").fetchall()
        tables: Any = connection.execute(_OWN_TABLES).get
        if tables != len(KEY_TABLES):
            raise apsw.CorruptError("the tables of an object are missing")
        if connection.readonly("main"):
            raise apsw.ReadOnlyError
    except apsw.Error as error:
        connection.close(force=True)
        raise state_error(path, error) from error
    return connection, sandboxed(connection)


def alarm_in(path: Path) -> int | None:
    """The alarm in a file that nobody has open, in milliseconds since the epoch; None for none.

    None too when the file cannot be read: whoever opens it will say so.
    """
    try:
        if _has_log(path):
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        else:
            # Without a log there is nothing to lock, and none is to be created.
            connection = apsw.Connection(
                f"{path.absolute().as_uri()}?immutable=1",
                flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
            )
    except apsw.Error:
        return None
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        value: Any = connection.execute(READ_METADATA, (ALARM,)).get
    except apsw.Error:
        return None
    finally:
        connection.close(force=True)
    return None if value is None else int(value) // NANOSECONDS


def write_file(path: Path, image: bytes, *, sync: bool) -> None:
    """Make `image` the whole content of the file, at once. Raises StateError."""
    unfinished = path.with_suffix(".new")
    content = with_log(image)
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(unfinished, path)
        if sync:
            sync_directory(path.parent)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def image_of(connection: apsw.Connection) -> bytes:
    """The image of a database. Raises apsw.Error."""
    return without_log(connection.serialize("main"))


def without_log(image: bytes) -> bytes:
    """The image, or the beginning of one, as that of a database that has no log."""
    if image[_LOG_BYTES] == _WITHOUT_LOG:
        return image
    return image[:18] + _WITHOUT_LOG + image[20:]


def with_log(image: bytes) -> bytearray:
    """The image, or the beginning of one, as that of a database that has a log."""
    content = bytearray(image)
    content[_LOG_BYTES] = _WITH_LOG
    return content


def sync_directory(directory: Path) -> None:
    """Put the names of new files on the disk. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unwritable(path: Path, error: OSError) -> StateError:
    """The error that names the file and says what to do."""
    return file_error(
        path,
        "this file cannot be written",
        error,
        "Free some space, or make the state directory writable",
    )


def log_of(path: Path) -> Path:
    """The write-ahead log of a database."""
    return path.with_name(path.name + "-wal")


def _has_log(path: Path) -> bool:
    try:
        return os.stat(log_of(path)).st_size > 0
    except OSError:
        return False
