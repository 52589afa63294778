"""``preShutdown``: the last event of an object that is taken out of memory as planned."""

import asyncio
from typing import Any

import pytest

from pyflare.testing import abort_all_objects, evict_object
from pyflare_bindings.clock import ManualClock

#: Seconds after which an idle object leaves memory, and a little more.
IDLE = 10.1

SOURCE = """
    log = []
    go = asyncio.Event()

    class Thing(DurableObject):
        def __init__(self, ctx, env):
            super().__init__(ctx, env)
            self.events = ctx.storage.kv.get("events") or []
            log.append("constructed")

        async def preShutdown(self, info):
            log.append(info.reason)
            how = self.events[-1]
            if how == "fail":
                raise ValueError("on purpose")
            if how == "wait":
                await go.wait()
            if how == "abort":
                self.ctx.abort("given up")
            await self.ctx.storage.put("events", [*self.events, "saved"])
            if how == "never":
                await asyncio.Future()
            log.append("ended")

        async def add(self, event):
            self.events.append(event)
            return self.events

        async def seen(self):
            return self.events

    class Other(DurableObject):
        async def log(self):
            return log

        async def go(self):
            go.set()
"""


async def turns() -> None:
    for _ in range(60):
        await asyncio.sleep(0)


@pytest.fixture
def lives(with_objects):
    """Runs ``program(thing, other, clock, flare)`` beside the classes above."""

    def go(program: Any, source: str = SOURCE) -> Any:
        clock = ManualClock()

        async def inside(env, flare):
            other = env.OTHER.getByName("other")
            return await program(env.THING.getByName("a"), other, clock, flare)

        return with_objects(source, inside, "Thing", "Other", clock=clock)

    return go


class TestAnIdleObject:
    def test_saves_what_it_has_before_its_next_life(self, lives):
        async def program(thing, other, clock, flare):
            await thing.add("first")
            await clock.advance(IDLE)
            return await thing.seen(), await other.log()

        assert lives(program) == (
            ["first", "saved"],
            ["constructed", "inactive", "ended", "constructed"],
        )

    def test_is_told_once(self, lives):
        async def program(thing, other, clock, flare):
            await thing.add("first")
            await clock.advance(IDLE)
            await turns()
            await clock.advance(3 * IDLE)
            return await other.log()

        assert lives(program).count("inactive") == 1

    def test_gets_no_event_any_more_which_wait_for_the_next_life(self, lives):
        async def program(thing, other, clock, flare):
            await thing.add("wait")
            await clock.advance(IDLE)
            seen = asyncio.ensure_future(thing.seen())
            await turns()
            before = await other.log()
            await other.go()
            return before, await seen, await other.log()

        assert lives(program) == (
            ["constructed", "inactive"],
            ["wait", "saved"],
            ["constructed", "inactive", "ended", "constructed"],
        )

    def test_that_fails_is_over_all_the_same(self, lives, run):
        async def program(thing, other, clock, flare):
            await thing.add("fail")
            await clock.advance(IDLE)
            return await thing.seen()

        assert lives(program) == []
        assert "ValueError: on purpose" in run.err.text
        assert "Thing, preShutdown" in run.err.text

    def test_that_aborts_is_over_all_the_same(self, lives):
        async def program(thing, other, clock, flare):
            await thing.add("abort")
            await clock.advance(IDLE)
            return await thing.seen()

        assert lives(program) == []

    def test_has_ten_seconds_and_keeps_what_it_has_written_by_then(self, lives, run):
        async def program(thing, other, clock, flare):
            await thing.add("never")
            await clock.advance(IDLE)
            seen = asyncio.ensure_future(thing.seen())
            await turns()
            await clock.advance(9.8)
            await turns()
            waited = not seen.done()
            await clock.advance(0.3)
            return waited, await asyncio.wait_for(seen, 5)

        assert lives(program) == (True, ["never", "saved"])
        assert "preShutdown() took longer than 10 seconds." in run.err.text


def test_a_reload_lets_the_old_code_save(lives):
    async def program(thing, other, clock, flare):
        await thing.add("first")
        await flare.reload(flare.configurations[0].path)
        return await thing.seen()

    assert lives(program) == ["first", "saved"]


def test_an_object_that_is_reset_is_not_asked(lives):
    async def program(thing, other, clock, flare):
        await thing.add("first")
        await abort_all_objects(flare)
        return await other.log()

    assert "inactive" not in lives(program)


def test_an_eviction_by_a_test_waits_for_the_handler(lives):
    async def program(thing, other, clock, flare):
        await thing.add("first")
        await evict_object(thing)
        return await other.log()

    assert lives(program) == ["constructed", "inactive", "ended"]


def test_a_stop_waits_for_a_handler_that_has_begun(lives, tmp_path):
    ended = tmp_path / "ended"
    source = SOURCE.replace('log.append("ended")', f"open({str(ended)!r}, 'w').close()")

    async def program(thing, other, clock, flare):
        await thing.add("wait")
        await clock.advance(IDLE)
        await turns()
        asyncio.get_running_loop().call_soon(asyncio.ensure_future, other.go())

    lives(program, source)
    assert ended.exists()
