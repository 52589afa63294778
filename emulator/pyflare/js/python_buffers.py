"""Python's ``bytes`` and their kin in JavaScript's hands.

They arrive as a ``PyProxy``, which is no buffer to JavaScript: a class that takes buffers or text takes their text,
``b'...'``, and one that takes buffers alone refuses them. Neither says what is at fault, so that the worker's log does,
once for each place in the code.

Source: https://pyodide.org/en/stable/usage/type-conversions.html#buffers
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

from .array_buffer import JsBuffer, as_bytes
from .callbacks import console_sink

__all__ = ["is_python_buffer", "javascript_bytes", "told_places", "warn_of_buffer"]

#: Where in a worker's code a warning was given: files and lines. Whoever runs a worker sets one for its context; else
#: every warning is given.
told_places: ContextVar[set[tuple[str, int]] | None] = ContextVar("told_places", default=None)

_PACKAGE: Final = str(Path(__file__).parent.parent)


def is_python_buffer(value: Any) -> bool:
    """Whether this is a buffer of Python's, or a proxy of one, which is no buffer to JavaScript."""
    if type(value) is str or isinstance(value, JsBuffer):
        return False
    return as_bytes(value) is not None


def javascript_bytes(value: Any, taker: str) -> bytes | memoryview | None:
    """:func:`as_bytes` of a buffer of JavaScript's; None for all else, with a warning for one of Python's."""
    if isinstance(value, JsBuffer):
        return as_bytes(value)
    if is_python_buffer(value):
        warn_of_buffer(value, taker, refused=True)
    return None


def warn_of_buffer(value: Any, taker: str, *, refused: bool = False) -> None:
    """Say in the worker's log that ``taker`` does not see the bytes that it is given."""
    place = _place()
    told = told_places.get()
    if told is not None:
        if place in told:
            return
        told.add(place)
    kind = type(value).__name__
    outcome = "refuses them" if refused else f"takes their text, {_shortened(str(value))}"
    console_sink.get()(
        "warn",
        f"{Path(place[0]).name}, line {place[1]}: {taker} was given {kind} of Python, which reach JavaScript as a "
        f"PyProxy and not as a buffer: it {outcome}. Pass to_js(...) of them instead.",
    )


def _place() -> tuple[str, int]:
    """The innermost file and line outside of this package."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:36]}...{text[-1]}"
