"""Names of ``pyodide.ffi`` that the oldest runtime does not have: a worker's own modules do not find them there.

Others do, such as the SDK, which is one for all workers of the process.

Source: https://pyodide.org/en/stable/project/changelog.html
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from ...js import semantics
from ...js.value import JsNull, jsnull
from ..suspension import can_run_sync, run_sync

__all__ = ["LATER_NAMES", "install", "is_hidden"]

LATER_NAMES: Final[dict[str, Any]] = {
    "JsNull": JsNull,
    "can_run_sync": can_run_sync,
    "jsnull": jsnull,
    "run_sync": run_sync,
}


def _nobody(_file: str | None) -> bool:
    return False


_is_own_file: Callable[[str | None], bool] = _nobody


def install(is_own_file: Callable[[str | None], bool]) -> None:
    """Say what is the running worker's own: ``is_own_file(path)``."""
    global _is_own_file
    _is_own_file = is_own_file


def is_hidden() -> bool:
    """Whether these names are not there for the code that asks, which is the caller's caller."""
    if not semantics.current().null_is_none:
        return False
    return _is_own_file(sys._getframe(2).f_globals.get("__file__"))
