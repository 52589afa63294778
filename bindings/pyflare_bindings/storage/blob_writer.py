"""Writing one blob: hashed while it arrives, and never visible before it is whole."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from .blob_errors import blob_error
from .errors import ClosedError
from .sqlite import make_private_directory

if TYPE_CHECKING:
    from .blobs import BlobStore

# Chunks are gathered up to this size before they go to a thread, and one batch is written while
# the next is gathered: a stream needs about twice this much memory.
_BATCH_BYTES = 512 * 1024
# From this size on hashing goes on beside the writing.
_HASHED_APART_BYTES = 128 * 1024
# Up to this many bytes, taken together for all hashes, a whole content is hashed by the event loop
# while a thread writes it: to wake a second thread and be woken by it costs more than the loop's
# other tasks lose.
_HASHED_BY_LOOP_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Blob:
    """A whole blob on the disk. `digests` has an entry for each hash that was asked for."""

    id: str
    size: int
    digests: Mapping[str, bytes]


class BlobWriter:
    """Takes the bytes of one blob.

        async with store.writer(["md5"]) as writer:
            await writer.write(chunk)
            blob = await writer.commit()

    Leaving the block without `commit`, or with an exception also after it, removes the file.
    `size` is the number of bytes taken so far.
    """

    __slots__ = (
        "_batch",
        "_batched",
        "_committed",
        "_descriptor",
        "_done",
        "_hashes",
        "_job",
        "_part",
        "_path",
        "_store",
        "id",
        "size",
    )

    def __init__(self, store: BlobStore, id: str, path: Path, hashes: Iterable[str]) -> None:
        self._descriptor = -1
        self.id = id
        self.size = 0
        self._store = store
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._hashes = {name: hashlib.new(name, usedforsecurity=False) for name in hashes}
        self._batch: list[bytes | memoryview] = []
        self._batched = 0
        self._job: Future[None] | None = None
        self._done: Future[None] | None = None
        self._committed = False

    async def __aenter__(self) -> BlobWriter:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._committed:
            return
        if kind is GeneratorExit:
            self.discard_soon()
            return
        removal = self.discard()
        if removal is not None and not isinstance(error, asyncio.CancelledError):
            # So that the space is free again when the caller hears of the failure.
            await asyncio.shield(asyncio.wrap_future(removal))

    async def write(self, chunk: bytes | memoryview) -> None:
        """Take more bytes; waits while the disk is behind.

        A memoryview has to be one of bytes, over memory that does not change any more. Raises
        StateError when the disk is full or the directory cannot be written.
        """
        self._batch.append(chunk)
        self._batched += len(chunk)
        self.size += len(chunk)
        if self._batched >= _BATCH_BYTES:
            await self._wait()
            self._start(self._append)

    async def commit(self, last: bytes | memoryview = b"") -> Blob:
        """Take the last bytes and make the blob durable under its name.

        Content that is in memory as a whole is best given here. Raises StateError as `write` does.
        """
        if last:
            self._batch.append(last)
            self._batched += len(last)
            self.size += len(last)
        await self._wait()
        if not self._finish_while_hashing():
            self._start(self._finish)
        await self._wait()
        self._committed = True
        digests = {name: each.digest() for name, each in self._hashes.items()}
        return Blob(self.id, self.size, digests)

    def discard(self) -> Future[None] | None:
        """Remove whatever is on the disk, after the job at hand; nobody has to wait for it."""
        removal = self._removal()
        if removal is None:
            return None
        try:
            return self._store.submit_removal(removal)
        except ClosedError:
            # The jobs are over, and what is left takes no time.
            removal()
            return None

    def discard_soon(self) -> None:
        """The same for a coroutine that is collected as garbage: at any moment, on any thread."""
        removal = self._removal()
        if removal is not None:
            self._store.remove_soon(removal)

    def __del__(self) -> None:
        # Also after a job of a writer that nobody discards.
        self._close()

    def _removal(self) -> Callable[[], None] | None:
        self._batch.clear()
        job, self._job = self._job, None
        # A blob that was never started has no file.
        return None if job is None else partial(self._remove_after, job)

    def _start(self, job: Callable[[list[bytes | memoryview]], None]) -> None:
        batch, size = self._batch, self._batched
        self._batch, self._batched = [], 0
        if self._hashes and size >= _HASHED_APART_BYTES:
            both = _Both()
            self._job = self._store.submit(partial(self._hash_beside, both, job, batch))
            self._job.add_done_callback(both.ended)
            self._done = both.done
        else:
            self._done = self._job = self._store.submit(partial(self._hash_and, job, batch))

    def _finish_while_hashing(self) -> bool:
        batch, size = self._batch, self._batched
        if size < _HASHED_APART_BYTES or not 0 < size * len(self._hashes) <= _HASHED_BY_LOOP_BYTES:
            return False
        job = self._store.submit_beside(partial(self._finish, batch))
        if job is None:
            return False
        self._batch, self._batched = [], 0
        self._job = self._done = job
        self._hash(batch)
        self._store.wait_for_beside()
        return True

    async def _wait(self) -> None:
        done = self._done
        if done is None:
            return
        if done.done():
            done.result()
        else:
            await asyncio.shield(asyncio.wrap_future(done))

    # On a thread

    def _append(self, batch: list[bytes | memoryview]) -> None:
        try:
            if self._descriptor < 0:
                make_private_directory(self._path.parent)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                self._descriptor = os.open(self._part, flags, 0o600)
            for chunk in batch:
                _write_all(self._descriptor, chunk)
        except OSError as error:
            raise blob_error(self._part, error) from error

    def _hash(self, batch: list[bytes | memoryview]) -> None:
        for each in self._hashes.values():
            for chunk in batch:
                each.update(chunk)

    def _hash_beside(
        self,
        both: _Both,
        job: Callable[[list[bytes | memoryview]], None],
        batch: list[bytes | memoryview],
    ) -> None:
        # Begun from here, when the event loop sleeps already and a processor is free for it: two
        # threads that the loop wakes in one turn are often put on one, behind each other.
        try:
            self._store.submit_hashing(partial(self._hash, batch)).add_done_callback(both.ended)
        except BaseException:
            both.ended(None)
            raise
        job(batch)

    def _hash_and(
        self,
        job: Callable[[list[bytes | memoryview]], None],
        batch: list[bytes | memoryview],
    ) -> None:
        self._hash(batch)
        job(batch)

    def _finish(self, batch: list[bytes | memoryview]) -> None:
        self._append(batch)
        try:
            os.fsync(self._descriptor)
            self._close()
            os.rename(self._part, self._path)
            self._store.sync_directory()
        except OSError as error:
            raise blob_error(self._path, error) from error

    def _remove_after(self, job: Future[None]) -> None:
        # Jobs start in the order in which they were submitted, so this one never waits in vain.
        if not job.done():
            wait([job])
        self._close()
        for path in (self._part, self._path):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                # The next sweep finds it; nothing refers to it.
                self._store.log_failed_removal(path, error)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class _Both:
    """Two pieces of work; `done` ends with the later one, with the first error of either.

    So that the event loop is woken once.
    """

    __slots__ = ("_error", "_left", "_lock", "done")

    def __init__(self) -> None:
        self.done: Future[None] = Future()
        self._lock = threading.Lock()
        self._left = 2
        self._error: BaseException | None = None

    def ended(self, work: Future[None] | None) -> None:
        """One of them is over; None when it never began."""
        with self._lock:
            self._left -= 1
            if work is not None and self._error is None:
                self._error = work.exception()
            if self._left:
                return
        if self._error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(self._error)


def _write_all(descriptor: int, chunk: bytes | memoryview) -> None:
    written = os.write(descriptor, chunk)
    while written < len(chunk):
        written += os.write(descriptor, memoryview(chunk)[written:])
