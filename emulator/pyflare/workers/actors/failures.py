"""Why objects end, in the platform's words, and the marks that callers find on such errors.

Source: https://developers.cloudflare.com/durable-objects/best-practices/error-handling/ and workerd ``io/io-gate.h``.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Final

from pyflare.js.error import Error, JsException

__all__ = [
    "ABORTED",
    "BLOCKED_TOO_LONG",
    "CODE_UPDATED",
    "DEADLOCK",
    "NO_LONGER_ACCESSIBLE",
    "OUTPUT_TOO_LONG",
    "SHUTTING_DOWN",
    "for_caller",
    "marked",
    "reset_error",
]

ABORTED: Final = "Application called abort() to reset Durable Object."
BLOCKED_TOO_LONG: Final = (
    "A call to blockConcurrencyWhile() in a Durable Object waited for too long. The call was canceled and the Durable "
    "Object was reset."
)
DEADLOCK: Final = (
    "A critical section within this Durable Object awaited a Promise that apparently will never complete. This could "
    "happen in particular if a critical section awaits a task that was initiated outside of the critical section. "
    "Since a critical section blocks all other tasks from completing, this leads to deadlock."
)
NO_LONGER_ACCESSIBLE: Final = "Durable Object storage is no longer accessible."
OUTPUT_TOO_LONG: Final = (
    "Durable Object storage operation exceeded timeout which caused object to be reset."
)
CODE_UPDATED: Final = "Durable Object reset because its code was updated."
SHUTTING_DOWN: Final = "Server shutting down."


def marked(error: Any, **marks: bool | str) -> Any:
    """The same error, with ``overloaded``, ``durableObjectReset``... set on it."""
    for name, value in marks.items():
        setattr(error, name, value)
    return error


def reset_error(text: str, *, overloaded: bool = False) -> JsException:
    """The reason for which the platform itself ends an object."""
    error: JsException = marked(Error._make(text), durableObjectReset=True)
    return marked(error, overloaded=True) if overloaded else error


def for_caller(failure: BaseException, failed_at: TracebackType | None) -> BaseException:
    """The reason for one caller: an exception that is raised twice collects both tracebacks, so a copy if possible."""
    if not isinstance(failure, JsException):
        return failure.with_traceback(failed_at)
    copy: JsException = type(failure).__new__(type(failure))
    Exception.__init__(copy, failure.name, failure.message)
    copy.__dict__.update(failure.__dict__)
    copy.__cause__ = failure.__cause__
    return copy
