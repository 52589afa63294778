"""When a batch goes, and how large it is."""

from __future__ import annotations

from typing import Any

import pytest


def sizes(shop: Any) -> list[int]:
    return [len(batch) for batch in shop.batches()]


class TestSize:
    def test_a_full_batch_goes_at_once(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send(*range(3))
            await run.rest()
            assert run.batches() == [[0, 1, 2]]

        shop(program, shop.recorder(max_batch_size=3))

    def test_a_smaller_batch_waits_for_its_timeout_and_no_longer(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.pass_time(3)
            await run.send("b")
            await run.pass_time(3.999)
            assert run.batches() == []
            await run.pass_time(0.001)
            assert run.batches() == [["a", "b"]]

        shop(program, shop.recorder(max_batch_timeout=7))

    def test_no_batch_is_larger_than_configured(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send(*range(53))
            for _ in range(2):
                await run.env().Q.sendBatch([{"body": n} for n in range(100)])
            await run.rest()
            assert sizes(run) == [10] * 25
            await run.pass_time(5)
            assert sizes(run) == [10] * 25 + [3]

        shop(program, shop.recorder(max_batch_size=10, max_batch_timeout=5))

    def test_production_s_defaults_are_10_messages_and_5_seconds(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send(*range(12))
            await run.rest()
            assert sizes(run) == [10]
            await run.pass_time(4.9)
            assert sizes(run) == [10]
            await run.pass_time(0.1)
            assert sizes(run) == [10, 2]

        shop(program, shop.recorder())

    def test_without_a_timeout_every_message_goes_at_once(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.rest()
            assert run.batches() == [["a"]]

        shop(program, shop.recorder(max_batch_timeout=0))

    def test_a_delayed_message_that_fills_a_batch_lets_it_go(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.env().Q.send("late", delaySeconds=2)
            await run.send("soon")
            await run.pass_time(1.9)
            assert run.batches() == []
            await run.pass_time(0.1)
            assert run.batches() == [["soon", "late"]]

        shop(program, shop.recorder(max_batch_size=2, max_batch_timeout=30))

    def test_a_delayed_message_waits_for_the_timeout_after_its_delay(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.env().Q.send("late", delaySeconds=100)
            await run.pass_time(104.9)
            assert run.batches() == []
            await run.pass_time(0.1)
            assert run.batches() == [["late"]]

        shop(program, shop.recorder())


WAITING = """
    import asyncio
    from workers import WorkerEntrypoint

    batches = []
    state = {"running": 0, "most": 0, "go": None}

    class Default(WorkerEntrypoint):
        async def queue(self, batch):
            state["running"] += 1
            state["most"] = max(state["most"], state["running"])
            if state["go"] is None:
                state["go"] = asyncio.Event()
            await state["go"].wait()
            state["running"] -= 1
            batches.append([message.body for message in batch.messages])
"""


class TestConcurrency:
    @pytest.mark.parametrize("allowed", [1, 3])
    def test_is_what_is_configured(self, shop: Any, allowed: int) -> None:
        async def program(run: Any) -> None:
            await run.send(*range(10))
            await run.rest()
            state = run.module()["state"]
            assert state["running"] == allowed
            state["go"].set()
            await run.rest()
            assert sizes(run) == [2] * 5
            assert state["most"] == allowed

        shop(program, shop.worker(WAITING, max_batch_size=2, max_concurrency=allowed))

    def test_grows_with_the_backlog_where_nothing_is_configured(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send(*range(300))
            await run.rest()
            state = run.module()["state"]
            assert state["running"] == 10
            state["go"].set()
            await run.rest()
            assert sizes(run) == [10] * 30

        shop(program, shop.worker(WAITING))

    def test_no_more_is_read_from_the_store_than_can_be_delivered(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send(*range(100))
            await run.rest()
            stored = await run.flare.registry.queue("q").list(1000)
            assert sum(message.in_flight for message in stored) == 10
            run.module()["state"]["go"].set()
            await run.rest()

        shop(program, shop.worker(WAITING, max_batch_size=10, max_concurrency=1))


def test_the_order_of_sending_is_kept(shop: Any) -> None:
    async def program(run: Any) -> None:
        await run.send(*range(25))
        await run.pass_time(5)
        assert [body for batch in run.batches() for body in batch] == list(range(25))

    shop(program, shop.recorder(max_concurrency=1))
