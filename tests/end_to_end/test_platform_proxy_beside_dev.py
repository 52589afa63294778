"""A program with the bindings of a Worker, and `pyflare dev` that runs it, on one state directory."""

import asyncio
from pathlib import Path

from pyflare import platform_proxy

from .conftest import Serve
from .dev_server import eventually
from .projects import write_project

SOURCE = """
from workers import DurableObject, Response, WorkerEntrypoint


class Counter(DurableObject):
    async def add(self):
        count = (await self.ctx.storage.get("count") or 0) + 1
        await self.ctx.storage.put("count", count)
        return count


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.url.endswith("/add"):
            return Response(str(await self.env.COUNTER.getByName("a").add()))
        return Response(str(await self.env.KV.get("received")))

    async def queue(self, batch):
        for message in batch.messages:
            await self.env.KV.put("received", message.body)
"""
BINDINGS: dict[str, object] = {
    "kv_namespaces": [{"binding": "KV", "id": "kv"}],
    "durable_objects": {"bindings": [{"name": "COUNTER", "class_name": "Counter"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
    "queues": {
        "producers": [{"binding": "ORDERS", "queue": "orders"}],
        "consumers": [{"queue": "orders", "max_batch_timeout": 0}],
    },
}


def test_messages_sent_beside_a_session_reach_its_consumer(serve: Serve, tmp_path: Path) -> None:
    config = write_project(tmp_path / "shop", SOURCE, name="shop", **BINDINGS)
    server = serve(config)

    async def program() -> None:
        async with platform_proxy(config, persist_to=tmp_path / "state") as platform:
            await platform.env.ORDERS.send("an order")

    asyncio.run(program())

    eventually(lambda: server.get("/").text == "an order" or None, "the message was delivered")
    assert server.get("/add").text == "1"


def test_a_session_starts_while_a_program_has_the_bindings(serve: Serve, tmp_path: Path) -> None:
    config = write_project(tmp_path / "shop", SOURCE, name="shop", **BINDINGS)

    async def program() -> str:
        async with platform_proxy(config, persist_to=tmp_path / "state") as platform:
            await platform.env.ORDERS.send("an order")
            server = await asyncio.to_thread(serve, config)

            def delivered() -> bool | None:
                return server.get("/").text == "an order" or None

            await asyncio.to_thread(eventually, delivered, "the message was delivered")
            assert (await asyncio.to_thread(server.get, "/add")).text == "1"
            return str(await platform.env.KV.get("received"))

    assert asyncio.run(program()) == "an order"
