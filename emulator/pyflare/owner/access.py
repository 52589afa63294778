"""Reaching the state of a directory for a few operations, with or without a process that owns it.

Where another process owns the directory it is asked. Where nobody does, this process owns it as long as it needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from .client import OwnerLost, OwnerRefused, OwnerSilent, RemoteAccess
from .pace import next_step

__all__ = ["Access", "OwnerLost", "OwnerRefused", "open_state"]

_NOTICE_SECONDS: Final = 1.0
#: For the first answer of an owner; the next ones may take longer.
_ANSWER_SECONDS: Final = 1.0
_STANDS_STILL: Final = (
    "It may stand at a breakpoint, be suspended, or run code that holds its event loop."
)


class Access(Protocol):
    """Does operations, wherever the files are open."""

    def call(self, operation: str, /, body: Iterable[bytes] | None = None, **arguments: Any) -> Any:
        """Do an operation and give its value."""
        ...

    def fetch(
        self, operation: str, /, body: Iterable[bytes] | None = None, **arguments: Any
    ) -> tuple[Any, Iterator[bytes]]:
        """Do an operation and give its value and the pieces of its body, which have to be read next."""
        ...

    def close(self) -> None:
        """Let go of the state."""
        ...


def open_state(
    root: Path, *, notice: Callable[[str], None] = lambda _: None, seconds: float = 60.0
) -> Access:
    """Reach the state directory ``root``, at once or when whoever keeps it for a moment is done.

    Args: ``notice`` is told when that takes longer; ``seconds`` to wait at most. Raises OwnerRefused, also when the
    owner does not answer in that time, :class:`pyflare_bindings.lease.LeaseHeld` when another one keeps the directory,
    and OSError for a directory that cannot be used.
    """
    begun = time.monotonic()
    noticed = silent = False
    while True:
        try:
            remote = RemoteAccess.connect(root, 10.0 if silent else _ANSWER_SECONDS)
        except OwnerSilent:
            silent = True
        else:
            if remote is not None:
                return remote
        # Imported only now: with an owner nothing of it is needed.
        from pyflare_bindings.lease import LeaseHeld

        from .local import LocalAccess

        try:
            return LocalAccess(root)
        except LeaseHeld as held:
            waited = time.monotonic() - begun
            who = f"process {held.holder['pid']}" if "pid" in held.holder else "another process"
            if waited > seconds:
                if silent:
                    raise OwnerRefused(
                        f"The state directory {root} is open in {who}, which does not answer. {_STANDS_STILL} Let it "
                        "go on, or end it."
                    ) from None
                raise
            if waited > _NOTICE_SECONDS and not noticed:
                noticed = True
                why = f"does not answer. {_STANDS_STILL}" if silent else "uses it at the moment."
                notice(f"Waiting for {who}, which has {root} open and {why}")
            time.sleep(next_step(waited))
