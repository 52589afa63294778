"""Small projects with tests of their own, run by pytest in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.emulator.conftest import write_worker

WORKER = """
from js import Date, WebSocketPair
from workers import DurableObject, Response, WorkerEntrypoint

class Thing(DurableObject):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        self.calls = 0

    async def call(self):
        self.calls += 1
        return self.calls

    async def keep(self, value):
        await self.ctx.storage.put("v", value)
        await self.ctx.storage.setAlarm(Date.now() + 60_000)

    async def alarm(self, info=None):
        if await self.ctx.storage.get("v") == "bad":
            raise ValueError("alarm failed")
        await self.ctx.storage.put("v", "rang")

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.url.endswith("/fails"):
            return self.deep()
        if request.url.endswith("/echo"):
            client, server = WebSocketPair.new().object_values()
            server.accept()
            server.onmessage = lambda event: server.send(event.data)
            return Response(None, status=101, web_socket=client)
        if request.url.endswith("/background"):
            self.ctx.waitUntil(self.fail_later())
        return Response(getattr(self.env, "MODE", "none"))

    def deep(self):
        raise LookupError("deep inside the worker")

    async def fail_later(self):
        raise RuntimeError("nobody sees this")
"""


@dataclass(frozen=True)
class Outcome:
    """What pytest said; `counts` by word, such as `passed`."""

    text: str
    counts: dict[str, int]


class Project:
    """A folder with a worker and tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_worker(
            folder,
            {"src/entry.py": WORKER, "migrations/2_b.sql": "INSERT INTO t VALUES ('a;b');\n-- end\n",
             "migrations/1_a.sql": "CREATE TABLE t (v); CREATE TABLE u (v)"},
            name="tested",
            kv_namespaces=[{"binding": "KV", "id": "kv"}],
            d1_databases=[{"binding": "DB", "database_id": "db"}],
            durable_objects={"bindings": [{"name": "THING", "class_name": "Thing"}]},
            migrations=[{"tag": "v1", "new_sqlite_classes": ["Thing"]}],
            env={"staging": {"vars": {"MODE": "staging"}}},
        )  # fmt: skip

    def run(self, test: str, *arguments: str, ini: str = "", conftest: str = "") -> Outcome:
        """Write a file of tests and run it; the plugins given with `-p` are all but pyflare's own."""
        (self.folder / "test_it.py").write_text(textwrap.dedent(test))
        (self.folder / "conftest.py").write_text(textwrap.dedent(conftest))
        if "no:asyncio" not in arguments:
            # Without this pytest-asyncio warns, and warnings are errors here.
            ini = f"asyncio_default_fixture_loop_scope = function\n{textwrap.dedent(ini)}"
        (self.folder / "pytest.ini").write_text(f"[pytest]\n{textwrap.dedent(ini)}")
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "CLOUDFLARE"))}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", *arguments],
            cwd=self.folder,
            env=plain,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        text = done.stdout + done.stderr
        last = text.strip().splitlines()[-1]
        counts = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", last)}
        return Outcome(text, counts)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)
