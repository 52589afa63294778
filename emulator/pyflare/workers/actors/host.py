"""All objects of one process: the namespaces, and the watch over those that idle."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pyflare_bindings.clock import Clock, Timer

from ..connections import STOPPING
from . import failures
from .actor import Actor
from .failures import reset_error
from .namespace import ActorNamespace

if TYPE_CHECKING:
    from ..worker import Worker

__all__ = ["ActorHost"]

#: Seconds without any request, reference or pending work after which an object is evicted.
IDLE_LIMIT: Final = 10.0


class ActorHost:
    """A background service (see ``pyflare.services``).

    In: ``clock``; ``worker``, which gives a loaded worker by name or None; ``warn``, for the log.
    """

    def __init__(
        self,
        clock: Clock,
        worker: Callable[[str], Worker | None],
        warn: Callable[[str], None],
    ) -> None:
        self.clock = clock
        self.worker = worker
        self.closing = False
        self.namespaces: dict[str, ActorNamespace] = {}
        self._warn = warn
        self._idle: list[tuple[float, int, Actor]] = []
        self._numbers = itertools.count()
        self._timer: Timer | None = None

    def namespace(self, unique_key: str, make: Callable[[], ActorNamespace]) -> ActorNamespace:
        """The namespace of this identity: the same one for everybody."""
        found = self.namespaces.get(unique_key)
        if found is None:
            found = self.namespaces[unique_key] = make()
        return found

    # The service.

    async def start(self) -> None:
        """Say which classes are missing."""
        self._tell_problems()

    async def reload(self) -> None:
        """Nothing more: objects are reset where their worker is loaded again."""
        self._tell_problems()

    def _tell_problems(self) -> None:
        for namespace in self.namespaces.values():
            problem = namespace.problem()
            if problem is not None:
                self._warn(problem)

    def renew(self, script: str) -> None:
        """A worker is loaded again: its objects lose their memory, not their storage."""
        for namespace in self.namespaces.values():
            if namespace.script == script:
                namespace.renew()

    def under_way(self) -> list[asyncio.Future[Any]]:
        """The tasks of the live objects."""
        return [
            task
            for namespace in self.namespaces.values()
            for actor in (*namespace.actors, *namespace.leaving)
            for task in actor.gate.tasks
            if task is not None
        ]

    async def close(self, grace: float) -> None:
        """Give the objects at work ``grace`` seconds, end all, start none any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = asyncio.get_running_loop().time() + grace
        while True:
            busy = self.under_way()
            left = deadline - asyncio.get_running_loop().time()
            if not busy or left <= 0:
                break
            await asyncio.wait(busy, timeout=left)
        self.closing = True
        ended: list[asyncio.Future[Any]] = []
        for namespace in self.namespaces.values():
            namespace.close_sockets(*STOPPING)
            ended += [actor.ended for actor in namespace.leaving if actor.ended is not None]
            for actor in (*namespace.actors, *namespace.leaving):
                if actor.is_busy():
                    actor.reset(reset_error(failures.SHUTTING_DOWN))
                else:
                    actor.end_as_planned()
                ended += [task for task in actor.gate.tasks if task is not None]
                if actor.ended is not None:
                    ended.append(actor.ended)
        if ended:
            await asyncio.wait(ended, timeout=max(grace, 1.0))
        self._idle.clear()

    # Eviction.

    def watch(self, actor: Actor) -> None:
        """Look at this one when it may have idled long enough."""
        actor.queued = True
        self._book(actor, actor.idle_since + IDLE_LIMIT)
        if self._timer is None:
            self._set_timer()

    def _book(self, actor: Actor, due: float) -> None:
        heapq.heappush(self._idle, (due, next(self._numbers), actor))

    def _set_timer(self) -> None:
        if self._idle and not self.closing:
            wait = max(self._idle[0][0] - self.clock.monotonic(), 1e-3)
            self._timer = self.clock.call_later(wait, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        now = self.clock.monotonic()
        while self._idle and self._idle[0][0] <= now:
            _, _, actor = heapq.heappop(self._idle)
            actor.queued = False
            if actor.failure is not None:
                continue
            due = now + IDLE_LIMIT if actor.is_busy() else actor.idle_since + IDLE_LIMIT
            if due <= now:
                actor.evict()
            else:
                actor.queued = True
                self._book(actor, due)
        self._set_timer()
