"""Objects with alarms on a clock that is turned by hand."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare_bindings.clock import ManualClock
from tests.emulator.conftest import Runner, write_worker

HEAD = """
import asyncio
import datetime
import time

import js
from workers import DurableObject, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        raise NotImplementedError
"""

START = 1_767_225_600
"""The second at which the clock begins."""


def write_objects(folder: Path, source: str, *classes: str, **config: Any) -> Path:
    """A worker with these Durable Object classes, each bound under its name in capitals."""
    names = classes or ("Thing",)
    settings: dict[str, Any] = {
        "durable_objects": {
            "bindings": [{"name": name.upper(), "class_name": name} for name in names]
        },
        "migrations": [{"tag": "v1", "new_sqlite_classes": list(names)}],
    }
    return write_worker(folder, HEAD + textwrap.dedent(source), **{**settings, **config})


def at(second: float) -> int:
    """The alarm time of a second after the start, in milliseconds."""
    return round((START + second) * 1000)


def second(time: int | None) -> float | None:
    """The reverse of `at`."""
    return None if time is None else time / 1000 - START


def runs(flare: Any) -> list[Any]:
    """The list `runs` of the worker's main module."""
    (cls, *_) = flare.loaded().entrypoints.objects.values()
    handler = getattr(cls, "alarm", None) or cls.on_alarm
    return list(handler.__globals__["runs"])


Program = Callable[[Any, Pyflare], Awaitable[Any]]


class Bench:
    """Starts workers on one state directory, as often as a test likes, on one clock."""

    def __init__(self, folder: Path, runner: Runner) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.clock = ManualClock(START)
        self.runner = runner
        self.config = folder / "w" / "wrangler.json"

    @property
    def lines(self) -> list[str]:
        """What was printed on stdout."""
        return self.runner.out.text.splitlines()

    @property
    def errors(self) -> str:
        """What was printed on stderr."""
        return self.runner.err.text

    def write(self, source: str, *classes: str, **config: Any) -> Path:
        """Make this the worker."""
        return write_objects(self.folder / "w", source, *classes, **config)

    def run(self, program: Program, *configs: Path, **options: Any) -> Any:
        """Run `program(env, flare)` beside the worker."""

        async def inside(flare: Pyflare) -> Any:
            return await program(flare.env(), flare)

        given = {"persist_to": self.state, "clock": self.clock, **options}
        return self.runner(inside, *(configs or (self.config,)), **given)

    def __call__(self, source: str, program: Program, *classes: str, **options: Any) -> Any:
        """The same with this source."""
        return self.run(program, self.write(source, *classes), **options)

    async def until(self, second: float) -> None:
        """Turn the clock to a second after the start."""
        await self.clock.advance(START + second - self.clock.now())
        await settled()


async def settled() -> None:
    """Give everything that is under way its turns."""
    for _ in range(100):
        await asyncio.sleep(0)


@pytest.fixture
def bench(tmp_path: Path, run: Runner) -> Bench:
    return Bench(tmp_path, run)
