"""Bodies of values as files under random names.

A blob is written once and never changed: to a temporary name, with fsync, then renamed. The row
that refers to it commits afterwards, so a committed row always has its whole blob, and what a
crash leaves behind is a file that no row knows, which `sweep` removes at the next start. A name
never holds anything of a user's key.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import secrets
import threading
from collections import deque
from collections.abc import Callable, Container, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from .blob_errors import (
    DamagedBlobError,
    OutOfThreadsError,
    blob_error,
    missing_blob,
    out_of_threads,
    wrong_size,
)
from .blob_reader import BlobChunks, BlobReader
from .blob_writer import Blob, BlobWriter
from .errors import ClosedError
from .pins import Pins
from .side_thread import SideThread
from .sqlite import Durability
from .threads import NoThreadError, Threads

__all__ = ["Blob", "BlobChunks", "BlobReader", "BlobStore", "BlobWriter", "DamagedBlobError"]

_log = logging.getLogger(__name__)

# Enough that a slow fsync of one blob does not hold up the others.
_THREADS = 4
_HASHING_THREADS = 2
_NAME = re.compile(r"[0-9a-f]{8}-[0-9a-f]{32}", re.ASCII)
_NAME_OR_PART = re.compile(_NAME.pattern + r"(\.part)?", re.ASCII)

T = TypeVar("T")


class BlobStore:
    """The blobs of one owner, in one directory.

    In: `directory`, created with the first blob; `durability`: at `machine` a blob's name is
    durable too before `commit` returns, at `process` only its content. Its threads start when
    they are first needed. One process, and in it one store, uses the directory.
    """

    __slots__ = (
        "_closed",
        "_directory_is_durable",
        "_drained",
        "_durability",
        "_executor",
        "_hashing",
        "_jobs",
        "_lock",
        "_loop",
        "_pins",
        "_removals",
        "_run",
        "_side",
        "directory",
    )

    def __init__(self, directory: Path, durability: Durability = "process") -> None:
        self.directory = directory
        self._durability = durability
        self._directory_is_durable = False
        # Names of this run start alike, so that a sweep leaves what is being written alone.
        self._run = secrets.token_hex(4)
        self._executor: Threads | None = None
        self._hashing: Threads | None = None
        self._side: SideThread | None = None
        self._jobs: set[Future[object]] = set()
        self._pins = Pins(self._remove_unread)
        # To be done in the next turn of the loop, with the next removal, or at the end.
        self._removals: deque[Callable[[], None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._drained = False

    def writer(self, hashes: Iterable[str] = ()) -> BlobWriter:
        """A writer for a new blob; no file exists before the first bytes are written.

        In: `hashes`, names as in hashlib, computed while the bytes arrive.
        """
        id = f"{self._run}-{secrets.token_hex(16)}"
        self._loop = asyncio._get_running_loop()
        return BlobWriter(self, id, self.directory / id, hashes)

    def open(self, id: str, size: int) -> BlobReader:
        """A reader of a blob; it may be deleted meanwhile, and the reader goes on.

        To be called in the same turn of the event loop that read the row. Raises
        DamagedBlobError when the file is missing or has not `size` bytes.
        """
        path = self._path(id)
        try:
            found = os.stat(path).st_size
        except OSError as error:
            raise blob_error(path, error) from error
        if found != size:
            raise wrong_size(path, size, found)
        return self.pin(id, size)

    def pin(self, id: str, size: int) -> BlobReader:
        """Like `open`, but what is wrong with the file shows when it is first read."""
        path = self._path(id)
        self._loop = asyncio._get_running_loop()
        self._pins.add(id)
        return BlobReader(self, id, path, size)

    def delete(self, ids: Iterable[str]) -> None:
        """Remove blobs that no row refers to any more, each once its last reader is done.

        Happens on a thread; nobody has to wait. What fails is logged and swept later.
        """
        now = [self._path(id) for id in self._pins.doom(ids)]
        if not now:
            self._submit_removals()
            return
        # What is asked for after the end is left to the next sweep.
        with suppress(ClosedError):
            self.submit_removal(partial(self._remove_now, now))

    async def sweep(self, known: Container[str]) -> int:
        """Remove the files of earlier runs that no row knows; gives their number.

        In: `known`, the ids of all rows, read from the database after this store was made.
        Raises StateError when the directory cannot be read.
        """
        return await asyncio.wrap_future(self.submit(partial(self._sweep_now, known)))

    async def close(self) -> None:
        """Finish what is being written and removed. Readers that are open fail afterwards."""
        if not self._closed:
            self._submit_removals()
        self._closed = True
        while self._jobs:
            await asyncio.wait([asyncio.wrap_future(job) for job in list(self._jobs)])
        self._drained = True
        # No thread could be had for these.
        self._do_removals()
        executors, side = (self._executor, self._hashing), self._side
        self._executor = self._hashing = self._side = None
        for executor in executors:
            if executor is not None:
                executor.shutdown()
        if side is not None:
            side.close()

    # For writers and readers

    def refuse_closed(self) -> None:
        """Raises ClosedError after `close`."""
        if self._closed:
            raise ClosedError(f"{self.directory}: this blob store has been closed")

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Do a job on a thread.

        Raises ClosedError after `close`, and OutOfThreadsError; the job is not done then.
        """
        with self._lock:
            if self._executor is None:
                self.refuse_closed()
                self._executor = Threads(_THREADS, thread_name_prefix="pyflare-blobs")
            try:
                future = self._executor.submit(job)
            except RuntimeError as error:
                # Or the interpreter is about to end.
                raise out_of_threads(self.directory) from error
            self._jobs.add(future)  # type: ignore[arg-type]
        future.add_done_callback(self._jobs.discard)
        return future

    def submit_beside(self, job: Callable[[], T]) -> Future[T] | None:
        """Do a job while the event loop's thread computes on; None when no thread is free.

        For the event loop's thread alone. Raises ClosedError after `close`.
        """
        if self._side is None:
            self.refuse_closed()
            self._side = SideThread("pyflare-blob-beside")
        if not self._side.is_idle:
            return None
        try:
            future = self._side.submit(job)
        except NoThreadError:
            return None
        self._jobs.add(future)  # type: ignore[arg-type]
        future.add_done_callback(self._jobs.discard)
        return future

    def wait_for_beside(self) -> None:
        """The event loop's thread computes no more, and waits for what was submitted beside it."""
        if self._side is not None:
            self._side.may_run_anywhere()

    def submit_hashing(self, job: Callable[[], None]) -> Future[None]:
        """Hash beside the writing; these threads never wait for others. Raises OutOfThreadsError."""
        with self._lock:
            if self._hashing is None:
                self._hashing = Threads(_HASHING_THREADS, thread_name_prefix="pyflare-blob-hashes")
            try:
                return self._hashing.submit(job)
            except NoThreadError as error:
                raise out_of_threads(self.directory) from error

    def submit_removal(self, job: Callable[[], None]) -> Future[None] | None:
        """Remove something on a thread; None when that has to wait until there is one.

        Raises ClosedError after `close`.
        """
        self._submit_removals()
        future = self._submit_to_any(job)
        if future is None:
            self._removals.append(job)
        return future

    def remove_soon(self, job: Callable[[], None]) -> None:
        """The same at any moment, on any thread, such as in the garbage collector.

        No lock and no pool of threads may be used there: it may have been called by what holds
        that very lock. After `close` the job is done at once.
        """
        self._removals.append(job)
        if self._drained:
            self._do_removals()
        elif self._loop is not None:
            # A loop that has ended leaves it to the next removal, or to `close`.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._submit_removals)

    def unpin(self, id: str) -> None:
        """A reader is done; at any moment, on any thread."""
        self._pins.let_go(id)

    def sync_directory(self) -> None:
        """Make the names in the directory durable, where a power cut counts."""
        if self._durability == "machine":
            _sync(self.directory)
            if not self._directory_is_durable:
                _sync(self.directory.parent)
                self._directory_is_durable = True

    def log_failed_removal(self, path: Path, error: OSError) -> None:
        """Tell a person about a file that stays until the next sweep."""
        _log.warning("%s", blob_error(path, error))

    def _remove_unread(self, ids: list[str]) -> None:
        # After the end they are left to the next sweep, which knows the rows.
        if not self._drained:
            self.remove_soon(partial(self._remove_now, [self.directory / id for id in ids]))

    def _submit_removals(self) -> None:
        while self._removals:
            job = self._removals.popleft()
            try:
                future = self._submit_to_any(job)
            except ClosedError:
                # The store is being closed, and `close` comes to it.
                future = None
            if future is None:
                self._removals.appendleft(job)
                return

    def _submit_to_any(self, job: Callable[[], None]) -> Future[None] | None:
        try:
            return self.submit(job)
        except OutOfThreadsError:
            return self.submit_beside(job)

    def _do_removals(self) -> None:
        while self._removals:
            try:
                job = self._removals.popleft()
            except IndexError:
                # Another thread has come to it.
                return
            job()

    def _path(self, id: str) -> Path:
        if _NAME.fullmatch(id) is None:
            # Only a damaged or foreign database has such a row.
            raise missing_blob(self.directory / repr(id))
        return self.directory / id

    def _remove_now(self, paths: list[Path]) -> None:
        for path in paths:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                self.log_failed_removal(path, error)

    def _sweep_now(self, known: Container[str]) -> int:
        removed = 0
        try:
            with os.scandir(self.directory) as entries:
                for entry in entries:
                    name = entry.name
                    if _NAME_OR_PART.fullmatch(name) is None or name.startswith(self._run):
                        continue
                    if name in known or name in self._pins:
                        continue
                    os.unlink(entry.path)
                    removed += 1
        except FileNotFoundError:
            return removed
        except OSError as error:
            raise blob_error(self.directory, error) from error
        return removed


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
