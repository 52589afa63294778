"""The modules that production's runtime supplies, and the workers that use them, for one process.

``js``, ``pyodide`` and the two helper modules of the SDK are served by a finder at the front of ``sys.meta_path``; what
they show depends on the worker that looks.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Sequence
from types import ModuleType

from pyflare.js import globals as js_globals
from pyflare.js.callbacks import console_sink
from pyflare.pyodide import suspension
from pyflare.pyodide.ffi import later_names

from . import standard_library
from .carriers import CarrierPool
from .context_module import ContextModule
from .current import WorkerScope, current
from .entrypoint_helper import namespace as entrypoint_helper
from .event import FailureReport
from .finder import SyntheticFinder
from .isolation import Isolation
from .loop import SwitchingLoop
from .old_sdk_path import OldSdkPath
from .shared_modules import unshare
from .suspend import can_run_sync, run_sync, without_waiting
from .worker import Worker, WorkerDefinition

__all__ = ["Runtime"]

_PYODIDE = (
    "pyodide",
    "pyodide.code",
    "pyodide.ffi",
    "pyodide.ffi.wrappers",
    "pyodide.http",
    "pyodide.webloop",
)


#: These are each worker's own, so that no module may keep them.
_OF_THE_WORKER = ("globalThis", "self", *js_globals.NODE_NAMES)


def _js_module() -> ModuleType:
    return ContextModule(
        "js", resolve=js_globals.resolve, listed=js_globals.names, uncached=_OF_THE_WORKER
    )


def _pyodide_module(name: str) -> Callable[[], ModuleType]:
    return lambda: importlib.import_module(f"pyflare.{name}")


def _entrypoint_helper_module() -> ModuleType:
    module = ModuleType("_pyodide_entrypoint_helper")
    module.__dict__.update(entrypoint_helper())
    return module


def _is_own_file(file: str | None) -> bool:
    scope = current.get()
    return scope is not None and scope.space.holds(file)


class Runtime:
    """Installs the runtime's modules and adaptions in this process, and loads workers into it. Reversible."""

    def __init__(self) -> None:
        self.isolation = Isolation.of_process()
        self.workers: list[Worker] = []
        self._carriers: CarrierPool | None = None
        self._finder = SyntheticFinder(
            {
                "js": _js_module,
                "_cloudflare_compat_flags": lambda: ContextModule("_cloudflare_compat_flags"),
                "_pyodide_entrypoint_helper": _entrypoint_helper_module,
                **{name: _pyodide_module(name) for name in _PYODIDE},
            }
        )
        self._old_sdk_path = OldSdkPath()

    def install(self) -> None:
        """Make ``js`` and ``pyodide`` importable and adapt the standard library for code inside workers.

        Raises ForeignPyodideError when the real ``pyodide`` was imported before.
        """
        self.supply()
        standard_library.install()

    def uninstall(self) -> None:
        """Give the process back as it was."""
        standard_library.uninstall()
        self.withdraw()

    def supply(self) -> None:
        """Make ``js`` and ``pyodide`` importable, and no more. Raises ForeignPyodideError as :meth:`install` does."""
        self._finder.install()
        self._old_sdk_path.install()
        suspension.install(run_sync, can_run_sync, without_waiting)
        later_names.install(_is_own_file)

    def withdraw(self) -> None:
        """Undo :meth:`supply`, but for what others supply too."""
        self._finder.uninstall()
        self._old_sdk_path.uninstall()

    async def add(
        self,
        definitions: Sequence[WorkerDefinition],
        *,
        report: Callable[[str], FailureReport],
        console: Callable[[str], Callable[[str, str], None]],
    ) -> list[Worker]:
        """Take workers in and load them; to be called on the running loop, which they share.

        Args: by a worker's name, ``report`` gives the function that is told of failures in its background work, and
        ``console`` the one that takes its console output (level, text).
        Raises IsolationError when they have module names in common and the loop cannot keep them apart.
        """
        loop = asyncio.get_running_loop()
        # Where no module is loaded, no names are taken.
        spaces = [each.space for each in definitions if each.main_module]
        self.isolation.add(*spaces, can_swap=self._swaps(loop))
        if self._carriers is None:
            self._carriers = CarrierPool.of_loop(loop, self.isolation)
        added = []
        for definition in definitions:
            scope = WorkerScope(definition.name, definition.space, carriers=self._carriers)
            failed = report(definition.name)
            scope.context.run(console_sink.set, _Console(console(definition.name), failed))
            worker = Worker(definition, scope, self._carriers, failed)
            self.workers.append(worker)
            await worker.load()
            added.append(worker)
        return added

    async def redefine(self, worker: Worker, definition: WorkerDefinition) -> None:
        """Load a worker again, from a definition that may have changed. Requests under way finish on the old code."""
        before = worker.definition.space
        is_new = definition.space is not before
        # The code may have changed since the host imported it.
        unshare(self.isolation, before)
        if definition.main_module and (is_new or before.isolation is None):
            loop = asyncio.get_running_loop()
            self.isolation.replace(before, definition.space, can_swap=self._swaps(loop))
        elif is_new:
            self.isolation.remove(before)
        worker.define(definition)
        await worker.load()

    async def remove(self, worker: Worker, grace: float) -> None:
        """End a worker's background work within ``grace`` seconds, and forget it and its modules."""
        await worker.close(grace)
        if worker in self.workers:
            self.workers.remove(worker)
            self.isolation.remove(worker.definition.space)

    def can_swap_here(self) -> bool:
        """Whether the running loop swaps the modules of these workers."""
        return self._swaps(asyncio.get_running_loop())

    def _swaps(self, loop: asyncio.AbstractEventLoop) -> bool:
        return isinstance(loop, SwitchingLoop) and loop.isolation is self.isolation

    async def close(self, grace: float) -> None:
        """End the workers' background work within ``grace`` seconds and take everything out again."""
        for worker in reversed(self.workers):
            await worker.close(grace)
        if self._carriers is not None:
            self._carriers.release()
            self._carriers = None
        for worker in reversed(self.workers):
            self.isolation.remove(worker.definition.space)
        self.workers.clear()
        self.uninstall()


class _Console:
    """Where a worker's console output and its errors that nobody caught go."""

    __slots__ = ("_failed", "_write")

    def __init__(self, write: Callable[[str, str], None], failed: FailureReport) -> None:
        self._write = write
        self._failed = failed

    def __call__(self, level: str, text: str) -> None:
        self._write(level, text)

    def uncaught(self, error: BaseException) -> None:
        self._failed("", error)
