"""From the workers' configurations to their triggers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyflare.config.worker import WorkerConfig

from .event import CronWorker
from .expression import CronExpression
from .timetable import Trigger

__all__ = ["read_triggers"]


def read_triggers(workers: Iterable[tuple[WorkerConfig, CronWorker]]) -> Iterator[Trigger]:
    """The triggers of all workers; an expression that a worker names twice fires once."""
    for config, worker in workers:
        for text in dict.fromkeys(config.crons or ()):
            yield Trigger(worker, CronExpression.parse(text))
