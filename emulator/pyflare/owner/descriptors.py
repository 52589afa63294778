"""What is done before a process that takes connections in has no file descriptor left for its own files."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from typing import Final

from pyflare_bindings.storage.open_files import open_files_allowed

__all__ = ["SpareDescriptor", "are_scarce"]

_USED_UP: Final = (errno.EMFILE, errno.ENFILE)


def are_scarce(newest: socket.socket) -> bool:
    """Whether three quarters of the process's descriptors are in use; ``newest`` has just been made.

    The system gives the lowest number that is free, so that the number itself tells.
    """
    allowed = open_files_allowed()
    return allowed is not None and newest.fileno() * 4 >= allowed * 3


class SpareDescriptor:
    """A descriptor that is given up so that whoever waits can be told that there are no more."""

    __slots__ = ("_descriptor",)

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self.renew()

    def renew(self) -> None:
        """Have one again, if there is any."""
        if self._descriptor is None:
            with suppress(OSError):
                self._descriptor = os.open(os.devnull, os.O_RDONLY)

    def free_for(self, error: OSError) -> bool:
        """Free it where ``error`` says that there are no more. Out: whether there is one now."""
        if error.errno not in _USED_UP or self._descriptor is None:
            return False
        self.close()
        return True

    def close(self) -> None:
        """Give it back."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
