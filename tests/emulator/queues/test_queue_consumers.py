"""Who consumes a queue: several workers, reloads, restarts, and queues that nobody consumes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from pyflare.config import ConfigError

PRODUCER = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response("")
"""


def producer(shop: Any, name: str = "api") -> Any:
    return shop.worker(PRODUCER, name, consumers=[])


class TestSeveralWorkers:
    def test_one_sends_and_another_consumes(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a", worker="api")
            await run.pass_time(5)
            assert run.batches("jobs") == [["a"]]

        shop(program, [producer(shop), shop.recorder(name="jobs")])

    def test_one_consumes_several_queues(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a", binding="Q")
            await run.send("b", binding="R")
            await run.pass_time(5)
            assert run.module()["queues"] == ["q", "r"]

        config = shop.recorder(
            "globals().setdefault('queues', []).append(batch.queue)",
            producers=[{"binding": "Q", "queue": "q"}, {"binding": "R", "queue": "r"}],
            consumers=[{"queue": "q"}, {"queue": "r"}],
        )
        shop(program, config)

    def test_a_binding_without_a_queue_name_uses_its_own(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a", binding="MY_QUEUE")
            await run.pass_time(5)
            assert run.batches() == [["a"]]

        config = shop.recorder(
            producers=[{"binding": "MY_QUEUE"}], consumers=[{"queue": "MY_QUEUE"}]
        )
        shop(program, config)

    def test_two_consumers_of_one_queue_are_refused(self, shop: Any) -> None:
        async def program(run: Any) -> None: ...

        with pytest.raises(ConfigError) as refusal:
            shop(program, [shop.recorder(name="a"), shop.recorder(name="b")])
        assert 'Multiple consumers defined for queue "q": "a" and "b"' in str(refusal.value)

    def test_a_worker_sends_to_the_queue_that_it_consumes(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send(0)
            await run.rest()
            assert run.batches() == [[0], [1], [2], [3]]

        script = (
            "n = batch.messages[0].body",
            "if n < 3:",
            "    await worker.env.Q.send(n + 1)",
        )
        shop(program, shop.recorder(*script, max_batch_timeout=0))


class TestNobody:
    def test_consumes_a_queue_that_is_sent_to_and_a_warning_names_it(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a", worker="api")
            await run.pass_time(3600)
            assert await run.backlog("q") == 1
            assert run.log.count('No Worker that runs here consumes the queue "q".') == 1

        shop(program, producer(shop))

    def test_consumed_it_until_a_later_start(self, shop: Any) -> None:
        async def send(run: Any) -> None:
            await run.send("a", "b", worker="api")

        async def receive(run: Any) -> None:
            await run.pass_time(5)
            assert run.batches("jobs") == [["a", "b"]]
            assert "No Worker" not in run.log

        shop(send, producer(shop))
        shop(receive, shop.recorder(name="jobs"))

    def test_consumes_what_an_earlier_run_left_and_the_number_is_told(self, shop: Any) -> None:
        async def send(run: Any) -> None:
            await run.send("a", "b", worker="api")

        async def look(run: Any) -> None:
            assert "It holds 2 messages now." in run.log

        shop(send, producer(shop))
        shop(look, producer(shop))

    def test_consumes_a_dead_letter_queue_whose_messages_are_told_at_the_next_start(
        self, shop: Any
    ) -> None:
        config = shop.recorder(
            "raise ValueError", max_retries=0, max_batch_timeout=0, dead_letter_queue="dead"
        )

        async def fail(run: Any) -> None:
            assert '"dead"' not in run.log
            await run.send("a")
            await run.rest()

        async def look(run: Any) -> None:
            assert 'consumes the queue "dead"' in run.log
            assert "It holds 1 message now." in run.log

        shop(fail, config)
        shop(look, config)


class TestRestarts:
    def test_keep_delays_and_attempts(self, shop: Any) -> None:
        config = shop.recorder("batch.retryAll(delaySeconds=100)")

        async def first(run: Any) -> None:
            await run.send("a")
            await run.pass_time(5)
            assert len(run.batches()) == 1

        async def second(run: Any) -> None:
            await run.pass_time(99)
            assert run.batches() == []
            await run.pass_time(6)
            assert run.batches() == [["a"]]
            (message,) = await run.flare.registry.queue("q").list()
            assert message.attempts == 2

        shop(first, config)
        shop(second, config)

    def test_put_messages_under_delivery_back_without_counting_it(self, shop: Any) -> None:
        config = shop.recorder(
            "globals()['attempts'] = batch.messages[0].attempts",
            "import asyncio",
            "await asyncio.Event().wait()",
            max_batch_timeout=0,
        )

        async def first(run: Any) -> None:
            await run.send("a")
            await run.rest()
            assert run.module()["attempts"] == 1
            await run.flare.close(grace=0)

        shop(first, config)
        shop(first_delivery_again, config)

    def test_leave_messages_done_that_a_stopped_handler_had_acknowledged(self, shop: Any) -> None:
        config = shop.recorder(
            "batch.messages[0].ack()",
            "import asyncio",
            "await asyncio.Event().wait()",
            max_batch_size=2,
        )

        async def first(run: Any) -> None:
            await run.send("a", "b")
            await run.rest()
            await run.flare.close(grace=0)

        async def second(run: Any) -> None:
            assert [m.body for m in await run.flare.registry.queue("q").list()] == [b'"b"']

        shop(first, config)
        shop(second, config)

    def test_give_handlers_under_way_their_grace(self, shop: Any) -> None:
        config = shop.recorder("import asyncio", "await asyncio.sleep(0.05)", max_batch_timeout=0)

        async def first(run: Any) -> None:
            await run.send("a")
            await run.rest()
            await run.flare.close(grace=5)

        async def second(run: Any) -> None:
            assert await run.backlog("q") == 0

        shop(first, config)
        shop(second, config)


async def first_delivery_again(run: Any) -> None:
    await run.rest()
    assert run.module()["attempts"] == 1
    await run.flare.close(grace=0)


class TestReloads:
    def test_bring_new_code_to_the_next_batch(self, shop: Any) -> None:
        config = shop.recorder(max_batch_timeout=0)

        async def program(run: Any) -> None:
            await run.send("a")
            await run.rest()
            shop.recorder("globals()['new'] = True", max_batch_timeout=0)
            await run.flare.reload(config)
            await run.send("b")
            await run.rest()
            assert run.module()["new"]
            assert run.batches() == [["b"]]

        shop(program, config)

    def test_bring_new_settings(self, shop: Any) -> None:
        config = shop.recorder()

        async def program(run: Any) -> None:
            await run.send("a", "b")
            await run.rest()
            assert run.batches() == []
            shop.recorder(max_batch_size=2)
            await run.flare.reload(config)
            await run.rest()
            assert run.batches() == [["a", "b"]]

        shop(program, config)

    def test_add_and_remove_consumers(self, shop: Any) -> None:
        config = producer(shop, "shop")

        async def program(run: Any) -> None:
            await run.send("a")
            shop.recorder(max_batch_timeout=0)
            await run.flare.reload(config)
            await run.rest()
            assert run.batches() == [["a"]]
            producer(shop, "shop")
            await run.flare.reload(config)
            await run.send("b")
            await run.pass_time(60)
            assert await run.backlog("q") == 1

        shop(program, config)

    def test_add_the_first_queue_of_all(self, shop: Any) -> None:
        config = shop.worker(PRODUCER, "shop", producers=[], consumers=[])

        async def program(run: Any) -> None:
            assert run.flare.queues is None
            shop.recorder(max_batch_timeout=0)
            await run.flare.reload(config)
            await run.send("a")
            await run.rest()
            assert run.batches() == [["a"]]

        shop(program, config)

    def test_of_code_that_does_not_load_hold_messages_back(self, shop: Any) -> None:
        config = shop.recorder(max_batch_timeout=0)

        async def program(run: Any) -> None:
            shop.worker("this is no Python", max_batch_timeout=0)
            await run.flare.reload(config)
            await run.send("a")
            await run.pass_time(3600)
            (message,) = await run.flare.registry.queue("q").list()
            assert message.attempts == 0, run.log
            shop.recorder(max_batch_timeout=0)
            await run.flare.reload(config)
            await run.rest()
            assert run.batches() == [["a"]]

        shop(program, config)

    def test_of_a_configuration_that_cannot_be_used_hold_messages_back(self, shop: Any) -> None:
        config = shop.recorder(max_batch_timeout=0)

        async def program(run: Any) -> None:
            good = config.read_text()
            config.write_text(json.dumps({**json.loads(good), "queues": 5}))
            with pytest.raises(ConfigError):
                await run.flare.reload(config)
            await run.send("a")
            await run.rest()
            assert await run.backlog("q") == 1
            config.write_text(good)
            await run.flare.reload(config)
            await run.rest()
            assert run.batches() == [["a"]]

        shop(program, config)

    def test_leave_batches_under_way_to_the_old_code(self, shop: Any) -> None:
        script = (
            "import asyncio",
            "globals()['gate'] = asyncio.Event()",
            "await gate.wait()",
        )
        config = shop.recorder(*script, max_batch_timeout=0)

        async def program(run: Any) -> None:
            await run.send("a")
            await run.rest()
            gate = run.module()["gate"]
            shop.recorder(max_batch_timeout=0)
            await run.flare.reload(config)
            gate.set()
            await run.rest()
            assert await run.backlog("q") == 0
            assert run.batches() == []

        shop(program, config)


class TestTrouble:
    def test_with_the_file_is_told_once_and_messages_are_not_lost_silently(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            run.flare.registry.queues().path.unlink()
            run.flare.registry.check_files()
            await run.pass_time(60)
            assert run.log.count('Queue "q" cannot be read:') == 1

        shop(program, shop.recorder())

    def test_after_the_handler_keeps_the_messages_for_another_delivery(self, shop: Any) -> None:
        script = (
            "import os",
            "globals().setdefault('path', None)",
            "path and os.rename(path, path + '.away')",
        )

        async def program(run: Any) -> None:
            path = run.flare.registry.queues().path
            await run.send("a")
            run.module()["path"] = str(path)
            await run.pass_time(5)
            assert "its end could not be recorded" in run.log

        shop(program, shop.recorder(*script))


def test_a_consumer_works_at_durability_machine_too(shop: Any) -> None:
    async def program(run: Any) -> None:
        await asyncio.gather(*(run.send(n) for n in range(20)))
        for _ in range(2000):
            if not await run.backlog("q"):
                break
            await asyncio.sleep(0.001)
            await run.clock.advance(0)
        assert sorted(body for batch in run.batches() for body in batch) == list(range(20))
        assert run.log.count("QUEUE q 5/5 (") == 4

    shop(program, shop.recorder(max_batch_size=5), durability="machine")


def test_a_handler_of_older_code_is_a_function(shop: Any) -> None:
    source = """
        batches = []

        async def on_queue(batch, env, ctx):
            for message in batch.messages:
                if message.attempts == 1:
                    message.retry()
                else:
                    await env.R.send(f"{batch.queue} {message.body.order}")
    """

    async def program(run: Any) -> None:
        await run.send({"order": 7})
        await run.rest()
        stored = await run.flare.registry.queue("r").list()
        assert [message.body for message in stored] == [b'"q 7"']
        assert await run.backlog("q") == 0

    old = {"compatibility_date": "2025-08-01"}
    producers = [{"binding": "Q", "queue": "q"}, {"binding": "R", "queue": "r"}]
    shop(program, shop.worker(source, producers=producers, max_batch_timeout=0, config=old))
