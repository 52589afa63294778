"""Replaced attributes of other modules, which can all be put back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MISSING: Any = object()


class Patches:
    """A list of replacements. `undo` leaves alone what somebody replaced again since."""

    def __init__(self) -> None:
        self._made: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Sets `owner.name` to `make(original)`."""
        original = vars(owner).get(name, _MISSING)
        replacement = make(getattr(owner, name))
        setattr(owner, name, replacement)
        self._made.append((owner, name, original, replacement))

    def undo(self) -> None:
        for owner, name, original, replacement in reversed(self._made):
            if vars(owner).get(name) is not replacement:
                continue
            if original is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        self._made.clear()
