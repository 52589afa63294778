"""One event: a call into a worker, with its context object and the work that outlives its answer.

Source: https://developers.cloudflare.com/workers/runtime-apis/context/
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from pyflare.js.error import TypeError_
from pyflare.js.structured_clone import structured_clone
from pyflare.js.timers import Timers
from pyflare.js.value import JsInstance, JsObject

from .current import current

if TYPE_CHECKING:
    from .tracing import EventTrace

__all__ = ["Background", "ExecutionContext"]


#: Called with the failure of a background task: (what it was, the exception).
FailureReport: TypeAlias = Callable[[str, BaseException], None]


class Background:
    """The work that a worker's events have handed to ``waitUntil``: kept alive, and reported when it fails."""

    __slots__ = ("_report", "_tasks", "closed")

    def __init__(self, report: FailureReport) -> None:
        #: Set when whoever does this work has ended.
        self.closed = False
        self._tasks: set[asyncio.Future[Any]] = set()
        self._report = report

    def __len__(self) -> int:
        return len(self._tasks)

    def under_way(self) -> list[asyncio.Future[Any]]:
        """What is not done yet."""
        return list(self._tasks)

    def add(self, awaitable: Any) -> asyncio.Future[Any]:
        """Keep an awaitable until it is done. It starts at once and never fails the answer."""
        future: asyncio.Future[Any] = asyncio.ensure_future(awaitable)
        self._tasks.add(future)
        future.add_done_callback(self._finished)
        return future

    def _finished(self, future: asyncio.Future[Any]) -> None:
        self._tasks.discard(future)
        if not future.cancelled() and (error := future.exception()) is not None:
            self._report("waitUntil", error)

    def cancel(self) -> None:
        """End all of it."""
        for future in tuple(self._tasks):
            future.cancel()

    async def drain(self, grace: float) -> None:
        """Wait up to ``grace`` seconds for what is under way, then cancel the rest."""
        if not self._tasks:
            return
        _, left = await asyncio.wait(self._tasks, timeout=grace)
        for future in left:
            future.cancel()
        if left:
            await asyncio.wait(left, timeout=1)


class ExecutionContext(JsInstance, js_name="ExecutionContext"):
    """``ctx`` of a stateless event, which lasts until it is answered and what ``waitUntil`` was given is done."""

    #: What ``env`` has in this event beside the worker's own bindings.
    _extra_env: Mapping[str, Any] | None = None

    #: What tail consumers will be told of this event; None where there are none.
    _trace: EventTrace | None = None

    def __init__(self, background: Background, timers: Timers, props: Any = None) -> None:
        self._background = background
        self._timers = timers
        self._pending: set[asyncio.Future[Any]] = set()
        self._failed = False
        self._ended = False
        self._holds = 0
        self._at_end: list[Callable[[], None]] = []
        self._given_props = props
        self._props: Any = None

    def waitUntil(self, promise: Any = None, *_: Any) -> None:
        """Keep a promise or any awaitable going after the answer."""
        if promise is None:
            raise TypeError_(
                "Failed to execute 'waitUntil' on 'ExecutionContext': parameter 1 is not of type 'Promise'."
            )
        if hasattr(promise, "__await__"):
            future = self._background.add(promise)
            self._pending.add(future)
            future.add_done_callback(self._one_done)

    async def drained(self) -> bool:
        """Wait for everything that ``waitUntil`` is given, also meanwhile. Whether all of it succeeded.

        Events without a client, such as cron and queues, count as failed when this is false.
        """
        while self._pending:
            await asyncio.wait(tuple(self._pending))
            # The callbacks that take finished work out run in the next turn.
            await asyncio.sleep(0)
        return not self._failed

    def passThroughOnException(self, *_: Any) -> None:
        """Accepted: there is no origin behind a local worker to pass the request to."""

    @property
    def props(self) -> Any:
        """What the binding that this event came through was configured with; the event's own copy."""
        if self._props is None:
            given = self._given_props
            self._props = JsObject.adopt({}) if given is None else structured_clone(given)
        return self._props

    @property
    def exports(self) -> Any:
        """The worker's own entrypoints as bindings; undefined before the compatibility date that brings it."""
        scope = current.get()
        return None if scope is None else scope.data.get("exports")

    def hold(self) -> None:
        """Somebody has a function or a stream of this event: it is not over before :meth:`release`."""
        self._holds += 1

    def release(self) -> None:
        """Undo one :meth:`hold`."""
        self._holds -= 1
        self._maybe_over()

    def at_end(self, callback: Callable[[], None]) -> None:
        """Call this when the event is over."""
        self._at_end.append(callback)

    def is_gone(self) -> bool:
        """Whether the worker has ended, so that nothing can be called in this event any more."""
        return self._background.closed

    def end(self) -> None:
        """The answer has been given, or the event failed."""
        self._ended = True
        self._maybe_over()

    def _one_done(self, future: asyncio.Future[Any]) -> None:
        self._pending.discard(future)
        if future.cancelled() or future.exception() is not None:
            self._failed = True
            if self._trace is not None and not future.cancelled():
                error = future.exception()
                assert error is not None
                self._trace.failed(error)
        self._maybe_over()

    def _maybe_over(self) -> None:
        # Production drops the timers of an event that is over; whoever needs one waits for it.
        if self._ended and not self._pending and not self._holds:
            self._timers.cancel_all()
            if self._at_end:
                callbacks, self._at_end = self._at_end, []
                for callback in callbacks:
                    callback()
