"""One scheduled event: a worker's ``scheduled`` handler, run and judged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pyflare.js.rpc.errors import is_cancelled
from pyflare.workers.current import current_event
from pyflare.workers.event import ExecutionContext
from pyflare.workers.suspend import can_run_sync

from .controller import ScheduledController

__all__ = ["CronWorker", "ScheduledResult", "run_scheduled"]

T = TypeVar("T")


class CronWorker(Protocol):
    """The part of a loaded worker that a scheduled event needs."""

    @property
    def name(self) -> str: ...

    def run(self, event: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]: ...

    def handle(self, name: str, *arguments: Any) -> Awaitable[Any]: ...


@dataclass(frozen=True, slots=True)
class ScheduledResult:
    """How an event ended, in the platform's words: ``outcome`` is ``ok`` or ``exception``."""

    outcome: str
    no_retry: bool


async def run_scheduled(
    worker: CronWorker, cron: str, scheduled_time: float, report: Callable[[BaseException], None]
) -> ScheduledResult:
    """Run the handler and what it gives to ``waitUntil``; a failure of either makes the outcome ``exception``.

    Args: ``cron`` as the handler sees it; ``scheduled_time`` in milliseconds since the epoch; ``report`` is given the
    handler's own exception.
    """
    controller = ScheduledController._make(cron, int(scheduled_time))

    async def event() -> bool:
        context: ExecutionContext = current_event.get()
        try:
            await worker.handle("scheduled", controller)
        except BaseException as error:
            # Outside a carrier this coroutine is being closed; in one, the worker itself has raised it.
            if isinstance(error, GeneratorExit) and not can_run_sync():
                raise
            # sys.exit() in a handler, or awaiting a task that it has cancelled itself, is a failure of the handler.
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            report(error)
            await context.drained()
            return False
        return await context.drained()

    succeeded = await worker.run(event())
    return ScheduledResult("ok" if succeeded else "exception", controller._no_retry)
