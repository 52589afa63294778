"""Two workers in one process, and code that runs in the first one."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from pyflare import Pyflare

HEADER = """
import asyncio, datetime, enum
import js
from js import Object, Reflect, Symbol
from pyodide.ffi import JsException, JsProxy, create_proxy, jsnull, run_sync, to_js
from workers import Blob, Request, Response, WorkerEntrypoint, import_from_javascript
import helper
"""


class Workers:
    """Writes workers that all have a module ``helper``, and calls into them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.configurations: list[Path] = []

    def add(
        self,
        name: str,
        source: str,
        services: dict[str, Any] | None = None,
        **config: Any,
    ) -> None:
        """``services``: by binding, a worker's name or an entry."""
        folder = self.directory / name
        folder.mkdir()
        (folder / "entry.py").write_text(HEADER + dedent(source))
        (folder / "helper.py").write_text(f"NAME = {name!r}\nSEEN = []\n")
        entries = [
            {"binding": binding} | ({"service": entry} if isinstance(entry, str) else entry)
            for binding, entry in (services or {}).items()
        ]
        configuration = {
            "name": name,
            "main": "entry.py",
            "compatibility_date": "2026-05-01",
            "compatibility_flags": ["python_workers"],
            "services": entries,
        } | config
        path = folder / "wrangler.json"
        path.write_text(json.dumps(configuration))
        self.configurations.append(path)

    def run(self, body: Callable[[Pyflare], Any]) -> Any:
        """Start them and await ``body(flare)`` on the loop that they need."""
        flare = Pyflare(self.configurations, persist_to=None)

        async def main() -> Any:
            async with flare:
                return await body(flare)

        with asyncio.Runner(loop_factory=flare.loop_factory) as runner:
            return runner.run(main())

    def call(self, method: str = "test") -> Any:
        """What a method of the first worker's default class gives."""

        async def body(flare: Pyflare) -> Any:
            worker = flare.loaded()

            async def event() -> Any:
                worker.check_loaded()
                return await getattr(worker.instance(), method)()

            return await worker.run(event())

        return self.run(body)


@pytest.fixture
def workers(tmp_path: Path) -> Workers:
    return Workers(tmp_path)


@pytest.fixture
def between(workers: Workers) -> Callable[..., Any]:
    """``between(callee, caller)``: the result of ``caller``, the body of a coroutine in a worker whose binding ``B`` is
    a worker with the class body ``callee``; ``extra`` is further text of the callee's module."""

    def run(callee: str, caller: str, extra: str = "", **config: Any) -> Any:
        body = indent(dedent(caller), " " * 8)
        workers.add(
            "a",
            f"class Default(WorkerEntrypoint):\n    async def test(self):\n        B = self.env.B\n{body}\n",
            {"B": "b", "SELF": "a"},
            **config,
        )
        methods = indent(dedent(callee), " " * 4)
        workers.add(
            "b", f"{dedent(extra)}\nclass Default(WorkerEntrypoint):\n{methods}\n", {"A": "a"}
        )
        return workers.call()

    return run
