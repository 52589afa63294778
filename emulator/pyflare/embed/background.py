"""The background services of one Pyflare. A new one gets a line in :meth:`BackgroundServices._background`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pyflare.alarms.service import AlarmService
from pyflare.config.kinds import BindingKind
from pyflare.durable_objects import DurableObjects
from pyflare.services import Service, Services, WhenNeeded
from pyflare.workers.worker import WorkerDefinition

from .loaded import LoadedWorkers

if TYPE_CHECKING:
    from pyflare.cron.timetable import CronService
    from pyflare.dynamic_workers.service import DynamicWorkers
    from pyflare.queues.dispatcher import QueueDispatcher
    from pyflare.server.log import LogSink
    from pyflare.tails import Tails
    from pyflare.workers.runtime import Runtime
    from pyflare_bindings.registry import BindingRegistry

__all__ = ["BackgroundServices"]


class BackgroundServices(Services):
    """What works in the background; each is made when a configuration first asks for it.

    Args: ``define`` makes the definition of a worker that is loaded at run time; ``cron`` whether triggers fire;
    ``shared`` whether objects, alarms and queues are another process's; ``with_code`` whether the workers' code is
    there, without which nothing can be delivered and everything waits.
    """

    def __init__(
        self,
        loaded: LoadedWorkers,
        registry: BindingRegistry,
        runtime: Runtime,
        log: LogSink,
        define: Callable[..., WorkerDefinition],
        *,
        cron: bool,
        shared: bool = False,
        with_code: bool = True,
    ) -> None:
        self._shared = shared
        self._with_code = with_code
        self._loaded = loaded
        self._registry = registry
        self._runtime = runtime
        self._log = log
        self._define = define
        self.objects = DurableObjects(
            registry,
            loaded.find,
            lambda: {each.name: each for each in loaded.configs()},
            log.warning,
        )
        self.alarms = AlarmService(registry, self.objects, log)
        self.dynamic = WhenNeeded(partial(uses_dynamic, loaded), self._make_dynamic)
        self.tails = WhenNeeded(self._use_tails, self._make_tails)
        self.queues = WhenNeeded(self._use_queues, partial(self._make_dispatcher, registry))
        self.cron = WhenNeeded(partial(self._use_cron, cron), self._make_cron)
        super().__init__(self._background())

    def _background(self) -> list[Service]:
        """What works in the background, in the order in which it is started."""
        if not self._with_code:
            return [self.dynamic]
        if self._shared:
            return [self.dynamic, self.tails, self.cron]
        return [self.objects, self.alarms, self.dynamic, self.tails, self.queues, self.cron]

    async def start(self) -> None:
        """Start all, and say which queues nobody consumes also where the queues may become another process's."""
        await super().start()
        if not self._with_code:
            return
        local = getattr(self._registry, "local", None)
        if self._shared and local is not None and self._use_queues():
            dispatcher = self._make_dispatcher(local)
            await dispatcher.start()
            await dispatcher.close(0)

    async def own(self) -> None:
        """The state is this process's for good: start what was left out."""
        if self._shared:
            self._shared = False
            for service in (self.objects, self.alarms, self.queues):
                await self.add(service)

    def report(self, name: str) -> Callable[[str, BaseException], None]:
        """What is told of failures in a worker's background work."""
        return lambda where, error: self._log.uncaught(name, error, where=where)

    def console(self, name: str) -> Callable[[str, str], None]:
        """What takes a worker's console output."""
        return lambda level, text: self._log.console(name, level, text)

    def _make_dynamic(self) -> DynamicWorkers:
        from pyflare.dynamic_workers.service import DynamicWorkers

        return DynamicWorkers(
            self._runtime, self._registry, self._define, self.report, self.console
        )

    def _use_tails(self) -> bool:
        return any(each.tail_consumers for each in self._loaded.configs())

    def _make_tails(self) -> Tails:
        from pyflare.tails import Tails

        return Tails(lambda: list(self._loaded.pairs()), self._registry.clock, self._log)

    def _use_queues(self) -> bool:
        return any(each.queue_consumers or each.queue_producers for each in self._loaded.configs())

    def _make_dispatcher(self, registry: BindingRegistry) -> QueueDispatcher:
        from pyflare.queues.dispatcher import QueueDispatcher
        from pyflare.queues.wiring import read_wiring

        return QueueDispatcher(
            registry.queues(),
            lambda: read_wiring(self._loaded.pairs()),
            self._registry.clock,
            self._log,
        )

    def _use_cron(self, wanted: bool) -> bool:
        return wanted and any(each.crons for each in self._loaded.configs())

    def _make_cron(self) -> CronService:
        from pyflare.cron.timetable import CronService
        from pyflare.cron.wiring import read_triggers

        return CronService(
            lambda: read_triggers(self._loaded.pairs()), self._registry.clock, self._log
        )


def uses_dynamic(loaded: LoadedWorkers) -> bool:
    """Whether a worker may load others at run time."""
    return any(each.hosted(BindingKind.WORKER_LOADER) for each in loaded.configs())
