"""Where the state of an embedded emulator is kept."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Final, TypeAlias

from pyflare.state_directory import StateDirectory, directory_in_memory

__all__ = ["DEFAULT", "MEMORY", "PersistTo", "Place", "state_in"]


class Place(Enum):
    """Where state is kept when no directory is named."""

    PROJECT = "project"
    MEMORY = "memory"


#: State in ``.pyflare/state`` beside the first configuration.
DEFAULT: Final = Place.PROJECT

#: State in a private temporary directory, in memory where the machine has a file system there: for tests.
MEMORY: Final = Place.MEMORY

#: A directory, one of the places, or None for a private temporary directory.
PersistTo: TypeAlias = str | Path | Place | None


def state_in(persist_to: PersistTo, *, project: Path, cwd: Path) -> StateDirectory:
    """The state directory, not opened yet. Args: ``cwd`` where relative paths start."""
    match persist_to:
        case Place.PROJECT:
            return StateDirectory(project / ".pyflare" / "state", private_parent=True)
        case None:
            return StateDirectory(None)
        case Place.MEMORY:
            return StateDirectory(None, temporary_in=directory_in_memory())
        case given:
            return StateDirectory(cwd / given)
