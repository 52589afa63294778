"""Which top-level module names a worker's folder gives, and which of them clash."""

from __future__ import annotations

import importlib.machinery
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

RESERVED = frozenset({"pyflare", "pyflare_bindings"})
"""The emulator's own packages: a worker's file of that name is never imported."""

SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "python_modules"})
"""Folders beside the sources that hold no modules of the worker."""

_SOURCE_SUFFIXES = tuple(importlib.machinery.SOURCE_SUFFIXES)
_MODULE_SUFFIXES = (*importlib.machinery.EXTENSION_SUFFIXES, *_SOURCE_SUFFIXES)
_SCAN_LIMIT = 2000


def module_files(folder: Path) -> dict[str, Path]:
    """Top-level names importable from `folder`, with the file or package folder behind each.

    Counted are source files, extension modules, and folders that hold a module at some depth.
    A missing folder gives none.
    """
    found: dict[str, Path] = {}
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return found
    for entry in entries:
        name = _module_name(entry)
        if name is not None:
            found[name] = Path(entry.path)
    return found


def may_be_module(name: str) -> bool:
    """Whether a worker's own file can be imported under this top-level name at all.

    The standard library shadows user files, as in the runtime (its path comes first there).
    """
    return name not in sys.stdlib_module_names and name not in RESERVED


def shadowed_files(folder: Path) -> dict[str, str]:
    """A warning text by file name, for each file in `folder` that can never be imported."""
    texts: dict[str, str] = {}
    for name, file in module_files(folder).items():
        if may_be_module(name):
            continue
        if name in RESERVED:
            why = (
                f"pyflare's own package {name!r}, which comes first here, though not in production"
            )
        else:
            why = f"the standard library's module {name!r}, which comes first, also in production"
        texts[file.name] = (
            f"{file} is never imported: `import {name}` gives {why}. Rename the file."
        )
    return texts


def mentions(folder: Path, word: str) -> bool:
    """Whether some source file under `folder` holds `word`; true when there are too many to read.

    Tells whether a worker uses a package before any of its code has run.
    """
    wanted = word.encode()
    sources = (path for path in _walk(folder) if path.endswith(_SOURCE_SUFFIXES))
    for path in itertools.islice(sources, _SCAN_LIMIT):
        try:
            with open(path, "rb") as file:
                if wanted in file.read():
                    return True
        except OSError:
            continue
    return next(sources, None) is not None


def _module_name(entry: os.DirEntry[str]) -> str | None:
    try:
        is_folder = entry.is_dir()
    except OSError:
        return None
    if is_folder:
        usable = entry.name.isidentifier() and entry.name not in SKIPPED_FOLDERS
        return entry.name if usable and _holds_module(entry.path) else None
    for suffix in _MODULE_SUFFIXES:
        if entry.name.endswith(suffix):
            stem = entry.name.removesuffix(suffix)
            return stem if stem and "." not in stem else None
    return None


def _holds_module(folder: str) -> bool:
    if os.path.exists(os.path.join(folder, "pyvenv.cfg")):
        return False
    files = _walk(Path(folder))
    if any(path.endswith(_MODULE_SUFFIXES) for path in itertools.islice(files, _SCAN_LIMIT)):
        return True
    return next(files, None) is not None


def _walk(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED_FOLDERS
            and not name.startswith(".")
            and not os.path.exists(os.path.join(parent, name, "pyvenv.cfg"))
        )
        for name in files:
            yield os.path.join(parent, name)
