"""The errors of files that hold the bodies of values."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from .errors import StateError

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_ACCESS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})


class DamagedBlobError(StateError):
    """A file that a committed row needs is gone, or is not as long as the row says."""


class OutOfThreadsError(StateError):
    """There is no thread for what was asked for, and none can be started."""


def out_of_threads(directory: Path) -> OutOfThreadsError:
    """The error for a job that no thread can do; the directory is where it would have been done."""
    return OutOfThreadsError(
        directory,
        "these files cannot be used: this process cannot start another thread",
        "Raise the limit (ulimit -u, or that of the container on pids), or run less beside it",
    )


def missing_blob(path: Path) -> DamagedBlobError:
    """The error for a blob whose file is gone."""
    return DamagedBlobError(
        path,
        "the file with this value's content is missing",
        "Restore it from a copy, or write the value again",
    )


def wrong_size(path: Path, expected: int, found: int) -> DamagedBlobError:
    """The error for a blob whose file has been cut off or added to."""
    return DamagedBlobError(
        path,
        f"the file with this value's content has {found} bytes instead of {expected}",
        "Restore it from a copy, or write the value again",
    )


def blob_error(path: Path, error: OSError) -> StateError:
    """The error that tells a person which file could not be used and what they can do."""
    if isinstance(error, FileNotFoundError):
        return missing_blob(path)
    code = error.errno or 0
    if code in _NO_SPACE:
        problem, remedy = "the disk is full", "Free some space and try again"
    elif code in _NO_ACCESS:
        problem = "this file cannot be used"
        remedy = "Make it and its directory writable, or choose another state directory"
    elif code in _NO_DESCRIPTORS:
        problem = "this process has too many open files"
        remedy = "Read or cancel the bodies that are open, or raise the limit (ulimit -n)"
    else:
        problem = f"reading or writing failed ({os.strerror(code)})"
        remedy = "Check the disk and the permissions of the state directory"
    return StateError(path, problem, remedy)
