"""Paths as a configuration writes them.

Nothing here follows symbolic links or fails on a path that cannot exist: such a path is simply
not there.
"""

from __future__ import annotations

import os
from pathlib import Path


def absolute(directory: Path, path: str | Path) -> Path:
    """`path` as seen from `directory`, without `.` and `..`."""
    return Path(os.path.abspath(directory / path))


def is_file(path: Path) -> bool:
    return os.path.isfile(path)


def is_directory(path: Path) -> bool:
    return os.path.isdir(path)


def exists(path: Path) -> bool:
    return os.path.exists(path)


def display_name(path: Path, cwd: Path) -> str:
    """`path` as a person standing in `cwd` would write it."""
    try:
        return os.path.relpath(path, cwd)
    except ValueError:  # another drive
        return str(path)
