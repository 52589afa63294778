"""A worker's environment, used from a test through the SDK's wrappers and raw."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pyflare import Pyflare
from pyflare.server.log import LogSink
from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry
from tests.emulator.conftest import Lines, write_worker

EMPTY = """
from workers import WorkerEntrypoint

class Default(WorkerEntrypoint):
    pass
"""


class Surroundings(NamedTuple):
    """``env`` as Python classes see it, ``raw`` as JavaScript would, and what is around them."""

    env: Any
    raw: Any
    flare: Pyflare
    registry: BindingRegistry
    clock: ManualClock


Program = Callable[[Surroundings], Awaitable[Any]]


class Bench:
    """Starts a worker with a configuration and runs a program beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = Lines()
        self.err = Lines()

    def __call__(
        self,
        program: Program,
        *,
        source: str = EMPTY,
        bindings: Any = None,
        persist_to: Any = None,
        **config: Any,
    ) -> Any:
        path = write_worker(self.folder / "w", source, **config)
        clock = ManualClock()
        flare = Pyflare(
            path,
            cwd=self.folder,
            persist_to=persist_to,
            clock=clock,
            bindings=bindings,
            log=LogSink(stdout=self.out, stderr=self.err),  # type: ignore[arg-type]
        )

        async def run() -> Any:
            async with flare:
                assert flare.registry is not None
                raw = flare.loaded().definition.environment
                return await program(Surroundings(flare.env(), raw, flare, flare.registry, clock))

        with asyncio.Runner(loop_factory=flare.loop_factory) as runner:
            return runner.run(run())

    def error(self, program: Program, **options: Any) -> str:
        """``Name: message`` of the JavaScript error that the program raises."""

        async def caught(around: Surroundings) -> str:
            from pyodide.ffi import JsException

            try:
                await program(around)
            except JsException as error:
                return str(error)
            raise AssertionError("nothing was raised")

        return str(self(caught, **options))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
