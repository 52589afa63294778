"""Programs against `env.BUCKET`, through the SDK as Python Workers use it, and raw."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyflare.workers.runtime import Runtime
from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry

Program = Callable[[Any], Awaitable[Any]]


@pytest.fixture(autouse=True)
def runtime() -> Iterator[None]:
    installed = Runtime()
    installed.install()
    yield
    installed.uninstall()


class Bucket:
    """Runs programs against one bucket."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _run(self, program: Program, wrap: Callable[[Any], Any]) -> Any:
        from pyflare.env.r2 import R2Bucket

        async def run() -> Any:
            registry = BindingRegistry(self.folder, clock=ManualClock())
            try:
                return await program(wrap(R2Bucket._make(registry.r2("bucket"))))
            finally:
                await registry.close()

        return asyncio.run(run())

    def __call__(self, program: Program) -> Any:
        """Through the SDK's wrapper."""
        from workers.rpc import _BindingWrapper

        return self._run(program, _BindingWrapper)

    def raw(self, program: Program) -> Any:
        return self._run(program, lambda bucket: bucket)

    def failure(self, program: Program) -> tuple[str, str]:
        """The name and the text of the JavaScript error that a program ends with."""
        from pyodide.ffi import JsException

        with pytest.raises(JsException) as caught:
            self(program)
        return caught.value.name, caught.value.message


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path)
