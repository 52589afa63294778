"""Any sequence of requests leaves the store as a plain list of messages would be."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.queues import Lease, Outgoing
from pyflare_bindings.registry import BindingRegistry

QUEUES = ("a", "b")
MAX_RETRIES = 1


@dataclass
class Message:
    body: bytes
    queue: str
    sent_at: int
    visible_at: int
    attempts: int = 0
    lease: str | None = None


class QueueMachine(RuleBasedStateMachine):
    """The model keeps all messages in the order of sending, which decides among equal times."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.registry = BindingRegistry(self.root, clock=self.clock)
        self.messages: list[Message] = []
        self.leases: list[tuple[str, Lease]] = []
        self.count = 0

    def teardown(self) -> None:
        path = self.registry.queues().path
        self.runner.run(self.registry.close())
        self.runner.close()
        if path.exists():
            connection = apsw.Connection(str(path))
            left = {body for (body,) in connection.execute("SELECT body FROM long_body")}
            connection.close()
            assert left == {m.body for m in self.messages if len(m.body) > 2000}
        shutil.rmtree(self.root)

    def now(self) -> int:
        return round(self.clock.now() * 1000)

    def run(self, request: Any) -> Any:
        return self.runner.run(request)

    @rule(queue=st.sampled_from(QUEUES), delays=st.lists(st.sampled_from([0, 0, 2, 5]), min_size=1))
    def send(self, queue: str, delays: list[int]) -> None:
        batch = []
        for delay in delays:
            self.count += 1
            # Long bodies are kept in a table of their own.
            body = (b"%d" % self.count).ljust(3000 if self.count % 3 == 0 else 0)
            batch.append(Outgoing(body, "text", delay))
            self.messages.append(Message(body, queue, self.now(), self.now() + delay * 1000))
        owner = self.registry.queue(queue)
        self.run(owner.send(batch[0]) if len(batch) == 1 else owner.send_batch(batch))

    @rule(queue=st.sampled_from(QUEUES), limit=st.integers(1, 4))
    def lease(self, queue: str, limit: int) -> None:
        ready = [m for m in self.messages if m.queue == queue and m.visible_at <= self.now()]
        expected = sorted(ready, key=lambda m: m.visible_at)[:limit]
        lease = self.run(self.registry.queue(queue).lease(limit, 10))
        if lease is None:
            assert not expected
            return
        for message in expected:
            message.attempts += 1
            message.visible_at = self.now() + 10_000
            message.lease = lease.token
        assert [(m.body, m.attempts, m.sent_at) for m in lease.messages] == [
            (m.body, m.attempts, m.sent_at) for m in expected
        ]
        self.leases.append((queue, lease))

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), moved=st.booleans())
    def settle(self, data: st.DataObject, moved: bool) -> None:
        queue, lease = self.leases.pop(data.draw(st.integers(0, len(self.leases) - 1)))
        retries = {
            message.number: data.draw(st.sampled_from([0, 3]))
            for message in lease.messages
            if data.draw(st.booleans())
        }
        other = next(name for name in QUEUES if name != queue)
        target = self.registry.queue(other) if moved else None
        owner = self.registry.queue(queue)
        self.run(owner.settle(lease, retries, max_retries=MAX_RETRIES, dead_letter=target))
        held = {m.body: m for m in self.messages if m.lease == lease.token}
        for leased in lease.messages:
            message = held.get(leased.body)
            if message is None:
                continue
            message.lease = None
            if leased.number not in retries:
                self.messages.remove(message)
            elif message.attempts <= MAX_RETRIES:
                message.visible_at = self.now() + retries[leased.number] * 1000
            elif moved:
                message.queue, message.attempts, message.visible_at = other, 0, self.now()
            else:
                self.messages.remove(message)

    @precondition(lambda self: self.leases)
    @rule()
    def release(self) -> None:
        queue, lease = self.leases.pop()
        self.run(self.registry.queue(queue).release(lease))
        for message in self.messages:
            if message.lease == lease.token:
                message.lease = None
                message.attempts -= 1
                message.visible_at = message.sent_at

    @rule(queue=st.sampled_from(QUEUES))
    def purge(self, queue: str) -> None:
        purged = self.run(self.registry.queue(queue).purge())
        kept = [m for m in self.messages if m.queue != queue]
        assert purged == len(self.messages) - len(kept)
        self.messages = kept

    @rule(seconds=st.sampled_from([1, 3, 10]))
    def pass_time(self, seconds: int) -> None:
        self.run(self.clock.advance(seconds))

    @rule()
    def restart(self) -> None:
        self.run(self.registry.close())
        self.registry = BindingRegistry(self.root, clock=self.clock)
        self.leases.clear()
        for message in self.messages:
            if message.lease is not None:
                message.lease = None
                message.visible_at = message.sent_at

    @invariant()
    def the_store_is_as_the_model(self) -> None:
        for queue in QUEUES:
            mine = [m for m in self.messages if m.queue == queue]
            stored = self.run(self.registry.queue(queue).list(1000))
            assert [(m.body, m.attempts, m.visible_at) for m in stored] == [
                (m.body, m.attempts, m.visible_at) for m in sorted(mine, key=lambda m: m.visible_at)
            ]
            metrics = self.run(self.registry.queue(queue).metrics())
            assert metrics.backlog_count == len(mine)
            assert metrics.backlog_bytes == sum(len(m.body) for m in mine)
            assert metrics.oldest_at == (mine[0].sent_at if mine else None)


QueueMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestQueueModel = QueueMachine.TestCase
