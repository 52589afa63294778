"""KV and the caches of embedded Workers: one owner for all, on the clock that the test turns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

from pyflare import Pyflare
from pyflare.js.request import Request
from pyflare_bindings.clock import ManualClock

SOURCE = """
    from js import Response as JsResponse, caches
    from workers import Response, WorkerEntrypoint

    URL = "http://cache.key/"

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            if request.url.endswith("/put"):
                await self.env.KV.put("k", self.env.NAME, expirationTtl=60)
                kept = JsResponse.new(self.env.NAME, headers={"Cache-Control": "max-age=60"}.items())
                await caches.default.put(URL, kept)
                return Response("done")
            found = await caches.default.match(URL)
            return Response.json([
                await self.env.KV.get("k"), None if found is None else await found.text()
            ])
"""


def write_worker(directory: Path, name: str) -> Path:
    (directory / "src").mkdir(parents=True)
    (directory / "src" / "entry.py").write_text(dedent(SOURCE))
    configuration = {
        "name": name,
        "main": "src/entry.py",
        "compatibility_date": "2026-05-01",
        "compatibility_flags": ["python_workers"],
        "vars": {"NAME": name},
        "kv_namespaces": [{"binding": "KV", "id": "shared"}],
    }
    path = directory / "wrangler.json"
    path.write_text(json.dumps(configuration))
    return path


def run(tmp_path: Path, program: Callable[[Pyflare, ManualClock], Awaitable[Any]]) -> Any:
    paths = [write_worker(tmp_path / name, name) for name in ("one", "two", "three")]
    clock = ManualClock()
    flare = Pyflare(paths, cwd=tmp_path, persist_to=None, clock=clock)

    async def main() -> Any:
        async with flare:
            return await program(flare, clock)

    with asyncio.Runner(loop_factory=flare.loop_factory) as runner:
        return runner.run(main())


async def ask(flare: Pyflare, name: str, path: str = "/") -> str:
    worker = flare.loaded(name)

    async def event() -> str:
        response = await worker.fetch(Request.new(f"http://{name}.test{path}"))
        return str(await response.text())

    return await worker.run(event())


def test_three_workers_have_one_owner_and_see_each_others_writes(tmp_path: Path) -> None:
    async def program(flare: Pyflare, _: ManualClock) -> Any:
        assert flare.registry is not None
        owners = {id(flare.env(name).KV._binding._owner) for name in ("one", "two", "three")}
        assert owners == {id(flare.registry.kv("shared"))}
        await ask(flare, "one", "/put")
        return [json.loads(await ask(flare, name)) for name in ("two", "three")]

    assert run(tmp_path, program) == [["one", "one"]] * 2


def test_values_and_responses_expire_when_the_clock_is_turned(tmp_path: Path) -> None:
    async def program(flare: Pyflare, clock: ManualClock) -> Any:
        await ask(flare, "one", "/put")
        await clock.advance(59)
        before = json.loads(await ask(flare, "two"))
        await clock.advance(1)
        return before, json.loads(await ask(flare, "two"))

    assert run(tmp_path, program) == (["one", "one"], [None, None])


def test_the_environment_can_be_used_from_outside(tmp_path: Path) -> None:
    async def program(flare: Pyflare, clock: ManualClock) -> Any:
        kv = flare.env("one").KV
        await kv.put("session", "1", expirationTtl=60)
        before = await kv.get("session")
        await clock.advance(minutes=1)
        return before, await kv.get("session")

    assert run(tmp_path, program) == ("1", None)
