"""Contents of values as files of their own, as wrangler's local state has them."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from pyflare_bindings.storage.errors import StateError

from .errors import SourceError, TargetError

__all__ = ["BlobFile", "BlobFiles", "unwritable", "write_blob"]

_CHUNK_BYTES: Final = 512 * 1024
_ID: Final = re.compile(r"[0-9a-f]{80}")
_RANDOM_BYTES: Final = 32
_TIME_BYTES: Final = 8
_COPY_AGAIN: Final = (
    "Copy the state directory once more, with wrangler stopped and the folders blobs too"
)


class BlobFile:
    """One content that can be read again and again; `size` in bytes. Reading raises SourceError."""

    __slots__ = ("_path", "_size")

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    def read(self) -> bytes:
        """All of it at once."""
        return b"".join(self.chunks())

    def chunks(self) -> Iterator[bytes]:
        """All of it, in pieces."""
        size = 0
        try:
            with self._path.open("rb", buffering=0) as file:
                while chunk := file.read(_CHUNK_BYTES):
                    size += len(chunk)
                    yield chunk
        except OSError as error:
            raise _unreadable(self._path, error) from error
        if size != self._size:
            raise _wrong_size(self._path, self._size, size)


class BlobFiles:
    """The contents of one resource, by their ids."""

    __slots__ = ("_directory",)

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def find(self, id: object, size: int | None = None) -> BlobFile:
        """A content that is whole; `size`, where it is known, in bytes. Raises SourceError."""
        if not isinstance(id, str) or _ID.fullmatch(id) is None:
            raise SourceError(self._directory, f"{id!r} is no name of a content in it", _COPY_AGAIN)
        path = self._directory / id
        try:
            found = os.stat(path).st_size
        except OSError as error:
            raise _unreadable(path, error) from error
        if size is not None and found != size:
            raise _wrong_size(path, size, found)
        return BlobFile(path, found)

    def remove(self, ids: Iterable[object]) -> None:
        """Remove contents that nothing refers to any more; what cannot be removed stays."""
        for id in ids:
            if isinstance(id, str) and _ID.fullmatch(id):
                with contextlib.suppress(OSError):
                    (self._directory / id).unlink()


def _unreadable(path: Path, error: OSError) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceError(path, "this content is missing", _COPY_AGAIN)
    return SourceError(
        path, f"this content cannot be read ({os.strerror(error.errno or 0)})", "Make it readable"
    )


def _wrong_size(path: Path, expected: int, found: int) -> SourceError:
    return SourceError(path, f"this content has {found} bytes instead of {expected}", _COPY_AGAIN)


async def write_blob(directory: Path, content: AsyncIterator[bytes], milliseconds: int) -> str:
    """Write a content to a new file. Out: its id, which has the time in it. Raises TargetError."""
    id = secrets.token_hex(_RANDOM_BYTES) + milliseconds.to_bytes(_TIME_BYTES, "big").hex()
    path = directory / id
    try:
        with _create(path) as file:
            async for chunk in content:
                file.write(chunk)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise unwritable(path, error) from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return id


def _create(path: Path) -> BinaryIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("xb")


def unwritable(path: Path, error: OSError) -> StateError:
    """The error for a place that cannot be written to."""
    return TargetError(
        path,
        f"this cannot be written ({os.strerror(error.errno or 0)})",
        "Free some space, make it writable, or choose another directory",
    )
