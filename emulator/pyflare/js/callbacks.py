"""Calling worker code back: from streams, timers and event listeners.

A callback may be sync or async. It has to run as the worker that gave it (its context variables, hence its modules),
where ``run_sync`` works (inside a Task), and its failure must not be lost.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Final, TypeAlias, TypeVar

from .error import JsException

__all__ = [
    "FAILURES",
    "CallbackRunner",
    "CallbackScope",
    "call",
    "console_sink",
    "describe",
    "report",
    "run_callback",
    "supervise",
]

T = TypeVar("T")

#: What code of a worker fails with, `sys.exit()` among it; not a cancellation, which is for somebody else.
FAILURES: Final = (Exception, SystemExit, KeyboardInterrupt)

#: Runs ``function()`` to its end, result awaited, where ``run_sync`` works, and gives an awaitable of the result.
CallbackRunner: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]


def _write(level: str, text: str) -> None:
    import sys

    print(text, file=sys.stderr if level in ("error", "warn") else sys.stdout)


#: Where console output and reports of uncaught errors go: ``sink(level, text)``, level one of ``debug``, ``error``,
#: ``info``, ``log``, ``warn``. Whoever runs a worker sets it for that worker's context.
console_sink: ContextVar[Callable[[str, str], None]] = ContextVar("console_sink", default=_write)


def _run_in_task(function: Callable[[], Any]) -> Awaitable[Any]:
    return asyncio.get_running_loop().create_task(call(function))


#: How timer callbacks are run. The default is a Task, so a loop whose tasks can suspend needs nothing else.
run_callback: ContextVar[CallbackRunner] = ContextVar("run_callback", default=_run_in_task)


class CallbackScope:
    """Where the code that made a stream runs: its context variables, kept for the callbacks that come later."""

    __slots__ = ("_context",)

    def __init__(self) -> None:
        self._context = contextvars.copy_context()

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine in a Task with those variables."""
        # A copy, because a context that is being run cannot be entered again.
        return asyncio.get_running_loop().create_task(coroutine, context=self._context.copy())


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """Call a sync or async function and wait for its result."""
    try:
        result = function(*args)
    except GeneratorExit as error:
        # Let out as it is, it would look as if this coroutine were being closed.
        stray = RuntimeError("GeneratorExit was raised outside of a generator")
        raise stray.with_traceback(error.__traceback__) from None
    while inspect.isawaitable(result):
        result = await result
    return result


def describe(error: BaseException) -> str:
    """The text that a log shows for an uncaught error: JavaScript errors by name, Python errors with traceback."""
    if isinstance(error, JsException) and error.__traceback__ is None:
        return f"Uncaught {error}"
    trace = "".join(traceback.format_exception(error)).rstrip()
    return f"Uncaught {''.join(traceback.format_exception_only(error)).rstrip()}\n{trace}"


def report(error: BaseException) -> None:
    """Log an error that nobody else will see, to the console of the running worker."""
    sink = console_sink.get()
    # A sink may know better how to show an error than as a text.
    uncaught = getattr(sink, "uncaught", None)
    if uncaught is None:
        sink("error", describe(error))
    else:
        uncaught(error)


# asyncio itself holds tasks weakly only.
_background: Final[set[asyncio.Future[Any]]] = set()


def supervise(result: Any) -> None:
    """Let a callback's result finish on its own if it is awaitable; its failure goes to the console."""
    if not inspect.isawaitable(result):
        return
    future: asyncio.Future[Any]
    if isinstance(result, asyncio.Future):
        future = result
    elif isinstance(result, Coroutine):
        future = asyncio.get_running_loop().create_task(result)
    else:
        future = asyncio.ensure_future(result)
    _background.add(future)
    future.add_done_callback(_finished)


def _finished(future: asyncio.Future[Any]) -> None:
    _background.discard(future)
    if not future.cancelled() and (error := future.exception()) is not None:
        report(error)
