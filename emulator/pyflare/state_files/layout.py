"""Where everything is in a directory of wrangler's local state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .errors import SourceError
from .names import Plugin, blob_directories

__all__ = ["METADATA_FILE", "WranglerState", "is_object_file"]

METADATA_FILE: Final = "metadata.sqlite"
_VERSION: Final = "v3"
_FOLDERS: Final = ("cache", "d1", "do", "kv", "r2", "secrets-store", "workflows")
#: What the names of the programs before that version kept; none of it is read.
_OLDER: Final = (".mf", "v1", "v2")
_DIGITS: Final = 64


class WranglerState:
    """A directory with a folder per kind of storage. `root` has these folders."""

    __slots__ = ("root",)

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def find(cls, given: Path) -> WranglerState:
        """The state at `.wrangler/state`, a directory above it, or the one of the version in it.

        Raises SourceError.
        """
        usual = Path("state", _VERSION)
        for candidate in (given / _VERSION, given / usual, given / ".wrangler" / usual, given):
            if any((candidate / folder).is_dir() for folder in _FOLDERS):
                return cls(candidate)
        if not given.exists():
            raise SourceError(
                given, "there is no such directory", "Name the directory .wrangler/state"
            )
        if any((given / older).exists() for older in _OLDER):
            raise SourceError(
                given,
                "this is state of a version before wrangler 3, which is not read",
                "Start the project once with a current wrangler and import what it has then",
            )
        raise SourceError(
            given,
            f"this holds no local state of wrangler (no {_VERSION}/d1, kv, r2 or do)",
            "Name the directory .wrangler/state, or the one that wrangler's --persist-to named",
        )

    @classmethod
    def make(cls, given: Path) -> WranglerState:
        """The state that wrangler finds with `--persist-to given`; nothing is created."""
        return cls(given if given.name == _VERSION else given / _VERSION)

    def database(self, plugin: Plugin, name: str) -> Path:
        """The SQLite file of a resource."""
        return self.databases(plugin) / f"{plugin.digits(name)}.sqlite"

    def databases(self, plugin: Plugin) -> Path:
        """Where the SQLite files of a kind are."""
        return self.root / plugin.folder / plugin.unique_key

    def blobs(self, plugin: Plugin, name: str) -> Path:
        """Where the contents of a resource are."""
        found = [self.root / plugin.folder / each / "blobs" for each in blob_directories(name)]
        return next((each for each in found if each.is_dir()), found[0])

    def objects(self, unique_key: str) -> Path:
        """Where the objects of a class are."""
        return self.root / "do" / unique_key

    def folder_names(self, folder: str) -> list[str]:
        """The directories within one folder, in order."""
        try:
            return sorted(each.name for each in (self.root / folder).iterdir() if each.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def database_files(self, directory: Path) -> Iterator[Path]:
        """The databases of a directory, in order; those of the runtime's own book-keeping are left out."""
        if directory.is_dir():
            for path in sorted(directory.iterdir()):
                if path.suffix == ".sqlite" and path.name != METADATA_FILE:
                    yield path


def is_object_file(path: Path) -> bool:
    """Whether the name of a database is an id, as opposed to that of a facet."""
    return len(path.stem) == _DIGITS and set(path.stem) <= set("0123456789abcdef")
