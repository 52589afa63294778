"""One queue event: a worker's ``queue`` handler, run and judged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from pyflare.js.rpc.errors import is_cancelled
from pyflare.workers.current import current_event
from pyflare.workers.event import ExecutionContext
from pyflare.workers.suspend import can_run_sync

from .batch import MessageBatch

__all__ = ["ConsumingWorker", "run_queue_event"]

T = TypeVar("T")


class ConsumingWorker(Protocol):
    """The part of a loaded worker that a queue event needs. ``failure`` is set while it cannot run."""

    @property
    def name(self) -> str: ...

    @property
    def failure(self) -> BaseException | None: ...

    @property
    def definition(self) -> Any: ...

    def run(self, event: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]: ...

    def handle(self, name: str, *arguments: Any) -> Awaitable[Any]: ...


async def run_queue_event(
    worker: ConsumingWorker, batch: MessageBatch, report: Callable[[BaseException], None]
) -> bool:
    """Run the handler and what it gives to ``waitUntil``. Whether both succeeded.

    ``report`` is given the handler's own exception. With the flag ``queue_consumer_no_wait_for_wait_until`` the
    outcome is the handler's alone.
    """
    waits = not worker.definition.compat.queue_consumer_no_wait_for_wait_until

    async def event() -> bool:
        context: ExecutionContext = current_event.get()
        succeeded = True
        try:
            await worker.handle("queue", batch)
        except BaseException as error:
            # Outside a carrier this coroutine is being closed; in one, the worker itself has raised it.
            if isinstance(error, GeneratorExit) and not can_run_sync():
                raise
            # sys.exit() in a handler, or awaiting a task that it has cancelled itself, is a failure of the handler.
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            report(error)
            succeeded = False
        if waits and not await context.drained():
            succeeded = False
        return succeeded

    return await worker.run(event())
