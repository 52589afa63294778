"""Finders for the import system: modules made by the emulator, and each worker's own files."""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pyflare.workers.current import current
from pyflare.workers.private_names import may_be_module

if TYPE_CHECKING:
    from pyflare.workers.isolation import Isolation, Space

ModuleFactory = Callable[[], ModuleType]


class ForeignPyodideError(ImportError):
    """The distribution `pyodide-py` was imported, so the emulator's `pyodide` cannot be."""


class SyntheticFinder:
    """Serves the modules that the runtime supplies: `js`, `pyodide`, `pyodide.ffi`, ...

    `table` maps a full module name to a factory. A factory is called at the first import and may
    hand out a module that exists under another name already; its own `__spec__` is kept. A name
    below a served package that is not in the table does not exist.
    """

    def __init__(self, table: Mapping[str, ModuleFactory]) -> None:
        self._table = dict(table)
        self._roots = {name.partition(".")[0] for name in table}

    def register(self, name: str, factory: ModuleFactory) -> None:
        """Adds one module to the table, or replaces its factory before the first import."""
        self._table[name] = factory
        self._roots.add(name.partition(".")[0])

    def install(self) -> None:
        """Puts the finder first in `sys.meta_path`.

        Raises ForeignPyodideError when a real `pyodide` or `_pyodide` was imported before.
        """
        if self in sys.meta_path:
            return
        for name in ("pyodide", "_pyodide"):
            module = sys.modules.get(name)
            if module is not None and not self._is_ours(name, module):
                raise ForeignPyodideError(
                    f"the module {name!r} was already imported from "
                    f"{getattr(module, '__file__', None) or 'an unknown place'}; pyflare supplies "
                    "this module itself and cannot run beside it. Uninstall the distribution "
                    "pyodide-py from this environment, or start pyflare in another one.",
                    name=name,
                )
        sys.meta_path.insert(0, self)

    def _is_ours(self, name: str, module: ModuleType) -> bool:
        if name not in self._table:
            return False
        lent = module.__name__.startswith("pyflare.")
        return lent or isinstance(getattr(module, "__loader__", None), SyntheticLoader)

    def uninstall(self) -> None:
        """Takes the finder out of the process again, with every module that no other one serves."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        others = [each for each in sys.meta_path if isinstance(each, SyntheticFinder)]
        for name in self._table.keys() - {name for each in others for name in each._table}:
            sys.modules.pop(name, None)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        factory = self._table.get(fullname)
        if factory is not None:
            loader: Any = SyntheticLoader(factory)
            return ModuleSpec(fullname, loader, origin="pyflare")
        root, dot, _ = fullname.partition(".")
        if dot and root in self._roots:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


class SyntheticLoader:
    """Loads what a factory makes. One loader serves one import."""

    def __init__(self, factory: ModuleFactory) -> None:
        self._factory = factory
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = self._factory()
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just overwritten __spec__. A module that lives under another name
        # needs its own back, or its relative imports would warn.
        if self._spec is not None:
            module.__spec__ = self._spec


class WorkerSourceLoader(SourceFileLoader):
    """Loads a worker's source file, without reading or writing bytecode beside it.

    A bytecode file is matched by whole seconds and size, so an edit right after a reload could go
    unseen; and the emulator writes nothing outside its state directory.
    """

    def path_stats(self, path: str | os.PathLike[str]) -> Mapping[str, float]:
        raise OSError("bytecode files are not used for a worker's sources")

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        mark = spec.loader_state if spec is not None else None
        if not isinstance(mark, Mark):
            super().exec_module(module)
            return
        with mark.space.imports.running(module.__name__):
            super().exec_module(module)


class Mark:
    """What a private module's spec carries as `loader_state`: whose module it is."""

    __slots__ = ("space",)

    def __init__(self, space: Space) -> None:
        self.space = space


class PrivateFinder:
    """Finds the running worker's own modules, and marks each module with the space it belongs to.

    The mark is the spec's `loader_state`. Which worker runs is read from `current`, so imports in
    handlers, timers and threads with a copied context find the right files.
    """

    def __init__(self, isolation: Isolation) -> None:
        self.isolation = isolation

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        top = fullname.partition(".")[0]
        if not may_be_module(top):
            return None
        scope = current.get()
        space = scope.space if scope is not None else self.isolation.host
        if path is not None:
            if top not in self.isolation.private_names:
                return None
            return _marked(_find(fullname, list(path)), space)
        own = _find(fullname, [str(space.root)]) if space.root is not None else None
        if own is not None and own.loader is not None:
            self.isolation.note_name(space, fullname)
            return _marked(own, space)
        if own is None and fullname not in self.isolation.private_names:
            return None
        # Either a folder without __init__.py, which gives way to a package of the environment, or
        # a name that is private elsewhere: here it means what the environment has under it, never
        # another worker's file.
        shared = PathFinder.find_spec(fullname, [*self.isolation.shared_path(), *space.extra_path])
        if own is None and shared is None:
            # Side by side, all workers' folders are on sys.path, where the others' must not be
            # found. Code without a worker may use it: a finalizer of the worker has no context.
            if space.root is None or self.isolation.swapping:
                return None
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        if own is not None and (shared is None or shared.loader is None):
            self.isolation.note_name(space, fullname)
            return _marked(own, space)
        if fullname not in self.isolation.private_names:
            return shared
        return _marked(shared, self.isolation.sharing(space, shared))


def owner_of(module: ModuleType | None) -> Space | None:
    """The space that PrivateFinder marked a module with, or None."""
    return space_of_globals(getattr(module, "__dict__", {}))


def space_of_globals(variables: Mapping[str, object]) -> Space | None:
    """The space of the module whose global variables these are, or None."""
    state: object = getattr(variables.get("__spec__"), "loader_state", None)
    return state.space if isinstance(state, Mark) else None


def _marked(spec: ModuleSpec | None, space: Space) -> ModuleSpec | None:
    if spec is None:
        return None
    spec.loader_state = space.mark
    if spec.loader is None:
        # A namespace package: the import system's own path object would look at sys.path anew
        # and take in folders of the same name outside the worker.
        spec.submodule_search_locations = list(spec.submodule_search_locations or ())
    elif type(spec.loader) is SourceFileLoader and space.holds(spec.origin):
        spec.loader = WorkerSourceLoader(spec.name, spec.origin or "")
    return spec


def _find(fullname: str, folders: list[str]) -> ModuleSpec | None:
    spec = PathFinder.find_spec(fullname, folders)
    if spec is not None:
        return spec
    # Folder listings are cached by modification time, whose resolution can hide a file that was
    # just added.
    tail = fullname.rpartition(".")[2]
    for folder in folders:
        stem = os.path.join(folder, tail)
        if os.path.isdir(stem) or os.path.exists(stem + ".py"):
            finder = sys.path_importer_cache.get(folder)
            if isinstance(finder, importlib.machinery.FileFinder):
                finder.invalidate_caches()
            return PathFinder.find_spec(fullname, folders)
    return None
