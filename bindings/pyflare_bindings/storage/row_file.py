"""A SQLite file that holds an owner's own rows, as opposed to the SQL of a user.

At durability `process` reads and writes run at once on the event loop, through one connection: a
cached statement takes a few microseconds, and a commit waits for no disk. At `machine` writes go
to the owner's thread, where what waits together shares one commit and its fsync, while the event
loop reads through a connection of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NoReturn, TypeVar

import apsw

from .errors import ClosedError, FileGoneError, state_error
from .owner_thread import OwnerThread
from .row_connection import checkpoint, connect, copy_log
from .sqlite import Durability, file_identity, make_private_directory
from .waiting_write import Execute, WaitingWrite

__all__ = ["Execute", "OverloadedError", "RowFile"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

_PAGES_BETWEEN_COPIES: Final = 4096
# Writes are held for a copy when the log is so many times as long, and during a copy when it is
# longer still.
_COPIES_BEFORE_HOLD: Final = 3
_COPIES_AT_MOST: Final = 5
_MAX_WAITING: Final = 10_000
_GROUP_SIZE: Final = 256
_INLINE_TURN_SECONDS: Final = 0.005


class OverloadedError(RuntimeError):
    """Too many writes wait for their turn."""


class RowFile:
    """One file, its tables and the order of its writes.

    In: `path`; `schema`, statements that create what is missing; `prepare_file`, called on the
    thread before the file is opened; `opened`, called there afterwards with a function that runs
    statements; `pages_between_copies`, the length that the write-ahead log may reach before it is
    copied into the file. The file is opened by `open`.
    """

    __slots__ = (
        "_busy",
        "_closed",
        "_durability",
        "_file",
        "_limit",
        "_log_copying",
        "_next_turn_booked",
        "_opened",
        "_opening",
        "_pages_between_copies",
        "_prepare_file",
        "_reader",
        "_schema",
        "_thread",
        "_waiting",
        "_wal_pages",
        "_write_now",
        "_writer",
        "path",
        "read",
    )

    #: Runs a statement that only reads, on the event loop, as `cursor.execute` does; its rows have
    #: to be exhausted before the next one. Raises apsw.Error, which `failure` translates.
    read: Execute

    def __init__(
        self,
        path: Path,
        durability: Durability,
        schema: str,
        prepare_file: Callable[[], None] = lambda: None,
        opened: Callable[[Execute], None] = lambda _: None,
        pages_between_copies: int = _PAGES_BETWEEN_COPIES,
    ) -> None:
        self.path = path
        self._durability = durability
        self._schema = schema
        self._prepare_file = prepare_file
        self._opened = opened
        self._thread = OwnerThread(path.stem)
        self._opening: asyncio.Future[None] | None = None
        self._reader: apsw.Connection | None = None
        self._writer: apsw.Connection | None = None
        self._write_now: Execute | None = None
        self._waiting: deque[WaitingWrite[Any]] = deque()
        self._busy = False
        self._next_turn_booked = False
        self._log_copying = False
        self._pages_between_copies = pages_between_copies
        self._limit = pages_between_copies
        self._wal_pages = 0
        self._closed = False
        self._file: tuple[int, int] | None = None

    @property
    def is_open(self) -> bool:
        """Whether `read` and `write` can be used."""
        return self._reader is not None and not self._closed

    async def open(self) -> None:
        """Open or create the file on the thread; once. Raises StateError and ClosedError."""
        if self._closed:
            raise self._closed_error()
        if self._reader is not None:
            return
        opening = self._opening
        if opening is None or opening.done():
            opening = self._opening = asyncio.get_running_loop().create_future()
            self._thread.run(self._open_on_thread, self._finish_opening)
        # It serves everybody who waits, so a caller that is cancelled does not end it.
        await asyncio.shield(opening)

    async def write(
        self,
        job: Callable[[Execute], T],
        committed: Callable[[T], object] | None = None,
        *,
        atomic: bool = False,
    ) -> T:
        """Do a job that changes rows; as durable as promised when it returns.

        In: `job`, called with a function that runs statements as `cursor.execute` does; it leaves
        no cursor open, and with `atomic` may change rows with more than one statement, all of
        which are undone when it raises. `committed` is called on the event loop with what it
        returned as soon as that is committed. Jobs are done in the order of the calls.

        Raises what the job raises, StateError when the file cannot be written, ClosedError after
        `close` and OverloadedError. A caller that is cancelled while it waits leaves no trace. One
        that is cancelled during the commit goes on when the commit is over, and `committed` has
        then been called if it succeeded.
        """
        execute = self._write_now
        if execute is not None and not self._busy and not self._waiting:
            result = self._run(execute, job, atomic)
            if committed is not None:
                committed(result)
            return result
        return await self._wait_for_turn(WaitingWrite(job, atomic, committed))

    def check_file(self) -> None:
        """Look whether the file is still at its path; if not, everything is refused from here on.

        What is in memory and in blobs belongs to the lost file, so that a restart is needed.
        """
        if self.is_open and file_identity(self.path) != self._file:
            self.read = self._refuse_lost

    def failure(self, error: apsw.Error) -> Exception:
        """The error that tells a person what is wrong with this file, or that it is closed."""
        return self._closed_error() if self._closed else state_error(self.path, error)

    async def close(self) -> None:
        """Finish the writes at hand, refuse the waiting ones and close the file. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._write_now = None
        while self._waiting:
            self._waiting.popleft().fail(self._closed_error())
        await self._thread.drain(0, lambda: None)
        # The connection must not be used while the thread closes it.
        self.read = self._refuse_closed
        await self._thread.finish(self._close_on_thread)

    # On the event loop

    def _run(self, execute: Execute, job: Callable[[Execute], T], atomic: bool) -> T:
        self._ensure_in_place()
        try:
            return self._run_atomic(execute, job) if atomic else job(execute)
        except apsw.Error as error:
            raise self.failure(error) from error
        finally:
            if self._wal_pages > self._limit:
                self._copy_log()

    def _ensure_in_place(self) -> None:
        # SQLite would go on writing into a deleted file, and acknowledge what nobody will see again.
        if file_identity(self.path) != self._file:
            self.read = self._refuse_lost
            self._refuse_lost()

    def _refuse_lost(self, *_: object) -> NoReturn:
        raise FileGoneError(self.path, "Restart pyflare")

    def _refuse_closed(self, *_: object) -> NoReturn:
        raise self._closed_error()

    def _run_atomic(self, execute: Execute, job: Callable[[Execute], T]) -> T:
        execute("BEGIN IMMEDIATE")
        try:
            result = job(execute)
            execute("COMMIT")
        except BaseException:
            # Some failures, such as a full disk, have rolled back already.
            if self._writer is not None and self._writer.in_transaction:
                execute("ROLLBACK")
            raise
        return result

    async def _wait_for_turn(self, write: WaitingWrite[T]) -> T:
        if self._closed:
            raise self._closed_error()
        if len(self._waiting) >= _MAX_WAITING:
            raise OverloadedError(f"{_MAX_WAITING} writes to {self.path.name} are waiting already")
        self._waiting.append(write)
        self._serve_waiting()
        try:
            return await asyncio.shield(write.answer)
        except asyncio.CancelledError:
            if not write.started:
                write.answer.cancel()
                raise
            while not write.answer.done():
                try:
                    await asyncio.wait([write.answer])
                except asyncio.CancelledError:
                    continue
            raise

    def _serve_waiting(self) -> None:
        if self._busy or self._next_turn_booked or self._closed:
            return
        execute = self._write_now
        if execute is None:
            self._send_group()
            return
        until = perf_counter() + _INLINE_TURN_SECONDS
        while self._waiting and not self._busy:
            write = self._waiting.popleft()
            if write.answer.done():
                continue
            try:
                write.outcome = self._run(execute, write.job, write.atomic)
            except Exception as error:
                write.outcome = error
            write.settle()
            if perf_counter() > until and self._waiting:
                # One turn of the loop for everybody else before the next ones are served.
                self._next_turn_booked = True
                asyncio.get_running_loop().call_soon(self._next_turn)
                return

    def _next_turn(self) -> None:
        self._next_turn_booked = False
        self._serve_waiting()

    def _finish_opening(self, failure: Exception | None) -> None:
        assert self._opening is not None
        if self._opening.done():
            return
        if failure is None:
            self._opening.set_result(None)
            return
        self._opening.set_exception(failure)
        # Whoever waited may have been cancelled.
        self._opening.exception()

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"{self.path.name} has been closed")

    # With the thread, at durability `machine`

    def _send_group(self) -> None:
        group: list[WaitingWrite[Any]] = []
        while self._waiting and len(group) < _GROUP_SIZE:
            write = self._waiting.popleft()
            if not write.answer.done():
                write.started = True
                group.append(write)
        if not group:
            return

        def committed(_: None) -> None:
            self._busy = False
            for write in group:
                write.settle()
            self._serve_waiting()

        self._busy = True
        self._thread.run(lambda: self._run_group(group), committed)

    def _run_group(self, group: list[WaitingWrite[Any]]) -> None:
        writer = self._writer
        assert writer is not None
        execute = writer.cursor().execute
        try:
            self._ensure_in_place()
            execute("BEGIN IMMEDIATE")
            for write in group:
                self._run_member(writer, execute, write)
            execute("COMMIT")
        except (apsw.Error, FileGoneError) as error:
            failure = error if isinstance(error, FileGoneError) else state_error(self.path, error)
            for write in group:
                write.outcome = failure
            if writer.in_transaction:
                self._roll_back(execute)
            return
        if self._wal_pages > self._limit:
            self._note_copied(checkpoint(writer, self.path))

    def _run_member(
        self, writer: apsw.Connection, execute: Execute, write: WaitingWrite[Any]
    ) -> None:
        if write.atomic:
            execute("SAVEPOINT job")
        try:
            write.outcome = write.job(execute)
        except Exception as error:
            write.outcome = error
            if isinstance(error, apsw.Error):
                # Some failures of the disk undo everything, and then concern the whole group.
                if not writer.in_transaction:
                    raise
                write.outcome = state_error(self.path, error)
            if write.atomic:
                execute("ROLLBACK TO job")
        if write.atomic:
            execute("RELEASE job")

    def _roll_back(self, execute: Execute) -> None:
        try:
            execute("ROLLBACK")
        except apsw.Error as error:
            _log.warning("%s", state_error(self.path, error))

    # Opening, closing, and copying the log into the file

    def _open_on_thread(self) -> Exception | None:
        try:
            self._prepare_file()
            make_private_directory(self.path.parent)
            writer = self._connect()
            try:
                writer.execute(self._schema).fetchall()
                self._opened(writer.cursor().execute)
                reader = writer if self._durability == "process" else self._connect()
            except BaseException:
                writer.close(force=True)
                raise
        except apsw.Error as error:
            return state_error(self.path, error)
        except Exception as error:
            return error
        self._writer = writer
        self._file = file_identity(self.path)
        self.read = reader.cursor().execute
        if self._durability == "process":
            self._write_now = writer.cursor().execute
        self._reader = reader
        return None

    def _connect(self) -> apsw.Connection:
        connection = connect(self.path, self._durability)
        connection.set_wal_hook(self._note_wal_pages)
        return connection

    def _note_wal_pages(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _copy_log(self) -> None:
        if self._closed:
            return
        if self._log_copying:
            # Writes come faster than they can be copied: they wait for the copy.
            self._busy = self._wal_pages > _COPIES_AT_MOST * self._pages_between_copies
            return
        self._log_copying = True
        pages = self._wal_pages

        def copied(complete: bool) -> None:
            if complete and self._wal_pages == pages:
                self._end_copy(complete)
            elif self._wal_pages > _COPIES_BEFORE_HOLD * self._pages_between_copies:
                self._copy_rest()
            else:
                self._log_copying = False
                self._limit = self._wal_pages + self._pages_between_copies

        # SQLite begins the log anew when all of it has been copied before a write. A steady stream
        # of writes leaves no such moment, so that now and then they are held for one.
        self._thread.run(lambda: copy_log(self.path), copied)

    def _copy_rest(self) -> None:
        self._busy = True
        self._thread.run(lambda: copy_log(self.path), self._end_copy)

    def _end_copy(self, complete: bool) -> None:
        self._busy = self._log_copying = False
        self._note_copied(complete)
        self._serve_waiting()

    def _note_copied(self, complete: bool) -> None:
        # Another program that reads the file can prevent it; then the next attempt comes later.
        self._limit = self._pages_between_copies + (0 if complete else self._wal_pages)
        if complete:
            self._wal_pages = 0

    def _close_on_thread(self) -> None:
        writer, self._writer = self._writer, None
        reader, self._reader = self._reader, None
        if writer is None or reader is None:
            return
        try:
            if reader is not writer:
                reader.close(force=True)
            writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as error:
            raise state_error(self.path, error) from error
        finally:
            writer.close(force=True)
