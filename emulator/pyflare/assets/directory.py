"""The files of an assets directory, by their paths, as they are on disk at this moment.

A request's path is never joined to the directory's: it is a key in lists of names that were read from the disk. So
there is nothing outside that a path could reach. The lists are read again when a folder's time says that something in
it was added, removed or renamed, which makes a watcher unnecessary.

Links are followed only to what lies inside the directory, and anew at each request: what a link leads to may change
without a trace in the folder that it lies in.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from .private_files import has_private_name

__all__ = ["Directory", "Folder", "Link", "Stale"]

#: File systems stamp with a clock of some milliseconds; a folder changed that recently may change unseen.
_SETTLED_NS: Final = 50_000_000

#: Whether a path, relative to the directory and with "/" at the end of folders, is left out.
Ignored: TypeAlias = Callable[[str], bool]


class Stale(Exception):
    """A list of names is out of date. Call :meth:`Folder.read`, which blocks, and look again."""

    def __init__(self, folder: Folder) -> None:
        super().__init__(folder.path)
        self.folder = folder


@dataclass(frozen=True, slots=True)
class Link:
    """A link as it is named: ``path`` is its own, ``below`` that from the root of the assets."""

    path: str
    below: str


#: Device, number and time of a folder.
_Identity: TypeAlias = tuple[int, int, int]
_GONE: Final = (0, 0, 0)


class Folder:
    """One folder and the names in it.

    ``path`` is its real path, ``left_out`` the names that are no assets. ``given`` is the path that is looked at for
    changes, where that is another one.
    """

    __slots__ = (
        "_below",
        "_directory",
        "_given",
        "_identity",
        "_settled",
        "entries",
        "left_out",
        "path",
    )

    def __init__(self, path: str, below: str, directory: Directory, given: str = "") -> None:
        self.path = path
        self.entries: dict[str, Folder | Link | str] = {}
        self.left_out: frozenset[str] = frozenset()
        self._below = below
        self._directory = directory
        self._given = given or path
        self._identity: _Identity | None = None
        self._settled = False

    def is_current(self) -> bool:
        """Whether the names are those on disk. One system call."""
        try:
            found = os.stat(self._given)
        except OSError:
            return self._identity == _GONE
        return self._settled and _identity(found) == self._identity

    def read(self) -> None:
        """Read the names; a folder that is gone has none. Blocks."""
        began = time.time_ns()
        entries: dict[str, Folder | Link | str] = {}
        left_out: list[str] = []
        try:
            known = _identity(os.stat(self.path))
            with os.scandir(self.path) as found:
                for entry in found:
                    made = self._entry(entry)
                    if made is not None:
                        entries[entry.name] = made
                    if made is None or (isinstance(made, Link) and self._is_left_out(made)):
                        left_out.append(entry.name)
        except OSError:
            self.entries, self.left_out = {}, frozenset()
            self._identity, self._settled = _GONE, True
            return
        self.entries, self.left_out = entries, frozenset(left_out)
        self._identity = known
        self._settled = began - known[2] > _SETTLED_NS

    def _entry(self, entry: os.DirEntry[str]) -> Folder | Link | str | None:
        below = self._below + entry.name
        try:
            if entry.is_symlink():
                return Link(entry.path, below)
            mode = os.stat(entry.path, follow_symlinks=False).st_mode
        except OSError:
            return None
        return self._directory.asset(below, entry.path, mode)

    def _is_left_out(self, link: Link) -> bool:
        return self._directory.leaves_out(link.below, link.path)


def _identity(found: os.stat_result) -> _Identity:
    return found.st_dev, found.st_ino, found.st_mtime_ns


class Directory:
    """The tree below ``root``.

    Args: ``private`` are files and folders that are never served, wherever they lie.
    """

    def __init__(self, root: Path, *, private: Iterable[Path] = ()) -> None:
        self._given = os.path.abspath(root)
        self._ignored: Ignored = lambda _path: False
        self._private = _real(private)
        self._place(os.path.realpath(root))

    def _place(self, path: str) -> None:
        self.path = path
        self._parts = Path(path).parts
        # One object for each real folder, so that links in a circle do not make more and more of them.
        self._folders: dict[str, Folder] = {}
        self.root = self._folders[path] = Folder(path, "", self, self._given)

    def ignore(self, ignored: Ignored) -> None:
        """Leave out, from now on, the paths for which ``ignored`` is true."""
        self._ignored = ignored
        self._place(self.path)

    def hide(self, private: Iterable[Path]) -> None:
        """Never serve, from now on, these files and folders instead of those named before."""
        hidden = _real(private)
        if hidden != self._private:
            self._private = hidden
            self._place(self.path)

    def to_read(self, folder: Folder) -> Folder:
        """What to read for a folder that is out of date: the root may be a link that leads elsewhere by now."""
        if folder is not self.root:
            return folder
        try:
            path = os.path.realpath(self._given)
        except OSError:
            # It is being replaced at this moment, so it is out of date the next time too.
            return folder
        if path != self.path:
            self._place(path)
        return self.root

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
        return path in self._private or has_private_name(path) or self._ignored(below)

    def asset(self, below: str, path: str, mode: int) -> Folder | str | None:
        """What is at a real path inside the directory; None for what is no asset."""
        if stat.S_ISDIR(mode):
            return None if self.leaves_out(below + "/", path) else self.folder(path)
        if stat.S_ISREG(mode):
            return None if self.leaves_out(below, path) else path
        return None

    def follow(self, link: Link) -> Folder | str | None:
        """What a link leads to now; None for what is no asset."""
        if has_private_name(link.path):
            return None
        try:
            path = os.path.realpath(link.path)
            if not self.holds(path) or self.hides(path):
                return None
            return self.asset(link.below, path, os.stat(path, follow_symlinks=False).st_mode)
        except OSError:
            return None

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
            below = self._at(folder, name)
            if not isinstance(below, Folder):
                return None
            folder = below
            self.make_sure(folder, seen)
        found = self._at(folder, names[-1])
        return found if isinstance(found, str) else None

    def _at(self, folder: Folder, name: str) -> Folder | str | None:
        found = folder.entries.get(name)
        return self.follow(found) if isinstance(found, Link) else found

    @staticmethod
    def make_sure(folder: Folder, seen: set[Folder]) -> None:
        """Raise :class:`Stale` unless the names of a folder are those on disk."""
        if folder not in seen:
            if not folder.is_current():
                raise Stale(folder)
            seen.add(folder)


def _real(paths: Iterable[Path]) -> frozenset[str]:
    return frozenset(os.path.realpath(path) for path in paths)
