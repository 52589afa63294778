"""Handlers that fail: when they are tried again, with what, and how that ends."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from .conftest import START, Bench, at, runs

# Fails as long as its source says so; notes (second, retryCount, isRetry).
FAILING = """
runs = []

class Thing(DurableObject):
    async def set(self, at):
        await self.ctx.storage.put("kept", "yes")
        await self.ctx.storage.setAlarm(at)

    async def get(self):
        return [await self.ctx.storage.getAlarm(), await self.ctx.storage.get("kept")]

    async def alarm(self, info):
        inside = await self.ctx.storage.getAlarm()
        runs.append([js.Date.now() / 1000, info.retryCount, info.isRetry, inside])
        {body}
"""

RAISE = "raise ValueError('no')"


def failing(body: str) -> str:
    return FAILING.replace("{body}", body)


def waits(seen: list[list[Any]]) -> list[float]:
    times = [run[0] for run in seen]
    return [later - earlier for earlier, later in pairwise(times)]


def test_six_retries_with_growing_waits_and_then_it_is_given_up(bench: Bench) -> None:
    async def program(env: Any, flare: Any) -> Any:
        stub = env.THING.getByName("a")
        await stub.set(at(5))
        await bench.until(6)
        between = await stub.get()
        await bench.until(600)
        after = await stub.get()
        await stub.set(at(700))
        await bench.until(701)
        return runs(flare), between, after

    seen, between, after = bench(failing(RAISE), program)

    assert [run[1:] for run in seen] == [
        *([count, count > 0, None] for count in range(7)),
        [0, False, None],
    ]
    assert between == [at(5), "yes"], "after a failed run it is the past time again"
    assert after == [None, "yes"]
    for wait, expected in zip(waits(seen[:7]), (2, 4, 8, 16, 32, 64), strict=True):
        assert expected <= wait <= expected * 1.25 + 0.001
    assert (
        'The alarm of Thing "a" is given up and unset, after its last try failed.' in bench.errors
    )


def test_a_retry_that_succeeds_ends_it(bench: Bench) -> None:
    async def program(env: Any, flare: Any) -> Any:
        stub = env.THING.getByName("a")
        await stub.set(at(5))
        await bench.until(600)
        return [run[1] for run in runs(flare)], await stub.get()

    body = "if info.retryCount < 2: raise ValueError('no')"
    assert bench(failing(body), program) == ([0, 1, 2], [None, "yes"])


def test_an_alarm_that_is_set_between_two_tries_takes_their_place(bench: Bench) -> None:
    async def program(env: Any, flare: Any) -> Any:
        stub = env.THING.getByName("a")
        await stub.set(at(5))
        await bench.until(45)
        before = len(runs(flare))
        await stub.set(at(3600))
        await bench.until(3599)
        kept = await stub.get()
        await bench.until(3601)
        return before, runs(flare)[before:], kept

    before, after, kept = bench(failing(RAISE), program)

    assert before == 5
    assert kept == [at(3600), "yes"]
    assert after == [[START + 3600, 0, False, None]]


def test_what_a_failed_handler_wrote_is_kept(bench: Bench) -> None:
    body = "await self.ctx.storage.put('kept', info.retryCount); raise ValueError('no')"

    async def program(env: Any, flare: Any) -> Any:
        await env.THING.getByName("a").set(at(5))
        await bench.until(8)
        return await env.THING.getByName("a").get()

    assert bench(failing(body), program) == [at(5), 1]


def test_a_failure_does_not_reset_the_object(bench: Bench) -> None:
    body = "self.n = getattr(self, 'n', 0) + 1; runs[-1].append(self.n); raise ValueError('no')"

    async def program(env: Any, flare: Any) -> Any:
        await env.THING.getByName("a").set(at(5))
        await bench.until(13)
        return [run[-1] for run in runs(flare)]

    assert bench(failing(body), program) == [1, 2, 3]


def test_the_exception_is_reported_with_the_line_it_comes_from(bench: Bench) -> None:
    async def program(env: Any, flare: Any) -> Any:
        await env.THING.getByName("a").set(at(5))
        await bench.until(6)

    bench(failing(RAISE), program)

    assert "Uncaught ValueError: no (in Thing, alarm)" in bench.errors
    assert RAISE in bench.errors


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        ("raise SystemExit(1)", "SystemExit"),
        (
            "task = asyncio.ensure_future(asyncio.sleep(9)); task.cancel(); await task",
            "CancelledError",
        ),
        ("raise js.Error.new('from JavaScript')", "from JavaScript"),
        ("await asyncio.wait_for(asyncio.Event().wait(), 0)", "TimeoutError"),
    ],
)
def test_whatever_a_handler_raises_is_a_failure_that_is_tried_again(
    bench: Bench, body: str, reported: str
) -> None:
    async def program(env: Any, flare: Any) -> Any:
        await env.THING.getByName("a").set(at(5))
        await bench.until(8)
        return [run[1] for run in runs(flare)]

    assert bench(failing(body), program) == [0, 1]
    assert reported in bench.errors


def test_a_handler_that_takes_too_long_is_ended_and_tried_again(bench: Bench) -> None:
    async def program(env: Any, flare: Any) -> Any:
        await env.THING.getByName("a").set(at(5))
        await bench.until(5 + 899)
        during = len(runs(flare))
        await bench.until(5 + 904)
        return during, [run[1] for run in runs(flare)]

    assert bench(failing("await asyncio.Event().wait()"), program) == (1, [0, 1])
    assert "Alarm exceeded its allowed execution time" in bench.errors


class TestAbort:
    def test_an_aborted_handler_is_tried_again(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await env.THING.getByName("a").set(at(5))
            await bench.until(8)
            return [run[1] for run in runs(flare)], await env.THING.getByName("a").get()

        body = (
            "await self.ctx.storage.put('kept', 'no'); info.retryCount or self.ctx.abort('enough')"
        )
        assert bench(failing(body), program) == ([0, 1], [None, "no"])
        assert "enough" in bench.errors

    def test_it_may_ask_not_to_be(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await env.THING.getByName("a").set(at(5))
            await bench.until(600)
            return [run[1] for run in runs(flare)], await env.THING.getByName("a").get()

        body = "self.ctx._ctx.abort('enough', {'retryAlarm': False})"
        assert bench(failing(body), program) == ([0], [None, "yes"])
        assert "is given up and unset, as its handler asked for." in bench.errors


class TestAConstructorThatFails:
    SOURCE = """
        runs = []

        class Thing(DurableObject):
            def __init__(self, ctx, env):
                super().__init__(ctx, env)
                runs.append(js.Date.now() / 1000)
                if {condition}:
                    raise ValueError("cannot be built")

            async def set(self, at):
                await self.ctx.storage.setAlarm(at)

            async def get(self):
                return await self.ctx.storage.getAlarm()

            async def alarm(self):
                pass
    """

    def test_uses_up_the_tries(self, bench: Bench) -> None:
        async def first(env: Any, flare: Any) -> None:
            await env.THING.getByName("a").set(at(5))

        async def then(env: Any, flare: Any) -> Any:
            await bench.until(600)
            return len(runs(flare))

        bench(self.SOURCE.replace("{condition}", "False"), first)
        assert bench(self.SOURCE.replace("{condition}", "True"), then) == 7
        assert 'The alarm of Thing "a" is given up' in bench.errors

    def test_the_object_is_well_again_when_it_is(self, bench: Bench) -> None:
        async def first(env: Any, flare: Any) -> None:
            await env.THING.getByName("a").set(at(5))

        async def then(env: Any, flare: Any) -> Any:
            await bench.until(600)
            return len(runs(flare)), await env.THING.getByName("a").get()

        bench(self.SOURCE.replace("{condition}", "False"), first)
        condition = "len(runs) < 3"
        assert bench(self.SOURCE.replace("{condition}", condition), then) == (3, None)
