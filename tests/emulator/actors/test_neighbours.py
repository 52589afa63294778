"""What an object sets going elsewhere is not a part of it: it waits for no turn and outlives a reset."""

import asyncio

import pytest

from tests.emulator.actors.conftest import write_objects

SOURCE = """
    class Thing(DurableObject):
        async def send(self):
            await self.env.QUEUE.send("hello")

        async def block(self):
            await self.ctx.blockConcurrencyWhile(asyncio.Event().wait)

        async def call_service(self):
            return await self.env.SELF.slow()

        async def stop(self):
            self.ctx.abort("over")

        async def note(self, what):
            await self.ctx.storage.put("noted", what)

        async def noted(self):
            return await self.ctx.storage.get("noted")


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response("hello")

        async def slow(self):
            await asyncio.sleep(0.02)
            await self.env.THING.getByName("witness").note("slow has ended")

        async def queue(self, batch):
            await asyncio.sleep(0.01)
            await self.env.THING.getByName("witness").note(batch.messages[0].body)
"""


@pytest.fixture
def beside(tmp_path, run):
    config = write_objects(
        tmp_path / "w",
        SOURCE,
        queues={
            "producers": [{"binding": "QUEUE", "queue": "q"}],
            "consumers": [{"queue": "q", "max_batch_timeout": 0}],
        },
        services=[{"binding": "SELF", "service": "w"}],
    )

    def go(program):
        async def inside(flare):
            things = flare.env().THING
            ends = asyncio.ensure_future(program(things))
            for _ in range(200):
                await asyncio.sleep(0.01)
                noted = await things.getByName("witness").noted()
                if noted is not None:
                    break
            await ends
            return noted

        return run(inside, config)

    return go


def test_a_queue_is_delivered_while_the_sender_is_blocked(beside):
    async def program(things):
        stub = things.getByName("a")
        await stub.send()
        blocked = asyncio.ensure_future(stub.block())
        await asyncio.sleep(0.1)
        blocked.cancel()

    assert beside(program) == "hello"


def test_a_queue_is_delivered_when_the_sender_has_been_reset(beside):
    async def program(things):
        stub = things.getByName("a")
        await stub.send()
        await asyncio.gather(stub.stop(), return_exceptions=True)

    assert beside(program) == "hello"


def test_a_service_goes_on_while_its_caller_is_blocked(beside):
    async def program(things):
        stub = things.getByName("a")
        calls = [asyncio.ensure_future(stub.call_service())]
        await asyncio.sleep(0.005)
        calls.append(asyncio.ensure_future(stub.block()))
        await asyncio.sleep(0.2)
        for call in calls:
            call.cancel()

    assert beside(program) == "slow has ended"
