"""The bytes of assets: read on threads, small ones kept in memory for as long as the file stays as it is."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import BinaryIO, Final, TypeAlias

from cachetools import LRUCache

__all__ = ["Content", "Contents", "FileBody"]

#: The largest file, in bytes, that is answered in one piece and kept, and the sum of what is kept.
_LARGEST_KEPT: Final = 1 << 18
_MOST_KEPT: Final = 32 << 20
#: What an entry counts beside its bytes.
_ENTRY: Final = 512
_CHUNK: Final = 1 << 18
#: A file whose time is this recent, in nanoseconds, may change again without showing it.
_SETTLED_NS: Final = 50_000_000

_Identity: TypeAlias = tuple[int, ...]


@dataclass(slots=True)
class Content:
    """A file's tag, 32 hexadecimal digits of its bytes' hash, its length and its body.

    The body of a large file reads it while it is sent, and must be closed when it is not sent.
    """

    tag: str
    length: int
    body: bytes | FileBody


class FileBody:
    """The bytes of an open file, chunk by chunk; ``length`` is their number.

    ``read`` gives ``b""`` at the end, and raises OSError when the file was written to, or became shorter, meanwhile:
    its parts would not be those of one file, nor of its tag.
    """

    __slots__ = ("_closed", "_file", "_left", "_lock", "_reading", "_stamp", "length")

    def __init__(self, file: BinaryIO, length: int, found: os.stat_result | None = None) -> None:
        self._file = file
        self._stamp = _written(found or os.fstat(file.fileno()))
        self._left = length
        self._lock = threading.Lock()
        self._reading = False
        self._closed = False
        self.length: int | None = length

    async def read(self) -> bytes:
        if self._left == 0:
            self.close()
            return b""
        self._reading = True
        chunk = await asyncio.to_thread(self._read, min(_CHUNK, self._left))
        if not chunk:
            self.close()
            raise OSError(f"{self._file.name} became shorter while it was sent")
        self._left -= len(chunk)
        return chunk

    def _read(self, size: int) -> bytes:
        try:
            chunk = self._file.read(size)
            if chunk and _written(os.fstat(self._file.fileno())) != self._stamp:
                raise OSError(f"{self._file.name} was changed while it was sent")
            return chunk
        finally:
            with self._lock:
                self._reading = False
                if self._closed:
                    self._file.close()

    def close(self) -> None:
        """Close the file, once no thread reads in it: its number may be another file's by then."""
        with self._lock:
            self._closed = True
            if not self._reading:
                self._file.close()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = await self.read()
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        self.close()

    async def cancel(self, _reason: object) -> None:
        self.close()

    def __del__(self) -> None:
        # An answer that was never sent, such as one whose client left before it.
        self._file.close()


@dataclass(slots=True)
class _Kept:
    identity: _Identity
    tag: str
    body: bytes | None


class Contents:
    """Reads files by their real paths."""

    def __init__(self) -> None:
        self._kept: LRUCache[str, _Kept] = LRUCache(_MOST_KEPT, getsizeof=_size)

    async def open(self, path: str) -> Content | None:
        """What a file holds now; ``None`` when it is gone, or is no file of its own any more."""
        kept = self._kept.get(path)
        if kept is not None and kept.body is not None:
            try:
                found = os.lstat(path)
            except OSError:
                found = None
            if found is not None and _identity(found) == kept.identity:
                return Content(kept.tag, len(kept.body), kept.body)
        content, fresh = await asyncio.to_thread(_read, path, kept)
        if fresh is not None:
            self._kept[path] = fresh
        return content


def _size(kept: _Kept) -> int:
    return _ENTRY + len(kept.body or b"")


def _written(found: os.stat_result) -> tuple[int, int]:
    # Not the time of the change: a file that is replaced while it is read gets a new one, and stays whole.
    return found.st_mtime_ns, found.st_size


def _identity(found: os.stat_result) -> _Identity:
    # The time of the change too: a program may set the other one back.
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


def _read(path: str, kept: _Kept | None) -> tuple[Content | None, _Kept | None]:
    try:
        # A folder on the way may have been replaced by a link since the names were read.
        if os.path.realpath(path) != path:
            return None, None
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    except OSError:
        return None, None
    file = os.fdopen(descriptor, "rb", buffering=0)
    try:
        found = os.fstat(descriptor)
        identity = _identity(found)
        settled = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED_NS
        if found.st_size <= _LARGEST_KEPT:
            body = _all(file, found.st_size)
            content = Content(_hash(body), len(body), body)
            file.close()
            return content, _Kept(identity, content.tag, body) if settled else None
        if kept is not None and kept.identity == identity:
            tag = kept.tag
        else:
            tag = hashlib.file_digest(file, "sha256").hexdigest()[:32]
            file.seek(0)
        content = Content(tag, found.st_size, FileBody(file, found.st_size, found))
        return content, _Kept(identity, tag, None) if settled else None
    except BaseException:
        file.close()
        raise


#: Never wait for the other end of a pipe, and never follow a link that has just taken the file's place.
_FLAGS: Final = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:32]


def _all(file: BinaryIO, size: int) -> bytes:
    parts = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
