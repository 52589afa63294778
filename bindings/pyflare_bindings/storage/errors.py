"""The errors of everything that keeps its state in SQLite files."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import apsw


class SqlError(Exception):
    """SQL of a user that was refused or failed; `str()` is the platform's text without a prefix."""


class StateError(Exception):
    """The files of the state directory cannot be used.

    `path` is the file or directory at fault; the text names it and says what to do.
    """

    def __init__(self, path: Path, problem: str, remedy: str) -> None:
        super().__init__(f"{path}: {problem}. {remedy}")
        self.path = path


class FileGoneError(StateError):
    """A file in use was deleted or replaced under its owner; what it held cannot be kept any more."""

    def __init__(
        self, path: Path, remedy: str = "The next request begins with what is there now"
    ) -> None:
        super().__init__(
            path,
            "this file was deleted or replaced while it was in use; nothing of this request was kept",
            remedy,
        )


_OUT_OF_DESCRIPTORS: Final = (errno.EMFILE, errno.ENFILE)
_RAISE_LIMIT: Final = "Raise the limit (ulimit -n) and start again, or do less at a time"
_ROOM_OF_A_PAGE: Final = 32 * 1024
# A database may need so many: itself, its log, and the index of that.
_FILES_OF_A_DATABASE: Final = 3


def descriptors_are_used_up() -> bool:
    """Whether the process cannot open the files of one more database."""
    with ExitStack() as opened:
        try:
            for _ in range(_FILES_OF_A_DATABASE):
                opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            return error.errno in _OUT_OF_DESCRIPTORS
    return False


def file_error(path: Path, problem: str, error: OSError, remedy: str) -> StateError:
    """The error that names the file, what cannot be done with it and why, and what to do.

    In: `remedy`, unless it is not about this file.
    """
    if error.errno in _OUT_OF_DESCRIPTORS:
        remedy = _RAISE_LIMIT
    return StateError(path, f"{problem} ({os.strerror(error.errno or 0)})", remedy)


class ClosedError(RuntimeError):
    """An owner, or the registry itself, was used after it had been closed."""


_STALE_OFFSET = frozenset({apsw.SQLITE_TOOBIG})


def platform_text(error: apsw.Error) -> str:
    """The text that the platform shows for a failure inside SQLite.

    Out: SQLite's message, ` at offset N` in bytes where SQLite knows the place, the name of the
    primary code, and that of the extended code where it says more.
    Source: `src/workerd/util/sqlite.c++` of workerd.
    """
    text = str(error)
    primary, code = _codes(error)
    offset = getattr(error, "error_offset", -1)
    if offset >= 0 and primary not in _STALE_OFFSET:
        text = f"{text} at offset {offset}"
    name = apsw.mapping_result_codes.get(primary)
    text = f"{text}: {name}" if isinstance(name, str) else text
    extended = apsw.mapping_extended_result_codes.get(code)
    if isinstance(extended, str) and code != primary:
        text = f"{text} (extended: {extended})"
    return text


def _codes(error: apsw.Error) -> tuple[int, int]:
    # Errors of apsw itself, as opposed to SQLite's, come without codes.
    primary = getattr(error, "result", apsw.SQLITE_ERROR)
    return primary, getattr(error, "extendedresult", primary)


_STORAGE_FAULTS = (
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.FullError,
    apsw.IOError,
    apsw.NotADBError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
)


def _is_full(error: apsw.Error, path: Path) -> bool:
    if isinstance(error, apsw.FullError):
        return True
    # SQLite does not look why the file could not grow.
    try:
        found = os.statvfs(path.parent)
    except (AttributeError, OSError):
        return False
    return found.f_bavail * found.f_frsize < _ROOM_OF_A_PAGE


def is_storage_fault(error: apsw.Error) -> bool:
    """Whether `error` is about the file rather than about the statement."""
    return isinstance(error, _STORAGE_FAULTS)


def state_error(path: Path, error: apsw.Error) -> StateError:
    """The error that tells a person which file is at fault and what they can do."""
    match error:
        case apsw.NotADBError():
            problem = "this file is not a SQLite database"
            remedy = "Move it away; a new database is created at the next start"
        case apsw.CorruptError():
            problem = "this database is damaged or cut off"
            remedy = "Restore it from a copy, or move it away to start with an empty database"
        case apsw.FullError() | apsw.IOError() if _is_full(error, path):
            problem = "the disk is full"
            remedy = "Free some space and try again"
        case apsw.CantOpenError() if descriptors_are_used_up():
            problem = "this database cannot be opened: this process has too many open files"
            remedy = _RAISE_LIMIT
        case apsw.CantOpenError() | apsw.ReadOnlyError() | apsw.PermissionsError():
            problem = "this database cannot be opened for writing"
            remedy = "Make the file and its directory writable, or choose another state directory"
        case apsw.BusyError() | apsw.LockedError():
            problem = f"another program has this database locked ({platform_text(error)})"
            remedy = "Let it commit, or close it there: a shell or a viewer of databases, say"
        case _:
            problem = f"reading or writing failed ({platform_text(error)})"
            remedy = "Check the disk and the permissions of the state directory"
    return StateError(path, problem, remedy)
