"""Brings the messages of all queues to the workers that consume them.

Source: https://developers.cloudflare.com/queues/reference/how-queues-works/
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflare_bindings.clock import Clock
from pyflare_bindings.queues import Queue, QueueStore
from pyflare_bindings.storage.errors import StateError

from .consumer import Consumer
from .delivery import ConsumerLog
from .direct import DirectMessage, deliver_directly
from .event import ConsumingWorker
from .settings import ConsumerSettings

__all__ = ["Consumption", "QueueDispatcher", "Wiring"]


@dataclass(frozen=True, slots=True)
class Consumption:
    """A queue, the worker that consumes it, and how."""

    queue: str
    worker: ConsumingWorker
    settings: ConsumerSettings


@dataclass(frozen=True, slots=True)
class Wiring:
    """Who consumes, and which queues are sent to."""

    consumed: Sequence[Consumption]
    produced: Iterable[str]


class QueueDispatcher:
    """The consumers of one Pyflare; a service.

    Args: ``store`` holds the queues; ``wiring`` gives what the configurations say, and is asked again after a reload.
    """

    def __init__(
        self, store: QueueStore, wiring: Callable[[], Wiring], clock: Clock, log: ConsumerLog
    ) -> None:
        self._store = store
        self._ask = wiring
        self._clock = clock
        self._log = log
        self._consumers: dict[str, Consumer] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        self._reported: set[str] = set()

    async def start(self) -> None:
        """Deliver what is waiting and what will come, and say which queues nobody consumes."""
        self._store.arrived = self._arrived
        await self.reload()

    async def reload(self) -> None:
        """Take the consumers as the configurations have them now. Batches under way end as they began."""
        wiring = self._ask()
        wanted = _one_per_queue(wiring.consumed, self._log)
        for name in self._consumers.keys() - wanted.keys():
            # In the background: a reload does not wait for handlers.
            task = asyncio.get_running_loop().create_task(self._consumers.pop(name).stop(60.0))
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)
        for name, each in wanted.items():
            dead_letter = each.settings.dead_letter_queue
            target = None if dead_letter is None else self._store.queue(dead_letter)
            consumer = self._consumers.get(name)
            if consumer is None:
                queue = self._store.queue(name)
                self._consumers[name] = Consumer(
                    queue, each.worker, each.settings, target, self._clock, self._log
                )
            else:
                consumer.configure(each.worker, each.settings, target)
        await self._report_unconsumed(set(wiring.produced))

    def under_way(self) -> list[asyncio.Task[None]]:
        """What the consumers are doing."""
        return [task for each in self._consumers.values() for task in each.under_way()]

    async def close(self, grace: float) -> None:
        """Deliver no more; batches under way get ``grace`` seconds, then their messages go back to their queues."""
        self._store.arrived = None
        consumers = list(self._consumers.values())
        self._consumers.clear()
        await asyncio.gather(*(each.stop(grace) for each in consumers))
        if self._stopping:
            _, left = await asyncio.wait(set(self._stopping), timeout=grace)
            for task in left:
                task.cancel()

    async def deliver(
        self,
        queue: str,
        messages: Sequence[DirectMessage | Mapping[str, Any]],
        worker: ConsumingWorker | None = None,
    ) -> dict[str, Any]:
        """Call a ``queue`` handler with these messages at once, past the store.

        Args: ``worker`` whose handler is called, by default that of the worker that consumes ``queue``.
        Gives what the platform's dispatcher is told: ``{outcome, ackAll, retryBatch: {retry, delaySeconds?},
        explicitAcks: [id], retryMessages: [{msgId, delaySeconds?}]}``. Raises LookupError when nobody consumes the
        queue and ValueError for a message that cannot be read.
        """
        if worker is None:
            consumer = self._consumers.get(queue)
            if consumer is None:
                known = ", ".join(f'"{name}"' for name in self._consumers) or "none"
                raise LookupError(
                    f'No Worker that runs here consumes the queue "{queue}"; consumed are: {known}.'
                )
            worker = consumer.worker
        return await deliver_directly(worker, queue, messages, self._store.now(), self._log)

    def _arrived(self, queue: Queue, count: int, visible_at: int) -> None:
        consumer = self._consumers.get(queue.name)
        if consumer is not None:
            consumer.arrived(count, visible_at)

    async def _report_unconsumed(self, produced: set[str]) -> None:
        """Say once for each queue that its messages wait here until somebody consumes them."""
        held: dict[str, int] = {}
        if produced or self._consumers or self._store.path.exists():
            try:
                held = {
                    stored.name: stored.metrics.backlog_count
                    for stored in await self._store.queues()
                }
            except StateError as error:
                self._log.error(f"The queues cannot be read: {error}")
        waiting = {name for name, count in held.items() if count} - produced
        for name in sorted(produced | waiting):
            if name in self._consumers or name in self._reported:
                continue
            self._reported.add(name)
            count = held.get(name, 0)
            holds = f" It holds {count} message{'' if count == 1 else 's'} now." if count else ""
            self._log.warning(
                f'No Worker that runs here consumes the queue "{name}". Its messages are kept in the state directory'
                f" until one does.{holds}"
            )


def _one_per_queue(consumed: Iterable[Consumption], log: ConsumerLog) -> dict[str, Consumption]:
    wanted: dict[str, Consumption] = {}
    for each in consumed:
        first = wanted.setdefault(each.queue, each)
        if first is not each:
            log.error(
                f'Multiple consumers defined for queue "{each.queue}": "{first.worker.name}" and'
                f' "{each.worker.name}". Only the first receives messages.'
            )
    return wanted
