"""A view of `os.environ` for each worker: reads fall through to the process, writes stay inside.

Two Django projects would otherwise fight over `DJANGO_SETTINGS_MODULE`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from pyflare.workers.current import current


class WorkerEnviron(os._Environ):  # type: ignore[type-arg]
    """The class that `os.environ` gets while workers are loaded.

    The object stays the same, so `from os import environ` made earlier is covered. Without a
    current worker it behaves as before.
    """

    _data: Any

    def __getitem__(self, key: str) -> str:
        scope = current.get()
        if scope is not None and key in scope.environ:
            value = scope.environ[key]
            if value is None:
                raise KeyError(key)
            return value
        return super().__getitem__(key)  # type: ignore[no-any-return]

    # Frameworks ask for settings with every request: these two without raising KeyError on the way.
    def get(self, key: str, default: Any = None) -> Any:
        scope = current.get()
        if scope is not None and key in scope.environ:
            value = scope.environ[key]
            return default if value is None else value
        found = self._data.get(self.encodekey(key))
        return default if found is None else self.decodevalue(found)

    def __contains__(self, key: Any) -> bool:
        scope = current.get()
        if scope is not None and key in scope.environ:
            return scope.environ[key] is not None
        return self.encodekey(key) in self._data

    def __setitem__(self, key: str, value: str) -> None:
        scope = current.get()
        if scope is None:
            super().__setitem__(key, value)
            return
        self.encodekey(key)  # refuses what the process environment would refuse
        self.encodevalue(value)
        scope.environ[key] = value

    def __delitem__(self, key: str) -> None:
        scope = current.get()
        if scope is None:
            super().__delitem__(key)
            return
        self[key]
        scope.environ[key] = None

    def __iter__(self) -> Iterator[str]:
        scope = current.get()
        overlay = scope.environ if scope is not None else {}
        for key in super().__iter__():
            if key not in overlay:
                yield key
        yield from [key for key, value in overlay.items() if value is not None]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"environ({dict(self)!r})"


class EnvironOverlay:
    """Turns the overlay on and off."""

    __slots__ = ("_original",)

    def __init__(self) -> None:
        self._original: Any = None

    def install(self) -> None:
        """Does nothing when the overlay is on already."""
        environ: Any = os.environ
        if type(environ) is not WorkerEnviron:
            self._original = type(environ)
            environ.__class__ = WorkerEnviron

    def uninstall(self) -> None:
        """Workers' writes are forgotten with the workers; the process's own were never touched."""
        environ: Any = os.environ
        if self._original is not None and type(environ) is WorkerEnviron:
            environ.__class__ = self._original
        self._original = None
