"""Reading one blob, whole or in part, also while it is being replaced or deleted."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .blob_errors import blob_error, wrong_size
from .errors import ClosedError, StateError

if TYPE_CHECKING:
    from .blobs import BlobStore

# One chunk is read ahead while the last one is used: a stream needs about twice this much memory.
_CHUNK_BYTES = 512 * 1024
# Up to so many bytes are read at once when the system has them in memory: that takes less time
# than to wake a thread and be woken by it. For more, the C library would take new memory from the
# system for each read on this thread, which takes more time than the threads do.
_AT_ONCE_BYTES = 256 * 1024
# How far apart it is asked whether the system has them; it reads files in steps of this size.
_STEP_BYTES = 128 * 1024
_NO_WAIT: int | None = getattr(os, "RWF_NOWAIT", None)


class BlobReader:
    """A blob that stays readable until `close`, or until nobody holds the reader any more.

    The file is opened when it is first read, so that a reader costs no file descriptor.
    """

    __slots__ = ("_open", "_path", "_store", "id", "size")

    def __init__(self, store: BlobStore, id: str, path: Path, size: int) -> None:
        self.id = id
        self.size = size
        self._store = store
        self._path = path
        self._open = True

    async def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes from `offset` on, `length` of them or all; both lie within the blob.

        Raises DamagedBlobError, or StateError when the file cannot be read.
        """
        if length is None:
            length = self.size - offset
        self._store.refuse_closed()
        if length <= _AT_ONCE_BYTES:
            data = _OpenFile(self._path, self.size).read_in_memory(offset, length)
            if data is not None:
                return data
        # The job keeps the reader, and with it the file, until it is done.
        job = self._store.submit(partial(self._read_now, offset, length))
        return await asyncio.wrap_future(job)

    def chunks(self, offset: int = 0, length: int | None = None) -> BlobChunks:
        """The same bytes as a stream of chunks, read ahead by one.

        The stream holds on to the blob by itself, until its end or its own `close`.
        """
        own = self._store.pin(self.id, self.size)
        return BlobChunks(own, offset, self.size - offset if length is None else length)

    def close(self) -> None:
        """Let go of the blob; what is being read goes on."""
        if self._open:
            self._open = False
            self._store.unpin(self.id)

    def __del__(self) -> None:
        self.close()

    def _open_file(self) -> _OpenFile:
        self._store.refuse_closed()
        return _OpenFile(self._path, self.size)

    def _read_now(self, offset: int, length: int) -> bytes:
        return _OpenFile(self._path, self.size).read(offset, length)

    def _submit_read(
        self, file: _OpenFile | None, offset: int, length: int
    ) -> Future[tuple[_OpenFile, bytes]]:
        return self._store.submit(partial(self._read_with, file, offset, length))

    def _read_with(
        self, file: _OpenFile | None, offset: int, length: int
    ) -> tuple[_OpenFile, bytes]:
        if file is None:
            file = _OpenFile(self._path, self.size)
        return file, file.read(offset, length)


class BlobChunks(AsyncIterator[bytes]):
    """The bytes of a part of a blob, in order. `close` ends it half-way; so does dropping it."""

    __slots__ = ("_ahead", "_at", "_end", "_file", "_reader")

    def __init__(self, reader: BlobReader, offset: int, length: int) -> None:
        self._reader: BlobReader | None = reader
        self._at = offset
        self._end = offset + length
        self._file: _OpenFile | None = None
        self._ahead: Future[tuple[_OpenFile, bytes]] | None = None

    def __aiter__(self) -> BlobChunks:
        return self

    async def __anext__(self) -> bytes:
        """The next chunk. Raises DamagedBlobError, or StateError when the file is unreadable."""
        try:
            if self._ahead is None and (at_once := await self._read_in_memory()) is not None:
                return at_once
            ahead = self._ahead or self._read_ahead(self._at)
            if ahead is None:
                self.close()
                raise StopAsyncIteration
            self._ahead = ahead
            # A caller that gives up waiting may ask again, and then gets this chunk.
            file, chunk = await asyncio.shield(asyncio.wrap_future(ahead))
            self._file = file
            following = self._at + len(chunk)
            self._ahead = self._read_ahead(following)
        except (StateError, ClosedError):
            self._let_go()
            raise
        self._at = following
        if self._ahead is None:
            # Not everybody who knows the length asks for the end.
            self.close()
        return chunk

    def close(self) -> None:
        """Let go of the blob and its file."""
        reader, self._reader = self._reader, None
        self._file = self._ahead = None
        self._at = self._end
        if reader is not None:
            reader.close()

    def _let_go(self) -> None:
        # Whoever asks again begins with the chunk that has failed, as long as there is the file.
        self._file = self._ahead = None
        if self._reader is not None:
            self._reader.close()

    async def _read_in_memory(self) -> bytes | None:
        if self._file is not None:
            # Many chunks in a row would leave nobody else a turn of the loop.
            await asyncio.sleep(0)
        reader, length = self._reader, min(_AT_ONCE_BYTES, self._end - self._at)
        if length <= 0 or reader is None:
            return None
        if self._file is None:
            self._file = reader._open_file()
        chunk = self._file.read_in_memory(self._at, length)
        if chunk is not None:
            self._at += length
            if self._at == self._end:
                self.close()
        return chunk

    def _read_ahead(self, at: int) -> Future[tuple[_OpenFile, bytes]] | None:
        length = min(_CHUNK_BYTES, self._end - at)
        if length <= 0 or self._reader is None:
            return None
        return self._reader._submit_read(self._file, at, length)


class _OpenFile:
    """A file that closes itself when the last job that uses it is done."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._descriptor = -1
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            found = os.fstat(self._descriptor).st_size
        except OSError as error:
            raise blob_error(path, error) from error
        if found != size:
            self._close()
            raise wrong_size(path, size, found)

    def read(self, offset: int, length: int) -> bytes:
        try:
            data = os.pread(self._descriptor, length, offset)
            if len(data) < length:
                data = self._read_rest(data, offset, length)
        except OSError as error:
            self._close()
            raise blob_error(self._path, error) from error
        return data

    def read_in_memory(self, offset: int, length: int) -> bytes | None:
        """The same without waiting for the disk; None when some of it may be on the disk only."""
        if _NO_WAIT is None or length <= 0:
            return None
        byte = [bytearray(1)]
        last = offset + length - 1
        try:
            for at in (*range(offset, last, _STEP_BYTES), last):
                os.preadv(self._descriptor, byte, at, _NO_WAIT)
        except OSError:
            # EAGAIN; or a file system that cannot tell.
            return None
        return self.read(offset, length)

    def _read_rest(self, data: bytes, offset: int, length: int) -> bytes:
        parts = [data]
        have = len(data)
        while have < length:
            more = os.pread(self._descriptor, length - have, offset + have)
            if not more:
                self._close()
                raise wrong_size(self._path, offset + length, offset + have)
            parts.append(more)
            have += len(more)
        return b"".join(parts)

    def _close(self) -> None:
        # Not left to the last reference: a traceback may keep one for long.
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self._close()
