"""What a ``fetch`` handler returned, as a response.

Source: workerd ``src/pyodide/internal/introspection.py``, the SDK's module ``workers.rpc`` and workerd
``api/global-scope.c++``
"""

from __future__ import annotations

import inspect
from typing import Any, Final

from pyflare.js.error import TypeError_
from pyflare.js.response import Response

__all__ = ["not_a_response", "response_in"]

_NOT_A_RESPONSE: Final = "Incorrect type for Promise: the Promise did not resolve to 'Response'."


def response_in(result: Any) -> Response | None:
    """The response that a result is or holds, else None."""
    if isinstance(result, Response):
        return result
    # The SDK's Response and FetchResponse; `js_response` is also what older code returns by hand.
    wrapped = getattr(result, "js_response", None)
    return wrapped if isinstance(wrapped, Response) else None


def not_a_response(result: Any, handler: str, file: str, *, of_class: bool) -> Exception:
    """The error for a result without a response.

    ``of_class``: what a class returns is converted by Python first, which has errors of its own.
    """
    error: Exception = TypeError_(_NOT_A_RESPONSE)
    kind = type(result)
    shown = f"a value of type {getattr(kind, '_js_name', kind.__name__)}"
    advice = "return a Response"
    if result is None:
        shown = "None"
    elif of_class and isinstance(result, tuple | bytearray):
        error = TypeError(f"{type(result)} cannot be sent over RPC.")
    elif of_class and inspect.isawaitable(result):
        error = TypeError(f"Awaitable {type(result)} cannot be sent over RPC.")
        advice = "return what it gives: `return await ...`"
        if inspect.iscoroutine(result):
            # Python would warn that nobody has awaited it, which this says already.
            result.close()
    error.add_note(f"{handler} in {file} returned {shown}; {advice}.")
    return error
