"""A worker's `sys.exit()` is the failure of what it was doing, never the end of the process.

asyncio and uvloop let SystemExit and KeyboardInterrupt out of any callback and so out of the whole
loop, on which all other workers run. In production such an exit ends one event. Here the callback
fails like any other: on asyncio's loops by `contained`, on our own uvloop by `ContainingLoop`, and
on a host's uvloop, whose callbacks nobody can reach, by `WorkerExit` in the place of the exit.
"""

from __future__ import annotations

import asyncio
from asyncio.format_helpers import _format_callback_source
from collections.abc import Callable
from typing import Any, Final, Literal

from pyflare.workers.current import WorkerScope, current
from pyflare.workers.finder import space_of_globals

EXITS: Final = (SystemExit, KeyboardInterrupt)

_NOT_ITS_OWN: Final = "the Worker {name!r} cannot {what} the event loop: it shares it with the server and other Workers"


class WorkerExit(Exception):
    """Stands for an exit, `original`, where the exit itself would end the event loop."""

    def __init__(self, original: BaseException) -> None:
        super().__init__(f"{type(original).__name__}: {original}")
        self.original = original


def readable(error: BaseException) -> BaseException:
    """`error`, or a RuntimeError in its place when its class raises for what every exception is asked for."""
    try:
        for name in _ASKED:
            getattr(error, name)
    except BaseException:
        made = RuntimeError(
            f"an exception of the class {type(error).__name__!r} was raised, whose __getattribute__ "
            "raises itself, so that nothing can be told of it"
        )
        return made.with_traceback(_traceback_of(error))
    return error


_ASKED: Final = ("__class__", "__traceback__", "__cause__", "__context__", "__suppress_context__")
# Past the class's own attribute access.
_traceback_of: Final = vars(BaseException)["__traceback__"].__get__


def contained(_original: Callable[[Any], None]) -> Callable[[Any], None]:
    """In the place of `asyncio.Handle._run`: the same for a host's callbacks, and a worker's exits stay inside."""
    return run_contained


def run_contained(self: Any) -> None:
    """Runs a handle. Raises the exits of callbacks that no worker made."""
    try:
        self._context.run(self._callback, *self._args)
    except BaseException as error:
        report_failure(self, error, self._context.get(current))
    # A failure would keep the handle alive by way of its own traceback.
    self = None


def report_failure(handle: Any, error: BaseException, scope: WorkerScope | None) -> None:
    """What becomes of an exception that left a handle's callback, which `scope`'s worker made, or nobody."""
    if isinstance(error, EXITS):
        if scope is None:
            raise error
        if isinstance(getattr(handle._callback, "__self__", None), asyncio.Future):
            # A task's exception is its own: whoever awaits it sees it.
            return
    source = _format_callback_source(handle._callback, handle._args)
    told = {"message": f"Exception in callback {source}", "exception": error, "handle": handle}
    if handle._source_traceback:
        told["source_traceback"] = handle._source_traceback
    handle._loop.call_exception_handler(told)


def contained_run_forever(original: Callable[[Any], None]) -> Callable[[Any], None]:
    """A loop class's `run_forever` that goes on after a worker's exit."""

    def run_forever(self: Any) -> None:
        while True:
            try:
                original(self)
                return
            except EXITS as error:
                match _origin(error):
                    case "callback":
                        told = {"message": "Exception in a Worker's callback", "exception": error}
                        self.call_exception_handler(told)
                    case None:
                        raise

    return run_forever


def not_by_workers(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """For a loop's `stop` and `close`: RuntimeError when a worker calls them on the loop it runs on."""

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any) -> Any:
            scope = current.get()
            if scope is not None and asyncio._get_running_loop() is self:
                raise RuntimeError(_NOT_ITS_OWN.format(name=scope.name, what=what))
            return original(self)

        return method

    return guarded


def _origin(error: BaseException) -> Literal["task", "callback"] | None:
    """Whether an exit came out of a worker's task, which has it too, or out of a callback; None: not of a worker."""
    from pyflare.workers.carriers import CarrierPool

    found: Literal["callback"] | None = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is CarrierPool.drive.__code__:
            return "task"
        if space_of_globals(trace.tb_frame.f_globals) is not None:
            found = "callback"
        trace = trace.tb_next
    return found
