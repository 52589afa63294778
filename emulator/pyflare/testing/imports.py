"""What tests import: the modules of the Workers under test, and ``js``, ``pyodide`` and the like, which those need."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from .settings import base_options

if TYPE_CHECKING:
    from pyflare.workers.runtime import Runtime

__all__ = ["WorkerImports"]

_SUPPLIED = frozenset({"js", "pyodide", "_pyodide_entrypoint_helper", "_cloudflare_compat_flags"})
_CONFIGURATIONS = ("wrangler.json", "wrangler.jsonc", "wrangler.toml", ".wrangler")


class WorkerImports:
    """Finds them where nobody else does, in a project that has a wrangler configuration.

    It is the last of the finders, so that it costs other projects nothing and hides nothing of this one.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._runtime: Runtime | None = None
        self._folders: list[tuple[str, frozenset[str]]] | None = None
        self._is_reading = False

    @classmethod
    def of(cls, config: pytest.Config) -> WorkerImports:
        """The one of a session, which is installed until the session's end."""
        found = config.stash.get(_KEY, None)
        if found is None:
            found = config.stash[_KEY] = cls(config)
            sys.meta_path.append(found)
            config.add_cleanup(found._end)
        return found

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if path is not None or self._is_reading:
            return None
        if fullname in _SUPPLIED:
            return self._supplied(fullname)
        if _inside_a_worker():
            return None
        for folder, names in self._worker_folders():
            if fullname in names:
                return PathFinder.find_spec(fullname, [folder])
        return None

    def _supplied(self, fullname: str) -> ModuleSpec | None:
        if self._runtime is not None or not self._has_configuration():
            return None
        from pyflare.workers.runtime import Runtime

        self._runtime = Runtime()
        self._runtime.supply()
        for finder in sys.meta_path:
            found = finder.find_spec(fullname, None)
            if found is not None:
                return found
        return None

    def _has_configuration(self) -> bool:
        root = self._config.rootpath
        return bool(self._options().get("configs")) or any(
            (folder / name).exists() for folder in (root, *root.parents) for name in _CONFIGURATIONS
        )

    def _options(self) -> dict[str, Any]:
        return base_options(self._config, {})

    def _worker_folders(self) -> list[tuple[str, frozenset[str]]]:
        """The folders of the Workers' main modules, and the modules in each."""
        if self._folders is None:
            self._is_reading = True
            try:
                self._folders = self._read() if self._has_configuration() else []
            finally:
                self._is_reading = False
        return self._folders

    def _read(self) -> list[tuple[str, frozenset[str]]]:
        from pyflare.config import ConfigError, load
        from pyflare.workers.private_names import module_files

        options = self._options()
        folders: list[Path] = []
        for file in options.get("configs", [None]):
            try:
                loaded = load(file, env=options.get("env"), cwd=options["cwd"])
            except ConfigError:
                # The fixtures say what is wrong with it.
                continue
            if loaded.worker.main is not None:
                folders.append(loaded.worker.base_dir)
        return [(str(folder), frozenset(module_files(folder))) for folder in folders]

    def _end(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if self._runtime is not None:
            self._runtime.withdraw()


_KEY = pytest.StashKey[WorkerImports]()


def _inside_a_worker() -> bool:
    """Its own modules are found already; another Worker's are none of its business."""
    module = sys.modules.get("pyflare.workers.current")
    return module is not None and module.current.get() is not None
