"""Runs the alarms of all objects of one Pyflare, while their classes are there."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, Protocol

from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyflare.workers.actors import ActorNamespace
    from pyflare_bindings.objects import AlarmScheduler, PendingAlarms

    from .runner import AlarmLog

__all__ = ["RETRY_SECONDS", "AlarmService"]

#: After what time a table that could not be opened or compared is tried again.
RETRY_SECONDS: Final = 10
_AGAIN: Final = f" This is tried again every {RETRY_SECONDS} seconds."


class Objects(Protocol):
    """The classes that there are; ``on_namespace`` is called with each that comes."""

    on_namespace: Callable[[ActorNamespace], None] | None

    @property
    def namespaces(self) -> Iterable[ActorNamespace]: ...

    def is_running(self, script: str) -> bool: ...


class AlarmService:
    """A background service. Nothing of it is loaded before there is an alarm, or an object that may have one.

    A class is attached to the scheduler as long as its worker exports it. What is due meanwhile waits, and runs when
    the class is back, whether it was renamed, its worker has an error or is not running at all.
    """

    def __init__(self, registry: BindingRegistry, objects: Objects, log: AlarmLog) -> None:
        self._registry = registry
        self._objects = objects
        self._log = log
        self._scheduler: AlarmScheduler | None = None
        # The class of each namespace that is attached.
        self._attached: dict[str, type] = {}
        self._told: set[str] = set()
        self._comparison: asyncio.Task[None] | None = None
        self._is_new = False

    async def start(self) -> None:
        """Run what is due, and compare the scheduler's table with the objects in the background."""
        self._registry.on_alarms = self._opened
        self._objects.on_namespace = self._attach
        if not self._registry.may_have_alarms():
            self._is_new = True
            return
        try:
            self._registry.alarms()
        except StateError as error:
            self._log.error(f"Alarms do not run: {error}.{_AGAIN}")
            begin = self._begin_later()
        else:
            self._announce()
            begin = self._compare()
        self._comparison = asyncio.get_running_loop().create_task(begin)

    async def reload(self) -> None:
        """Take the classes as they are now. Alarms of one that was loaded again begin with a full set of tries."""
        for namespace in self._objects.namespaces:
            self._attach(namespace)
        self._tell_waiting()

    async def close(self, grace: float) -> None:
        """Wake nobody any more. Handlers under way are left to their objects, which come to their end after this."""
        self._registry.on_alarms = None
        self._objects.on_namespace = None
        if self._comparison is not None:
            self._comparison.cancel()
            await asyncio.wait([self._comparison])
        scheduler = self._scheduler
        if scheduler is None:
            return
        for key in self._attached:
            scheduler.detach(key)
        self._attached.clear()
        from pyflare_bindings.objects.stored_alarms import renew_comparison

        renew_comparison(self._registry)

    def _opened(self, scheduler: AlarmScheduler) -> None:
        self._scheduler = scheduler
        if self._comparison is None and self._is_new:
            # No object had an alarm before this one.
            from pyflare_bindings.objects.stored_alarms import remember_comparison

            remember_comparison(self._registry, time.time())
        for namespace in self._objects.namespaces:
            self._attach(namespace)

    def _attach(self, namespace: ActorNamespace) -> None:
        scheduler, key = self._scheduler, namespace.unique_key
        if scheduler is None:
            return
        found = namespace.exported_class()
        if self._attached.get(key) is found:
            return
        if found is None:
            scheduler.detach(key)
            del self._attached[key]
            return
        from .runner import ObjectAlarms

        scheduler.attach(key, ObjectAlarms(namespace, self._log))
        self._attached[key] = found
        self._told.discard(key)

    async def _begin_later(self) -> None:
        """Begin as soon as the table can be opened: a disk that was full has room again, say."""
        while True:
            await self._registry.clock.sleep(RETRY_SECONDS)
            try:
                self._registry.alarms()
            except StateError:
                continue
            break
        self._log.info("Alarms run again.")
        self._announce()
        await self._compare()

    async def _compare(self) -> None:
        from pyflare_bindings.objects.stored_alarms import compare_with_objects

        told = False
        while True:
            try:
                mended = await compare_with_objects(self._registry)
            except StateError as error:
                if not told:
                    told = True
                    self._log.error(
                        f"The alarms could not be compared with the stored objects: {error}.{_AGAIN}"
                    )
                await self._registry.clock.sleep(RETRY_SECONDS)
                continue
            break
        if mended:
            from .report import mended_line

            self._log.info(mended_line(mended))
            self._tell_waiting()

    def _pending(self) -> list[PendingAlarms]:
        if self._scheduler is None:
            return []
        try:
            return self._scheduler.pending()
        except StateError as error:
            self._log.error(str(error))
            return []

    def _announce(self) -> None:
        from .report import pending_line

        line = pending_line(self._pending(), self._registry.clock.now())
        if line is not None:
            self._log.info(line)
        self._tell_waiting()

    def _tell_waiting(self) -> None:
        """Say once which alarms wait for a class that is not there."""
        from .report import waiting_line

        known = {namespace.unique_key: namespace for namespace in self._objects.namespaces}
        for key, alarms, _ in self._pending():
            if key in self._attached or key in self._told:
                continue
            namespace = known.get(key)
            if namespace is not None and namespace.problem() is None:
                # Its worker cannot be loaded, which is reported where that is known.
                continue
            self._told.add(key)
            script, _, class_name = key.rpartition("-")
            if namespace is not None:
                script, class_name = namespace.script, namespace.class_name
            running = self._objects.is_running(script)
            self._log.warning(waiting_line(alarms, class_name, script, running=running))
