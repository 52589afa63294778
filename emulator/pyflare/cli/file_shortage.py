"""Tells a person that the server cannot take connections because too many files are open."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from time import monotonic
from typing import Final

from pyflare_bindings.storage.open_files import open_files_allowed

__all__ = ["FileShortage"]

#: uvloop tells nobody: it closes what it has no descriptor for. So it is looked at now and then.
_LOOK_SECONDS: Final = 1.0
#: asyncio tells of it thousands of times a second, for as long as it lasts.
_QUIET_SECONDS: Final = 60.0
_SHORTAGES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class FileShortage:
    """Watches the process from :meth:`start` to :meth:`stop`.

    Args: ``tell`` is given one line, at most once a minute; nothing has to be opened for it.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._told = -_QUIET_SECONDS
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """To be called on the loop."""
        self._look(asyncio.get_running_loop())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def explains(self, error: object) -> bool:
        """Whether ``error``, for which a connection was not accepted, is a shortage; it is told then."""
        if not isinstance(error, OSError) or error.errno not in _SHORTAGES:
            return False
        now = monotonic()
        if now - self._told >= _QUIET_SECONDS:
            self._told = now
            self._tell(_text(error))
        return True

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            self.explains(error)
        self._timer = loop.call_later(_LOOK_SECONDS, self._look, loop)


def _text(error: OSError) -> str:
    match error.errno:
        case errno.EMFILE:
            allowed = open_files_allowed() or 0
            cause = f"Too many open files: this process may have {allowed:,} open at a time"
            remedy = "Close connections that are not needed, or raise the limit (ulimit -n) and start again."
        case errno.ENFILE:
            cause = "Too many open files: the system allows no further ones"
            remedy = "End other programs, or raise the limit of the system (fs.file-max)."
        case _:
            cause = f"The system is short of memory for connections ({error.strerror})"
            remedy = "End other programs."
    return f"{cause}. Until some are closed, new connections are not answered. {remedy}"
