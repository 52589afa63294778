"""``AbortController`` and ``AbortSignal``.

Source: https://dom.spec.whatwg.org/#aborting-ongoing-activities and workerd ``api/basics.c++``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .array import items_of
from .error import DOMException, TypeError_
from .events import Event, EventTarget
from .promise import as_error
from .value import JsInstance
from .webidl import integer

__all__ = ["AbortController", "AbortSignal"]


class AbortSignal(EventTarget, js_name="AbortSignal"):
    """Tells an operation to stop: ``aborted``, ``reason``, an ``abort`` event. Made by its statics or a controller."""

    _no_clone = "AbortSignal serialization is not enabled."
    _python_names = frozenset({"is_the_clients"})

    aborted: bool = False
    reason: Any = None
    #: Whether it is the one of a request that a worker was sent, which does not go on with the request.
    is_the_clients: bool = False
    onabort: Any = None
    _callbacks: list[Callable[[], None]]

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        raise TypeError_("Illegal constructor")

    @classmethod
    def fresh(cls) -> AbortSignal:
        """A signal that has not been aborted."""
        signal: AbortSignal = object.__new__(cls)
        signal._callbacks = []
        return signal

    @classmethod
    def abort(cls, reason: Any = None) -> AbortSignal:
        """A signal that is aborted already."""
        signal = cls.fresh()
        signal.signal_abort(reason)
        return signal

    @classmethod
    def timeout(cls, milliseconds: Any = 0) -> AbortSignal:
        """A signal that aborts with a TimeoutError after that time."""
        from .timers import current_timers

        signal = cls.fresh()
        current_timers().start(
            lambda: signal.signal_abort(
                DOMException._make("The operation was aborted due to timeout", "TimeoutError")
            ),
            integer(milliseconds, 0),
        )
        return signal

    @classmethod
    def any(cls, signals: Any = None) -> AbortSignal:
        """A signal that aborts with the first of these."""
        made = cls.fresh()
        sources = items_of(signals)
        if not all(isinstance(source, AbortSignal) for source in sources):
            raise TypeError_(
                "Failed to execute 'any' on 'AbortSignal': parameter 1 is not of type 'Array of AbortSignal'."
            )
        for source in sources:
            if source.aborted:
                made.signal_abort(source.reason)
                return made
        forgets: list[Callable[[], None]] = []

        def follow(source: AbortSignal) -> None:
            for forget in forgets:
                forget()
            made.signal_abort(source.reason)

        forgets += [source.on_abort(partial(follow, source)) for source in sources]
        return made

    def signal_abort(self, reason: Any) -> None:
        """Abort. No reason stands for an AbortError."""
        if self.aborted:
            return
        self.aborted = True
        if reason is None:
            reason = DOMException._make("The operation was aborted", "AbortError")
        self.reason = reason
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
        if self.has_listeners("abort"):
            self.dispatchEvent(Event._make("abort", trusted=True))

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """For this package's own code: call when aborted. Gives a function that forgets the callback."""
        if self.aborted:
            callback()
            return lambda: None
        self._callbacks.append(callback)

        def forget() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return forget

    def throwIfAborted(self) -> None:
        """Raises: the reason, when aborted."""
        if self.aborted:
            raise as_error(self.reason)


class AbortController(JsInstance, js_name="AbortController"):
    """``AbortController.new()``: its ``signal``, and ``abort(reason)``."""

    signal: AbortSignal

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        controller: AbortController = object.__new__(cls)
        controller.signal = AbortSignal.fresh()
        return controller

    def abort(self, reason: Any = None) -> None:
        self.signal.signal_abort(reason)
