"""What a queue accepts, and what it says about itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from pyflare_bindings.queues import Outgoing, QueueError, QueueErrorCode
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError, StateError


def refusal(queue: Any, request: Coroutine[Any, Any, Any]) -> tuple[int, str]:
    with pytest.raises(QueueError) as caught:
        queue.runner.run(request)
    return caught.value.code, str(caught.value)


class TestMessages:
    def test_come_out_as_they_went_in(self, queue: Any) -> None:
        queue.runner.run(queue.queue.send(Outgoing(b"\x00\xff", "bytes")))
        (message,) = queue.lease().messages
        assert (message.body, message.content_type, message.attempts) == (b"\x00\xff", "bytes", 1)

    def test_carry_the_time_at_which_they_were_sent(self, store: Any, queue: Any) -> None:
        sent = round(store.clock.now() * 1000)
        queue.send()
        store.pass_time(30)
        assert queue.lease().messages[0].sent_at == sent

    def test_have_ids_of_32_hexadecimal_digits_that_differ(self, queue: Any) -> None:
        queue.send_batch(*"abc")
        ids = [message.id for message in queue.lease().messages]
        assert len(set(ids)) == 3
        assert all(len(id) == 32 and set(id) <= set("0123456789abcdef") for id in ids)

    def test_come_out_in_the_order_of_sending(self, queue: Any) -> None:
        for body in ("a", "b"):
            queue.send(body)
        queue.send_batch("c", "d")
        assert [m.body for m in queue.lease().messages] == [b"a", b"b", b"c", b"d"]

    def test_of_another_queue_stay_there(self, store: Any) -> None:
        store["one"].send("a")
        assert store["two"].try_lease() is None

    def test_may_be_empty(self, queue: Any) -> None:
        queue.send("")
        assert queue.lease().messages[0].body == b""


class TestDelays:
    def test_hold_a_message_back_until_they_are_over(self, store: Any, queue: Any) -> None:
        queue.send("later", delay=10)
        store.pass_time(9.999)
        assert queue.try_lease() is None
        store.pass_time(0.001)
        assert queue.lease().messages[0].body == b"later"

    def test_put_a_message_behind_those_that_are_ready_earlier(
        self, store: Any, queue: Any
    ) -> None:
        queue.send("delayed", delay=10)
        store.pass_time(5)
        queue.send("plain")
        store.pass_time(5)
        assert [m.body for m in queue.lease().messages] == [b"plain", b"delayed"]

    def test_go_on_while_nothing_runs(self, store: Any) -> None:
        store["q"].send("later", delay=10)
        store.restart()
        assert store["q"].try_lease() is None
        store.pass_time(10)
        assert store["q"].try_lease() is not None


class TestLimits:
    def test_a_message_of_128000_bytes_is_accepted(self, queue: Any) -> None:
        queue.send("x" * 128_000)
        assert len(queue.lease().messages[0].body) == 128_000

    def test_a_longer_message_is_refused(self, queue: Any) -> None:
        assert refusal(queue, queue.queue.send(Outgoing(b"x" * 128_001))) == (
            QueueErrorCode.MESSAGE_SIZE,
            "message length of 128001 bytes exceeds limit of 128000",
        )

    def test_a_longer_message_in_a_batch_is_refused(self, queue: Any) -> None:
        batch = [Outgoing(b"a"), Outgoing(b"x" * 128_001)]
        assert refusal(queue, queue.queue.send_batch(batch)) == (
            QueueErrorCode.MESSAGE_SIZE,
            "message in batch has length 128001 bytes which exceeds single message size limit of 128000",
        )

    def test_a_batch_holds_100_messages(self, queue: Any) -> None:
        queue.send_batch(*["m"] * 100)
        assert queue.metrics().backlog_count == 100
        assert refusal(queue, queue.queue.send_batch([Outgoing(b"m")] * 101)) == (
            QueueErrorCode.BATCH_COUNT,
            "batch message count of 101 exceeds limit of 100",
        )

    def test_a_batch_holds_256000_bytes(self, queue: Any) -> None:
        half = Outgoing(b"x" * 128_000)
        queue.runner.run(queue.queue.send_batch([half, half]))
        assert refusal(queue, queue.queue.send_batch([half, half, Outgoing(b"y")])) == (
            QueueErrorCode.BATCH_SIZE,
            "batch size of 256001 bytes exceeds limit of 256000",
        )

    def test_a_delay_may_be_a_day(self, store: Any, queue: Any) -> None:
        queue.send("m", delay=86_400)
        store.pass_time(86_400)
        assert queue.try_lease() is not None

    @pytest.mark.parametrize("delay", [-1, 86_401])
    def test_other_delays_are_refused(self, queue: Any, delay: int) -> None:
        wanted = (
            QueueErrorCode.DELAY_INVALID,
            f"message delay {delay} is invalid: it must be a whole number of seconds from 0 to 86400",
        )
        assert refusal(queue, queue.queue.send(Outgoing(b"m", "text", delay))) == wanted
        assert refusal(queue, queue.queue.send_batch([Outgoing(b"m", "text", delay)])) == wanted

    def test_a_content_type_that_does_not_exist_is_refused(self, queue: Any) -> None:
        assert refusal(queue, queue.queue.send(Outgoing(b"m", "xml"))) == (
            QueueErrorCode.METADATA_INVALID,
            "message content type xml is invalid; if specified, must be one of 'text', 'json', 'bytes', or 'v8'",
        )

    def test_nothing_of_a_refused_batch_is_kept(self, queue: Any) -> None:
        refusal(queue, queue.queue.send_batch([Outgoing(b"a"), Outgoing(b"b", "text", -1)]))
        assert queue.metrics().backlog_count == 0


class TestMetrics:
    def test_of_an_unused_queue_are_zero(self, queue: Any) -> None:
        metrics = queue.metrics()
        assert (metrics.backlog_count, metrics.backlog_bytes, metrics.oldest_at) == (0, 0, None)

    def test_count_messages_and_their_bytes(self, queue: Any) -> None:
        queue.send_batch("abc", "de")
        assert (queue.metrics().backlog_count, queue.metrics().backlog_bytes) == (2, 5)

    def test_are_given_by_send_as_they_were_before(self, queue: Any) -> None:
        assert queue.send("abc").backlog_count == 0
        assert queue.send("de").backlog_bytes == 3
        assert queue.send_batch("f").backlog_count == 2

    def test_tell_when_the_oldest_message_was_sent(self, store: Any, queue: Any) -> None:
        first = round(store.clock.now() * 1000)
        queue.send("a")
        store.pass_time(7)
        queue.send("b")
        assert queue.metrics().oldest_at == first
        queue.settle(queue.lease(1))
        assert queue.metrics().oldest_at == first + 7000

    def test_count_messages_under_delivery(self, queue: Any) -> None:
        queue.send_batch("a", "bb")
        queue.lease(1)
        assert (queue.metrics().backlog_count, queue.metrics().backlog_bytes) == (2, 3)

    def test_can_be_had_without_those_under_delivery(self, store: Any, queue: Any) -> None:
        queue.send("a")
        store.pass_time(1)
        queue.send("bb")
        lease = queue.lease(1)
        rest = queue.queue.metrics_without(lease)
        assert (rest.backlog_count, rest.backlog_bytes) == (1, 2)
        assert rest.oldest_at == round(store.clock.now() * 1000)

    def test_are_the_same_after_a_restart(self, store: Any) -> None:
        store["q"].send_batch("abc", "de")
        store["other"].send("f")
        before = store["q"].metrics()
        store.restart()
        assert store["q"].metrics() == before

    def test_of_all_queues_are_listed_by_name(self, store: Any) -> None:
        store["b"].send("x")
        store["a"].send("yy")
        listed = store.runner.run(store.registry.queues().queues())
        assert [(each.name, each.metrics.backlog_bytes) for each in listed] == [("a", 2), ("b", 1)]


class TestListing:
    def test_shows_messages_in_the_order_of_delivery(self, store: Any, queue: Any) -> None:
        queue.send("late", delay=5)
        queue.send("soon")
        assert [m.body for m in queue.stored()] == [b"soon", b"late"]

    def test_goes_on_behind_a_message(self, queue: Any) -> None:
        queue.send_batch(*"abcde")
        first = queue.stored(2)
        assert [m.body for m in queue.stored(2, first[-1])] == [b"c", b"d"]

    def test_tells_what_is_under_delivery(self, queue: Any) -> None:
        queue.send_batch("a", "b")
        queue.lease(1)
        assert {m.body: (m.in_flight, m.attempts) for m in queue.stored()} == {
            b"a": (True, 1),
            b"b": (False, 0),
        }


class TestPurging:
    def test_deletes_everything_that_was_sent(self, queue: Any) -> None:
        for _ in range(7):
            queue.send_batch(*["m"] * 100)
        assert queue.purge() == 700
        assert queue.metrics().backlog_count == 0
        assert queue.try_lease() is None

    def test_leaves_other_queues_alone(self, store: Any) -> None:
        store["one"].send("a")
        store["two"].send("b")
        assert store["one"].purge() == 1
        assert store["two"].metrics().backlog_count == 1

    def test_of_an_empty_queue_deletes_nothing(self, queue: Any) -> None:
        assert queue.purge() == 0

    def test_takes_messages_away_from_a_delivery(self, queue: Any) -> None:
        queue.send("a")
        lease = queue.lease()
        queue.purge()
        settled = queue.settle(lease, {0: 0})
        assert not settled.retried
        assert queue.metrics().backlog_count == 0


def test_a_closed_store_says_so(store: Any, queue: Any) -> None:
    queue.send("a")
    store.close()
    with pytest.raises(ClosedError):
        queue.send("b")


def test_a_file_that_is_no_database_is_named(tmp_path: Any) -> None:
    async def program() -> None:
        registry = BindingRegistry(tmp_path)
        path = registry.queues().path
        path.parent.mkdir(parents=True)
        path.write_text("nonsense" * 1000)
        with pytest.raises(StateError, match="not a SQLite database"):
            await registry.queue("q").send(Outgoing(b"a"))
        await registry.close()

    asyncio.run(program())


def test_a_deleted_file_refuses_messages_instead_of_losing_them(store: Any, queue: Any) -> None:
    queue.send("a")
    store.registry.queues().path.unlink()
    with pytest.raises(StateError, match="deleted or replaced"):
        queue.send("b")


def test_sends_at_durability_machine_share_their_disk_writes_and_keep_their_order(
    tmp_path: Any,
) -> None:
    async def program() -> list[bytes]:
        registry = BindingRegistry(tmp_path, durability="machine")
        queue = registry.queue("q")
        await asyncio.gather(*(queue.send(Outgoing(b"%d" % n)) for n in range(50)))
        lease = await queue.lease(100, 60)
        assert lease is not None
        await queue.settle(lease, {}, max_retries=0)
        assert (await queue.metrics()).backlog_count == 0
        await registry.close()
        return [message.body for message in lease.messages]

    assert asyncio.run(program()) == [b"%d" % n for n in range(50)]
