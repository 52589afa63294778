"""Objects of a class that a test writes, called from the embedding program."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Runner, write_worker

HEAD = """
    import asyncio

    import js
    from workers import DurableObject, Response, WorkerEntrypoint


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response("hello")
"""


def write_objects(folder: Path, source: str, *classes: str, **config: Any) -> Path:
    """A worker with these Durable Object classes, each bound under its name in capitals."""
    import textwrap

    names = classes or ("Thing",)
    return write_worker(
        folder,
        textwrap.dedent(HEAD) + textwrap.dedent(source),
        **{
            "durable_objects": {
                "bindings": [{"name": name.upper(), "class_name": name} for name in names]
            },
            "migrations": [{"tag": "v1", "new_sqlite_classes": list(names)}],
            **config,
        },
    )


Program = Callable[[Any, Pyflare], Awaitable[Any]]


@pytest.fixture
def with_objects(tmp_path: Path, run: Runner) -> Callable[..., Any]:
    """Runs ``program(env, flare)`` beside a worker with this source."""

    def go(source: str, program: Program, *classes: str, **options: Any) -> Any:
        config = write_objects(tmp_path / "w", source, *classes)

        async def inside(flare: Pyflare) -> Any:
            return await program(flare.env(), flare)

        return run(inside, config, **options)

    return go
