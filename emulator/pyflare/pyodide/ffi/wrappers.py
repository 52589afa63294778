"""The module ``pyodide.ffi.wrappers``: event listeners and timers with Python callables.

Source: https://pyodide.org/en/stable/usage/api/python-api/ffi.html#module-pyodide.ffi.wrappers
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "add_event_listener",
    "clear_interval",
    "clear_timeout",
    "remove_event_listener",
    "set_interval",
    "set_timeout",
]


def add_event_listener(elt: Any, event: str, listener: Callable[[Any], None]) -> None:
    """Call ``listener(event)`` for every event of a type on an event target."""
    elt.addEventListener(event, listener)


def remove_event_listener(elt: Any, event: str, listener: Callable[[Any], None]) -> None:
    """Undo :func:`add_event_listener`."""
    elt.removeEventListener(event, listener)


def set_timeout(callback: Callable[[], None], timeout: int) -> Any:
    """Call once after ``timeout`` milliseconds; gives the handle for :func:`clear_timeout`."""
    from ...js.timers import setTimeout

    return setTimeout(callback, timeout)


def clear_timeout(timeout_retval: Any) -> None:
    from ...js.timers import clearTimeout

    clearTimeout(timeout_retval)


def set_interval(callback: Callable[[], None], interval: int) -> Any:
    """Call every ``interval`` milliseconds; gives the handle for :func:`clear_interval`."""
    from ...js.timers import setInterval

    return setInterval(callback, interval)


def clear_interval(interval_retval: Any) -> None:
    from ...js.timers import clearInterval

    clearInterval(interval_retval)
