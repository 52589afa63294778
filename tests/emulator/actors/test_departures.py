"""What leaves an object after a write: every kind of call, however it is begun, at both levels of durability."""

import pytest

from tests.emulator.actors.conftest import write_objects
from tests.emulator.conftest import Runner

SOURCE = """
    import workers

    CALLS = {
        "kv.get": lambda env: env.KV.get("k"),
        "kv.put": lambda env: env.KV.put("k", "1"),
        "kv.delete": lambda env: env.KV.delete("k"),
        "kv.list": lambda env: env.KV.list(),
        "d1.first": lambda env: env.DB.prepare("SELECT 1 AS a").first(),
        "d1.all": lambda env: env.DB.prepare("SELECT 1 AS a").all(),
        "d1.run": lambda env: env.DB.prepare("SELECT 1 AS a").run(),
        "d1.raw": lambda env: env.DB.prepare("SELECT 1 AS a").raw(),
        "d1.batch": lambda env: env.DB.batch([env.DB.prepare("SELECT 1 AS a")]),
        "d1.exec": lambda env: env.DB.exec("SELECT 1"),
        "r2.get": lambda env: env.R2.get("a"),
        "r2.put": lambda env: env.R2.put("a", "b"),
        "r2.head": lambda env: env.R2.head("a"),
        "r2.list": lambda env: env.R2.list(),
        "r2.delete": lambda env: env.R2.delete("b"),
        "r2.upload": lambda env: env.R2.createMultipartUpload("c"),
        "queue.send": lambda env: env.Q.send("hi"),
        "queue.sendBatch": lambda env: env.Q.sendBatch([{"body": "x"}]),
        "cache.match": lambda env: js.caches.default.match("http://x.com/"),
        "cache.delete": lambda env: js.caches.default.delete("http://x.com/"),
        "fetch": lambda env: workers.fetch("http://outside.example/"),
        "js.fetch": lambda env: js.fetch("http://outside.example/"),
        "service.fetch": lambda env: env.SELF.fetch("http://x/"),
        "service.rpc": lambda env: env.SELF.hello(),
        "stub.fetch": lambda env: env.THING.getByName("z").fetch("http://x/"),
        "stub.rpc": lambda env: env.THING.getByName("z").hello(),
        "ratelimit": lambda env: env.LIMITER.limit(key="a"),
        "secret": lambda env: env.SECRET.get(),
    }


    async def direct(call):
        return await call()


    async def gather(call):
        return (await asyncio.gather(call(), call()))[0]


    async def ensure_future(call):
        return await asyncio.ensure_future(call())


    async def create_task(call):
        async def within():
            return await call()

        return await asyncio.create_task(within())


    async def later(call):
        begun = call()
        await asyncio.sleep(0)
        return await begun


    WAYS = {f.__name__: f for f in (direct, gather, ensure_future, create_task, later)}


    class Thing(DurableObject):
        async def hello(self):
            return 1

        async def fetch(self, request):
            return Response("hello")

        async def table(self, alarm):
            outcomes = {}
            for name, call in CALLS.items():
                for way, go in WAYS.items():
                    if alarm:
                        await self.ctx.storage.setAlarm(4102444800000)
                    await self.ctx.storage.put("a", 1)
                    try:
                        await go(lambda: call(self.env))
                        outcomes[f"{name} {way}"] = "done"
                    except Exception as error:
                        outcomes[f"{name} {way}"] = repr(error)
                    if alarm:
                        await self.ctx.storage.deleteAlarm()
            return outcomes

        async def alarm(self):
            pass


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response("hello")

        async def hello(self):
            return 1

        async def queue(self, batch):
            pass
"""
CONFIG = {
    "kv_namespaces": [{"binding": "KV", "id": "kv"}],
    "d1_databases": [{"binding": "DB", "database_name": "db", "database_id": "db"}],
    "r2_buckets": [{"binding": "R2", "bucket_name": "bucket"}],
    "queues": {
        "producers": [{"binding": "Q", "queue": "q"}],
        "consumers": [{"queue": "q"}],
    },
    "services": [{"binding": "SELF", "service": "w"}],
    "ratelimits": [
        {"name": "LIMITER", "namespace_id": "1", "simple": {"limit": 100, "period": 10}}
    ],
    "secrets_store_secrets": [{"binding": "SECRET", "store_id": "s", "secret_name": "T"}],
}
CALLS = [line.split('"')[1] for line in SOURCE.splitlines() if '": lambda env:' in line]
WAYS = ["direct", "gather", "ensure_future", "create_task", "later"]


@pytest.fixture(scope="module", params=["process", "machine"])
def durability(request):
    return request.param


@pytest.fixture(scope="module", params=[False, True], ids=["put", "put_and_alarm"])
def table(request, durability, tmp_path_factory):
    """What became of every call, by its name and way."""
    config = write_objects(tmp_path_factory.mktemp("departures") / "w", SOURCE, **CONFIG)

    async def program(flare):
        await flare.registry.secrets_store("s").put("T", "t0ken")
        return await flare.env().THING.getByName("a").table(request.param)

    return Runner()(program, config, durability=durability, outbound=lambda _: "outside")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", CALLS)
def test_every_call_of_an_object_that_has_written_is_made(table, call, way):
    assert table[f"{call} {way}"] == "done"
