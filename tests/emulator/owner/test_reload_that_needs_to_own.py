"""A reload may bring what runs only in the process that owns the state directory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare.config import ConfigError
from tests.emulator.conftest import write_worker

SOURCE = """
from workers import DurableObject, Response, WorkerEntrypoint


class Counter(DurableObject):
    async def add(self):
        count = (await self.ctx.storage.get("count") or 0) + 1
        await self.ctx.storage.put("count", count)
        return count


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(str(await self.env.COUNTER.getByName("a").add()))

    async def queue(self, batch):
        batch.ackAll()
"""
OBJECTS: dict[str, Any] = {
    "durable_objects": {"bindings": [{"name": "COUNTER", "class_name": "Counter"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
}
CONSUMER: dict[str, Any] = {"queues": {"consumers": [{"queue": "orders"}]}}


def test_the_process_that_owns_the_directory_owns_it_for_good_then(tmp_path: Path) -> None:
    config = write_worker(tmp_path / "shop", SOURCE, name="shop")

    async def program() -> list[str]:
        async with Pyflare(config, persist_to=tmp_path / "state") as flare:
            write_worker(tmp_path / "shop", SOURCE, name="shop", **OBJECTS)
            await flare.reload(config)
            return [(await flare.fetch("http://localhost/")).text for _ in range(2)]

    assert asyncio.run(program()) == ["1", "2"]


@pytest.mark.parametrize("added", [OBJECTS, CONSUMER], ids=["objects", "consumer"])
def test_another_process_s_directory_cannot_take_it_and_the_worker_says_so(
    tmp_path: Path, added: dict[str, Any]
) -> None:
    owner = write_worker(tmp_path / "owner", SOURCE, name="owner")
    files = {"src/guest.py": SOURCE}
    guest = write_worker(tmp_path / "guest", files, name="guest", main="src/guest.py")

    async def program() -> None:
        state = tmp_path / "state"
        async with Pyflare(owner, persist_to=state), Pyflare(guest, persist_to=state) as second:
            write_worker(tmp_path / "guest", files, name="guest", main="src/guest.py", **added)
            with pytest.raises(ConfigError, match="is another process's"):
                await second.reload(guest)
            with pytest.raises(ConfigError):
                await second.fetch("http://localhost/")

    asyncio.run(program())
