"""One queue's consumer: gathers batches by size and time, and keeps several under way where that is allowed."""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import Final

from pyflare_bindings.clock import Clock, Timer
from pyflare_bindings.queues import Lease, Queue
from pyflare_bindings.storage.errors import ClosedError, StateError
from pyflare_bindings.storage.row_file import OverloadedError

from .delivery import LEASE_SECONDS, ConsumerLog, deliver
from .event import ConsumingWorker
from .settings import ConsumerSettings

__all__ = ["Consumer"]

#: The longest time, in seconds, until the wall clock is looked at again: it may be set, or the machine may sleep.
_LONGEST_WAIT: Final = 60.0
#: Seconds until a queue whose file could not be used is tried again.
_AFTER_TROUBLE: Final = 5.0


class Consumer:
    """Takes messages from a queue to the worker that consumes it.

    A full batch goes at once, a smaller one when its first message has waited for ``max_batch_timeout``. While the
    worker cannot run, because its code does not load, nothing is taken. Messages stay in the store until they are
    delivered, so that at most ``max_concurrency`` batches are in memory.
    """

    def __init__(
        self,
        queue: Queue,
        worker: ConsumingWorker,
        settings: ConsumerSettings,
        dead_letter: Queue | None,
        clock: Clock,
        log: ConsumerLog,
    ) -> None:
        self.queue = queue
        self._clock = clock
        self._log = log
        self._running: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._look_again = False
        self._timer: Timer | None = None
        self._due = 0.0
        self._ready = 0
        self._stopped = False
        self._trouble = ""
        self.configure(worker, settings, dead_letter)

    def configure(
        self, worker: ConsumingWorker, settings: ConsumerSettings, dead_letter: Queue | None
    ) -> None:
        """Take over what the configuration says now, for batches that begin from here on."""
        self.worker = worker
        self.settings = settings
        self._dead_letter = dead_letter
        self.look()

    def arrived(self, count: int, visible_at: int) -> None:
        """Messages have come in that can be delivered at a time in milliseconds."""
        if self._stopped or len(self._running) >= self.settings.max_concurrency:
            return
        due = visible_at / 1000
        if due <= self._clock.now():
            self._ready += count
            if self._ready >= self.settings.max_batch_size:
                self.look()
                return
            due += self.settings.max_batch_timeout
        self._wake_at(due)

    def look(self) -> None:
        """See what can be delivered, soon."""
        if self._stopped:
            return
        if self._looking is not None:
            self._look_again = True
            return
        # It belongs to no worker, though a worker's message may be what sets it going.
        self._looking = asyncio.get_running_loop().create_task(
            self._take_batches(), context=Context()
        )
        self._looking.add_done_callback(self._looked)

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._looking = None
        error = None if task.cancelled() else task.exception()
        if error is not None:
            if self._trouble != str(error):
                self._trouble = str(error)
                self._log.error(f'Queue "{self.queue.name}" cannot be read: {error}')
            self._wake_at(self._clock.now() + _AFTER_TROUBLE)
        elif self._look_again:
            self._look_again = False
            self.look()

    async def _take_batches(self) -> None:
        self._drop_timer()
        while self._may_deliver:
            size = self.settings.max_batch_size
            outlook = await self.queue.outlook(size)
            self._ready = outlook.ready
            if outlook.ready_since is not None:
                deadline = outlook.ready_since / 1000 + self.settings.max_batch_timeout
                if outlook.ready < size and self._clock.now() < deadline:
                    self._wake_at(deadline)
                else:
                    await self._take(size)
                    continue
            if outlook.next_at is not None:
                self._wake_at(outlook.next_at / 1000)
            return

    @property
    def _may_deliver(self) -> bool:
        return (
            not self._stopped
            and self.worker.failure is None
            and len(self._running) < self.settings.max_concurrency
        )

    async def _take(self, size: int) -> None:
        # Much can have changed while the store was opened, or the lease written.
        if not self._may_deliver:
            return
        lease = await self.queue.lease(size, LEASE_SECONDS)
        if lease is None:
            return
        if self._may_deliver:
            self._begin(lease)
        else:
            await self.queue.release(lease)

    def _begin(self, lease: Lease) -> None:
        task = asyncio.get_running_loop().create_task(
            deliver(
                self.queue,
                lease,
                self.worker,
                self.settings,
                self._dead_letter,
                self._clock,
                self._log,
            )
        )
        self._running.add(task)
        task.add_done_callback(self._delivered)

    def _delivered(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            match error:
                case StateError() | ClosedError() | OverloadedError():
                    self._log.error(
                        f'A batch of queue "{self.queue.name}" comes again in {LEASE_SECONDS / 60:.0f}'
                        f" minutes, since its end could not be recorded: {error}"
                    )
                case _:
                    self._log.uncaught("pyflare", error, where=f'queue "{self.queue.name}"')
        self.look()

    def _wake_at(self, due: float) -> None:
        if self._stopped:
            return
        if self._timer is not None:
            if self._due <= due:
                return
            self._timer.cancel()
            self._timer = None
        now = self._clock.now()
        if due <= now:
            self.look()
            return
        self._due = min(due, now + _LONGEST_WAIT)
        self._timer = self._clock.call_later(self._due - now, self._timer_rang)

    def _timer_rang(self) -> None:
        self._timer = None
        self.look()

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def under_way(self) -> list[asyncio.Task[None]]:
        """The batches that are being delivered, and the look for more."""
        return [*self._running, *([] if self._looking is None else [self._looking])]

    async def stop(self, grace: float) -> None:
        """Take nothing more; batches under way get ``grace`` seconds, then they are put back."""
        self._stopped = True
        self._drop_timer()
        if self._looking is not None:
            await asyncio.wait([self._looking])
        if self._running:
            _, left = await asyncio.wait(set(self._running), timeout=grace)
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left, timeout=2)
