"""``ctx.tracing``: a worker's own spans. Nothing records them here, as in production where a request is not traced.

Source of the behaviour: workerd ``src/workerd/api/tracing.h``.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from pyflare.js.promise import run
from pyflare.js.value import JsInstance
from pyflare.js.webidl import wrong_type

__all__ = ["TRACING", "Span", "Tracing"]


class Span(JsInstance, js_name="Span"):
    """A span that is not recorded."""

    @property
    def isTraced(self) -> bool:
        return False

    def setAttribute(self, _key: Any = None, _value: Any = None, *_: Any) -> Span:
        return self

    def setAttributes(self, _attributes: Any = None, *_: Any, **__: Any) -> Span:
        return self

    def end(self, *_: Any) -> None:
        """Nothing is submitted."""


class Tracing(JsInstance, js_name="Tracing"):
    """What ``ctx.tracing`` and the ``tracing`` of ``cloudflare:workers`` are."""

    @property
    def Span(self) -> Any:
        return Span

    def enterSpan(self, *arguments: Any) -> Any:
        """Call ``callback(span, *more)`` of ``(name, callback, *more)`` and give its result; of async code a promise.

        Raises: TypeError without a name or a function; what the function raises.
        """
        return _enter("enterSpan", arguments)

    def startActiveSpan(self, *arguments: Any) -> Any:
        """The same; the function has to end the span itself. Raises: as :meth:`enterSpan`."""
        return _enter("startActiveSpan", arguments)

    def startSpan(self, *name: Any) -> Any:
        """A span for the caller to end. Raises: TypeError without a name."""
        if not name:
            raise wrong_type("startSpan", "Tracing", 1, "string")
        return Span._make()


def _enter(method: str, arguments: tuple[Any, ...]) -> Any:
    if not arguments:
        raise wrong_type(method, "Tracing", 1, "string")
    function = arguments[1] if len(arguments) > 1 else None
    if not callable(function):
        raise wrong_type(method, "Tracing", 2, "Function")
    result = function(Span._make(), *arguments[2:])
    return run(result) if isinstance(result, Coroutine) else result


TRACING: Final = Tracing._make()
