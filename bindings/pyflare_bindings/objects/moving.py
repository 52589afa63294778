"""Databases of objects that come from somewhere else or go there, as whole files.

Two differences to what the platform's own runtime keeps: the two tables for keys and metadata are
there from the start, and the name of an object is in its metadata.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from ..storage.errors import state_error
from ..storage.whole_file import copy_database, put_in_place
from .files import ObjectFiles
from .images import KEY_TABLES, PAGE_BYTES, unwritable, with_log, without_log
from .key_values import ALARM, BOOKMARK, NAME, NANOSECONDS
from .young_objects import LARGEST_IMAGE

__all__ = ["MovedObject", "copy_out", "holds", "put_in", "read_incoming"]

# A copy that is cut off by a power failure is made again.
_UNSAFE: Final = "PRAGMA synchronous = OFF"
_METADATA: Final = "SELECT value FROM _cf_METADATA WHERE key = ?"
_SET_METADATA: Final = "INSERT INTO _cf_METADATA VALUES (?, ?)"
_FORGET_METADATA: Final = "DELETE FROM _cf_METADATA WHERE key >= ?"
_FORGET_ODD_BOOKMARK: Final = (
    "DELETE FROM _cf_METADATA WHERE key = ? AND typeof(value) <> 'integer'"
)
_USER_TABLES: Final = (
    "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name NOT LIKE '$_cf$_%' ESCAPE '$'"
    " AND name NOT LIKE 'sqlite$_%' ESCAPE '$')"
)
_KEYS: Final = "SELECT EXISTS (SELECT 1 FROM _cf_KV)"


class MovedObject(NamedTuple):
    """What is known of an object beside its tables: `alarm` in milliseconds since the epoch."""

    name: str | None
    alarm: int | None
    is_empty: bool


def holds(files: ObjectFiles, id: bytes) -> bool:
    """Whether the object has stored something. Raises StateError."""
    return files.path_of(id).exists() or files.young.load(id) is not None


def read_incoming(incoming: Path, name: str | None) -> MovedObject:
    """Make the database in a file, which nobody has open, one of an object here.

    In: the name that the object was made from. Raises StateError for a file that cannot be one.
    """
    try:
        connection = apsw.Connection(str(incoming), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            return _adapt(connection, name)
        finally:
            connection.close(force=True)
    except apsw.Error as error:
        raise state_error(incoming, error) from error


def _adapt(connection: apsw.Connection, name: str | None) -> MovedObject:
    execute = connection.execute
    execute(_UNSAFE).fetchall()
    # So that nothing of it is outside of the file.
    execute("PRAGMA journal_mode = DELETE").fetchall()
    page_bytes: Any = execute("PRAGMA page_size").get
    if page_bytes != PAGE_BYTES:
        execute(f"PRAGMA page_size = {PAGE_BYTES}").fetchall()
        execute("VACUUM").fetchall()
    with connection:
        for table, statement in KEY_TABLES.items():
            if not execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)).get:
                execute(statement).fetchall()
        execute(_FORGET_METADATA, (NAME,)).fetchall()
        execute(_FORGET_ODD_BOOKMARK, (BOOKMARK,)).fetchall()
        if name is not None:
            execute(_SET_METADATA, (NAME, name)).fetchall()
        alarm = _alarm(connection)
        is_empty = alarm is None and not execute(_USER_TABLES).get and not execute(_KEYS).get
    return MovedObject(name, alarm, is_empty)


def put_in(files: ObjectFiles, id: bytes, incoming: Path, alarm: int | None) -> None:
    """Make the prepared file the database of an object that has stored nothing. Raises StateError."""
    try:
        if incoming.stat().st_size <= LARGEST_IMAGE:
            files.young.store(id, without_log(incoming.read_bytes()), alarm)
            incoming.unlink()
            return
        with incoming.open("r+b") as file:
            header = file.read(PAGE_BYTES)
            file.seek(0)
            file.write(with_log(header))
    except OSError as error:
        raise unwritable(incoming, error) from error
    files.prepare()
    put_in_place(incoming, files.path_of(id), sync=files.durability == "machine")
    files.young.remove(id)


def copy_out(files: ObjectFiles, id: bytes, destination: Path) -> MovedObject | None:
    """Write the database of an object, without its name, to a new file; None when there is none.

    No instance of it lives. Raises StateError.
    """
    path = files.path_of(id)
    if path.exists():
        copy_database(path, destination)
    else:
        image = files.young.load(id)
        if image is None:
            return None
        try:
            destination.write_bytes(image)
        except OSError as error:
            raise unwritable(destination, error) from error
    try:
        connection = apsw.Connection(str(destination), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute(_UNSAFE).fetchall()
            name: Any = connection.execute(_METADATA, (NAME,)).get
            alarm = _alarm(connection)
            connection.execute(_FORGET_METADATA, (NAME,)).fetchall()
        finally:
            connection.close(force=True)
    except apsw.Error as error:
        raise state_error(path if path.exists() else files.young.path, error) from error
    return MovedObject(name, alarm, False)


def _alarm(connection: apsw.Connection) -> int | None:
    stored: Any = connection.execute(_METADATA, (ALARM,)).get
    if stored is None:
        return None
    if not isinstance(stored, int):
        raise apsw.CorruptError("the alarm is not a time")
    return stored // NANOSECONDS
