"""Where ``run_sync`` comes from: whoever runs workers puts it in, since only the event loop's driver can wait.

Until then, and outside a worker, nothing can be waited for synchronously.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

__all__ = ["can_run_sync", "install", "run_sync", "uninstall", "without_waiting"]

T = TypeVar("T")

_NOT_SUSPENDABLE = (
    "Cannot stack switch because the Python entrypoint was a synchronous function. "
    "Use pyFunc.callPromising() to fix."
)


def _refuse(awaitable: Awaitable[Any]) -> Any:
    if not inspect.isawaitable(awaitable):
        raise TypeError(f"object {type(awaitable).__name__} is not awaitable")
    if inspect.iscoroutine(awaitable):
        awaitable.close()
    raise RuntimeError(_NOT_SUSPENDABLE)


def _never() -> bool:
    return False


def _plainly(function: Callable[[], T]) -> T:
    return function()


_run: Callable[[Awaitable[Any]], Any] = _refuse
_can_run: Callable[[], bool] = _never
_call: Callable[[Callable[[], Any]], Any] = _plainly


def install(
    run: Callable[[Awaitable[Any]], Any],
    can_run: Callable[[], bool],
    call: Callable[[Callable[[], Any]], Any] = _plainly,
) -> None:
    """Say how to wait: ``run(awaitable)`` gives its result, ``can_run()`` whether that is possible here and now.

    ``call(function)`` gives the result of a function in which waiting is refused.
    """
    global _run, _can_run, _call
    _run, _can_run, _call = run, can_run, call


def uninstall() -> None:
    """Back to refusing."""
    install(_refuse, _never)


def run_sync(x: Awaitable[T], /) -> T:
    """Wait for an awaitable in synchronous code and give its result.

    Raises: TypeError for what is not awaitable, RuntimeError where the stack cannot be suspended, and whatever the
    awaitable raises. Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html#pyodide.ffi.run_sync
    """
    result: T = _run(x)
    return result


def can_run_sync() -> bool:
    """Whether :func:`run_sync` works here."""
    return _can_run()


def without_waiting(function: Callable[[], T]) -> T:
    """Call a function that has to end before anything else can happen; in it :func:`run_sync` is refused."""
    result: T = _call(function)
    return result
