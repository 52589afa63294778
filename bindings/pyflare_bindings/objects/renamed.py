"""Under which name the objects of a class are kept, once the class has been renamed.

Ids and files belong to the name that the class had when it first stored something, as production
keeps them. What has been found out is written down, so that a class that gets the old name later
does not get the objects too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path

from ..storage.errors import StateError, file_error

__all__ = ["RenamedClasses"]

_ANEW = "-2"


class RenamedClasses:
    """The renamed classes of a state directory. Nothing is written before one is found.

    In: `path`, of the file; `stored`, which gives the names under which something is stored.
    Names are worker and class, joined by a hyphen.
    """

    __slots__ = ("_path", "_stored")

    def __init__(self, path: Path, stored: Callable[[], Container[str]]) -> None:
        self._path = path
        self._stored = stored

    def kept_as(self, name: str) -> str:
        """The name that the objects of a class are kept under. Raises StateError."""
        return self._read().get(name, name)

    def assign(self, classes: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """The names that the objects of all classes of one worker are kept under, each its own.

        In: the names of the classes that there are, each with those it had before, the latest
        first. A class that has stored nothing under its own name has what is stored under the
        latest of the names before that no other class has now. Raises StateError.
        """
        known = self._read()
        stored = self._stored()
        found = dict(known)
        kept: dict[str, str] = {}
        for name in sorted(classes, key=lambda each: len(classes[each]), reverse=True):
            choice = found.get(name) if classes[name] else None
            if choice is None:
                choice = name
                if name not in stored:
                    for before in classes[name]:
                        place = known.get(before, before)
                        if before not in classes and place in stored:
                            choice = found[name] = place
                            break
            if choice in kept.values():
                choice = name if name not in kept.values() else name + _ANEW
            kept[name] = choice
        if found != known:
            self._write(found)
        return kept

    def _read(self) -> dict[str, str]:
        try:
            text = self._path.read_text("utf-8")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise file_error(
                self._path, "this file cannot be read", error, "Make it readable"
            ) from error
        try:
            found = json.loads(text)
            if all(isinstance(each, str) for each in found.values()):
                return dict(found)
        except (ValueError, AttributeError):
            pass
        raise StateError(
            self._path,
            "this file is damaged",
            "Remove it; classes that were renamed are then looked for anew",
        )

    def _write(self, found: Mapping[str, str]) -> None:
        unfinished = self._path.with_suffix(".new")
        try:
            unfinished.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
            os.replace(unfinished, self._path)
        except OSError as error:
            raise file_error(
                self._path,
                "this file cannot be written",
                error,
                "Free some space, or make the state directory writable",
            ) from error
