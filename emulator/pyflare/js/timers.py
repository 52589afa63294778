"""``setTimeout`` and its kin, ``queueMicrotask`` and ``scheduler``.

A timer belongs to the event that made it: whoever runs events sets :data:`event_timers` for each and calls
:meth:`Timers.cancel_all` when the event is over. How a callback runs is :data:`pyflare.js.callbacks.run_callback`.

Source: https://html.spec.whatwg.org/#timers and https://developers.cloudflare.com/workers/runtime-apis/scheduler/
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from itertools import count
from typing import Any, Final

from .callbacks import run_callback, supervise
from .clock import Handle, later
from .error import Error, TypeError_
from .number import to_number, to_string
from .promise import JsPromise, as_error, rejected
from .value import JsInstance, get_property, is_nullish, js_class_name, type_of
from .webidl import wrong_type

__all__ = [
    "Scheduler",
    "Timers",
    "clearImmediate",
    "clearInterval",
    "clearTimeout",
    "current_timers",
    "event_timers",
    "queueMicrotask",
    "run_callback",
    "scheduler",
    "setImmediate",
    "setInterval",
    "setTimeout",
]

_GLOBAL_SCOPE: Final = (
    "Disallowed operation called within global scope. Asynchronous I/O (ex: fetch() or connect()), setting a timeout, "
    "and generating random values are not allowed within global scope. To fix this error, perform this operation "
    "within a handler. https://developers.cloudflare.com/workers/runtime-apis/handlers/"
)

#: The longest delay in milliseconds: more is cut to it.
_LONGEST: Final = 2**31 - 1


class Timers:
    """The timers of one event (or of one object)."""

    __slots__ = ("_closing", "_handles", "_numbers")

    def __init__(self) -> None:
        self._handles: dict[int, Handle] = {}
        self._closing: dict[int, Callable[[], None]] = {}
        self._numbers = count(1)

    def __len__(self) -> int:
        return len(self._handles)

    def start(
        self, function: Callable[[], Any], milliseconds: float, *, repeat: bool = False
    ) -> int:
        """Call the function after that time, again and again with ``repeat``. Gives the timer's number.

        Raises: Error outside a running event loop, which is where a worker's global scope is.
        """
        loop = _loop()
        number = next(self._numbers)
        period = max(milliseconds, 1) / 1000 if repeat else milliseconds / 1000

        def fire() -> None:
            if repeat:
                self._handles[number] = later(loop, period, fire)
            else:
                self._handles.pop(number, None)
            supervise(run_callback.get()(function))

        self._handles[number] = later(loop, period, fire)
        return number

    def until_over(self, close: Callable[[], None]) -> int:
        """Something lasts until it is cancelled like a timer, by this number, or closed with the event."""
        number = self.start(lambda: None, _LONGEST)
        self._closing[number] = close
        return number

    def cancel(self, number: int) -> None:
        """Stop one timer; an unknown number is nothing."""
        handle = self._handles.pop(number, None)
        if handle is not None:
            handle.cancel()
            self._closing.pop(number, None)

    def cancel_all(self) -> None:
        """The event is over: nothing fires any more."""
        for handle in self._handles.values():
            handle.cancel()
        self._handles.clear()
        while self._closing:
            _, close = self._closing.popitem()
            close()


#: The timers of the running event, None outside any.
event_timers: ContextVar[Timers | None] = ContextVar("event_timers", default=None)

# For code that runs outside any event, such as an embedding program.
_OUTSIDE_EVENTS: Final = Timers()


def current_timers() -> Timers:
    """Where a timer that is made now belongs."""
    return _OUTSIDE_EVENTS if (timers := event_timers.get()) is None else timers


def _loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise Error._make(_GLOBAL_SCOPE) from None


def _milliseconds(delay: Any) -> float:
    if delay is None:
        return 0
    number = to_number(delay)
    return min(number, _LONGEST) if number > 0 else 0


def _bound(name: str, function: Any, args: tuple[Any, ...]) -> Callable[[], Any]:
    if not callable(function):
        if name in ("setImmediate", "queueMicrotask"):
            raise wrong_type(name, "ServiceWorkerGlobalScope", 1, "function")
        raise TypeError_(
            f'The "callback" argument must be of type function. Received {_received(function)}'
        )
    return (lambda: function(*args)) if args else function


def _received(value: Any) -> str:
    """A value as the texts of Node's errors show it."""
    if is_nullish(value):
        return to_string(value)
    kind = type_of(value)
    if kind == "object":
        return f"an instance of {js_class_name(value) or 'Object'}"
    return f"type {kind} ({repr(value) if kind == 'string' else to_string(value)})"


def setTimeout(function: Any, delay: Any = None, *args: Any) -> int:
    """Call a function, sync or async, after ``delay`` milliseconds."""
    return current_timers().start(_bound("setTimeout", function, args), _milliseconds(delay))


def setInterval(function: Any, delay: Any = None, *args: Any) -> int:
    """Call a function every ``delay`` milliseconds."""
    bound = _bound("setInterval", function, args)
    return current_timers().start(bound, _milliseconds(delay), repeat=True)


def setImmediate(function: Any, *args: Any) -> int:
    """Call a function in the next turn of the event loop."""
    return current_timers().start(_bound("setImmediate", function, args), 0)


def clearTimeout(number: Any = None) -> None:
    """Stop a timer; anything that is no timer's number is ignored."""
    if isinstance(number, int):
        current_timers().cancel(number)


clearInterval = clearImmediate = clearTimeout


def queueMicrotask(function: Any) -> None:
    """Call a function once the running code has come to its end or its next wait."""
    bound = _bound("queueMicrotask", function, ())
    _loop().call_soon(lambda: supervise(run_callback.get()(bound)))


class Scheduler(JsInstance, js_name="Scheduler"):
    """``scheduler.wait(ms, {"signal": ...})``."""

    def wait(self, milliseconds: Any = 0, options: Any = None, **members: Any) -> JsPromise:
        """A promise that is fulfilled after that time. Rejects: the signal's reason."""
        signal = get_property(members if is_nullish(options) else options, "signal")
        if signal is not None and signal.aborted:
            return rejected(as_error(signal.reason))
        promise = JsPromise(loop=_loop())

        def done() -> None:
            if not promise.done():
                promise.set_result(None)

        handle = later(promise.get_loop(), _milliseconds(milliseconds) / 1000, done)
        if signal is not None:

            def aborted() -> None:
                handle.cancel()
                if not promise.done():
                    promise.set_exception(as_error(signal.reason))

            signal.on_abort(aborted)
        return promise


scheduler: Scheduler = Scheduler._make()
