"""The bindings of a worker in a program that runs none of its code."""

import asyncio
from pathlib import Path
from typing import Any

from pyflare import platform_proxy
from tests.emulator.conftest import write_worker

BINDINGS: dict[str, Any] = {
    "d1_databases": [{"binding": "DB", "database_id": "db"}],
    "kv_namespaces": [{"binding": "KV", "id": "kv"}],
    "vars": {"MODE": "dev"},
    "triggers": {"crons": ["* * * * *"]},
}


def test_bindings_work_and_the_code_is_not_run(tmp_path: Path) -> None:
    config = write_worker(tmp_path / "w", "raise RuntimeError('never imported')", **BINDINGS)

    async def program() -> Any:
        async with platform_proxy(config, persist_to=None) as platform:
            await platform.env.KV.put("k", "v")
            row = await platform.env.DB.prepare("SELECT 1 AS n").first()
            return await platform.env.KV.get("k"), row.n, platform.env.MODE, platform.cf.colo

    assert asyncio.run(program()) == ("v", 1, "dev", "DFW")


def test_a_worker_without_its_code_has_its_bindings(tmp_path: Path) -> None:
    config = write_worker(tmp_path / "w", {"readme.txt": ""}, **BINDINGS)

    async def program() -> Any:
        async with platform_proxy(config, persist_to=None) as platform:
            return platform.env.MODE

    assert asyncio.run(program()) == "dev"


def test_state_is_that_of_the_project(tmp_path: Path) -> None:
    config = write_worker(tmp_path / "w", {"readme.txt": ""}, **BINDINGS)

    async def program(value: str) -> Any:
        async with platform_proxy(config) as platform:
            before = await platform.env.KV.get("k")
            await platform.env.KV.put("k", value)
            return before

    assert [asyncio.run(program(value)) for value in "ab"] == [None, "a"]
    assert (tmp_path / "w" / ".pyflare" / "state").is_dir()


def test_background_work_is_waited_for_at_the_end(tmp_path: Path) -> None:
    config = write_worker(tmp_path / "w", {"readme.txt": ""}, **BINDINGS)
    done: list[str] = []

    async def program() -> None:
        async def later() -> None:
            await asyncio.sleep(0.01)
            done.append("written")

        async with platform_proxy(config, persist_to=None) as platform:
            platform.ctx.waitUntil(later())

    asyncio.run(program())
    assert done == ["written"]


def test_caches_are_there(tmp_path: Path) -> None:
    config = write_worker(tmp_path / "w", {"readme.txt": ""}, **BINDINGS)

    async def program() -> Any:
        async with platform_proxy(config, persist_to=None) as platform:
            cache = await platform.caches.open("mine")
            missing = await cache.match("https://x.test/")
            return missing, await platform.caches.default.match("https://x.test/")

    assert asyncio.run(program()) == (None, None)
