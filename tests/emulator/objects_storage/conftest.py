"""The storage of one object without the object: real files, the real output gate, sections one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyflare.workers.actors.output_gate import OutputGate
from pyflare.workers.runtime import Runtime
from pyflare_bindings.clock import ManualClock
from pyflare_bindings.objects.storage import ObjectStorage
from pyflare_bindings.registry import BindingRegistry

Program = Callable[[Any], Any]


class Gate(OutputGate):
    """The output gate, which also keeps what it was told."""

    def __init__(self, clock: ManualClock, broken: Callable[[BaseException], None]) -> None:
        super().__init__(clock, broken)
        self.told: list[bool] = []

    def wrote(self, confirmed: bool = True) -> None:
        self.told.append(confirmed)
        super().wrote(confirmed)


class Life:
    """What a storage is handed of the object that it belongs to."""

    def __init__(self, storage: ObjectStorage, clock: ManualClock, uses_sql: bool) -> None:
        self.storage = storage
        self.namespace = SimpleNamespace(uses_sql=uses_sql)
        self.failures: list[BaseException] = []
        self.output = Gate(clock, self.failures.append)
        self.output.attach(storage)
        storage.on_write = self.output.wrote

    def critical(self, function: Callable[[], Any]) -> Awaitable[Any]:
        return asyncio.get_running_loop().create_task(function())


class Bench:
    """Runs programs against the storage of one object and tells what they gave or raised."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock(1_700_000_000.0)
        self.uses_sql = True
        self.life: Any = None

    def raw(self, program: Program) -> Any:
        """With the storage as JavaScript sees it."""
        return self._run(program, lambda storage: storage)

    def sdk(self, program: Program) -> Any:
        """With the SDK's own wrapper."""
        from workers.rpc import _BindingWrapper

        return self._run(program, _BindingWrapper)

    def __call__(self, program: Program) -> Any:
        """With the storage as Python classes get it."""
        return self._run(program, lambda storage: storage._direct_wrapper())

    def error(self, program: Program) -> str:
        """The text of a JavaScript error, as Python classes get it."""
        from pyodide.ffi import JsException

        with pytest.raises(JsException) as caught:
            self(program)
        return str(caught.value)

    def _run(self, program: Program, wrap: Callable[[Any], Any]) -> Any:
        from pyflare.env.objects.storage import DurableObjectStorage
        from pyflare.js.promise import settle

        async def run() -> Any:
            registry = BindingRegistry(self.root, clock=self.clock)
            try:
                namespace = registry.objects("worker-Object")
                owner = namespace.open(namespace.ids.from_name("one"))
                self.life = Life(owner, self.clock, self.uses_sql)
                result = await settle(program(wrap(DurableObjectStorage._make(self.life))))
                pending = self.life.output.settle()
                if pending is not None:
                    await pending
                await owner.close()
                return result
            finally:
                await registry.close()

        return asyncio.run(run())


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Bench]:
    installed = Runtime()
    installed.install()
    yield Bench(tmp_path / "state")
    installed.uninstall()
