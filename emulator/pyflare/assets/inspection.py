"""What a deploy would refuse about an assets directory, found before the first request."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .control import read_control
from .directory import Directory, Folder, Link

__all__ = ["problems"]

MAX_FILE: Final = 25 << 20
MAX_FILES: Final = 100_000


def problems(root: Path, private: tuple[Path, ...], main: Path | None) -> list[tuple[str, str]]:
    """Each problem with a hint. ``private`` is never served anyway, ``main`` is the Worker's own code. Blocks."""
    directory = Directory(root, private=private)
    directory.ignore(read_control(directory.root, "none").ignored)
    real_main = None if main is None else os.path.realpath(main)
    found: list[tuple[str, str]] = []
    for count, (path, file) in enumerate(_files(directory, directory.root, "", set()), 1):
        if count > MAX_FILES:
            found.append(
                (
                    f"The assets directory {root} has more than {MAX_FILES:,} files, the most that a Worker may have.",
                    "Leave out what is not needed with an .assetsignore file.",
                )
            )
            break
        if file == real_main:
            found.append(
                (
                    f"The assets directory {root} contains the Worker's own code ({path}), which everybody could "
                    "download.",
                    "Give the assets a directory of their own, or list the code in an .assetsignore file.",
                )
            )
        elif path == "/_worker.js":
            found.append(
                (
                    f"The assets directory {root} contains a _worker.js file or directory, which would be served as "
                    "an asset.",
                    "List _worker.js in an .assetsignore file, or remove it.",
                )
            )
        size = _size(file)
        if size > MAX_FILE:
            found.append(
                (
                    f"The asset {path} has {size / (1 << 20):.1f} MiB; a file may have at most 25 MiB.",
                    "Keep large files in an R2 bucket, or list this one in an .assetsignore file.",
                )
            )
    return found


def _files(
    directory: Directory, folder: Folder, prefix: str, seen: set[str]
) -> Iterator[tuple[str, str]]:
    if folder.path in seen:
        return
    seen.add(folder.path)
    folder.read()
    for name, found in folder.entries.items():
        path = f"{prefix}/{name}"
        entry = directory.follow(found) if isinstance(found, Link) else found
        if entry is None:
            continue
        if isinstance(entry, Folder):
            if path == "/_worker.js":
                yield path, entry.path
            yield from _files(directory, entry, path, seen)
        else:
            yield path, entry


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
