"""Events and their targets.

Source: https://dom.spec.whatwg.org/#events and workerd ``api/basics.c++``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from .array import JsArray
from .callbacks import FAILURES, report, supervise
from .error import DOMException, TypeError_
from .value import JsInstance, get_property, is_nullish, jsnull, own_properties
from .webidl import integer, text, wrong_construction

__all__ = ["CloseEvent", "CustomEvent", "ErrorEvent", "Event", "EventTarget", "MessageEvent"]


class Event(JsInstance, js_name="Event"):
    """``Event.new(type, {"bubbles": ..., "cancelable": ..., "composed": ...})``."""

    NONE: ClassVar[int] = 0
    CAPTURING_PHASE: ClassVar[int] = 1
    AT_TARGET: ClassVar[int] = 2
    BUBBLING_PHASE: ClassVar[int] = 3

    def __init__(self, kind: str, options: Any = None, *, trusted: bool = False) -> None:
        self.type = kind
        self.bubbles = bool(get_property(options, "bubbles"))
        self.cancelable = bool(get_property(options, "cancelable"))
        self.composed = bool(get_property(options, "composed"))
        self.isTrusted = trusted
        #: Production tells no time here.
        self.timeStamp = 0
        self.eventPhase = self.NONE
        self.target: Any = None
        self.currentTarget: Any = None
        self.defaultPrevented = False
        self.cancelBubble = False
        self._stopped = False

    @classmethod
    def _construct(cls, kind: Any = None, options: Any = None, *_: Any) -> Any:
        if kind is None:
            raise wrong_construction(cls._js_name, 1, "string")
        return cls._make(text(kind), options)

    @property
    def srcElement(self) -> Any:
        return self.target

    @property
    def returnValue(self) -> bool:
        return not self.defaultPrevented

    def preventDefault(self) -> None:
        if self.cancelable:
            self.defaultPrevented = True

    def stopPropagation(self) -> None:
        self.cancelBubble = True

    def stopImmediatePropagation(self) -> None:
        self.cancelBubble = True
        self._stopped = True

    def composedPath(self) -> Any:
        return JsArray.adopt([] if is_nullish(self.currentTarget) else [self.currentTarget])


class CustomEvent(Event, js_name="CustomEvent"):
    """``CustomEvent.new(type, {"detail": ...})``."""

    def __init__(self, kind: str, options: Any = None, *, trusted: bool = False) -> None:
        Event.__init__(self, kind, options, trusted=trusted)
        self.detail = get_property(options, "detail")


class MessageEvent(Event, js_name="MessageEvent"):
    """``MessageEvent.new(type, {"data": ...})``: a message of a WebSocket or port."""

    _own_items = own_properties("data", "origin", "lastEventId", "source", "ports")

    def __init__(self, kind: str, options: Any = None, *, trusted: bool = False) -> None:
        Event.__init__(self, kind, options, trusted=trusted)
        self.data = get_property(options, "data")
        self.origin = _member(options, "origin", jsnull)
        self.lastEventId = _member(options, "lastEventId", "")
        self.source = _member(options, "source", jsnull)

    @property
    def ports(self) -> Any:
        return JsArray.adopt([])


class CloseEvent(Event, js_name="CloseEvent"):
    """``CloseEvent.new(type, {"code": ..., "reason": ..., "wasClean": ...})``."""

    _own_items = own_properties("code", "reason", "wasClean")

    def __init__(self, kind: str, options: Any = None, *, trusted: bool = False) -> None:
        Event.__init__(self, kind, options, trusted=trusted)
        self.code = integer(get_property(options, "code"), 0)
        self.reason = text(_member(options, "reason", ""))
        self.wasClean = bool(get_property(options, "wasClean"))


class ErrorEvent(Event, js_name="ErrorEvent"):
    """``ErrorEvent.new(type, {"message": ..., "error": ...})``."""

    def __init__(self, kind: str, options: Any = None, *, trusted: bool = False) -> None:
        Event.__init__(self, kind, options, trusted=trusted)
        self.message = text(_member(options, "message", ""))
        self.filename = text(_member(options, "filename", ""))
        self.lineno = integer(get_property(options, "lineno"), 0)
        self.colno = integer(get_property(options, "colno"), 0)
        self.error = get_property(options, "error")


def _member(options: Any, name: str, default: Any) -> Any:
    value = get_property(options, name)
    return default if value is None else value


@dataclass(slots=True, eq=False)
class _Listener:
    callback: Any
    once: bool
    removed: bool = False

    def invoke(self, event: Event) -> None:
        handle = (
            self.callback if callable(self.callback) else get_property(self.callback, "handleEvent")
        )
        supervise(handle(event))


class EventTarget(JsInstance, js_name="EventTarget"):
    """``EventTarget.new()``. Listeners may be sync or async; what they raise is logged and stops no other listener.

    ``on<type>`` attributes are listeners too.
    """

    _listeners: dict[str, list[_Listener]] | None = None

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        return object.__new__(cls)

    def addEventListener(
        self, kind: Any, callback: Any = None, options: Any = None, **members: Any
    ) -> None:
        """Listen for a type of event. Options: ``once`` and ``signal``. Adding a listener twice adds it once."""
        if is_nullish(callback):
            return
        if not callable(callback) and get_property(callback, "handleEvent") is None:
            raise TypeError_(
                "addEventListener(): the listener is neither a function nor has it a handleEvent method."
            )
        given = members if is_nullish(options) else options
        if get_property(given, "capture") or given is True:
            raise TypeError_("addEventListener(): options.capture must be false.")
        signal = get_property(given, "signal")
        if signal is not None and signal.aborted:
            return
        if self._listeners is None:
            self._listeners = {}
        name = text(kind)
        held = self._listeners.setdefault(name, [])
        if any(_same(listener.callback, callback) for listener in held):
            return
        held.append(_Listener(callback, bool(get_property(given, "once"))))
        if signal is not None:
            signal.on_abort(lambda: self.removeEventListener(name, callback))

    def removeEventListener(
        self, kind: Any, callback: Any = None, options: Any = None, **_members: Any
    ) -> None:
        """Stop listening."""
        if self._listeners is None:
            return
        held = self._listeners.get(text(kind), [])
        for listener in list(held):
            if _same(listener.callback, callback):
                listener.removed = True
                held.remove(listener)

    def dispatchEvent(self, event: Any) -> bool:
        """Call the listeners in order. False when one of them prevented the default.

        Raises: InvalidStateError for an event that is being dispatched already.
        """
        if not isinstance(event, Event):
            raise TypeError_(
                "Failed to execute 'dispatchEvent' on 'EventTarget': parameter 1 is not of type 'Event'."
            )
        if event.eventPhase != Event.NONE:
            raise DOMException._make("The event is already being dispatched.", "InvalidStateError")
        event.target = event.currentTarget = self
        event.eventPhase = Event.AT_TARGET
        try:
            self._deliver(event)
        finally:
            event.eventPhase = Event.NONE
            event.currentTarget = jsnull
        return not event.defaultPrevented

    def _deliver(self, event: Event) -> None:
        attribute = getattr(self, f"on{event.type}", None)
        if callable(attribute):
            self._guard(lambda: supervise(attribute(event)))
        if self._listeners is None:
            return
        held = self._listeners.get(event.type, [])
        for listener in list(held):
            if event._stopped:
                return
            if listener.removed:
                continue
            if listener.once:
                listener.removed = True
                held.remove(listener)
            self._guard(partial(listener.invoke, event))

    def _guard(self, invocation: Callable[[], None]) -> None:
        """Call one listener; what it raises is logged."""
        try:
            invocation()
        except FAILURES as error:
            report(error)

    def has_listeners(self, kind: str) -> bool:
        """Whether an event of that type would reach anybody."""
        if callable(getattr(self, f"on{kind}", None)):
            return True
        return bool(self._listeners and self._listeners.get(kind))


def _same(left: Any, right: Any) -> bool:
    return left is right or (type(left) is type(right) and bool(left == right))
