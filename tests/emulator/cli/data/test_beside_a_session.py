"""Data commands and a Worker on the same data at the same time: both see the same names, bytes and structures."""

import json
import os
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Cli

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")

KV = ("--binding", "KV")
KEYS = ["/t", "//t", "a\x1fb", "a\nb", "^", "...", "%2F", "a b", "ä", "😀"]
WORKER = """
import json
from urllib.parse import urlsplit, parse_qs
from workers import DurableObject, Response, WorkerEntrypoint

class Counter(DurableObject):
    async def fetch(self, request):
        sql = self.ctx.storage.sql
        sql.exec("CREATE TABLE IF NOT EXISTS n (v)")
        sql.exec("INSERT INTO n VALUES (1)")
        return Response(str(len(sql.exec("SELECT v FROM n").toArray())))

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        match url.path:
            case "/get":
                value = await self.env.KV.get(query["key"])
                return Response.json({"value": value})
            case "/put":
                await self.env.KV.put(query["key"], "from the worker", metadata={"a": [1]})
                return Response("done")
            case "/list":
                found = await self.env.KV.list(prefix=query["prefix"])
                return Response.json([key["name"] for key in found["keys"]])
            case "/object":
                stub = self.env.COUNTER.get(self.env.COUNTER.idFromName("a"))
                return await stub.fetch("http://object/")
"""

Ask = Callable[..., Any]


@pytest.fixture
def ask(project: Path) -> Iterator[Ask]:
    """``ask(path, **query)`` of the Worker under `pyflare dev`."""
    (project / "src").mkdir()
    (project / "src" / "entry.py").write_text(WORKER)
    ready = project / "ready.json"
    with (project / "dev.log").open("wb") as log:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "pyflare", "dev", "--port", "0", "--ip", "127.0.0.1",
                "--ready-file", str(ready), "--no-watch",
            ],
            cwd=project, stdout=log, stderr=log,
        )  # fmt: skip
    deadline = time.monotonic() + 30
    while not ready.exists():
        assert process.poll() is None, (project / "dev.log").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    base = json.loads(ready.read_text())["url"]

    def get(path: str, **query: str) -> Any:
        url = f"{base}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.loads(answer.read() if path != "/put" else b"null")

    yield get
    process.terminate()
    process.wait(30)


def test_both_sides_see_the_same_exact_keys(cli: Cli, ask: Ask) -> None:
    for key in KEYS:
        cli("kv", "key", "put", key, "from the command", *KV)
        assert ask("/get", key=key) == {"value": "from the command"}
        ask("/put", key=f"{key}!")
        assert cli("kv", "key", "get", f"{key}!", *KV).out == "from the worker"
        cli("kv", "key", "delete", key, *KV)
        assert ask("/get", key=key) == {"value": None}
        assert ask("/get", key=f"{key}!") == {"value": "from the worker"}


def test_both_sides_see_the_same_metadata_and_prefixes(cli: Cli, ask: Ask) -> None:
    ask("/put", key="rex")
    cli("kv", "key", "put", "re%", "v", "--metadata", '{"a": [1]}', *KV)
    found = cli("kv", "key", "list", *KV).json
    assert [each["metadata"] for each in found] == [{"a": [1]}, {"a": [1]}]
    for prefix, names in (("re%", ["re%"]), ("rex", ["rex"]), ("re", ["re%", "rex"])):
        assert ask("/list", prefix=prefix) == names
        listed = cli("kv", "key", "list", "--prefix", prefix, *KV).json
        assert [each["name"] for each in listed] == names


def test_sql_on_a_live_object_is_seen_by_it(cli: Cli, ask: Ask) -> None:
    assert ask("/object") == 1
    done = cli("do", "sql", "--name", "a", "--command", "INSERT INTO n VALUES (2), (3)")
    assert done.code == 0, done.err
    assert ask("/object") == 4
    failed = cli("do", "sql", "--name", "a", "--command", "DELETE FROM n; SELECT nonsense")
    assert failed.code == 1
    assert ask("/object") == 5


def test_an_export_is_one_state_while_the_database_changes(
    cli: Cli, ask: Ask, project: Path
) -> None:
    cli("d1", "execute", "DB", "--command", "CREATE TABLE a (v); CREATE TABLE b (v)")
    writing = subprocess.Popen(
        [
            sys.executable, "-c",
            "from pathlib import Path; from pyflare.owner.client import RemoteAccess\n"
            f"access = RemoteAccess.connect(Path({str(project / '.pyflare' / 'state')!r}))\n"
            "while True:\n"
            "    access.call('d1.query', id='dbid-1', statements=['INSERT INTO a VALUES (1)',"
            " 'INSERT INTO b VALUES (1)'])\n",
        ],
        env={**os.environ},
    )  # fmt: skip
    try:
        for _ in range(10):
            assert cli("d1", "export", "DB", "--output", "out.sql").code == 0
            text = (project / "out.sql").read_text()
            assert text.count('INSERT INTO "a"') == text.count('INSERT INTO "b"')
    finally:
        writing.kill()
        writing.wait()
