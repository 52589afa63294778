"""Tail consumers: Workers that are told of the events of other Workers.

Source: https://developers.cloudflare.com/workers/observability/logs/tail-workers/
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final

from pyflare.js.callbacks import FAILURES
from pyflare_bindings.clock import Clock

from .workers.current import current_event
from .workers.entrypoints import positional_capacity

if TYPE_CHECKING:
    from .config.blocks.services import TailConsumer
    from .config.worker import WorkerConfig
    from .server.log import LogSink
    from .workers.tracing import TraceItem
    from .workers.worker import Worker

__all__ = ["Tails"]

#: Traces that may wait for their consumers; further ones are dropped.
MAX_WAITING: Final = 1000

Workers = Callable[[], Iterable[tuple["WorkerConfig", "Worker"]]]


class Tails:
    """A background service: traces of workers with `tail_consumers` go to the `tail` handlers of the consumers.

    In: `workers`, what gives the loaded ones with their configurations.
    """

    def __init__(self, workers: Workers, clock: Clock, log: LogSink) -> None:
        self.clock = clock
        self._workers = workers
        self._log = log
        self._deliveries: set[asyncio.Task[None]] = set()
        self._told: set[str] = set()
        self._closed = False

    async def start(self) -> None:
        """Watch the workers that have consumers."""
        self._attach()

    async def reload(self) -> None:
        """Consumers may have come or gone."""
        self._attach()

    async def close(self, grace: float) -> None:
        """Give deliveries under way `grace` seconds."""
        self._closed = True
        for _, worker in self._workers():
            worker.tracer = None
        if not self._deliveries:
            return
        _, left = await asyncio.wait(self._deliveries, timeout=grace)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)

    def _attach(self) -> None:
        for config, worker in self._workers():
            consumers = config.tail_consumers
            worker.tracer = None
            if consumers:
                worker.tracer = _ToConsumers(self, [_target(each) for each in consumers])
                for consumer in consumers:
                    self._check(config.name, consumer)

    def _check(self, producer: str, consumer: TailConsumer) -> None:
        name, _ = _target(consumer)
        worker = self._find(name)
        if worker is None:
            self._warn(
                f'Worker "{producer}": its tail consumer "{name}" is not running here, and is told nothing. Give its '
                "configuration too (pyflare dev -c <this> -c <that>)."
            )
        elif worker.failure is None and not _can_tail(worker, consumer.entrypoint):
            self._warn(
                f'Worker "{producer}": its tail consumer "{name}" has no tail() handler, and is told nothing.'
            )

    def _warn(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._log.warning(text)

    def _find(self, name: str) -> Worker | None:
        return next((worker for _, worker in self._workers() if worker.name == name), None)

    def tell(self, item: TraceItem, consumers: Iterable[tuple[str, str | None]]) -> None:
        """Deliver a trace to each of these (worker, entrypoint), in the background."""
        for name, entrypoint in consumers:
            worker = self._find(name)
            if worker is None or not _can_tail(worker, entrypoint):
                continue
            self.deliver(worker, entrypoint, item)

    def deliver(self, worker: Worker, entrypoint: str | None, item: TraceItem) -> None:
        """Call the `tail` handler of a worker in the background."""
        if self._closed:
            return
        if len(self._deliveries) >= MAX_WAITING:
            self._warn(
                "Tail consumers are too slow for what they are told of: some traces are lost."
            )
            return
        # It belongs to none of those whose event it tells of.
        task = asyncio.get_running_loop().create_task(
            self._deliver(worker, entrypoint, item), context=Context()
        )
        self._deliveries.add(task)
        task.add_done_callback(self._deliveries.discard)

    async def _deliver(self, worker: Worker, entrypoint: str | None, item: TraceItem) -> None:
        try:
            await worker.run(_tail(worker, entrypoint, item))
        except FAILURES as error:
            self._log.uncaught(worker.name, error, where="tail()")


class _ToConsumers:
    """The tracer of one worker."""

    def __init__(self, tails: Tails, consumers: list[tuple[str, str | None]]) -> None:
        self._tails = tails
        self._consumers = consumers
        self.now = tails.clock.now
        self.monotonic = tails.clock.monotonic

    def finished(self, item: TraceItem) -> None:
        self._tails.tell(item, self._consumers)


def _tail(worker: Worker, entrypoint: str | None, item: TraceItem) -> Coroutine[Any, Any, Any]:
    async def event() -> Any:
        # Consumers of each other would go on for ever.
        trace = current_event.get()._trace
        if trace is not None:
            trace.discard()
        if worker.is_legacy():
            from .js.array import JsArray

            return await worker.handle("trace", JsArray.adopt([item]))
        if entrypoint is None:
            return await worker.handle("tail", [item])
        handler = worker.instance(entrypoint).tail
        result = handler(*([item], None, None)[: positional_capacity(handler, 3)])
        return await result if inspect.isawaitable(result) else result

    return event()


def _can_tail(worker: Worker, entrypoint: str | None) -> bool:
    if entrypoint is not None:
        return callable(getattr(worker.entrypoints.workers.get(entrypoint), "tail", None))
    return worker.has_handler("trace" if worker.is_legacy() else "tail")


def _target(consumer: TailConsumer) -> tuple[str, str | None]:
    """The worker and the entrypoint that a configuration names."""
    environment = consumer.environment
    name = consumer.service if environment is None else f"{consumer.service}-{environment}"
    entrypoint = consumer.entrypoint
    return name, None if entrypoint in (None, "default", "Default") else entrypoint
