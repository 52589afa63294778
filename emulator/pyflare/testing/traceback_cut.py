"""Takes the emulator's own frames out of the traceback of a failing test."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final

__all__ = ["is_told_without_one", "without_machinery"]

_PACKAGES: Final = ("asyncio", "httpx", "pyflare", "pyflare_bindings", "pytest_asyncio", "workers")
# Found, not imported: the SDK can be imported only where a Worker is loaded.
_MACHINERY: Final = tuple(
    str(Path(found.origin).parent)
    for name in _PACKAGES
    if (found := find_spec(name)) is not None and found.origin is not None
)


def is_told_without_one(error: Exception) -> bool:
    """Whether the text of an exception says all of it: what to change about the project, not where it was raised."""
    from pyflare.config import ConfigError
    from pyflare.workers.space import IsolationError
    from pyflare_bindings.lease import LeaseHeld
    from pyflare_bindings.storage.errors import StateError

    return isinstance(error, ConfigError | IsolationError | LeaseHeld | StateError)


def without_machinery(error: Exception) -> Exception:
    """The exception, and those it came from, with the frames of the test and of the worker only.

    One whose frames are all the emulator's keeps them: it is a fault to be seen.
    """
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        each = pending.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = _cut(each.__traceback__)
        pending += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            pending += each.exceptions
    return error


def _cut(trace: TracebackType | None) -> TracebackType | None:
    frames: list[TracebackType] = []
    step = trace
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith(_MACHINERY):
            frames.append(step)
        step = step.tb_next
    if not frames:
        return trace
    result: TracebackType | None = None
    for each in reversed(frames):
        result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result
