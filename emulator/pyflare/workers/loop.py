"""The event loop for workers that share module names: each callback gets its worker's modules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

from pyflare.workers.borrowed_loop import inline_run_in_executor, waiting_run_until_complete
from pyflare.workers.current import current
from pyflare.workers.exits import contained_run_forever, not_by_workers, report_failure
from pyflare.workers.finder import space_of_globals
from pyflare.workers.isolation import Isolation

if TYPE_CHECKING:
    from pyflare.workers.current import WorkerScope


class SwitchingHandle(asyncio.Handle):
    """A callback that runs with the modules of the worker named in its own context."""

    __slots__ = ()

    def _run(self: Any) -> None:
        isolation: Isolation = self._loop.isolation
        scope: WorkerScope | None = self._context.get(current)
        if scope is not None:
            if scope.space is not isolation.installed:
                isolation.switch(scope.space)
        elif isolation.host.modules:
            isolation.switch(isolation.host)
        # The same as the inherited method, without its frame.
        try:
            self._context.run(self._callback, *self._args)
        except BaseException as error:
            report_failure(self, error, scope)
        self = None


class SwitchingTimerHandle(asyncio.TimerHandle):
    """The same for timers."""

    __slots__ = ()

    _run = SwitchingHandle._run


class SwitchingLoop(asyncio.SelectorEventLoop):
    """asyncio's selector loop, switching `isolation` before each callback of a worker.

    Callbacks without a worker leave things as they are, so that one busy worker costs nothing,
    unless the host process itself has modules of the same names.
    """

    def __init__(self, isolation: Isolation) -> None:
        super().__init__()
        self.isolation = isolation

    def _call_soon(
        self, callback: Callable[..., object], args: Any, context: Context | None
    ) -> asyncio.Handle:
        handle = super()._call_soon(callback, args, context)  # type: ignore[misc]
        handle.__class__ = SwitchingHandle
        return handle  # type: ignore[no-any-return]

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = super().call_at(when, callback, *args, context=context)
        handle.__class__ = SwitchingTimerHandle
        return handle

    def _add_reader(self, fd: Any, callback: Callable[..., object], *args: Any) -> Any:
        handle = super()._add_reader(fd, callback, *args)  # type: ignore[misc]
        handle.__class__ = SwitchingHandle
        return handle

    def _add_writer(self, fd: Any, callback: Callable[..., object], *args: Any) -> Any:
        handle = super()._add_writer(fd, callback, *args)  # type: ignore[misc]
        handle.__class__ = SwitchingHandle
        return handle


def context_of(generator: Any) -> Context | None:
    """A fresh context of the worker in whose module an asynchronous generator is written."""
    frame = generator.ag_frame
    space = space_of_globals(frame.f_globals) if frame is not None else None
    return space.scope.new_context() if space is not None and space.scope is not None else None


def _finalizer_hook(original: Callable[..., None]) -> Callable[..., None]:
    # A generator is collected at any moment, under any worker's context; its `finally` blocks need
    # those of the worker that wrote it.
    def hook(self: Any, generator: Any) -> None:
        context = context_of(generator)
        if context is None:
            original(self, generator)
        else:
            context.run(original, self, generator)

    return hook


SwitchingLoop._asyncgen_finalizer_hook = _finalizer_hook(  # type: ignore[attr-defined]
    asyncio.SelectorEventLoop._asyncgen_finalizer_hook  # type: ignore[attr-defined]
)


def new_uvloop() -> asyncio.AbstractEventLoop:
    """A uvloop for workers whose module names do not clash. Raises ImportError without uvloop.

    uvloop's class cannot be patched, so what `StandardLibrary` does to asyncio's loops is done
    here by inheritance.
    """
    import uvloop

    return type("WorkerLoop", (uvloop.Loop,), _adaptions_of(uvloop.Loop))()  # type: ignore[no-any-return]


def _adaptions_of(loop_class: Any) -> dict[str, Any]:
    return {
        "run_until_complete": waiting_run_until_complete(loop_class.run_until_complete),
        "run_in_executor": inline_run_in_executor(loop_class.run_in_executor),
        "run_forever": contained_run_forever(loop_class.run_forever),
        "stop": not_by_workers("stop")(loop_class.stop),
        "close": not_by_workers("close")(loop_class.close),
        "contains_exits": True,
        "_asyncgen_finalizer_hook": _finalizer_hook(loop_class._asyncgen_finalizer_hook),
    }


def new_event_loop(isolation: Isolation | None = None) -> SwitchingLoop:
    """A loop that can run workers whose module names clash; by default for the process's workers.

    uvloop cannot do this, since its callbacks are not Python objects.
    """
    return SwitchingLoop(isolation if isolation is not None else Isolation.of_process())
