"""Calls that are made at once and begin in the task that awaits them.

A call into other code of a worker needs a task of its own, because that code may hold on to the task it begins in.
Most callers await a call the moment they make it, and then their own task will do: no task is made and no turn of the
loop is lost. A call that nobody has awaited when the next turn comes, or when another one is made after it, begins by
itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar
from typing import Any, Final

from .departure import DepartureLine, output_gate
from .error import Error
from .promise import JsPromise, arriving
from .value import jsnull

__all__ = [
    "DEEPEST",
    "DEEPEST_CALLBACK",
    "CallLine",
    "DeferredPromise",
    "begin_in_tasks",
    "call_depth",
]

#: How many calls may begin in their callers' tasks before everybody else gets a turn of the loop.
_BURST: Final = 64

#: How deep calls may begin inside each other before one gets a stack of its own.
_DEEPEST_STACK: Final = 8

#: How deep workers may call each other: production stops a chain that goes in circles.
DEEPEST: Final = 32
#: How deep functions that were given away may call each other: nobody means to come this far.
DEEPEST_CALLBACK: Final = 1000
_TOO_DEEP: Final = (
    "Subrequest depth limit exceeded. This request recursed through Workers too many times. "
    "This can happen e.g. if you have a Worker or Durable Object that calls other Workers or objects recursively."
)

#: How many calls the running code is inside of. Whoever runs a call in another worker counts on.
call_depth: ContextVar[int] = ContextVar("call_depth", default=0)

#: Whether the running task is of an object, whose turns its calls must not share.
begin_in_tasks: ContextVar[bool] = ContextVar("begin_in_tasks", default=False)


class CallLine:
    """Calls through one stub: they begin in the order in which they are made. ``deepest`` is how deep they may nest."""

    __slots__ = (
        "_at_once",
        "_deepest",
        "_departures",
        "_loop",
        "_scheduled",
        "_starting",
        "_waiting",
    )

    def __init__(self, deepest: int = DEEPEST) -> None:
        self._deepest = deepest
        self._waiting: DeferredPromise | None = None
        self._scheduled = False
        self._at_once = 0
        #: How many have a task that has not begun.
        self._starting = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._departures: DepartureLine | None = None

    def call(self, work: Coroutine[Any, Any, Any]) -> DeferredPromise:
        """Make a call. Raises: RuntimeError outside an event loop."""
        loop = asyncio.get_running_loop()
        if self._waiting is not None:
            self._waiting.begin()
        depth = call_depth.get()
        if depth >= self._deepest:
            work.close()
            work = _fail(Error(_TOO_DEEP))
        elif output_gate.get() is not None:
            if self._departures is None:
                self._departures = DepartureLine()
            work = self._departures.departing(work)
        promise = DeferredPromise(loop=loop)
        promise._work = work
        promise._depth = depth
        promise._line = self
        self._waiting = promise
        if not self._scheduled or self._loop is not loop:
            self._scheduled = True
            self._loop = loop
            loop.call_soon(self._turn, context=_NO_CONTEXT.copy())
        return promise

    def _turn(self) -> None:
        self._scheduled = False
        self._at_once = 0
        if self._waiting is not None:
            self._waiting.begin()

    def begin_waiting(self) -> None:
        """Begin the call that was made last, if nobody has awaited it yet."""
        if self._waiting is not None:
            self._waiting.begin()


class _Start:
    """A call that a task is there for."""

    __slots__ = ("_line", "_work")

    def __init__(self, line: CallLine, work: Coroutine[Any, Any, Any]) -> None:
        self._line: CallLine | None = line
        self._work = work
        line._starting += 1

    async def run(self) -> Any:
        assert self._line is not None
        self._line._starting -= 1
        self._line = None
        return await self._work

    def give_up(self) -> None:
        """Nothing to do, unless the task was cancelled before it began."""
        if self._line is not None:
            self._line._starting -= 1
            self._line = None
            self._work.close()


async def _fail(error: Exception) -> Any:
    raise error


#: What the loop calls belongs to no worker.
_NO_CONTEXT: Final = Context()


def _neutral(depth: int) -> Context:
    """The context of a call that is on its way: it belongs to neither side."""
    context = _NO_CONTEXT.copy()
    if depth:
        context.run(call_depth.set, depth)
    return context


class DeferredPromise(JsPromise):
    """The promise of such a call's result."""

    _work: Coroutine[Any, Any, Any] | None = None
    _depth: int = 0
    _line: CallLine
    _task: asyncio.Task[Any] | None = None

    def _take(self) -> Coroutine[Any, Any, Any] | None:
        work = self._work
        if work is not None:
            self._work = None
            line = self._line
            if line._waiting is self:
                line._waiting = None
        return work

    def begin(self) -> None:
        """Begin in a task of its own, unless it has begun."""
        work = self._take()
        if work is not None:
            start = _Start(self._line, work)
            task = self.get_loop().create_task(start.run(), context=_neutral(self._depth))
            self._follow(task, start)

    def _follow(self, task: asyncio.Task[Any], start: _Start) -> None:
        def finish(done: asyncio.Task[Any]) -> None:
            self._task = None
            start.give_up()
            if self.done():
                if not done.cancelled():
                    done.exception()
            elif done.cancelled():
                JsPromise.cancel(self)
            elif (error := done.exception()) is not None:
                self.set_exception(error)
            else:
                self.set_result(arriving(done.result()))

        self._task = task
        task.add_done_callback(finish)

    def __await__(self) -> Generator[Any, Any, Any]:
        if self._work is None:
            return (yield from JsPromise.__await__(self))
        line = self._line
        line._at_once += 1
        if (
            line._at_once > _BURST
            or line._starting
            or self._depth >= _DEEPEST_STACK
            or begin_in_tasks.get()
        ):
            self.begin()
            return (yield from JsPromise.__await__(self))
        work = self._take()
        assert work is not None
        try:
            value = yield from work.__await__()
        except asyncio.CancelledError:
            JsPromise.cancel(self)
            raise
        except GeneratorExit:
            JsPromise.cancel(self)
            raise
        except BaseException as error:
            if not self.done():
                self.set_exception(error)
                # The caller sees it right here.
                self.exception()
            raise
        if value is jsnull:
            value = arriving(value)
        if not self.done():
            self.set_result(value)
        return value

    __iter__ = __await__

    def add_done_callback(self, callback: Callable[..., object], /, **options: Any) -> None:
        self.begin()
        super().add_done_callback(callback, **options)

    def cancel(self, msg: Any = None) -> bool:
        work = self._take()
        if work is not None:
            work.close()
        if self._task is not None:
            self._task.cancel()
        return super().cancel(msg)
