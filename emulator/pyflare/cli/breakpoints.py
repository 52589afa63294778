"""What ``breakpoint()`` does in Workers under ``pyflare dev``, where ``PYTHONBREAKPOINT`` says nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyflare.workers.current import current

if TYPE_CHECKING:
    from pyflare.server.log import LogSink

__all__ = ["answering_breakpoints"]


@contextmanager
def answering_breakpoints(log: LogSink) -> Iterator[None]:
    """Start the debugger so that Ctrl-C still ends the session afterwards, behind what has been logged before.

    A Worker of another session has no terminal here: its prompt is at this process's, and without one it is passed
    over. Both are told where its log goes.
    """
    before = sys.breakpointhook
    if before is sys.__breakpointhook__ and "PYTHONBREAKPOINT" not in os.environ:
        sys.breakpointhook = _Hook(log)
    try:
        yield
    finally:
        sys.breakpointhook = before


class _Hook:
    def __init__(self, log: LogSink) -> None:
        self._log = log

    def __call__(self, *arguments: Any, **options: Any) -> None:
        frame = sys._getframe(1)
        scope = current.get()
        log = self._log if scope is None else self._log.of(scope.name)
        log.flush()
        streams: dict[str, Any] = {}
        if log is not self._log:
            where = f"breakpoint() at {frame.f_code.co_filename}:{frame.f_lineno}"
            here = f"process {os.getpid()}, where this Worker runs"
            if sys.__stdin__ is None or not sys.__stdin__.isatty():
                log.warning(f"{where} is passed over: {here}, has no terminal.")
                return
            log.info(f"{where}: the prompt is at the terminal of {here}.")
            log.flush()
            streams = {"stdin": sys.__stdin__, "stdout": sys.__stdout__}
        import pdb

        # Otherwise "continue" takes over SIGINT for good.
        pdb.Pdb(nosigint=True, **streams).set_trace(frame, *arguments, **options)
