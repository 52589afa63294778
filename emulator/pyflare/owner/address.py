"""Where an owner listens: a socket in the state directory, for this user alone.

A socket's path may have about a hundred bytes. Where the state directory lies too deep, the socket lies in a directory
of its own among the temporary files, and the lease says where.
"""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path
from typing import Final

from pyflare_bindings.lease import Lease, read_holder

__all__ = ["OwnerSocket", "connect"]

_NAME: Final = "owner.sock"
#: 104 on macOS and the BSDs, 108 on Linux, with the zero at the end.
_LONGEST_PATH: Final = 103
_BACKLOG: Final = 512
_PREFIX: Final = "pyflare-owner-"


class OwnerSocket:
    """The listening socket of the process that holds ``lease``.

    Raises OSError when it cannot be made. :attr:`listening` does not block.
    """

    def __init__(self, lease: Lease) -> None:
        _remove_older(lease)
        self._elsewhere: Path | None = None
        path = lease.root / _NAME
        if len(os.fsencode(path)) > _LONGEST_PATH:
            import tempfile

            self._elsewhere = Path(tempfile.mkdtemp(prefix=_PREFIX))
            path = self._elsewhere / _NAME
        self._path = path
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.listening.bind(str(path))
            # Before anybody can connect.
            os.chmod(path, 0o600)
            self.listening.listen(_BACKLOG)
            self.listening.setblocking(False)
            lease.tell(socket=str(path))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Take no more connections, and leave nothing behind."""
        self.listening.close()
        with contextlib.suppress(OSError):
            self._path.unlink()
        if self._elsewhere is not None:
            with contextlib.suppress(OSError):
                self._elsewhere.rmdir()


def connect(root: Path, seconds: float) -> socket.socket | None:
    """A connection to whoever owns a state directory; None when nobody answers (yet, or any more).

    Args: ``seconds`` that one step over the connection may take.
    """
    if not hasattr(socket, "AF_UNIX"):
        return None
    path = root / _NAME
    if len(os.fsencode(path)) > _LONGEST_PATH:
        told = read_holder(root).get("socket")
        if not isinstance(told, str):
            return None
        path = Path(told)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(seconds)
    try:
        made.connect(str(path))
    except OSError:
        made.close()
        return None
    return made


def _remove_older(lease: Lease) -> None:
    """What an owner before this one could not remove, since it was killed."""
    with contextlib.suppress(OSError):
        (lease.root / _NAME).unlink()
    told = lease.before.get("socket")
    if not isinstance(told, str):
        return
    path = Path(told)
    if path.name == _NAME and path.parent.name.startswith(_PREFIX):
        with contextlib.suppress(OSError):
            path.unlink()
            path.parent.rmdir()
