"""Events without a client: cron, email and queue messages, handed to a worker now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyflare.server.contracts import Router, Scope

if TYPE_CHECKING:
    from pyflare.cron.event import ScheduledResult
    from pyflare.env.email.incoming import EmailOutcome
    from pyflare.queues.direct import DirectMessage
    from pyflare.queues.dispatcher import QueueDispatcher
    from pyflare.server.log import LogSink
    from pyflare.workers.worker import Worker
    from pyflare_bindings.registry import BindingRegistry

    from .background import BackgroundServices
    from .loaded import LoadedWorkers

__all__ = ["Triggers"]


class Triggers:
    """The triggers of one Pyflare; what a handler raises is logged and part of the outcome.

    Args: ``route`` gives what picks the worker of a request.
    """

    def __init__(
        self,
        loaded: LoadedWorkers,
        background: BackgroundServices,
        registry: BindingRegistry,
        log: LogSink,
        route: Callable[[], Router],
    ) -> None:
        self.log = log
        self.registry: BindingRegistry | None = registry
        self._registry = registry
        self._loaded = loaded
        self._background = background
        self._router = route

    @property
    def queues(self) -> QueueDispatcher | None:
        """What brings messages to their consumers; None while no configuration names a queue."""
        return self._background.queues.service

    def worker_of(self, scope: Scope) -> Worker:
        """The worker that a request belongs to, by its host and path."""
        return self._loaded.named(self._router()(scope).name)

    async def fire(self, worker: Worker, cron: str, time: float | None) -> ScheduledResult:
        """Run the ``scheduled`` handler; ``time`` in milliseconds since the epoch, None for now."""
        from pyflare.cron.timetable import fire

        now = self._registry.clock.now() * 1000 if time is None else time
        return await fire(worker, cron, now, self.log)

    async def deliver(
        self,
        worker: Worker | None,
        queue: str,
        messages: Sequence[DirectMessage | Mapping[str, Any]],
    ) -> dict[str, Any]:
        """Run the ``queue`` handler of a worker, None for that of the queue's consumer.

        Raises LookupError when nobody consumes the queue, ValueError for a message that cannot be read.
        """
        dispatcher = self.queues
        if dispatcher is not None:
            return await dispatcher.deliver(queue, messages, worker)
        if worker is None:
            raise LookupError(f'No Worker that runs here consumes the queue "{queue}".')
        from pyflare.queues.direct import deliver_directly

        now = int(self._registry.clock.now() * 1000)
        return await deliver_directly(worker, queue, messages, now, self.log)

    async def deliver_email(
        self, worker: Worker, sender: str, recipient: str, raw: bytes
    ) -> EmailOutcome:
        """Run the ``email`` handler. Raises EmailError for a message that is none."""
        from pyflare.env.email.delivery import deliver

        outcome = await deliver(worker, self._registry, sender, recipient, raw, self.log.info)
        if outcome.error is not None:
            self.log.uncaught(worker.name, outcome.error, where="email")
        return outcome
