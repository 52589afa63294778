"""Whose the state directory of an emulator is: its own, or another process's with which it is shared.

An emulator that has nothing that runs in one process alone, such as Durable Objects, works on a directory that another
process owns, takes over when that one ends, and gives way to a session of ``pyflare dev``, which can take others in.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Literal

from pyflare.owner.pace import next_step
from pyflare_bindings.lease import LeaseHeld
from pyflare_bindings.registry import BindingRegistry

if TYPE_CHECKING:
    from pyflare.config.worker import WorkerConfig
    from pyflare.owner.server import Joining, OwnerServer
    from pyflare.owner.shared import SharedRegistry
    from pyflare.server.log import LogSink
    from pyflare.state_directory import StateDirectory
    from pyflare_bindings.clock import Clock

__all__ = ["Ownership", "needs_to_own"]

#: How long to wait for a process of which it is not known that it will listen, or has the directory for a moment.
_LISTENING_SECONDS: Final = 1.0
_LAST_SECONDS: Final = 30.0
_GRACE_SECONDS: Final = 2.0


class Ownership:
    """Opens the owners of ``state``, wherever they are, and serves other processes while they are here.

    :attr:`joining` runs a session that brings its own workers; with it, the directory is owned or not opened at all.
    """

    def __init__(
        self,
        state: StateDirectory,
        clock: Clock,
        durability: Literal["process", "machine"],
        log: LogSink,
    ) -> None:
        self.joining: Joining | None = None
        self._state = state
        self._clock = clock
        self._durability = durability
        self._log = log
        self._server: OwnerServer | None = None
        self._shared: SharedRegistry | None = None
        self._giving_way: asyncio.Task[None] | None = None

    @property
    def is_shared(self) -> bool:
        """Whether objects, alarms and queues' deliveries are left to others."""
        return self._shared is not None

    @property
    def local(self) -> BindingRegistry | None:
        """The owners, where they are this process's although others may get them."""
        return None if self._shared is None else self._shared.local

    def keep(self) -> bool:
        """Own the directory for good. Out: whether that is so; not where another process owns it."""
        if self._shared is None:
            return True
        if self._shared.local is None:
            return False
        self._shared.kept = True
        if self._server is not None:
            self._server.keep()
        return True

    async def open(self, configs: Iterable[WorkerConfig]) -> BindingRegistry:
        """The owners. Raises LeaseHeld when another process has them and they cannot be shared, OSError."""
        path = self._state.path
        if self.joining is not None or self._state.is_private or not hasattr(socket, "AF_UNIX"):
            self._state.open(serves=True)
            return self._own()
        from pyflare.owner.shared import CannotShare, SharedRegistry

        shared = SharedRegistry(path, self._clock, self._take_over, self._give_back)
        why = next((text for config in configs if (text := needs_to_own(config))), None)
        begun = time.monotonic()
        while True:
            try:
                self._state.open(serves=True)
            except LeaseHeld as held:
                if await shared.reach():
                    if why is not None:
                        await shared.close()
                        raise CannotShare(held, why) from None
                    break
                waited = time.monotonic() - begun
                known = "busy" in held.holder or "serves" in held.holder
                if waited > (_LAST_SECONDS if known else _LISTENING_SECONDS):
                    raise
                await asyncio.sleep(next_step(waited))
            else:
                if why is not None:
                    return self._own()
                shared.own(self._own())
                break
        self._shared = shared
        registry: Any = shared
        return registry  # type: ignore[no-any-return]

    async def serve(self, registry: BindingRegistry) -> None:
        """Let other processes in, where the directory is this one's and not a private one."""
        if self._shared is not None:
            local = self._shared.local
            if local is None:
                return
            registry = local
        lease = self._state.lease
        if self._state.is_private or lease is None or not hasattr(socket, "AF_UNIX"):
            return
        from pyflare.owner.server import OwnerServer

        self._server = OwnerServer(
            lease,
            registry,
            lambda error: self._log.uncaught("pyflare", error, where="the private socket"),
            self.joining,
            None if self._shared is None or self._shared.kept else self._give_way,
        )
        await self._server.start()

    async def stop_serving(self, grace: float) -> None:
        """Let nobody in any more; what is under way has ``grace`` seconds."""
        if self._giving_way is not None:
            await asyncio.wait([self._giving_way])
        server, self._server = self._server, None
        if server is not None:
            await server.close(grace)

    def renewed(self) -> None:
        """The directory was deleted, and has been made anew."""
        if self._server is not None and self._state.lease is not None:
            self._server.move(self._state.lease)

    def _own(self) -> BindingRegistry:
        return BindingRegistry(self._state.path, clock=self._clock, durability=self._durability)

    async def _take_over(self) -> BindingRegistry:
        """The process that had the directory has ended. Raises LeaseHeld when another was faster."""
        self._state.open(serves=True)
        registry = self._own()
        assert self._shared is not None, "it takes over"
        self._shared.own(registry)
        await self.serve(registry)
        self._log.info(f"This process owns the state directory {self._state.path} now.")
        return registry

    def _give_way(self) -> None:
        """A session wants to own the directory."""
        assert self._shared is not None, "it gives way"
        if self._giving_way is None or self._giving_way.done():
            self._giving_way = asyncio.create_task(self._shared.give_way())

    async def _give_back(self, registry: BindingRegistry) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.close(_GRACE_SECONDS)
        await registry.close()
        self._state.close()
        self._log.info(f"Another process owns the state directory {self._state.path} from now on.")


def needs_to_own(config: WorkerConfig) -> str | None:
    """What of a worker runs only in the process that owns the state."""
    if config.object_classes or config.durable_objects:
        return f'the Worker "{config.name}" has Durable Objects, which run in one process'
    if config.queue_consumers:
        return f'the Worker "{config.name}" consumes the queue "{config.queue_consumers[0].queue}"'
    if config.workflows:
        return f'the Worker "{config.name}" has Workflows, which run in one process'
    return None
