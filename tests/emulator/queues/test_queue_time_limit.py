"""The 15 minutes of a queue handler hold, whatever it makes of being cancelled."""

from __future__ import annotations

from typing import Any

import pytest

LIMIT = 15 * 60
STOPPED = 'The handler of queue "q" was stopped: it took longer than 15 minutes.'

#: Waits as long as it may on its first attempt, and then does what the test says.
CATCHES = (
    "import asyncio",
    "if batch.messages[0].attempts > 1:",
    "    return",
    "try:",
    "    await asyncio.Event().wait()",
    "except asyncio.CancelledError:",
)


@pytest.mark.parametrize(
    "after",
    [
        "pass",
        "return",
        "batch.ackAll()",
        "batch.messages[0].ack()",
        "batch.retryAll(delaySeconds=3600)",
        "batch.messages[0].retry(delaySeconds=3600)",
        "raise ValueError('too late')",
        "raise",
        "await asyncio.sleep(0); batch.ackAll()",
    ],
)
def test_what_it_does_after_its_time_does_not_count(shop: Any, after: str) -> None:
    async def program(run: Any) -> None:
        await run.send("a")
        await run.pass_time(5)
        await run.pass_time(LIMIT)
        await run.rest()
        assert STOPPED in run.log
        assert await run.backlog("q") == 1
        await run.pass_time(60)
        assert len(run.batches()) == 2
        assert await run.backlog("q") == 0

    config = shop.recorder(*CATCHES, f"    {after}", retry_delay=60, max_batch_timeout=0)
    shop(program, config)


def test_what_was_acknowledged_before_stays_done(shop: Any) -> None:
    async def program(run: Any) -> None:
        await run.send("a", "b")
        await run.pass_time(5)
        await run.pass_time(LIMIT)
        await run.rest()
        assert await run.backlog("q") == 1

    shop(program, shop.recorder("batch.messages[0].ack()", *CATCHES, "    pass", retry_delay=60))


def test_a_stopped_delivery_is_an_attempt(shop: Any) -> None:
    async def program(run: Any) -> None:
        await run.send("a")
        await run.pass_time(5)
        await run.pass_time(LIMIT)
        await run.rest()
        assert "Dropped message" in run.log
        assert await run.backlog("q") == 0

    shop(program, shop.recorder(*CATCHES, "    pass", max_retries=0))


def test_one_that_never_ends_does_not_hold_up_the_queue(shop: Any) -> None:
    async def program(run: Any) -> None:
        await run.send("a")
        await run.pass_time(5)
        await run.send("b")
        await run.pass_time(LIMIT)
        assert len(run.batches()) == 1
        await run.pass_time(20)
        await run.rest()
        assert "goes on all the same, since it catches CancelledError" in run.log
        assert run.batches() == [["a"], ["b"]]
        await run.pass_time(60)
        await run.rest()
        assert run.batches() == [["a"], ["b"], ["a"]]
        run.module()["batches"].append("end")
        await run.rest()

    script = (
        "import asyncio",
        "if batches != [['a']]:",
        "    return",
        "while 'end' not in batches:",
        "    try:",
        "        await asyncio.sleep(0.01)",
        "    except asyncio.CancelledError:",
        "        pass",
        "batch.ackAll()",
    )
    config = shop.recorder(
        *script, retry_delay=60, max_concurrency=1, max_batch_size=1, max_batch_timeout=0
    )
    shop(program, config)


def test_one_that_cancels_itself_failed_and_took_no_15_minutes(shop: Any) -> None:
    async def program(run: Any) -> None:
        await run.send("a")
        await run.pass_time(5)
        await run.rest()
        assert "15 minutes" not in run.log
        assert 'The handler of queue "q" was cancelled before it ended' in run.log
        assert await run.backlog("q") == 1

    script = ("import asyncio", "asyncio.current_task().cancel()", "await asyncio.sleep(0)")
    shop(program, shop.recorder(*script, retry_delay=60))


def test_late_marks_are_told_of(shop: Any) -> None:
    async def program(run: Any) -> None:
        await run.send("a")
        await run.pass_time(5)
        await run.pass_time(LIMIT)
        await run.rest()
        for call in ("ack()", "retry()", "ackAll()", "retryAll()"):
            assert f"Received a call to {call} after the handler was stopped" in run.log

    late = "m = batch.messages[0]; m.ack(); m.retry(); batch.ackAll(); batch.retryAll()"
    shop(program, shop.recorder(*CATCHES, f"    {late}", retry_delay=60))
