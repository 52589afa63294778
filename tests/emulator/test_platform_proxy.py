"""The bindings of a worker in a program that runs none of its code."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pyflare import ManualClock, Pyflare, platform_proxy
from pyflare.embed.configurations import Configs
from pyflare.js.error import Error
from pyflare.server.log import LogSink
from tests.emulator.conftest import Lines, write_worker

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


SHOP = """
from workers import DurableObject, WorkerEntrypoint


class Counter(DurableObject):
    async def add(self):
        count = (await self.ctx.storage.get("count") or 0) + 1
        await self.ctx.storage.put("count", count)
        return count


class Default(WorkerEntrypoint):
    async def queue(self, batch):
        for message in batch.messages:
            await self.env.KV.put("received", message.body)
"""
SHOP_BINDINGS: dict[str, Any] = {
    "kv_namespaces": [{"binding": "KV", "id": "kv"}],
    "durable_objects": {"bindings": [{"name": "COUNTER", "class_name": "Counter"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
    "queues": {
        "producers": [{"binding": "ORDERS", "queue": "orders"}],
        "consumers": [
            {
                "queue": "orders",
                "max_retries": 0,
                "max_batch_timeout": 0,
                "dead_letter_queue": "dead",
            }
        ],
    },
}


def test_messages_wait_for_the_code(tmp_path: Path) -> None:
    config = write_worker(tmp_path / "shop", SHOP, **SHOP_BINDINGS)
    state = tmp_path / "state"

    async def without_code() -> None:
        async with platform_proxy(config, persist_to=state) as platform:
            await platform.env.ORDERS.send("an order")
            await platform.flare.settle()
            assert platform.flare.queues is None

    async def with_code() -> Any:
        async with Pyflare(config, persist_to=state, clock=ManualClock(2e9)) as flare:
            await flare.clock.advance(minutes=1)
            return await flare.env().KV.get("received")

    asyncio.run(without_code())
    assert asyncio.run(with_code()) == "an order"


def test_it_works_beside_the_process_that_runs_the_worker(tmp_path: Path) -> None:
    config = write_worker(tmp_path / "shop", SHOP, **SHOP_BINDINGS)

    async def program() -> Any:
        state = tmp_path / "state"
        async with Pyflare(config, persist_to=state) as flare:
            async with platform_proxy(config, persist_to=state) as platform:
                await platform.env.KV.put("k", "v")
            return await flare.env().KV.get("k")

    assert asyncio.run(program()) == "v"


def test_objects_have_ids_and_say_that_their_code_is_not_run(tmp_path: Path) -> None:
    config = write_worker(tmp_path / "shop", SHOP, **SHOP_BINDINGS)

    async def program() -> tuple[str, str]:
        async with Pyflare(config, persist_to=None) as flare:
            known = flare.env().COUNTER.idFromName("a").toString()
        async with platform_proxy(config, persist_to=None) as platform:
            counters = platform.env.COUNTER
            with pytest.raises(Error, match='"Counter" is code of the Worker "shop"'):
                await counters.getByName("a").add()
            with pytest.raises(OSError, match="no code of Workers is run here"):
                await counters.getByName("a").fetch("http://object/")
            return known, counters.idFromName("a").toString()

    with_code, without = asyncio.run(program())
    assert with_code == without


def test_nothing_is_said_of_code_that_is_not_run(tmp_path: Path) -> None:
    config = write_worker(tmp_path / "shop", SHOP, **SHOP_BINDINGS)
    lines = Lines()

    async def program() -> None:
        log = LogSink(stdout=lines, stderr=lines)  # type: ignore[arg-type]
        async with platform_proxy(config, persist_to=None, log=log):
            pass

    asyncio.run(program())
    assert lines.text == ""


def test_names_of_modules_that_are_not_loaded_do_not_clash(tmp_path: Path) -> None:
    files = {"src/entry.py": "", "src/json_of_ours.py": ""}
    configs: Configs = [write_worker(tmp_path / name, files, **BINDINGS) for name in ("a", "b")]

    async def program() -> Any:
        async with platform_proxy(configs, persist_to=None) as platform:
            return platform.env.MODE

    assert asyncio.run(program()) == "dev"
