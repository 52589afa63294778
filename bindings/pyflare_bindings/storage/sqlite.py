"""Opening a SQLite file with the platform's settings and limits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import apsw

from .authorizer import MODULES, Authorizer
from .errors import StateError, state_error

Durability = Literal["process", "machine"]

MAX_STATEMENT_BYTES = 100_000
MAX_VALUE_BYTES = 2_000_000

# Where the documented limit is tighter than the one of the local tools, the documented one holds.
# Source: https://developers.cloudflare.com/d1/platform/limits/ and `src/workerd/util/sqlite.c++`.
_LIMITS = (
    (apsw.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
    (apsw.SQLITE_LIMIT_SQL_LENGTH, MAX_STATEMENT_BYTES),
    (apsw.SQLITE_LIMIT_COLUMN, 100),
    (apsw.SQLITE_LIMIT_EXPR_DEPTH, 100),
    (apsw.SQLITE_LIMIT_COMPOUND_SELECT, 5),
    (apsw.SQLITE_LIMIT_VDBE_OP, 25_000),
    (apsw.SQLITE_LIMIT_FUNCTION_ARG, 32),
    (apsw.SQLITE_LIMIT_ATTACHED, 0),
    (apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50),
    (apsw.SQLITE_LIMIT_VARIABLE_NUMBER, 100),
    (apsw.SQLITE_LIMIT_TRIGGER_DEPTH, 10),
    (apsw.SQLITE_LIMIT_WORKER_THREADS, 0),
)

_STATEMENT_CACHE = 256
_MODULES_KEPT = sorted(MODULES)
_WAL_FILE_BYTES_KEPT = 16 * 1024 * 1024


def open_connection(path: Path, durability: Durability) -> tuple[apsw.Connection, Authorizer]:
    """Open or create a database under the platform's rules.

    In: `path`, whose directory is created with mode 0700 when it is missing; `durability`, whether
    a commit survives the end of the process or also of the machine (one fsync per commit).
    Checkpoints are left to the owner. Raises StateError naming the file.
    """
    make_private_directory(path.parent)
    try:
        connection = apsw.Connection(str(path), statementcachesize=_STATEMENT_CACHE)
    except apsw.Error as error:
        raise state_error(path, error) from error
    try:
        machine = durability == "machine"
        # A new file gets its first page here, which needs no more safety than what follows.
        connection.execute(f"PRAGMA synchronous={'FULL' if machine else 'OFF'}")
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute(f"PRAGMA synchronous={'FULL' if machine else 'NORMAL'}")
        connection.execute(f"PRAGMA journal_size_limit={_WAL_FILE_BYTES_KEPT}").fetchall()
        connection.execute("PRAGMA foreign_keys=ON")
        # Also the first look at the file: what is not a database, or is cut off, shows here.
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        if connection.readonly("main"):
            raise apsw.ReadOnlyError
    except apsw.Error as error:
        connection.close(force=True)
        raise state_error(path, error) from error
    return connection, sandboxed(connection)


def sandboxed(connection: apsw.Connection) -> Authorizer:
    """Put the platform's limits and rules on a connection."""
    connection.wal_autocheckpoint(0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.drop_modules(_MODULES_KEPT)
    for limit, value in _LIMITS:
        connection.limit(limit, value)
    authorizer = Authorizer()
    connection.authorizer = authorizer
    return authorizer


def file_identity(path: Path) -> tuple[int, int] | None:
    """Device and number of the file at this path, None when there is none: equal for one and the same file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def make_private_directory(directory: Path) -> None:
    """Create a directory, and those above it, for this user alone. Raises StateError."""
    try:
        missing = []
        while not directory.exists():
            missing.append(directory)
            directory = directory.parent
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StateError(
            directory,
            f"this directory cannot be created ({os.strerror(error.errno or 0)})",
            "Make the directory above it writable, or choose another state directory",
        ) from error
