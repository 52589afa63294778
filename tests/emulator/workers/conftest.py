"""Workers made of a few files, loaded into this process and taken out of it after the test."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from pyflare.workers.carriers import CarrierPool
from pyflare.workers.current import WorkerScope
from pyflare.workers.isolation import Isolation, Space
from pyflare.workers.loop import new_event_loop


class Workers:
    """What the tests need of a process with workers in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.isolation = Isolation.of_process()
        self.pool = CarrierPool(self.isolation)
        self.scopes: list[WorkerScope] = []

    def write(self, name: str, files: dict[str, str]) -> Path:
        root = self.folder / name
        for file, text in files.items():
            path = root / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))
        root.mkdir(exist_ok=True)
        return root

    def make(self, name: str, files: dict[str, str], **options: Any) -> WorkerScope:
        scope = WorkerScope(name, Space(self.write(name, files), **options), carriers=self.pool)
        self.scopes.append(scope)
        return scope

    def load(self, scope: WorkerScope, main: str = "entry") -> ModuleType:
        if scope.space.isolation is None:
            self.isolation.add(scope.space)
        return scope.space.import_main(main)

    def start(self, name: str, files: dict[str, str], **options: Any) -> WorkerScope:
        """A worker, taken in and with its module `entry` imported."""
        scope = self.make(name, files, **options)
        scope.data["main"] = self.load(scope)
        return scope

    async def event(self, scope: WorkerScope, handler: str, *arguments: Any) -> Any:
        """Calls a function of the worker's main module the way an event does."""
        function = getattr(scope.data["main"], handler)

        async def call() -> Any:
            result = function(*arguments)
            return await result if isinstance(result, Awaitable) else result

        return await self.pool.drive(call(), scope.new_context(object()))

    def run(
        self,
        main: Coroutine[Any, Any, Any],
        loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
    ) -> Any:
        factory = loop_factory or (lambda: new_event_loop(self.isolation))
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.get_loop().set_task_factory(self.pool.task_factory)
            try:
                return runner.run(main)
            finally:
                self.pool.close()

    def call(self, scope: WorkerScope, handler: str, *arguments: Any) -> Any:
        """One event on a loop of its own."""
        return self.run(self.event(scope, handler, *arguments))


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    modules, path, finders = dict(sys.modules), list(sys.path), list(sys.meta_path)
    house = Workers(tmp_path)
    yield house
    for scope in house.scopes:
        house.isolation.remove(scope.space)
    left = {
        name
        for name, module in sys.modules.items()
        if name not in modules and str(tmp_path) in str(getattr(module, "__file__", ""))
    }
    assert not left
    assert sys.path == path
    assert sys.meta_path == finders
