"""The files of an assets directory, by their paths, as they are on disk at this moment.

A request's path is never joined to the directory's: it is a key in lists of names that were read from the disk. So
there is nothing outside that a path could reach. The lists are read again when a folder's time says that something in
it was added, removed or renamed, which makes a watcher unnecessary.

Links are followed only to what lies inside the directory.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeAlias

__all__ = ["Directory", "Folder", "Stale"]

#: File systems stamp with a clock of some milliseconds; a folder changed that recently may change unseen.
_SETTLED_NS: Final = 50_000_000

#: Whether a path, relative to the directory and with "/" at the end of folders, is left out.
Ignored: TypeAlias = Callable[[str], bool]


class Stale(Exception):
    """A list of names is out of date. Call :meth:`Folder.read`, which blocks, and look again."""

    def __init__(self, folder: Folder) -> None:
        super().__init__(folder.path)
        self.folder = folder


class Folder:
    """One folder and the names in it. ``path`` is its real path, ``left_out`` the names that are no assets."""

    __slots__ = ("_below", "_changed_ns", "_directory", "_settled", "entries", "left_out", "path")

    def __init__(self, path: str, below: str, directory: Directory) -> None:
        self.path = path
        self.entries: dict[str, Folder | str] = {}
        self.left_out: frozenset[str] = frozenset()
        self._below = below
        self._directory = directory
        self._changed_ns = -1
        self._settled = False

    def is_current(self) -> bool:
        """Whether the names are those on disk. One system call."""
        try:
            changed = os.stat(self.path).st_mtime_ns
        except OSError:
            return self._changed_ns == 0
        return changed == self._changed_ns and self._settled

    def read(self) -> None:
        """Read the names; a folder that is gone has none. Blocks."""
        began = time.time_ns()
        entries: dict[str, Folder | str] = {}
        left_out: list[str] = []
        try:
            changed = os.stat(self.path).st_mtime_ns
            with os.scandir(self.path) as found:
                for entry in found:
                    made = self._entry(entry)
                    if made is None:
                        left_out.append(entry.name)
                    else:
                        entries[entry.name] = made
        except OSError:
            self.entries, self.left_out = {}, frozenset()
            self._changed_ns, self._settled = 0, True
            return
        self.entries, self.left_out = entries, frozenset(left_out)
        self._changed_ns = changed
        self._settled = began - changed > _SETTLED_NS

    def _entry(self, entry: os.DirEntry[str]) -> Folder | str | None:
        directory, path = self._directory, entry.path
        try:
            if entry.is_symlink():
                path = os.path.realpath(path)
                if not directory.holds(path) or directory.hides(path):
                    return None
            mode = os.stat(path, follow_symlinks=False).st_mode
        except OSError:
            return None
        below = self._below + entry.name
        if stat.S_ISDIR(mode):
            return None if directory.leaves_out(below + "/", path) else directory.folder(path)
        if stat.S_ISREG(mode):
            return None if directory.leaves_out(below, path) else path
        return None


class Directory:
    """The tree below ``root``.

    Args: ``private`` are files and folders that are never served, wherever they lie.
    """

    def __init__(self, root: Path, *, private: Iterable[Path] = ()) -> None:
        self.path = os.path.realpath(root)
        self._parts = Path(self.path).parts
        self._private = frozenset(os.path.realpath(path) for path in private)
        self.ignore(lambda _path: False)

    def ignore(self, ignored: Ignored) -> None:
        """Leave out, from now on, the paths for which ``ignored`` is true."""
        self._ignored = ignored
        # One object for each real folder, so that links in a circle do not make more and more of them.
        self._folders: dict[str, Folder] = {}
        self.root = self.folder(self.path)

    def folder(self, path: str) -> Folder:
        """The folder with a real path inside the directory."""
        known = self._folders.get(path)
        if known is None:
            below = "".join(f"{name}/" for name in self._names(path))
            known = self._folders[path] = Folder(path, below, self)
        return known

    def _names(self, path: str) -> tuple[str, ...]:
        return Path(path).parts[len(self._parts) :]

    def holds(self, path: str) -> bool:
        """Whether a real path lies inside the directory; compared by its parts, since names may begin alike."""
        return Path(path).parts[: len(self._parts)] == self._parts

    def leaves_out(self, below: str, path: str) -> bool:
        """Whether something is no asset: ``below`` as the rules see it, ``path`` where it really is."""
        return path in self._private or self._ignored(below)

    def hides(self, path: str) -> bool:
        """Whether the target of a link, or a folder that it lies in, is no asset."""
        below, at = "", self.path
        for name in self._names(path):
            below, at = below + name, os.path.join(at, name)
            if self.leaves_out(below, at) or self.leaves_out(below + "/", at):
                return True
            below += "/"
        return False

    def find(self, path: str, seen: set[Folder]) -> str | None:
        """The real path of the file at an address such as ``/css/site.css``; ``None`` where there is none.

        Raises :class:`Stale` for a folder on the way that is out of date. ``seen`` holds the folders that one request
        has made sure of; those are taken as they are.
        """
        folder = self.root
        self.make_sure(folder, seen)
        names = path.split("/")
        # What is there besides a leading slash: "", ".", ".." and names with other separators are in no list.
        for name in names[1:-1]:
            below = folder.entries.get(name)
            if not isinstance(below, Folder):
                return None
            folder = below
            self.make_sure(folder, seen)
        found = folder.entries.get(names[-1])
        return found if isinstance(found, str) else None

    @staticmethod
    def make_sure(folder: Folder, seen: set[Folder]) -> None:
        """Raise :class:`Stale` unless the names of a folder are those on disk."""
        if folder not in seen:
            if not folder.is_current():
                raise Stale(folder)
            seen.add(folder)
