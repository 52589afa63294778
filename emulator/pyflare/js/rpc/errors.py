"""The texts of remote calls, and what becomes of an exception on its way to the caller."""

from __future__ import annotations

import asyncio
import traceback
from types import TracebackType
from typing import Any, Final

from .. import error as errors
from ..error import DOMException, Error, JsException, TypeError_

__all__ = [
    "DEEPEST_PATH",
    "DISPOSED",
    "HOST_GONE",
    "NO_OBJECT",
    "PATH_TOO_DEEP",
    "PROMISE_DISPOSED",
    "RESERVED",
    "WRAPPABLE",
    "crossing",
    "is_cancelled",
    "is_passing",
    "no_method",
    "not_a_function",
    "reserved",
    "traceback_text",
]

DEEPEST_PATH: Final = 64
PATH_TOO_DEEP: Final = "RPC pipelined property path is too deep (max 64)."
NO_OBJECT: Final = "Can't pipeline on RPC that did not return an object."
DISPOSED: Final = "RPC stub used after being disposed."
PROMISE_DISPOSED: Final = "RPC promise used after being disposed."
WRAPPABLE: Final = "RpcStubs can only wrap plain objects, functions, and RpcTarget derivatives."
HOST_GONE: Final = "The execution context which hosts this callback is no longer running."

#: Names that are never methods for callers, by what is called.
RESERVED: Final = frozenset(
    {
        "fetch",
        "connect",
        "alarm",
        "webSocketMessage",
        "webSocketClose",
        "webSocketError",
        "dup",
        "constructor",
    }
)


def no_method(name: str) -> TypeError_:
    return TypeError_(f'The RPC receiver does not implement the method "{name}".')


def not_a_function(path: tuple[str, ...]) -> TypeError_:
    return TypeError_(f'"{".".join(path)}" is not a function.')


def reserved(name: str) -> TypeError_:
    return TypeError_(f"'{name}' is a reserved method and cannot be called over RPC.")


def is_cancelled() -> bool:
    """Whether somebody has asked for the end of the running task, as opposed to a cancellation of something in it."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def is_passing(error: BaseException) -> bool:
    """Whether an exception is the end of the running task or coroutine, as opposed to a failure of what it calls.

    A worker may raise what it likes: subclasses of BaseException are failures too.
    """
    if isinstance(error, asyncio.CancelledError):
        return is_cancelled()
    return isinstance(error, GeneratorExit)


_STANDARD: Final[dict[str, Any]] = {
    "Error": errors.Error,
    "EvalError": errors.EvalError,
    "RangeError": errors.RangeError,
    "ReferenceError": errors.ReferenceError_,
    "SyntaxError": errors.SyntaxError_,
    "TypeError": errors.TypeError_,
    "URIError": errors.URIError,
}
#: What the platform itself says about a failure.
_MARKS: Final = ("retryable", "overloaded", "durableObjectReset", "durableObjectId")
#: Frames of these packages are the machinery around a worker's code.
_MACHINERY: Final = ("pyflare.", "workers.")
#: What resumes tasks, and so is between the frames of a worker's code and of what that awaits.
_DRIVERS: Final = "pyflare.workers."


def crossing(error: BaseException) -> JsException:
    """The exception as the caller gets it: another object, of a standard class, with ``remote`` set.

    Standard names and DOM exceptions keep class and message; every other name becomes part of the message of an
    ``Error``, also ``PythonError``, whose message is the whole traceback.
    """
    made: JsException
    if isinstance(error, DOMException):
        made = DOMException._make(error.message, error.name)
    elif isinstance(error, JsException):
        standard = _STANDARD.get(error.name)
        made = Error._make(error.toString()) if standard is None else standard._make(error.message)
    else:
        made = Error._make(f"PythonError: {traceback_text(error)}")
    for mark in _MARKS:
        value = getattr(error, mark, None)
        if value is not None:
            setattr(made, mark, value)
    made.remote = True  # type: ignore[attr-defined]
    return made


def traceback_text(error: BaseException) -> str:
    """The traceback of a Python exception from the worker's first frame on, as the platform shows it."""
    frames = _own_frames(error.__traceback__)
    text = "".join(traceback.format_exception(type(error), error, frames))
    return text if frames is not None else f"Traceback (most recent call last):\n{text}"


def _own_frames(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the worker's first frame on, without what drives its tasks; None where it has no frame."""
    at = trace
    while at is not None and _module(at).startswith(_MACHINERY):
        at = at.tb_next
    kept = []
    while at is not None:
        if not _module(at).startswith(_DRIVERS):
            kept.append(at)
        at = at.tb_next
    frames: TracebackType | None = None
    for each in reversed(kept):
        frames = TracebackType(frames, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return frames


def _module(trace: TracebackType) -> str:
    return str(trace.tb_frame.f_globals.get("__name__", ""))
