"""Queues that tests can talk to without writing coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.queues import (
    Lease,
    Outgoing,
    Outlook,
    Queue,
    QueueMetrics,
    Settled,
    StoredMessage,
)
from pyflare_bindings.registry import BindingRegistry


class QueueClient:
    """One queue, called synchronously; bodies are texts."""

    def __init__(self, runner: asyncio.Runner, queue: Queue) -> None:
        self.runner = runner
        self.queue = queue

    def send(self, body: str = "m", delay: int = 0) -> QueueMetrics:
        return self.runner.run(self.queue.send(Outgoing(body.encode(), "text", delay)))

    def send_batch(self, *bodies: str, delay: int = 0) -> QueueMetrics:
        messages = [Outgoing(body.encode(), "text", delay) for body in bodies]
        return self.runner.run(self.queue.send_batch(messages))

    def lease(self, limit: int = 100, seconds: float = 60, **options: Any) -> Lease:
        found = self.try_lease(limit, seconds, **options)
        assert found is not None
        return found

    def try_lease(self, limit: int = 100, seconds: float = 60, **options: Any) -> Lease | None:
        return self.runner.run(self.queue.lease(limit, seconds, **options))

    def settle(
        self,
        lease: Lease,
        retries: dict[int, int] | None = None,
        *,
        max_retries: int = 3,
        dead_letter: QueueClient | None = None,
    ) -> Settled:
        """Retries are given by place in the lease."""
        numbers = {lease.messages[place].number: delay for place, delay in (retries or {}).items()}
        target = None if dead_letter is None else dead_letter.queue
        return self.runner.run(
            self.queue.settle(lease, numbers, max_retries=max_retries, dead_letter=target)
        )

    def release(self, lease: Lease, done: Sequence[int] = ()) -> None:
        self.runner.run(self.queue.release(lease, done))

    def metrics(self) -> QueueMetrics:
        return self.runner.run(self.queue.metrics())

    def outlook(self, limit: int = 10) -> Outlook:
        return self.runner.run(self.queue.outlook(limit))

    def stored(self, limit: int = 100, after: StoredMessage | None = None) -> list[StoredMessage]:
        return self.runner.run(self.queue.list(limit, after))

    def purge(self) -> int:
        return self.runner.run(self.queue.purge())


def bodies(lease: Lease) -> list[str]:
    return [message.body.decode() for message in lease.messages]


class Store:
    """A state directory whose queues can be closed and opened again."""

    def __init__(self, root: Path, runner: asyncio.Runner, durability: Any = "process") -> None:
        self.root = root
        self.runner = runner
        self.durability = durability
        self.clock = ManualClock()
        self.registry = self._open()

    def _open(self) -> BindingRegistry:
        return BindingRegistry(self.root, clock=self.clock, durability=self.durability)

    def __getitem__(self, name: str) -> QueueClient:
        return QueueClient(self.runner, self.registry.queue(name))

    def pass_time(self, seconds: float) -> None:
        self.runner.run(self.clock.advance(seconds))

    def restart(self) -> None:
        self.close()
        self.registry = self._open()

    def close(self) -> None:
        self.runner.run(self.registry.close())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with asyncio.Runner() as runner:
        made = Store(tmp_path / "state", runner)
        yield made
        made.close()


@pytest.fixture
def queue(store: Store) -> QueueClient:
    return store["q"]
