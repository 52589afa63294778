"""Which process owns a state directory.

An operating-system lock on one file in the directory: it frees itself when the process ends, however it ends. The file
says who holds it, so that a second process can name the first.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["Lease", "LeaseHeld", "read_holder"]

_FILE: Final = "lease.json"


class LeaseHeld(Exception):
    """Another process owns the directory. ``holder`` is what it wrote about itself (``pid`` and more)."""

    def __init__(self, root: Path, holder: dict[str, Any]) -> None:
        self.root = root
        self.holder = holder
        who = f"process {holder['pid']}" if "pid" in holder else "another process"
        super().__init__(
            f"The state directory {root} is in use by {who}. Stop it, start all Workers in one process "
            "(`pyflare dev -c a/wrangler.jsonc -c b/wrangler.jsonc`), or choose another directory with --persist-to."
        )


@dataclass(slots=True)
class Lease:
    """The lock on a directory, held until :meth:`release` or the end of the process.

    :attr:`before` is what the process before this one wrote about itself.
    """

    root: Path
    _descriptor: int
    before: dict[str, Any] = field(default_factory=dict)
    _about: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def acquire(cls, root: Path, **about: Any) -> Lease:
        """Take the lock at once or not at all.

        Args: ``root`` an existing directory; ``about`` what to tell others beside the process id.
        Raises :class:`LeaseHeld` when somebody has it, :class:`OSError` when the directory cannot be written.
        """
        path = root / _FILE
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        if not _try_lock(descriptor):
            os.close(descriptor)
            raise LeaseHeld(root, _read(path))
        lease = cls(root, descriptor, _read(path))
        lease.tell(pid=os.getpid(), **about)
        return lease

    def tell(self, **about: Any) -> None:
        """Tell others more about this process, beside what they have been told before."""
        self._about |= about
        text = json.dumps(self._about).encode()
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, text)
        os.ftruncate(self._descriptor, len(text))

    @property
    def held(self) -> bool:
        """Whether the file that is locked is still the one that others would try to lock."""
        try:
            found = os.stat(self.root / _FILE)
        except OSError:
            return False
        own = os.fstat(self._descriptor)
        return (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)

    def release(self) -> None:
        """Give the lock back; harmless when it was given back before."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read_holder(root: Path) -> dict[str, Any]:
    """What the process that holds a directory, or was the last to hold it, wrote about itself; empty if nobody did."""
    return _read(root / _FILE)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


if os.name == "nt":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            # A byte far behind the text, so that others can read who holds the lock.
            os.lseek(descriptor, 1 << 20, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
