"""Tracebacks that begin in the user's file: the runtime's own frames are left out and counted."""

from __future__ import annotations

import importlib.util
import os
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from .converted_values import hint_about_conversion

__all__ = ["Frame", "describe", "format_traceback", "user_frames"]

#: Packages that belong to the runtime although they are installed beside the user's libraries.
#: Frames of libraries between two of the user's own that are still shown.
_MOST_BETWEEN: Final = 3
_RUNTIME_PACKAGES: Final = ("workers", "asgi.py", "greenlet", "uvicorn")
_MOST_FRAMES = 50
_LINES_AROUND = 4


@dataclass(slots=True, frozen=True)
class Frame:
    """One frame of the user's own code, with the source lines around the one that ran."""

    file: str
    line: int
    function: str
    source: tuple[tuple[int, str], ...]


def describe(error: BaseException) -> tuple[str, str]:
    """Name and message of an exception as a person knows them; a JavaScript error goes by its JavaScript name."""
    from pyflare.js.error import JsException

    if isinstance(error, JsException):
        return error.name, error.message
    try:
        return type(error).__name__, str(error)
    except Exception as failure:
        return type(error).__name__, f"<no message: its __str__ raised {type(failure).__name__}>"


def client_has_gone(error: BaseException) -> bool:
    """Whether an exception, or every one of a group, only says that the client of a response has disconnected."""
    from pyflare.js.error import JsException

    if isinstance(error, BaseExceptionGroup):
        return all(client_has_gone(each) for each in error.exceptions)
    return (
        isinstance(error, JsException)
        and error.name == "AbortError"
        and error.message.startswith("The client disconnected")
    )


def format_traceback(error: BaseException, *, full: bool = False) -> str:
    """The plain Python traceback with its chain of causes; ``full`` keeps the runtime's frames."""
    summary = traceback.TracebackException.from_exception(error)
    if (hint := hint_about_conversion(error)) is not None:
        summary.__notes__ = [*(summary.__notes__ or ()), hint]
    hidden = 0
    if not full:
        for part in _parts(summary):
            kept = _fold(part.stack, deliberate=_deliberate(part.exc_type))
            hidden += len(part.stack) - len(kept)
            part.stack = traceback.StackSummary.from_list(kept)
    text = "".join(summary.format())
    text = text.replace("pyflare.js.error.JsException: ", "pyodide.ffi.JsException: ")
    if hidden:
        noun = "frame" if hidden == 1 else "frames"
        text += f"({hidden} {noun} of the runtime and of frameworks not shown; --log-level debug shows them)\n"
    return text


def user_frames(error: BaseException) -> list[Frame]:
    """The frames of the user's code, the innermost last, each with an excerpt of its source."""
    import linecache

    frames = []
    stack = _fold(traceback.extract_tb(error.__traceback__), deliberate=_deliberate(type(error)))
    for summary in stack[-_MOST_FRAMES:]:
        line = summary.lineno or 0
        numbers = range(max(1, line - _LINES_AROUND), line + _LINES_AROUND + 1)
        excerpt = [(number, linecache.getline(summary.filename, number)) for number in numbers]
        source = tuple((number, text.rstrip("\n")) for number, text in excerpt if text)
        frames.append(Frame(summary.filename, line, summary.name, source))
    return frames


def _parts(
    summary: traceback.TracebackException,
) -> Iterator[traceback.TracebackException]:
    pending = [summary]
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        context = None if part.__suppress_context__ else part.__context__
        pending += [other for other in (part.__cause__, context) if other is not None]
        pending += part.exceptions or []


def _deliberate(kind: type[BaseException] | None) -> bool:
    """Whether errors of this class tell the user's mistake by themselves, without a frame of the user's."""
    from pyflare.config.diagnostics import ConfigError
    from pyflare.js.error import JsException

    return kind is not None and issubclass(kind, JsException | SyntaxError | ConfigError)


def _fold(stack: list[traceback.FrameSummary], *, deliberate: bool) -> list[traceback.FrameSummary]:
    """Everything from the first frame of the user's own file on, without the runtime's frames.

    An error that never touched the user's files and is not ``deliberate`` keeps its frames: it is a fault of the
    runtime and has to be seen.
    """
    kinds = [_kind(frame.filename) for frame in stack]
    if "user" not in kinds:
        return [] if deliberate else list(stack)
    first = kinds.index("user")
    last = len(kinds) - 1 - kinds[::-1].index("user")
    return [
        frame
        for index, (frame, kind) in enumerate(zip(stack, kinds, strict=True))
        if kind == "user"
        or (kind == "library" and (index > last or (first < index and _few(kinds, index))))
    ]


def _few(kinds: list[str], index: int) -> bool:
    """Whether the frames of libraries around this one are so few that they help: a framework's dispatch is dozens."""
    start = end = index
    while start > 0 and kinds[start - 1] != "user":
        start -= 1
    while end < len(kinds) - 1 and kinds[end + 1] != "user":
        end += 1
    return kinds[start : end + 1].count("library") <= _MOST_BETWEEN


@cache
def _places() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The directories of the runtime and those of libraries, each with a separator at its end."""
    packages = [os.path.dirname(os.path.dirname(__file__))]
    bindings = importlib.util.find_spec("pyflare_bindings")
    if bindings is not None and bindings.origin is not None:
        packages.append(os.path.dirname(bindings.origin))
    # Not asked of `sysconfig`, which opens files: there may be none left.
    standard = os.path.dirname(traceback.__file__)
    runtime = (*packages, os.path.join(standard, "asyncio"), os.path.join(standard, "importlib"))
    return tuple(path + os.sep for path in runtime), (standard + os.sep,)


def is_user_file(filename: str) -> bool:
    """Whether code of this file is a person's own, not the runtime's and not a library's."""
    return _kind(filename) == "user"


@cache
def _kind(filename: str) -> str:
    """``user``, ``library`` or ``runtime``."""
    runtime, libraries = _places()
    if filename.startswith(("<frozen ", *runtime)):
        return "runtime"
    for directory in ("site-packages", "dist-packages"):
        _, found, inside = filename.rpartition(f"{os.sep}{directory}{os.sep}")
        if found:
            top = inside.split(os.sep, 1)[0]
            return "runtime" if top in _RUNTIME_PACKAGES else "library"
    return "library" if filename.startswith(libraries) else "user"
