"""What becomes of messages after their handler: marks, failures, retries and dead letters."""

from __future__ import annotations

from typing import Any

import pytest


class TestMarks:
    """`attempts` of each message over the deliveries: a message that is done is not seen again."""

    def deliveries(self, shop: Any, *script: str) -> list[list[Any]]:
        """Four messages; the script runs at the first delivery only."""

        async def program(run: Any) -> Any:
            await run.send("a", "b", "c", "d")
            await run.pass_time(1)
            await run.pass_time(5)
            return run.batches(), run.log

        first = ("if batch.messages[0].attempts > 1:", "    return", "m = batch.messages", *script)
        batches, self.log = shop(program, shop.recorder(*first, max_batch_size=4))
        assert batches[0] == ["a", "b", "c", "d"]
        return batches[1:]

    def test_none_at_all_and_a_return_is_done(self, shop: Any) -> None:
        assert self.deliveries(shop, "pass") == []

    def test_none_at_all_and_a_failure_comes_again_as_a_whole(self, shop: Any) -> None:
        assert self.deliveries(shop, "raise ValueError('no')") == [["a", "b", "c", "d"]]
        assert 'Uncaught ValueError: no (in queue "q")' in self.log

    def test_retry_brings_back_one_message(self, shop: Any) -> None:
        assert self.deliveries(shop, "m[1].retry()") == [["b"]]

    def test_retry_all_brings_back_the_batch(self, shop: Any) -> None:
        assert self.deliveries(shop, "batch.retryAll()") == [["a", "b", "c", "d"]]

    def test_an_acknowledged_message_stays_done_when_the_handler_fails(self, shop: Any) -> None:
        script = ("m[0].ack()", "m[2].ack()", "raise ValueError('late')")
        assert self.deliveries(shop, *script) == [["b", "d"]]

    def test_ack_all_holds_when_the_handler_fails(self, shop: Any) -> None:
        assert self.deliveries(shop, "batch.ackAll()", "raise ValueError('late')") == []

    def test_an_acknowledged_message_stays_done_after_retry_all(self, shop: Any) -> None:
        assert self.deliveries(shop, "m[0].ack()", "batch.retryAll()") == [["b", "c", "d"]]

    def test_a_retried_message_comes_again_after_ack_all(self, shop: Any) -> None:
        assert self.deliveries(shop, "m[3].retry()", "batch.ackAll()") == [["d"]]

    def test_the_first_mark_of_a_message_counts(self, shop: Any) -> None:
        script = ("m[0].ack(); m[0].retry()", "m[1].retry(); m[1].ack()")
        assert self.deliveries(shop, *script) == [["b"]]
        assert (
            "after ack() was already called. Calling retry() on a message after calling ack() has no effect."
        ) in self.log
        assert (
            "after retry() was already called. Calling ack() on a message after calling retry() has no effect."
        ) in self.log

    def test_the_first_mark_of_the_batch_counts(self, shop: Any) -> None:
        assert self.deliveries(shop, "batch.ackAll()", "batch.retryAll()") == []
        assert (
            "Received a call to retryAll() after ackAll() was already called. "
            "Calling retryAll() after calling ackAll() has no effect."
        ) in self.log

    def test_retry_all_keeps_ack_all_out(self, shop: Any) -> None:
        script = ("batch.retryAll()", "batch.ackAll()")
        assert self.deliveries(shop, *script) == [["a", "b", "c", "d"]]
        assert "Received a call to ackAll() after retryAll() was already called." in self.log

    def test_ack_after_retry_all_has_no_effect(self, shop: Any) -> None:
        script = ("batch.retryAll()", "m[0].ack()")
        assert self.deliveries(shop, *script) == [["a", "b", "c", "d"]]
        assert "after retryAll() was already called." in self.log

    def test_retry_after_ack_all_has_no_effect(self, shop: Any) -> None:
        assert self.deliveries(shop, "batch.ackAll()", "m[0].retry()") == []
        assert "after ackAll() was already called." in self.log

    def test_ack_after_ack_all_is_silent(self, shop: Any) -> None:
        assert self.deliveries(shop, "batch.ackAll()", "m[0].ack()") == []
        assert "has no effect" not in self.log

    def test_all_rules_together(self, shop: Any) -> None:
        script = (
            "m[0].ack()",
            "m[1].retry()",
            "m[2].ack(); m[2].retry()",
            "batch.retryAll()",
            "raise ValueError('late')",
        )
        assert self.deliveries(shop, *script) == [["b", "d"]]


class TestWaitUntil:
    def test_work_that_fails_brings_the_batch_back(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.pass_time(5)
            await run.pass_time(5)
            assert run.batches() == [["a"], ["a"]]

        script = (
            "import asyncio",
            "async def later():",
            "    await asyncio.sleep(0)",
            "    if batch.messages[0].attempts == 1:",
            "        raise ValueError('background')",
            "worker.ctx.waitUntil(later())",
        )
        shop(program, shop.recorder(*script))

    def test_work_is_waited_for_before_messages_are_done(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.pass_time(5)
            assert await run.backlog("q") == 1
            run.module()["gate"].set()
            await run.rest()
            assert await run.backlog("q") == 0

        script = (
            "import asyncio",
            "globals()['gate'] = asyncio.Event()",
            "worker.ctx.waitUntil(gate.wait())",
        )
        shop(program, shop.recorder(*script))

    def test_work_does_not_count_with_the_flag_that_says_so(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.pass_time(5)
            assert await run.backlog("q") == 0

        script = ("import asyncio", "worker.ctx.waitUntil(asyncio.sleep(3600))")
        flags = ["python_workers", "queue_consumer_no_wait_for_wait_until"]
        shop(program, shop.recorder(*script, config={"compatibility_flags": flags}))


class TestDelays:
    def times(self, shop: Any, *script: str, **queues: Any) -> list[float]:
        """When a message that always fails is delivered, in seconds after it was sent."""

        async def program(run: Any) -> Any:
            sent = run.clock.now()
            run.module()["clock"] = run.clock
            await run.send("a")
            await run.rest()
            await run.pass_time(100)
            return [at - sent for at in run.module()["times"]]

        keep = "globals().setdefault('times', []).append(clock.now())"
        queues.setdefault("max_batch_timeout", 0)
        found: list[float] = shop(program, shop.recorder(keep, *script, **queues))
        return found

    def test_of_a_message_s_own_retry(self, shop: Any) -> None:
        script = "batch.messages[0].retry(delaySeconds=30)"
        assert self.times(shop, script, max_retries=2) == [0, 30, 60]

    def test_of_the_batch(self, shop: Any) -> None:
        script = "batch.retryAll({'delaySeconds': 20})"
        assert self.times(shop, script, max_retries=2) == [0, 20, 40]

    def test_of_the_consumer(self, shop: Any) -> None:
        script = "raise ValueError"
        assert self.times(shop, script, max_retries=2, retry_delay=10) == [0, 10, 20]

    def test_the_message_s_own_wins_over_the_others(self, shop: Any) -> None:
        script = ("batch.retryAll(delaySeconds=20)", "batch.messages[0].retry(delaySeconds=30)")
        assert self.times(shop, *script, max_retries=1, retry_delay=10) == [0, 30]

    def test_the_batch_s_wins_over_the_consumer_s(self, shop: Any) -> None:
        script = ("batch.messages[0].retry()", "batch.retryAll(delaySeconds=20)")
        assert self.times(shop, *script, max_retries=1, retry_delay=10) == [0, 20]

    def test_of_a_retry_before_a_failure_holds(self, shop: Any) -> None:
        script = ("batch.messages[0].retry(delaySeconds=30)", "raise ValueError")
        assert self.times(shop, *script, max_retries=1) == [0, 30]

    def test_of_zero_wins_over_the_consumer_s(self, shop: Any) -> None:
        script = "batch.messages[0].retry(delaySeconds=0)"
        assert self.times(shop, script, max_retries=1, retry_delay=10) == [0, 0]

    @pytest.mark.parametrize(("asked", "given"), [(-5, 0), (90_000, 86_400)])
    def test_are_held_within_a_day(self, shop: Any, asked: int, given: int) -> None:
        from pyflare.queues.batch import Marks, QueueMessage

        marks = Marks(lambda _: None)
        message: Any = type("Message", (), {"id": "x"})()
        QueueMessage._make(message, marks).retry(delaySeconds=asked)
        assert marks.retried == {"x": given}


class TestAttempts:
    def test_grow_with_every_delivery_while_the_id_stays(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.rest()
            seen = run.module()["seen"]
            assert [attempts for _, attempts in seen] == [1, 2, 3, 4]
            assert len({id for id, _ in seen}) == 1

        script = (
            "m = batch.messages[0]",
            "globals().setdefault('seen', []).append((m.id, m.attempts))",
            "m.retry()",
        )
        # Three retries are production's default.
        shop(program, shop.recorder(*script, max_batch_timeout=0))

    def test_that_are_used_up_drop_the_message_with_a_warning(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.rest()
            assert len(run.batches()) == 2
            assert await run.backlog("q") == 0
            assert 'Dropped message "' in run.log
            assert '" on queue "q" after 2 failed attempts!' in run.log

        shop(program, shop.recorder("raise ValueError", max_batch_timeout=0, max_retries=1))

    def test_that_are_used_up_move_the_message_to_the_dead_letter_queue(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.rest()
            assert (await run.backlog("q"), await run.backlog("dead")) == (0, 1)
            assert '" on queue "q" to dead letter queue "dead" after 1 failed attempt...' in run.log

        options = {"max_batch_timeout": 0, "max_retries": 0, "dead_letter_queue": "dead"}
        shop(program, shop.recorder("raise ValueError", **options))

    def test_start_anew_in_a_dead_letter_queue_that_is_consumed(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.rest()
            assert run.module()["seen"] == [("q", 1), ("dead", 1)]

        script = (
            "globals().setdefault('seen', []).append((batch.queue, batch.messages[0].attempts))",
            "if batch.queue == 'q':",
            "    raise ValueError",
        )
        consumers = [
            {"queue": "q", "max_batch_timeout": 0, "max_retries": 0, "dead_letter_queue": "dead"},
            {"queue": "dead", "max_batch_timeout": 0},
        ]
        shop(program, shop.recorder(*script, consumers=consumers))


class TestLines:
    @pytest.mark.parametrize(
        ("script", "line"),
        [
            ("pass", "QUEUE q 2/2 ("),
            ("batch.messages[0].retry(delaySeconds=99)", "QUEUE q 1/2 ("),
            ("raise ValueError", "QUEUE q 0/2 ("),
        ],
    )
    def test_tell_how_many_messages_are_done(self, shop: Any, script: str, line: str) -> None:
        async def program(run: Any) -> None:
            await run.send("a", "b")
            await run.rest()
            assert f"[wrangler:info] {line}" in run.log

        shop(program, shop.recorder(script, max_batch_size=2, retry_delay=99))

    def test_tell_of_retries_at_debug_level(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.pass_time(5)
            assert 'Retrying message "' in run.log

        shop(program, shop.recorder("raise ValueError", retry_delay=99), level="debug")


class TestFailures:
    def test_a_worker_without_a_handler_is_told_of_and_the_message_retried(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.pass_time(5)
            assert "Method queue does not exist" in run.log
            assert await run.backlog("q") == 1

        source = """
            from workers import WorkerEntrypoint

            class Default(WorkerEntrypoint):
                pass
        """
        shop(program, shop.worker(source, retry_delay=60))

    def test_sys_exit_in_a_handler_fails_its_batch_alone(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.pass_time(5)
            assert await run.backlog("q") == 1

        shop(program, shop.recorder("import sys; sys.exit(3)", retry_delay=60))

    def test_a_handler_is_stopped_after_15_minutes(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.pass_time(5)
            await run.pass_time(15 * 60 - 1)
            assert "was stopped" not in run.log
            await run.pass_time(1)
            assert (
                'The handler of queue "q" was stopped: it took longer than 15 minutes.' in run.log
            )
            assert len(run.batches()) == 1
            await run.pass_time(60)
            await run.pass_time(5)
            assert len(run.batches()) == 2

        script = (
            "import asyncio",
            "if batch.messages[0].attempts == 1:",
            "    await asyncio.Event().wait()",
        )
        shop(program, shop.recorder(*script, retry_delay=60))
