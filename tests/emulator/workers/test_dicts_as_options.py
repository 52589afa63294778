"""A dict as the options of a JavaScript function: honoured since Pyodide 0.28, without effect before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker

OLD = "2025-01-01"
NEW = "2025-09-29"
BINDINGS: dict[str, Any] = {
    "kv_namespaces": [{"binding": "KV", "id": "k"}],
    "r2_buckets": [{"binding": "FILES", "bucket_name": "files"}],
    "d1_databases": [{"binding": "DB", "database_id": "d", "database_name": "d"}],
    "queues": {"producers": [{"binding": "JOBS", "queue": "jobs"}]},
}
SOURCE = """
import js
from js import Object, Request, Response, caches
from pyodide.ffi import to_js
from workers import WorkerEntrypoint


def plain(options):
    return to_js(options, dict_converter=Object.fromEntries)


async def stored(env, *options, **keywords):
    await env.KV.put("k", "v", *options, **keywords)
    return str((await env.KV.getWithMetadata("k")).metadata)


async def uploaded(env, *options, **keywords):
    await env.FILES.put("k", "v", *options, **keywords)
    return (await env.FILES.head("k")).customMetadata.to_py()


async def read(env, *options, **keywords):
    await env.KV.put("k", "[1]")
    return type(await env.KV.get("k", *options, **keywords)).__name__


async def rows(env, *options, **keywords):
    found = await env.DB.prepare("SELECT 1 AS one").raw(*options, **keywords)
    return found.to_py()


async def refused(promise):
    try:
        await promise
    except Exception as error:
        return str(error)
    return "taken"


async def on_fetch(request, env):
    return Response.new(repr({expression}))
"""
#: An expression with one dict of options, what it gives with them, and without.
CASES = [
    ('Response.new("x", OPTIONS{"status": 404}).status', 404, 200),
    ('Request.new("http://a/", OPTIONS{"method": "PUT"}).method', "PUT", "GET"),
    ('await stored(env, OPTIONS{"metadata": "m"})', "m", "None"),
    ('await read(env, OPTIONS{"type": "json"})', "JsProxy", "str"),
    ('await uploaded(env, OPTIONS{"customMetadata": {"a": "b"}})', {"a": "b"}, {}),
    ('await rows(env, OPTIONS{"columnNames": True})', [["one"], [1]], [[1]]),
    (
        'await refused(env.JOBS.send("x", OPTIONS{"delaySeconds": -1}))',
        None,
        "taken",
    ),
]
IDS = ["Response", "Request", "KV put", "KV get", "R2 put", "D1 raw", "queue"]


def answer(run: Runner, folder: Path, expression: str, date: str) -> str:
    path = write_worker(
        folder,
        SOURCE.replace("{expression}", expression),
        compatibility_date=date,
        compatibility_flags=["python_workers", "disable_python_no_global_handlers"],
        **BINDINGS,
    )

    async def program(flare: Any) -> str:
        return (await request(flare)).text

    found: str = run(program, path)
    return found


@pytest.mark.parametrize(("expression", "with_options", "without"), CASES, ids=IDS)
def test_have_no_effect_at_old_dates(
    run: Runner, tmp_path: Path, expression: str, with_options: Any, without: Any
) -> None:
    assert answer(run, tmp_path, expression.replace("OPTIONS", ""), OLD) == repr(without)


@pytest.mark.parametrize(
    ("date", "form"),
    [(NEW, ""), (NEW, "plain"), (OLD, "plain"), (OLD, "**")],
    ids=["a dict", "an object", "an object at an old date", "keywords at an old date"],
)
@pytest.mark.parametrize(("expression", "with_options", "without"), CASES, ids=IDS)
def test_count_otherwise(
    run: Runner,
    tmp_path: Path,
    expression: str,
    with_options: Any,
    without: Any,
    date: str,
    form: str,
) -> None:
    written = expression.replace("OPTIONS", form)
    if form == "plain":
        written = expression.replace("OPTIONS{", "plain({").replace("})", "}))")

    found = answer(run, tmp_path, written, date)

    if with_options is None:
        assert found not in (repr(without), "")
    else:
        assert found == repr(with_options)
    assert "no effect" not in run.err.text


def test_a_warning_says_what_to_do(run: Runner, tmp_path: Path) -> None:
    answer(run, tmp_path, 'Response.new("x", {"status": 404, "headers": {}})', OLD)

    text = " ".join(run.err.text.split())
    assert "The options 'status', 'headers' have no effect" in text
    assert "Pass keywords instead, or to_js({...}, dict_converter=Object.fromEntries)." in text


def test_what_the_sdk_is_given_is_converted_by_it_at_old_dates(run: Runner, tmp_path: Path) -> None:
    source = """
        from workers import Response, WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def on_fetch(self, request):
                await self.env.KV.put("k", "v", {"metadata": {"a": 1}})
                found = await self.env.KV.getWithMetadata("k")
                return Response.json(found["metadata"], status=201, headers={"x-a": "b"})
    """
    path = write_worker(tmp_path, source, compatibility_date=OLD, **BINDINGS)

    async def program(flare: Any) -> Any:
        found = await request(flare)
        return found.status, found.json, dict(found.headers)["x-a"]

    assert run(program, path) == (201, {"a": 1}, "b")
