"""What one worker keeps to itself in an interpreter that several workers share."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Collection, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from pyflare.workers.crossing import entered
from pyflare.workers.finder import Mark
from pyflare.workers.import_order import ImportsUnderWay
from pyflare.workers.private_names import may_be_module, mentions, module_files, shadowed_files

if TYPE_CHECKING:
    from pyflare.workers.current import WorkerScope
    from pyflare.workers.isolation import Isolation

VENDORED = "python_modules"
"""The folder of packages that a Worker is deployed with."""

PRIVATE_PACKAGES = ("django", "django_cf")
"""Pure-Python packages that keep process-wide settings, so every worker gets its own copy."""


class IsolationError(RuntimeError):
    """Workers cannot be kept apart as asked; the text says why and what to do."""


class Space:
    """One worker's private modules and module search path.

    `root` is the bundle root: the folder of the main module. `private_packages` names packages of
    the shared environment that this worker gets its own copy of. `extra_path` lists further
    folders, searched after the environment. Without a root it stands for the host process.
    """

    __slots__ = (
        "__weakref__",
        "extra_path",
        "folder",
        "host_modules",
        "imports",
        "isolation",
        "mark",
        "modules",
        "names",
        "path",
        "private_packages",
        "root",
        "scope",
        "shared",
        "shares",
        "stays",
        "thread",
    )

    def __init__(
        self,
        root: Path | None,
        *,
        private_packages: Sequence[str] = PRIVATE_PACKAGES,
        extra_path: Sequence[Path] = (),
    ) -> None:
        self.root = root.resolve() if root is not None else None
        #: How the names of its own files begin.
        self.folder = f"{self.root}{os.sep}" if root is not None else None
        self.private_packages = frozenset(private_packages) if root is not None else frozenset()
        self.extra_path = tuple(str(folder) for folder in extra_path)
        self.names: set[str] = set()
        self.modules: dict[str, ModuleType] = {}
        self.path: list[str] = []
        self.scope: WorkerScope | None = None
        self.isolation: Isolation | None = None
        self.thread = 0
        #: Whether this worker runs the host's copies of its modules, `shared`, which are what the
        #: host had before, `host_modules`; and whether the host keeps what it imports besides.
        self.shares = self.stays = False
        self.shared: dict[str, ModuleType] = {}
        self.host_modules: dict[str, ModuleType] = {}
        self.imports = ImportsUnderWay()
        self.mark = Mark(self)
        self.rescan()

    @classmethod
    def in_project(cls, root: Path, project: Path) -> Space:
        """The space of a worker whose packages are vendored in the folder of its project.

        Source: pywrangler installs into `python_modules` beside the configuration. The runtime
        searches it before its own packages; here the environment comes first, whose packages are
        compiled for this machine.
        """
        vendored = project / VENDORED
        return cls(root, extra_path=[vendored] if vendored.is_dir() else [])

    def rescan(self) -> None:
        """Looks again which top-level names the worker's folders give."""
        if self.root is None:
            return
        self.names = {name for name in module_files(self.root) if may_be_module(name)}
        for folder in self.extra_path:
            self.names.update(
                name
                for name in module_files(Path(folder))
                if may_be_module(name) and not self._in_environment(name)
            )

    def claims(self, packages: Collection[str]) -> set[str]:
        """The names that must mean this worker's own module.

        Of its private packages those count that are among `packages` and that its sources mention.
        """
        claimed = set(self.names)
        for package in self.private_packages.intersection(packages) - claimed:
            if self.root and self._in_environment(package) and mentions(self.root, package):
                claimed.add(package)
        return claimed

    def warnings(self) -> list[str]:
        """A text for each file of the worker that the standard library hides."""
        return list(shadowed_files(self.root).values()) if self.root is not None else []

    def holds(self, file: str | None) -> bool:
        """Whether `file` lies in the worker's own folder."""
        return self.root is not None and file is not None and Path(file).is_relative_to(self.root)

    def holds_module(self, module: ModuleType) -> bool:
        """Whether a module, or a folder of modules without a file of its own, is the worker's."""
        variables = vars(module)
        file = variables.get("__file__")
        if file is not None:
            return self.holds(file)
        return any(self.holds(str(folder)) for folder in variables.get("__path__", ()))

    def import_main(self, name: str) -> ModuleType:
        """Imports the main module as this worker.

        `name` is the main file's name without `.py`. Raises ImportError when another module comes
        before it, and whatever the module raises. Source: the runtime imports the main module by
        name from the bundle root, where the standard library comes first.
        """
        scope, _ = self._in_use()
        self._check_main(name)
        with entered(scope):
            try:
                return importlib.import_module(name)
            except ModuleNotFoundError as error:
                if error.name is not None and error.name.partition(".")[0] == "src":
                    error.add_note(
                        "Imports start in the folder of the main module, so when it lies in 'src' "
                        "leave out the 'src.' prefix."
                    )
                self._explain(error)
                raise
            except ImportError as error:
                self._explain(error)
                raise

    def reload(self, name: str) -> ModuleType:
        """Drops every private module of this worker and imports its main module anew.

        Other workers keep theirs. When the new code fails to import, the old modules are put back
        and the exception is passed on.
        """
        scope, isolation = self._in_use()
        with entered(scope):
            isolation.refresh(self)
            before = isolation.drop_modules(self)
            try:
                return self.import_main(name)
            except BaseException:
                isolation.drop_modules(self)
                isolation.restore_modules(self, before)
                raise

    def _explain(self, error: ImportError) -> None:
        """Adds a note where a package was at fault that is compiled for the runtime only."""
        name = None
        for folder in self.extra_path:
            for frame, _ in traceback.walk_tb(error.__traceback__):
                file = Path(frame.f_code.co_filename)
                if file.is_relative_to(folder):
                    name = file.relative_to(folder).parts[0].removesuffix(".py")
            if name is not None:
                error.add_note(
                    f"{name!r} was found in {folder} only, where packages are compiled for the "
                    f"runtime. If it is such a package, install it into the environment that "
                    f"pyflare runs in: {sys.executable} -m pip install {name}"
                )
                return

    def _check_main(self, name: str) -> None:
        if self.root is None:
            return
        if not may_be_module(name):
            texts = shadowed_files(self.root)
            raise ImportError(texts.get(f"{name}.py", f"{name!r} cannot be a main module"))
        if (self.root / VENDORED / f"{name}.py").exists():
            raise ImportError(
                f"Python module python_modules/{name}.py clashes with main module: "
                f"both are imported as {name!r}. Rename the main module."
            )

    def _in_environment(self, name: str) -> bool:
        path = self.isolation.shared_path() if self.isolation is not None else list(sys.path)
        return PathFinder.find_spec(name, path) is not None

    def _in_use(self) -> tuple[WorkerScope, Isolation]:
        if self.scope is None or self.isolation is None:
            raise IsolationError(
                f"the space of {self.root} is not in use: make a WorkerScope with it and add it to "
                "an Isolation first"
            )
        return self.scope, self.isolation
