"""Several workers in one interpreter: whose modules are in `sys.modules` right now.

Each worker has a `Space` that keeps its private modules and its own `sys.path`. When a callback of
another worker runs, `Isolation.switch` takes the private modules of the previous worker out of
`sys.modules` and puts the other's in. Modules keep their true names, so pickle, dataclasses,
typing and `importlib.import_module` find them as they do in production.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import os
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import ClassVar

from pyflare.workers.clash_texts import clash_text, threads_text
from pyflare.workers.current import current
from pyflare.workers.finder import PrivateFinder, owner_of
from pyflare.workers.import_order import OrderedImports
from pyflare.workers.space import PRIVATE_PACKAGES, IsolationError, Space

__all__ = ["PRIVATE_PACKAGES", "Isolation", "IsolationError", "Space", "switch"]

_NO_VARIABLES: Mapping[str, object] = {}


class Isolation:
    """Decides whose private modules are in `sys.modules`. One for a process: see `of_process`.

    With one worker, or several without a name in common, all modules stay installed side by side
    and `switch` only notes who runs. Otherwise `swapping` is true. Not for use from several
    threads: all workers run on one event loop.
    """

    _all: ClassVar[weakref.WeakSet[Isolation]] = weakref.WeakSet()

    def __init__(self) -> None:
        self.host = Space(None)
        self.host.isolation = self
        self.installed = self.host
        self.spaces: list[Space] = []
        self.swapping = False
        self.private_names: frozenset[str] = frozenset()
        self._can_swap = True
        self._finder = PrivateFinder(self)
        self._ordered_imports = OrderedImports()
        self._lent: list[str] = []
        self._module_count = 0
        # Names of modules that are no worker's as long as these names are private: most of a process.
        self._foreign: set[str] = set()
        self._foreign_to = self.private_names
        self._expected: weakref.WeakSet[Space] = weakref.WeakSet()
        #: What its host keeps with it: the thread of the workers' own loop.
        self.home: object = None
        self._all.add(self)

    @classmethod
    def of_process(cls) -> Isolation:
        """The instance that somebody in this process holds, or a fresh one when there is none."""
        return next(iter(cls._all), None) or cls()

    def expect(self, *spaces: Space) -> None:
        """Lets `needs_swapping` count workers that are to come, until they are removed or gone."""
        self._expected.update(spaces)

    def add(self, *spaces: Space, can_swap: bool = True) -> None:
        """Takes workers in. `can_swap` tells whether they run on a `SwitchingLoop`.

        Raises IsolationError, and changes nothing, when names clash and `can_swap` is false, or
        when they clash with those of workers in another thread.
        """
        clashes = self.clashes(spaces)
        here = threading.get_ident()
        if (clashes or self.swapping) and any(each.thread != here for each in self.spaces):
            raise IsolationError(threads_text(clashes))
        if clashes and not can_swap:
            raise IsolationError(clash_text(clashes))
        with self._from_host():
            self._can_swap = can_swap and (self._can_swap or not self.spaces)
            for space in spaces:
                space.isolation = self
                space.thread = here
                self.spaces.append(space)
            self._change(swapping=self.swapping or bool(clashes))

    def remove(self, space: Space) -> None:
        """Forgets a worker and all its modules; after the last one the process is as before."""
        self._expected.discard(space)
        if space not in self.spaces:
            return
        with self._from_host():
            dropped = self.drop_modules(space)
            if space.stays:
                for name, module in dropped.items():
                    if sys.modules.setdefault(name, module) is module and module.__spec__:
                        module.__spec__.loader_state = None
            if not space.shares:
                sys.modules.update(space.host_modules)
            self.spaces.remove(space)
            self._change(swapping=self.swapping and bool(self.clashes()))
            space.isolation = None

    def replace(self, old: Space, new: Space, *, can_swap: bool = True) -> None:
        """Puts a worker's new space in the place of its old one, whose modules are forgotten.

        Raises IsolationError, and changes nothing, where `add` would.
        """
        clashes = self.clashes((new,), without=old)
        if clashes and not can_swap:
            raise IsolationError(clash_text(clashes))
        self.remove(old)
        self.add(new, can_swap=can_swap)

    def sharing(self, space: Space, spec: ModuleSpec | None) -> Space:
        """Whose a module is that is about to be imported for `space`: the host shares a worker's."""
        if space is self.host and spec is not None and not self.swapping:
            for each in self.spaces:
                if each.shares and each.holds(spec.origin):
                    return each
        return space

    def needs_swapping(self, spaces: Iterable[Space] = ()) -> bool:
        """Whether these workers, with those here or to come, need a loop that switches modules."""
        if self.swapping or self.clashes(spaces):
            return True
        if self._expected.issubset(spaces) or not self.clashes({*spaces, *self._expected}):
            return False
        # Those that nobody can start any more do not count.
        gc.collect()
        return bool(self.clashes({*spaces, *self._expected}))

    def clashes(
        self, spaces: Iterable[Space] = (), *, without: Space | None = None
    ) -> dict[str, list[str]]:
        """Names that mean different modules, with the bundle roots (or others) they belong to."""
        everyone = [space for space in self.spaces if space is not without]
        everyone += [space for space in spaces if space not in everyone]
        users: dict[str, list[str]] = {}
        loaded = {**sys.modules, **self.host.modules}
        copied = frozenset().union(*(space.private_packages for space in everyone))
        for space in everyone:
            # Looking through sources costs time, which one worker alone need not spend.
            for name in space.claims(copied if len(everyone) > 1 else copied & loaded.keys()):
                users.setdefault(name, []).append(str(space.root))
        for name, owners in users.items():
            host = loaded.get(name)
            if any(host is space.shared.get(name) for space in everyone):
                continue
            if host is not None and owner_of(host) in (None, self.host):
                owners.append("the host process")
        if len(everyone) > 1:
            path = self.shared_path()
            for name, owners in users.items():
                if len(owners) == 1 and name not in copied and _is_installed(name, path):
                    owners.append("the installed packages")
        return {name: owners for name, owners in sorted(users.items()) if len(owners) > 1}

    def switch(self, space: Space) -> None:
        """Makes `space` the one whose modules are in `sys.modules`; cheap when it already is."""
        outgoing = self.installed
        if space is outgoing:
            return
        self.installed = space
        if not self.swapping:
            return
        modules = sys.modules
        count = len(modules)
        if count != self._module_count:
            self._harvest(outgoing)
            count = len(modules)
        # The values are read back from sys.modules, since a module may have replaced itself.
        pop = modules.pop
        held = {name: pop(name, None) for name in outgoing.modules}
        if count - len(modules) == len(held):
            outgoing.modules = held  # type: ignore[assignment]
        else:
            outgoing.modules = {name: module for name, module in held.items() if module is not None}
        outgoing.path = sys.path
        modules.update(space.modules)
        sys.path = space.path
        self._module_count = len(modules)

    def leave(self) -> None:
        """After a synchronous crossing: the modules of the worker that `current` names again."""
        scope = current.get()
        if scope is not None:
            self.switch(scope.space)
        elif self.host.modules:
            self.switch(self.host)

    def note_name(self, space: Space, name: str) -> None:
        """A file that was added after the start has been found under this name."""
        if name not in space.names:
            space.names.add(name)
            self.private_names |= {name}

    def refresh(self, space: Space) -> None:
        """Looks for files that were added to or removed from a worker's folder.

        Raises IsolationError when a new one clashes and the loop cannot switch modules.
        """
        importlib.invalidate_caches()
        known = frozenset(space.names)
        space.rescan()
        if known == space.names:
            return
        clashes = self.clashes()
        if clashes and not self._can_swap:
            raise IsolationError(clash_text(clashes))
        with self._from_host():
            self._change(swapping=self.swapping or bool(clashes))

    def drop_modules(self, space: Space) -> dict[str, ModuleType]:
        """Removes a worker's private modules from the process and returns them."""
        if self.swapping:
            self._harvest(self.installed)
        dropped = {
            name: module
            for name, module in space.modules.items()
            if space.shared.get(name) is not module
        }
        space.modules = dict(space.shared) if self.swapping else {}
        for name in self._perhaps_private():
            if self._is_private_to(space, name, sys.modules[name], dropped):
                dropped[name] = sys.modules.pop(name)
        self._module_count = len(sys.modules)
        return dropped

    def restore_modules(self, space: Space, modules: Mapping[str, ModuleType]) -> None:
        """Undoes `drop_modules`."""
        if self.swapping:
            space.modules.update(modules)
        if self.installed is space or not self.swapping:
            sys.modules.update(modules)
        self._module_count = len(sys.modules)

    def shared_path(self) -> list[str]:
        """The host's module search path, without what workers add to it."""
        path = self.host.path if self.swapping and self.installed is not self.host else sys.path
        return [folder for folder in path if folder not in self._lent]

    def _is_private_to(
        self, space: Space, name: str, module: ModuleType, known: Mapping[str, ModuleType]
    ) -> bool:
        if space.shared.get(name) is module:
            return False
        owner = owner_of(module)
        if owner is not None:
            return owner is space
        if self.swapping:
            return known.get(name) is module
        return name.partition(".")[0] in space.names

    @contextmanager
    def _from_host(self) -> Iterator[None]:
        """The host's modules and path are installed inside; afterwards the running worker's."""
        self.switch(self.host)
        try:
            yield
        finally:
            scope = current.get()
            if scope is not None and scope.space in self.spaces:
                self.switch(scope.space)

    def _change(self, *, swapping: bool) -> None:
        """Brings names, paths and finders in line with `spaces`."""
        sys.path[:] = self.shared_path()
        self._lent = []
        self.private_names = frozenset(
            itertools.chain.from_iterable(
                (*space.names, *space.private_packages) for space in self.spaces
            )
        )
        self.host.modules = {}
        self.swapping = swapping
        for space in self.spaces:
            if not swapping:
                sys.modules.update(space.modules)
                space.modules.clear()
                space.path = []
                continue
            space.modules.update(space.shared)
            if not space.path:
                space.path = with_worker_folders(sys.path, space)
        if swapping:
            self._harvest(self.host)
        else:
            self._lend_paths()
        self._module_count = len(sys.modules)
        if self.spaces and self._finder not in sys.meta_path:
            sys.meta_path.insert(0, self._finder)
            self._ordered_imports.install()
        elif not self.spaces and self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
            self._ordered_imports.uninstall()

    def _lend_paths(self) -> None:
        before = set(sys.path)
        for space in reversed(self.spaces):
            sys.path[:] = with_worker_folders(sys.path, space)
        self._lent = [folder for folder in sys.path if folder not in before]

    def _harvest(self, installed: Space) -> None:
        """Notes newly imported private modules, and takes out those that are not `installed`'s."""
        private = self.private_names
        for name in self._perhaps_private():
            if name.partition(".")[0] not in private:
                continue
            module = sys.modules[name]
            owner = owner_of(module) or installed
            if owner.isolation is self:
                owner.modules[name] = module
            if owner is not installed:
                del sys.modules[name]

    def _perhaps_private(self) -> list[str]:
        """The names in `sys.modules` but for those that have been found to be nobody's."""
        if self._foreign_to != self.private_names:
            self._foreign.clear()
            self._foreign_to = self.private_names
        modules, foreign, private = sys.modules, self._foreign, self.private_names
        found = []
        for name in sorted(modules.keys() - foreign):
            # The first time this sees all modules of the process, so it asks as little as it can.
            spec = getattr(modules[name], "__dict__", _NO_VARIABLES).get("__spec__")
            if (
                getattr(spec, "loader_state", None) is None
                and name.partition(".")[0] not in private
            ):
                foreign.add(name)
            else:
                found.append(name)
        return found


def switch(space: Space) -> None:
    """Installs a space's modules, see `Isolation.switch`; nothing where it is in no isolation."""
    if space.isolation is not None:
        space.isolation.switch(space)


def with_worker_folders(path: Iterable[str], space: Space) -> list[str]:
    """A module search path with a worker's folders in it, in the order the runtime has.

    The standard library first, then the worker's folder, the installed packages, and last the
    worker's extra folders.
    """
    merged = [folder for folder in path if folder not in space.extra_path]
    root = str(space.root)
    if root not in merged:
        standard = [i for i, folder in enumerate(merged) if _is_standard_library(folder)]
        last = max(standard, default=-1)
        merged.insert(last + 1, root)
    return [*merged, *space.extra_path]


def _is_installed(name: str, path: list[str]) -> bool:
    spec = PathFinder.find_spec(name, path)
    # A bare folder of that name somewhere on the path is most likely no package.
    return spec is not None and spec.loader is not None


def _is_standard_library(folder: str) -> bool:
    name = os.path.basename(folder)
    archive = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    return folder == os.path.dirname(os.__file__) or name in ("lib-dynload", archive)
