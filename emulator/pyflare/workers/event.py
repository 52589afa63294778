"""One event: a call into a worker, with its context object and the work that outlives its answer.

Source: https://developers.cloudflare.com/workers/runtime-apis/context/
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from pyflare.js.error import TypeError_
from pyflare.js.timers import Timers
from pyflare.js.value import JsInstance, JsObject

__all__ = ["Background", "ExecutionContext"]


#: Called with the failure of a background task: (what it was, the exception).
FailureReport: TypeAlias = Callable[[str, BaseException], None]


class Background:
    """The work that a worker's events have handed to ``waitUntil``: kept alive, and reported when it fails."""

    __slots__ = ("_report", "_tasks")

    def __init__(self, report: FailureReport) -> None:
        self._tasks: set[asyncio.Future[Any]] = set()
        self._report = report

    def __len__(self) -> int:
        return len(self._tasks)

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

    def __init__(self, background: Background, timers: Timers) -> None:
        self._background = background
        self._timers = timers
        self._pending = 0
        self._ended = False

    def waitUntil(self, promise: Any = None, *_: Any) -> None:
        """Keep a promise or any awaitable going after the answer."""
        if promise is None:
            raise TypeError_(
                "Failed to execute 'waitUntil' on 'ExecutionContext': parameter 1 is not of type 'Promise'."
            )
        if hasattr(promise, "__await__"):
            future = self._background.add(promise)
            self._pending += 1
            future.add_done_callback(self._one_done)

    def passThroughOnException(self, *_: Any) -> None:
        """Accepted: there is no origin behind a local worker to pass the request to."""

    @property
    def props(self) -> JsObject:
        return JsObject.adopt({})

    def end(self) -> None:
        """The answer has been given, or the event failed."""
        self._ended = True
        self._maybe_over()

    def _one_done(self, _: object) -> None:
        self._pending -= 1
        self._maybe_over()

    def _maybe_over(self) -> None:
        # Production drops the timers of an event that is over; whoever needs one waits for it.
        if self._ended and self._pending == 0:
            self._timers.cancel_all()
