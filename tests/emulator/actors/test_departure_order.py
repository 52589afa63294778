"""What one stub sends arrives in the order in which it was called, whatever a commit does in between."""

import asyncio

import pytest

from pyflare.js.deferred import CallLine
from pyflare.js.departure import output_gate
from tests.emulator.actors.conftest import write_objects

SOURCE = """
    class Log(DurableObject):
        def __init__(self, ctx, env):
            super().__init__(ctx, env)
            self.noted = []

        async def note(self, what):
            self.noted.append(what)

        async def fetch(self, request):
            self.noted.append(await request.json())
            return Response("")

        async def read(self):
            return self.noted

        async def apply(self, function):
            return await function(self.env.LOG.getByName("never used"))


    def method(log):
        return log.note


    def fetching(log):
        import json

        return lambda i: log.fetch("http://x/", method="POST", body=json.dumps(i))


    class Thing(DurableObject):
        async def write(self, kind, i):
            if kind == "alarm":
                await self.ctx.storage.setAlarm(4102444800000 - i)
            else:
                await self.ctx.storage.put("a", i)

        async def send(self, kind, way, turns):
            log = self.env.LOG.getByName("log")
            call = method(log) if way == "method" else fetching(log)
            calls = []
            for i in range(8):
                if i % 3 == 0:
                    await self.write(kind, i)
                calls.append(asyncio.ensure_future(call(i)))
                for _ in range(turns):
                    await asyncio.sleep(0)
            await asyncio.gather(*calls)
            return await log.read()

        async def give_back(self, kind, function, turns):
            calls = []
            for i in range(8):
                if i % 3 == 0:
                    await self.write(kind, i)
                calls.append(asyncio.ensure_future(function(i)))
                for _ in range(turns):
                    await asyncio.sleep(0)
            await asyncio.gather(*calls)

        async def keys(self, kind, turns):
            await self.write(kind, 1)
            first = asyncio.ensure_future(self.env.KV.put("k", "first"))
            for _ in range(turns):
                await asyncio.sleep(0)
            second = asyncio.ensure_future(self.env.KV.put("k", "second"))
            await asyncio.gather(first, second)
            return await self.env.KV.get("k")

        async def alarm(self):
            pass
"""


@pytest.fixture
def sender(tmp_path, run):
    config = write_objects(
        tmp_path / "w",
        SOURCE,
        "Thing",
        "Log",
        kv_namespaces=[{"binding": "KV", "id": "kv"}],
    )

    def go(program, durability):
        async def inside(flare):
            return await program(flare.env().THING.getByName("a"))

        return run(inside, config, durability=durability)

    return go


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
@pytest.mark.parametrize("way", ["method", "fetch"])
@pytest.mark.parametrize("kind", ["put", "alarm"])
@pytest.mark.parametrize("durability", ["process", "machine"])
def test_calls_through_one_stub_arrive_in_order(sender, durability, kind, way, turns):
    assert sender(lambda thing: thing.send(kind, way, turns), durability) == list(range(8))


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["put", "alarm"])
@pytest.mark.parametrize("durability", ["process", "machine"])
def test_callbacks_arrive_in_order(sender, durability, kind, turns):
    async def program(thing):
        seen = []

        async def note(i):
            seen.append(i)

        await thing.give_back(kind, note, turns)
        return seen

    assert sender(program, durability) == list(range(8))


@pytest.mark.parametrize("turns", [0])
@pytest.mark.parametrize("kind", ["put", "alarm"])
@pytest.mark.parametrize("durability", ["process", "machine"])
def test_operations_on_a_binding_are_made_in_order(sender, durability, kind, turns):
    assert sender(lambda thing: thing.keys(kind, turns), durability) == "second"


class Gates:
    """An object's output gate by hand: each call made waits for the next of these, None for no wait."""

    def __init__(self, *pending):
        self._pending = list(pending)

    def departure(self):
        return self._pending.pop(0)


def on_a_line(program):
    async def main():
        seen = []

        async def note(what):
            seen.append(what)

        await program(CallLine(), note, asyncio.get_running_loop().create_future)
        return seen

    return asyncio.run(main())


async def turns(count=6):
    for _ in range(count):
        await asyncio.sleep(0)


def test_a_call_waits_for_the_departure_of_the_one_before():
    async def program(line, note, future):
        held = future()
        output_gate.set(Gates(held, None).departure)
        first, second = line.call(note(1)), line.call(note(2))
        await turns()
        held.set_result(None)
        await asyncio.gather(first, second)

    assert on_a_line(program) == [1, 2]


def test_a_call_that_is_cancelled_is_not_waited_for():
    async def program(line, note, future):
        held = future()
        output_gate.set(Gates(held, None).departure)
        first, second = line.call(note(1)), line.call(note(2))
        await turns()
        first.cancel()
        await second

    assert on_a_line(program) == [2]


def test_behind_a_cancelled_call_the_ones_before_it_are_waited_for():
    async def program(line, note, future):
        held = future()
        output_gate.set(Gates(held, None, None).departure)
        first, second, third = (line.call(note(i)) for i in (1, 2, 3))
        await turns()
        second.cancel()
        await turns()
        held.set_result(None)
        await asyncio.gather(first, third)

    assert on_a_line(program) == [1, 3]


def test_what_could_not_be_committed_keeps_no_later_call_waiting():
    async def program(line, note, future):
        held = future()
        output_gate.set(Gates(held, None).departure)
        first, second = line.call(note(1)), line.call(note(2))
        await turns()
        held.set_exception(OSError("disk"))
        results = await asyncio.gather(first, second, return_exceptions=True)
        assert isinstance(results[0], OSError)

    assert on_a_line(program) == [2]


def test_objects_that_share_a_stub_do_not_wait_for_each_other():
    async def program(line, note, future):
        held = future()
        output_gate.set(Gates(held).departure)
        first = line.call(note("first object"))
        output_gate.set(Gates(None).departure)
        await line.call(note("second object"))
        held.set_result(None)
        await first

    assert on_a_line(program) == ["second object", "first object"]
