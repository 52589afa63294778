"""What Workers print, as lines of their console: production turns each printed line into a ``console.log``."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyflare.workers.current import current

from .log import ConsoleLine, RecordingLog

__all__ = ["keeping_prints"]


@contextmanager
def keeping_prints(log: RecordingLog, is_mine: Callable[[object], bool]) -> Iterator[None]:
    """Keep what is printed meanwhile by the Workers whose scopes are mine; it is printed as well.

    A line is kept when it is complete.
    """
    kept = _Kept(log, is_mine, builtins.print)
    builtins.print = kept
    try:
        yield
    finally:
        kept.is_over = True
        if builtins.print is kept:
            builtins.print = kept.original


class _Kept:
    """Stands in the place of ``print``."""

    def __init__(
        self, log: RecordingLog, is_mine: Callable[[object], bool], original: Callable[..., None]
    ) -> None:
        self.original = original
        self.is_over = False
        self._log = log
        self._is_mine = is_mine
        self._begun: dict[str, str] = {}

    def __call__(self, *values: Any, **options: Any) -> None:
        scope = current.get()
        if (
            scope is not None
            and not self.is_over
            and options.get("file") in (None, sys.stdout)
            and self._is_mine(scope)
        ):
            written = io.StringIO()
            self.original(*values, **{**options, "file": written})
            *lines, rest = (self._begun.pop(scope.name, "") + written.getvalue()).split("\n")
            self._log.console_lines += (ConsoleLine(scope.name, "log", each) for each in lines)
            if rest:
                self._begun[scope.name] = rest
        self.original(*values, **options)
