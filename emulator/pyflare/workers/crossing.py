"""Going into a worker's code from outside it, synchronously, and coming back."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from types import TracebackType
from typing import ParamSpec, TypeVar

from pyflare.workers.current import WorkerScope, current

P = ParamSpec("P")
T = TypeVar("T")


class entered:
    """`current` is the worker and its modules are installed; both are restored afterwards.

    For short synchronous pieces of the emulator's own code. Context variables that are set inside
    stay set in the caller's context; `call_in` keeps them apart.
    """

    __slots__ = ("_scope", "_token")

    def __init__(self, scope: WorkerScope) -> None:
        self._scope = scope

    def __enter__(self) -> WorkerScope:
        scope = self._scope
        self._token = current.set(scope)
        isolation = scope.space.isolation
        if isolation is not None:
            isolation.switch(scope.space)
        return scope

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        current.reset(self._token)
        isolation = self._scope.space.isolation
        if isolation is not None:
            isolation.leave()


def call_in(context: Context, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls a worker's function under a copy of `context`, with that worker's modules installed.

    `context` is one of the callee's own: `WorkerScope.context` or an event's. The call may use
    `run_sync` where the caller may. Raises what the function raises.
    """
    scope = context.get(current)
    isolation = scope.space.isolation if scope is not None else None
    if scope is None or isolation is None:
        return context.copy().run(function, *args, **kwargs)
    isolation.switch(scope.space)
    try:
        return context.copy().run(function, *args, **kwargs)
    finally:
        isolation.leave()
