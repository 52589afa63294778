"""Before null had a value of its own in Python: under the oldest runtime whatever is awaited gives None for it."""

from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker

SOURCE = """
import asyncio
import js
from js import Response

NULL = "null"

async def kept(promise):
    await asyncio.sleep(0)
    return await promise

async def on_fetch(request, env):
    return Response.new(repr({value}))
"""
WAYS = [
    "await env.KV.get('missing')",
    "await kept(env.KV.get('missing'))",
    "(await env.KV.getWithMetadata('missing')).value",
    "(await env.KV.getWithMetadata('missing')).metadata",
    "await env.DB.prepare('SELECT 1 WHERE 0').first()",
    "await env.DB.prepare('SELECT NULL AS a').first('a')",
    "await env.FILES.get('missing')",
    "await env.FILES.head('missing')",
    "await js.Response.new(NULL).json()",
    "await js.Promise.resolve(js.JSON.parse(NULL))",
    "await js.Promise.resolve(1).then(lambda _: js.JSON.parse(NULL))",
    "await js.Promise.new(lambda resolve, _: resolve(js.JSON.parse(NULL)))",
    "request.headers.get('missing')",
    "request.body",
]
BINDINGS: dict[str, Any] = {
    "kv_namespaces": [{"binding": "KV", "id": "k"}],
    "d1_databases": [{"binding": "DB", "database_id": "d", "database_name": "d"}],
    "r2_buckets": [{"binding": "FILES", "bucket_name": "files"}],
}


def answer(run: Runner, tmp_path: Path, value: str, date: str, *flags: str) -> str:
    path = write_worker(
        tmp_path,
        SOURCE.replace("{value}", value),
        compatibility_date=date,
        compatibility_flags=["python_workers", "disable_python_no_global_handlers", *flags],
        **BINDINGS,
    )

    async def program(flare: Any) -> str:
        return (await request(flare, "/")).text

    return run(program, path)  # type: ignore[no-any-return]


@pytest.mark.parametrize("value", WAYS)
def test_null_arrives_as_none(run: Runner, tmp_path: Path, value: str) -> None:
    assert answer(run, tmp_path, value, "2025-06-01") == "None"


@pytest.mark.parametrize("value", WAYS)
def test_later_runtimes_tell_null_from_undefined(run: Runner, tmp_path: Path, value: str) -> None:
    assert answer(run, tmp_path, value, "2026-05-01") == "jsnull"
