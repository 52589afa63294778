"""Contents that are taken over from somewhere else, such as another program's files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

__all__ = ["StoredContent"]


class StoredContent(Protocol):
    """One value that can be read more than once; `size` in bytes.

    Reading raises what says to a person which file is at fault, also when it gives more or less
    than `size` bytes.
    """

    @property
    def size(self) -> int: ...

    def read(self) -> bytes:
        """All of it at once."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """All of it, in pieces."""
        ...
