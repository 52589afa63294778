"""Messages on their way: leases, acknowledgement, retries and dead letters."""

from __future__ import annotations

from typing import Any

import pytest


def bodies(lease: Any) -> list[str]:
    return [message.body.decode() for message in lease.messages]


class TestLeases:
    def test_take_the_first_messages_and_no_more_than_asked_for(self, queue: Any) -> None:
        queue.send_batch(*"abc")
        assert bodies(queue.lease(2)) == ["a", "b"]

    def test_hide_their_messages_from_others(self, queue: Any) -> None:
        queue.send_batch(*"abc")
        queue.lease(2)
        assert bodies(queue.lease(2)) == ["c"]
        assert queue.try_lease() is None

    def test_that_end_unsettled_let_their_messages_be_delivered_again(
        self, store: Any, queue: Any
    ) -> None:
        queue.send("a")
        queue.lease(seconds=30)
        store.pass_time(29.999)
        assert queue.try_lease() is None
        store.pass_time(0.001)
        assert [(m.body, m.attempts) for m in queue.lease().messages] == [(b"a", 2)]

    def test_that_were_settled_too_late_change_nothing_that_somebody_else_has(
        self, store: Any, queue: Any
    ) -> None:
        queue.send("a")
        old = queue.lease(seconds=30)
        store.pass_time(30)
        new = queue.lease()
        assert not queue.settle(old).acknowledged
        assert len(queue.settle(new).acknowledged) == 1

    def test_that_were_settled_late_but_not_taken_by_others_still_count(
        self, store: Any, queue: Any
    ) -> None:
        queue.send("a")
        lease = queue.lease(seconds=30)
        store.pass_time(60)
        assert len(queue.settle(lease).acknowledged) == 1
        assert queue.try_lease() is None

    def test_of_a_process_that_ended_are_over_and_the_delivery_stays_counted(
        self, store: Any
    ) -> None:
        store["q"].send_batch("a", "b")
        store["q"].lease(1, seconds=3600)
        store.restart()
        found = store["q"].lease()
        assert [(m.body, m.attempts) for m in found.messages] == [(b"a", 2), (b"b", 1)]

    def test_of_somebody_outside_outlive_the_process(self, store: Any) -> None:
        store["q"].send("a")
        store["q"].lease(seconds=3600, pulled=True)
        store.restart()
        assert store["q"].try_lease() is None
        store.pass_time(3600)
        assert store["q"].try_lease() is not None

    def test_can_be_given_back_as_if_they_had_not_been_taken(self, queue: Any) -> None:
        queue.send_batch("a", "b")
        queue.release(queue.lease(1))
        assert [(m.body, m.attempts) for m in queue.lease().messages] == [(b"a", 1), (b"b", 1)]

    def test_can_be_given_back_in_part(self, queue: Any) -> None:
        queue.send_batch("a", "bb", "c")
        lease = queue.lease()
        queue.release(lease, [lease.messages[1].number])
        assert [(m.body, m.attempts) for m in queue.lease().messages] == [(b"a", 1), (b"c", 1)]
        assert (queue.metrics().backlog_count, queue.metrics().backlog_bytes) == (2, 2)


class TestSettling:
    def test_deletes_what_is_not_to_be_tried_again(self, store: Any, queue: Any) -> None:
        queue.send_batch("a", "b")
        settled = queue.settle(queue.lease())
        assert [m.body for m in settled.acknowledged] == [b"a", b"b"]
        store.restart()
        assert store["q"].metrics().backlog_count == 0

    def test_puts_a_retry_behind_what_is_waiting(self, store: Any, queue: Any) -> None:
        queue.send_batch("a", "b")
        lease = queue.lease(1)
        store.pass_time(1)
        queue.settle(lease, {0: 0})
        assert [(m.body, m.attempts) for m in queue.lease().messages] == [(b"b", 1), (b"a", 2)]

    def test_keeps_the_order_of_messages_that_are_retried_together(self, queue: Any) -> None:
        queue.send_batch(*"abc")
        queue.settle(queue.lease(), {0: 0, 1: 0, 2: 0})
        assert bodies(queue.lease()) == ["a", "b", "c"]

    def test_keeps_id_and_time_of_a_retry(self, store: Any, queue: Any) -> None:
        queue.send("a")
        first = queue.lease()
        store.pass_time(5)
        queue.settle(first, {0: 0})
        second = queue.lease()
        assert [(m.id, m.sent_at) for m in first.messages] == [
            (m.id, m.sent_at) for m in second.messages
        ]

    def test_holds_each_retry_back_for_its_own_delay(self, store: Any, queue: Any) -> None:
        queue.send_batch("a", "b")
        queue.settle(queue.lease(), {0: 20, 1: 10})
        store.pass_time(10)
        assert bodies(queue.lease()) == ["b"]
        store.pass_time(10)
        assert bodies(queue.lease()) == ["a"]

    @pytest.mark.parametrize("max_retries", [0, 1, 3])
    def test_drops_a_message_after_one_delivery_more_than_the_retries(
        self, queue: Any, max_retries: int
    ) -> None:
        queue.send("a")
        deliveries = 0
        while (lease := queue.try_lease()) is not None:
            deliveries += 1
            settled = queue.settle(lease, {0: 0}, max_retries=max_retries)
        assert deliveries == max_retries + 1
        assert [m.attempts for m in settled.dead] == [deliveries]
        assert queue.metrics().backlog_count == 0


class TestDeadLetters:
    def test_go_to_the_other_queue_with_id_and_time_and_a_new_count(self, store: Any) -> None:
        store["q"].send("a")
        lease = store["q"].lease()
        store.pass_time(3)
        settled = store["q"].settle(lease, {0: 0}, max_retries=0, dead_letter=store["dead"])
        (found,) = store["dead"].lease().messages
        assert [m.id for m in settled.dead] == [found.id]
        assert (found.sent_at, found.attempts) == (lease.messages[0].sent_at, 1)
        assert store["q"].metrics().backlog_count == 0

    def test_ignore_the_delay_of_their_retry(self, store: Any) -> None:
        store["q"].send("a")
        store["q"].settle(store["q"].lease(), {0: 600}, max_retries=0, dead_letter=store["dead"])
        assert store["dead"].try_lease() is not None

    def test_are_counted_in_both_queues(self, store: Any) -> None:
        store["q"].send_batch("aa", "b", "c")
        store["dead"].send("new")
        store["q"].settle(
            store["q"].lease(), {0: 0, 1: 0}, max_retries=0, dead_letter=store["dead"]
        )
        assert store["q"].metrics().backlog_bytes == 0
        metrics = store["dead"].metrics()
        assert (metrics.backlog_count, metrics.backlog_bytes) == (3, 6)
        store.restart()
        assert store["dead"].metrics() == metrics

    def test_are_the_oldest_where_they_are(self, store: Any) -> None:
        store["q"].send("a")
        sent = store["q"].metrics().oldest_at
        store.pass_time(9)
        store["dead"].send("b")
        store["q"].settle(store["q"].lease(), {0: 0}, max_retries=0, dead_letter=store["dead"])
        assert store["dead"].metrics().oldest_at == sent


class TestOutlook:
    def test_counts_what_is_ready_up_to_the_limit(self, store: Any, queue: Any) -> None:
        queue.send_batch(*"abc")
        since = round(store.clock.now() * 1000)
        store.pass_time(1)
        assert queue.outlook(2)[:2] == (2, since)
        assert queue.outlook(9)[:2] == (3, since)

    def test_tells_when_the_next_message_is_ready(self, store: Any, queue: Any) -> None:
        now = round(store.clock.now() * 1000)
        queue.send("a", delay=20)
        queue.send("b", delay=10)
        assert queue.outlook() == (0, None, now + 10_000)

    def test_knows_when_a_lease_ends(self, store: Any, queue: Any) -> None:
        now = round(store.clock.now() * 1000)
        queue.send("a")
        queue.lease(seconds=30)
        assert queue.outlook() == (0, None, now + 30_000)

    def test_of_an_unused_queue_is_empty(self, queue: Any) -> None:
        assert queue.outlook() == (0, None, None)


class TestArrivals:
    def test_are_told_with_their_number_and_time(self, store: Any) -> None:
        told: list[tuple[str, int, int]] = []
        store.registry.queues().arrived = lambda queue, count, at: told.append(
            (queue.name, count, at)
        )
        now = round(store.clock.now() * 1000)
        store["q"].send("a", delay=2)
        store["q"].send_batch("b", "c")
        assert told == [("q", 1, now + 2000), ("q", 2, now)]

    def test_of_retries_dead_letters_and_returns_are_told(self, store: Any) -> None:
        told: list[tuple[str, int, int]] = []
        queue = store["q"]
        queue.send_batch("a", "b")
        lease = queue.lease()
        store.registry.queues().arrived = lambda queue, count, at: told.append(
            (queue.name, count, at)
        )
        now = round(store.clock.now() * 1000)
        queue.settle(lease, {0: 5, 1: 5}, max_retries=3)
        store.pass_time(5)
        queue.settle(queue.lease(1), {0: 0}, max_retries=0, dead_letter=store["dead"])
        queue.release(queue.lease())
        assert told == [("q", 2, now + 5000), ("dead", 1, now + 5000), ("q", 1, now + 5000)]
