"""The directory in which the owners keep their files: made, locked, watched, and given back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyflare_bindings.lease import Lease, LeaseHeld

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

__all__ = ["StateDirectory", "directory_in_memory"]

#: Where Linux has a file system in memory, and how many free bytes it must have: containers often have little.
_MEMORY: Final = Path("/dev/shm")
_ENOUGH: Final = 1 << 30

_LOOK_SECONDS: Final = 1.0


class StateDirectory:
    """A state directory that this process owns from :meth:`open` to :meth:`close`.

    Args: ``path`` where it is, None for a private temporary one; ``private_parent`` whether the directory above it is
    pyflare's own (``.pyflare``) and is kept out of version control; ``temporary_in`` the directory of a temporary one,
    by default the system's; ``about`` what others are told of this process.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        private_parent: bool = False,
        temporary_in: Path | None = None,
        **about: object,
    ) -> None:
        self._about = about
        self._temporary_in = temporary_in
        self._path = path
        self._private_parent = private_parent
        self._temporary: TemporaryDirectory[str] | None = None
        self._lease: Lease | None = None

    @property
    def path(self) -> Path:
        if self._path is None:
            import tempfile

            self._temporary = tempfile.TemporaryDirectory(prefix="pyflare-", dir=self._temporary_in)
            self._path = Path(self._temporary.name)
        return self._path

    def open(self, **about: object) -> None:
        """Make the directory and take its lock; ``about`` is what others are told of this process too.

        Raises LeaseHeld when another process has it, OSError when it cannot be made or written.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if self._private_parent:
            ignore = self.path.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
        self._about |= about
        self._lease = Lease.acquire(self.path, **self._about)

    @property
    def lease(self) -> Lease | None:
        """The lock on the directory while this process has it."""
        return self._lease

    @property
    def is_private(self) -> bool:
        """Whether the directory is a temporary one that nobody else knows of."""
        return self._temporary is not None

    async def watch(self, renewed: Callable[[], None], lost: Callable[[Exception], None]) -> None:
        """Look every second whether the directory is still there, for ever.

        When it was deleted it is made and locked anew, and ``renewed`` is called; ``lost`` when that fails, with
        LeaseHeld where another process was faster.
        """
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._lease is None or self._lease.held:
                continue
            self._lease.release()
            try:
                self.open()
            except (LeaseHeld, OSError) as error:
                lost(error)
                return
            renewed()

    def close(self) -> None:
        """Give the lock back; a temporary directory is removed."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None
        if self._temporary is not None:
            self._temporary.cleanup()


def directory_in_memory() -> Path | None:
    """A directory whose files are in memory, if there is one with room."""
    try:
        found = os.statvfs(_MEMORY)
    except (AttributeError, OSError):
        return None
    enough = found.f_bavail * found.f_frsize >= _ENOUGH
    return _MEMORY if enough and os.access(_MEMORY, os.W_OK) else None
