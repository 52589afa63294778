"""Imports that are suspended half-way: whoever needs the same module waits for it.

`run_sync` in a module's body lets other events of the worker run while the module is only partly
there. The interpreter's own import locks do not help, since all events share one thread.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pyflare.workers.current import current
from pyflare.workers.suspend import can_run_sync, run_sync

_own_imports: ContextVar[frozenset[str]] = ContextVar("pyflare.own_imports", default=frozenset())


class ImportsUnderWay:
    """The modules of one worker whose bodies have begun and not ended."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Marks module `name` as being imported by the code inside the `with`."""
        self._waiting[name] = []
        token = _own_imports.set(_own_imports.get() | {name})
        try:
            yield
        finally:
            _own_imports.reset(token)
            for future in self._waiting.pop(name, ()):
                if not future.done():
                    future.set_result(None)

    def wait_for(self, name: str) -> None:
        """Blocks the caller until `name` is loaded, unless the caller is part of that import.

        Does nothing where the caller cannot be suspended.
        """
        while name in self._waiting and name not in _own_imports.get() and can_run_sync():
            future = asyncio.get_running_loop().create_future()
            self._waiting[name].append(future)
            run_sync(future)


class OrderedImports:
    """Makes the import system call `ImportsUnderWay.wait_for`; `install` and `uninstall` pair."""

    __slots__ = ("_original",)

    def __init__(self) -> None:
        self._original: Callable[[str], None] | None = None

    def install(self) -> None:
        if self._original is not None:
            return
        bootstrap: Any = importlib._bootstrap
        original: Callable[[str], None] = bootstrap._lock_unlock_module

        # The interpreter calls this for a module that is found half-initialised in sys.modules.
        def wait_until_initialised(name: str) -> None:
            scope = current.get()
            if scope is not None:
                scope.space.imports.wait_for(name)
            original(name)

        bootstrap._lock_unlock_module = wait_until_initialised
        self._original = original

    def uninstall(self) -> None:
        if self._original is None:
            return
        importlib._bootstrap._lock_unlock_module = self._original  # type: ignore[attr-defined]
        self._original = None
