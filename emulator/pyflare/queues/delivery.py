"""Delivers one batch: leases are taken before and settled after, so that nothing is lost in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

from pyflare.env.queue import shown_metrics
from pyflare.js.callbacks import supervise
from pyflare.js.value import JsObject
from pyflare_bindings.clock import Clock
from pyflare_bindings.queues import Lease, LeasedMessage, Queue, Settled

from .batch import Marks, MessageBatch
from .event import ConsumingWorker, run_queue_event
from .settings import ConsumerSettings

__all__ = ["LEASE_SECONDS", "ConsumerLog", "deliver"]

#: How long a handler may take, in wall time: https://developers.cloudflare.com/queues/platform/limits/
_HANDLER_SECONDS: Final = 15 * 60.0
#: How long one that has been told to stop may take to end.
_ENDING_SECONDS: Final = 20.0
#: A lease outlives its handler.
LEASE_SECONDS: Final = _HANDLER_SECONDS + 60.0


class ConsumerLog(Protocol):
    """Where a person reads what became of messages."""

    def queue(
        self, worker: str, name: str, acknowledged: int, total: int, milliseconds: float
    ) -> None: ...
    def console(self, worker: str, level: str, text: str) -> None: ...
    def uncaught(self, worker: str, error: BaseException, *, where: str = "") -> None: ...
    def warning(self, text: str) -> None: ...
    def error(self, text: str) -> None: ...
    def debug(self, text: str) -> None: ...


async def deliver(
    queue: Queue,
    lease: Lease,
    worker: ConsumingWorker,
    settings: ConsumerSettings,
    dead_letter: Queue | None,
    clock: Clock,
    log: ConsumerLog,
) -> None:
    """Run the worker's handler on leased messages and settle them by what it said.

    A caller that is cancelled leaves the messages in the queue as if they had not been taken, but for those that the
    handler has acknowledged by name. Raises StateError and
    ClosedError; then the messages come again when their lease ends.
    """
    began = clock.monotonic()
    marks = Marks(lambda text: log.console(worker.name, "warn", text))
    batch = MessageBatch._make(queue.name, lease.messages, marks, lambda: _metadata(queue, lease))
    try:
        succeeded = await _run_in_time(worker, batch, marks, clock, log)
    except asyncio.CancelledError:
        done = [each.number for each in lease.messages if each.id in marks.acknowledged]
        await queue.release(lease, done)
        raise
    again = marks.retries(
        [message.id for message in lease.messages],
        failed=not succeeded,
        default_delay=settings.retry_delay,
    )
    settled = await queue.settle(
        lease,
        {each.number: again[each.id] for each in lease.messages if each.id in again},
        max_retries=settings.max_retries,
        dead_letter=dead_letter,
    )
    milliseconds = (clock.monotonic() - began) * 1000
    log.queue(worker.name, queue.name, len(settled.acknowledged), len(lease.messages), milliseconds)
    _tell(queue, settled, dead_letter, log)


async def _run_in_time(
    worker: ConsumingWorker, batch: MessageBatch, marks: Marks, clock: Clock, log: ConsumerLog
) -> bool:
    """Whether the handler succeeded. It is told to stop when its time is up, and given up when it does not."""
    where = f'queue "{batch.queue}"'

    def report(error: BaseException) -> None:
        log.uncaught(worker.name, error, where=where)

    handler = asyncio.ensure_future(run_queue_event(worker, batch, report))
    limit = _Limit(clock, handler, marks)
    ends: list[asyncio.Future[Any]] = [handler, limit.given_up]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        handler.cancel()
        await asyncio.wait([handler], timeout=1)
        raise
    finally:
        limit.end()
    if limit.passed:
        # What it has made of the cancellation, a return among it, says nothing of its messages.
        log.error(
            f"[{worker.name}] The handler of {where} was stopped: it took longer than"
            f" {_HANDLER_SECONDS / 60:.0f} minutes."
        )
        if not handler.done():
            log.error(
                f"[{worker.name}] The handler of {where} goes on all the same, since it catches CancelledError. Its"
                " messages are retried without it; raise the exception again."
            )
        supervise(_reported(handler, report))
        return False
    if handler.cancelled():
        log.error(
            f"[{worker.name}] The handler of {where} was cancelled before it ended, and not by its time limit."
        )
        return False
    if (error := handler.exception()) is not None:
        report(error)
        return False
    return handler.result()


class _Limit:
    """Stops a handler whose time is up: its marks count no more, then it has a while to end by itself."""

    __slots__ = ("_clock", "_handler", "_marks", "_timer", "given_up", "passed")

    def __init__(self, clock: Clock, handler: asyncio.Future[bool], marks: Marks) -> None:
        self._clock = clock
        self._handler = handler
        self._marks = marks
        self.passed = False
        self.given_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._timer = clock.call_later(_HANDLER_SECONDS, self._stop)

    def _stop(self) -> None:
        if self._handler.done():
            return
        self.passed = True
        self._marks.close()
        self._handler.cancel()
        self._timer = self._clock.call_later(_ENDING_SECONDS, self._give_up)

    def _give_up(self) -> None:
        if not self.given_up.done():
            self.given_up.set_result(None)

    def end(self) -> None:
        self._timer.cancel()
        self.given_up.cancel()


async def _reported(handler: asyncio.Future[bool], report: Callable[[BaseException], None]) -> None:
    await asyncio.wait([handler])
    if not handler.cancelled() and (error := handler.exception()) is not None:
        report(error)


def _metadata(queue: Queue, lease: Lease) -> JsObject:
    return JsObject.adopt({"metrics": shown_metrics(queue.metrics_without(lease))})


def _tell(queue: Queue, settled: Settled, dead_letter: Queue | None, log: ConsumerLog) -> None:
    for message in settled.retried:
        log.debug(f'Retrying message "{message.id}" on queue "{queue.name}"...')
    for message in settled.dead:
        what = f'message "{message.id}" on queue "{queue.name}"'
        after = _attempts(message)
        if dead_letter is None:
            log.warning(f"Dropped {what} after {after}!")
        else:
            log.warning(f'Moving {what} to dead letter queue "{dead_letter.name}" after {after}...')


def _attempts(message: LeasedMessage) -> str:
    return f"{message.attempts} failed attempt{'' if message.attempts == 1 else 's'}"
