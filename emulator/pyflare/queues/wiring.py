"""What the configurations say about queues."""

from __future__ import annotations

from collections.abc import Iterable

from pyflare.config.worker import WorkerConfig

from .dispatcher import Consumption, Wiring
from .event import ConsumingWorker
from .settings import ConsumerSettings

__all__ = ["read_wiring"]


def read_wiring(workers: Iterable[tuple[WorkerConfig, ConsumingWorker]]) -> Wiring:
    """The consumers and producers of some workers."""
    consumed, produced = [], []
    for config, worker in workers:
        produced += [entry.local_id for entry in config.queue_producers]
        consumed += [
            Consumption(entry.queue, worker, ConsumerSettings.read(entry))
            for entry in config.queue_consumers
        ]
    return Wiring(consumed, produced)
