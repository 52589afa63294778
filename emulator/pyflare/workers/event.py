"""One event: a call into a worker, with its context object and the work that outlives its answer.

Source: https://developers.cloudflare.com/workers/runtime-apis/context/
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakSet

from pyflare.js.callbacks import console_sink
from pyflare.js.clock import CallLater, Handle, call_later
from pyflare.js.error import TypeError_
from pyflare.js.structured_clone import structured_clone
from pyflare.js.timers import Timers
from pyflare.js.value import JsInstance, JsNull, JsObject
from pyflare.js.webidl import text

from .current import current

if TYPE_CHECKING:
    from .abortion import Abortion
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

    def report(self, error: BaseException) -> None:
        """Tell whoever runs the worker of a failure that no caller sees."""
        self._report("waitUntil", error)

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


_TASK_DROPPED: Final = (
    "The task of {}() was cancelled, because its event is over: the answer has been given. Production drops it "
    "likewise; give work that is to go on to ctx.waitUntil()."
)
_OUT_OF_TIME: Final = (
    "waitUntil() tasks did not complete within the allowed time after invocation end and have been cancelled. See: "
    "https://developers.cloudflare.com/workers/runtime-apis/context/#waituntil"
)
#: Seconds that background work has after the answer.
_DRAIN_LIMIT: Final = 30.0
_PRIMITIVE: Final = (str, int, float, JsNull, type(None))


def _later(
    loop: asyncio.AbstractEventLoop,
    book: CallLater | None,
    seconds: float,
    callback: Callable[[], object],
) -> Handle:
    return loop.call_later(seconds, callback) if book is None else book(seconds, callback)


async def _fail_as_no_promise(value: Any) -> None:
    error = TypeError_(f"Cannot use 'in' operator to search for 'copy' in {text(value)}")
    error.add_note("ctx.waitUntil() takes a promise, a coroutine or another awaitable.")
    raise error


class ExecutionContext(JsInstance, js_name="ExecutionContext"):
    """``ctx`` of a stateless event, which lasts until it is answered and what ``waitUntil`` was given is done."""

    #: What ``env`` has in this event beside the worker's own bindings.
    _extra_env: Mapping[str, Any] | None = None

    #: What tail consumers will be told of this event; None where there are none.
    _trace: EventTrace | None = None

    #: Why the event is over before its end; None while nothing has aborted it.
    _abortion: Abortion | None = None

    #: What runs it; None where nothing can be interrupted.
    _task: asyncio.Task[Any] | None = None

    #: Books the end of background work, and the booking.
    _limit: Callable[[float, Callable[[], object]], Handle] | None = None
    _deadline: Handle | None = None

    #: What the worker's own code has made tasks of.
    _tasks: WeakSet[asyncio.Task[Any]] | None = None

    #: Streams and bodies that reach into it from elsewhere.
    _open: WeakSet[Any] | None = None

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
        """Keep a promise or any awaitable going after the answer; another object is done already.

        A primitive value counts as work that has failed: production looks for a property of it, where nobody waits.
        """
        if hasattr(promise, "__await__"):
            self._keep(promise)
        elif isinstance(promise, _PRIMITIVE):
            self._keep(_fail_as_no_promise(promise))

    def _keep(self, work: Any) -> None:
        future = self._background.add(work)
        self._pending.add(future)
        future.add_done_callback(self._one_done)
        if self._limit is None:
            self._limit = partial(_later, asyncio.get_running_loop(), call_later.get())
            self._console = console_sink.get()

    def connected(self, work: asyncio.Future[Any]) -> None:
        """The event lasts as long as a connection does, whose work this is."""
        self.hold()
        self._keep(work)
        work.add_done_callback(lambda _: self.release())

    def end_background(self) -> None:
        """Cancel what ``waitUntil`` was given; futures that somebody else completes are left to them."""
        for future in tuple(self._pending):
            if type(future) is not asyncio.Future:
                future.cancel()

    def _too_late(self) -> None:
        if self._pending:
            self._console("warn", _OUT_OF_TIME)
            self.end_background()
            self._pending.clear()
            self._maybe_over()

    async def drained(self) -> bool:
        """Wait for everything that ``waitUntil`` is given, also meanwhile. Whether all of it succeeded.

        Events without a client, such as cron and queues, count as failed when this is false.
        """
        try:
            while self._pending:
                await asyncio.wait(tuple(self._pending))
                # The callbacks that take finished work out run in the next turn.
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            if self._abortion is None:
                raise
            self._background.report(self._abortion.tell())
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
        """The worker's own entrypoints as bindings; not there before the compatibility date that brings it."""
        scope = current.get()
        exports = None if scope is None else scope.data.get("exports")
        if exports is None:
            raise AttributeError("exports")
        return exports

    @property
    def tracing(self) -> Any:
        """The worker's own spans, which nothing records."""
        from .spans import TRACING

        return TRACING

    @property
    def cache(self) -> None:
        """Undefined, as for a worker whose responses are not cached by the platform."""

    @property
    def access(self) -> None:
        """Undefined, as for a worker that is not behind Cloudflare Access."""

    def abort(self, reason: Any = None, *_: Any) -> None:
        """End the event at once: whoever waits for it gets ``reason``, what ``waitUntil`` was given is cancelled."""
        if self._abortion is None:
            from .abortion import Abortion

            self._abortion = Abortion(self, reason)
            self._abortion.begin()
        # Ends the code that called this, as far as it can be ended.
        raise asyncio.CancelledError("the event was aborted")

    def opened(self, streams: Iterable[Any]) -> None:
        """Others have the other sides of these streams and bodies: they are told when the event is aborted."""
        if self._open is None:
            self._open = WeakSet()
        self._open.update(streams)

    def began(self, task: asyncio.Task[Any]) -> None:
        """The worker's own code has made a task: it ends with the event, as everything does that production times."""
        if self._tasks is None:
            self._tasks = WeakSet()
            self._console = console_sink.get()
        self._tasks.add(task)

    def _end_tasks(self) -> None:
        for task in tuple(self._tasks or ()):
            if task.cancel() and self._abortion is None:
                name = getattr(task.get_coro(), "__qualname__", "?")
                self._console("warn", _TASK_DROPPED.format(name))

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
        """Whether nothing can be called in this event any more: the worker has ended, or the event was aborted."""
        return self._background.closed or self._abortion is not None

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
        if not self._ended or self._holds:
            return
        if self._pending:
            if self._limit is not None:
                book, self._limit = self._limit, None
                self._deadline = book(_DRAIN_LIMIT, self._too_late)
            return
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        # Production drops the timers of an event that is over; whoever needs one waits for it.
        self._timers.cancel_all()
        if self._tasks:
            self._end_tasks()
        if self._at_end:
            callbacks, self._at_end = self._at_end, []
            for callback in callbacks:
                callback()
