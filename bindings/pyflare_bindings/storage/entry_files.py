"""The files of an owner whose rows have a body and an expiry: KV namespaces and caches."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import apsw

from ..clock import Clock
from .blobs import BlobReader, BlobStore, BlobWriter
from .errors import ClosedError
from .expiry import ExpirySweeper
from .row_file import Execute, RowFile
from .sqlite import Durability
from .stored_content import StoredContent

__all__ = ["Body", "EntryFiles"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

# Up to this size a row is faster to write than a file with its fsync, and as safe.
LARGEST_IN_ROW: Final = 64 * 1024

_INDICES: Final = """
CREATE INDEX IF NOT EXISTS entries_by_expires ON entries(expires) WHERE expires IS NOT NULL;
CREATE INDEX IF NOT EXISTS entries_by_blob ON entries(blob) WHERE blob IS NOT NULL;
"""
_BLOBS: Final = "SELECT blob FROM entries WHERE blob IS NOT NULL"


class Body(NamedTuple):
    """A body that was taken in: `content` where it goes into the row, else the id of its `blob`.

    Both are None when it was longer than allowed; then nothing of it is kept.
    """

    size: int
    content: bytes | None = None
    blob: str | None = None


class EntryFiles:
    """A table `entries(id, expires, blob, ...)` in a SQLite file, and a directory of blobs beside.

    In: `name`, as errors call the owner; `path` of the SQLite file; `schema`, what creates the
    table if it is missing. `expires` is in seconds since the epoch, or NULL, and such rows are
    removed in the background. A row and its blob come and go together: whoever is cancelled, and
    whatever a crash interrupts, leaves both or neither.

    Everything raises StateError naming the file at fault, and ClosedError after `close`.
    """

    __slots__ = (
        "_blobs",
        "_closed",
        "_is_new",
        "_known_blobs",
        "_name",
        "_opening",
        "_prepare_file",
        "_rows",
        "_sweeper",
        "is_open",
    )

    def __init__(
        self,
        name: str,
        path: Path,
        schema: str,
        clock: Clock,
        durability: Durability,
        prepare_file: Callable[[], None],
    ) -> None:
        self._name = name
        self._blobs = BlobStore(path.with_suffix(".blobs"), durability)
        self._rows = RowFile(path, durability, schema + _INDICES, self._prepare, self._note_blobs)
        self._prepare_file = prepare_file
        self._is_new = False
        self._sweeper = ExpirySweeper(clock, self._rows, self._blobs)
        self._known_blobs: set[str] | None = None
        self._opening: asyncio.Lock | None = None
        self._closed = False
        #: Whether the rest can be used; otherwise `open` has to be awaited first.
        self.is_open = False

    async def open(self) -> None:
        """Open the files and remove what a crash has left behind."""
        if self._opening is None:
            self._opening = asyncio.Lock()
        async with self._opening:
            if self._closed:
                raise ClosedError(f"{self._name} has been closed")
            if self.is_open:
                return
            await self._rows.open()
            if self._known_blobs is not None:
                await self._blobs.sweep(self._known_blobs)
                self._known_blobs = None
            self._sweeper.begin()
            self.is_open = True

    def one(self, sql: str, parameters: tuple[Any, ...]) -> Any:
        """The row of a SELECT that gives at most one, None for none."""
        try:
            return self._rows.read(sql, parameters).get
        except apsw.Error as error:
            raise self._failure(error) from error

    def all(self, sql: str, parameters: tuple[Any, ...]) -> list[Any]:
        """The rows of a SELECT."""
        try:
            return self._rows.read(sql, parameters).fetchall()
        except apsw.Error as error:
            raise self._failure(error) from error

    def open_blob(self, id: str, size: int) -> BlobReader:
        """A reader, to be asked for in the turn of the event loop that read the row."""
        return self._blobs.open(id, size)

    async def take_in(
        self, source: bytes | AsyncIterator[bytes | memoryview], at_most: int
    ) -> Body:
        """Put a body where it belongs; the row that goes with it has to be stored next.

        A stream longer than `at_most` bytes is read to its end for its length. Raises what the
        stream raises.
        """
        if isinstance(source, bytes) and len(source) <= LARGEST_IN_ROW:
            return Body(len(source), source)
        async with self._blobs.writer() as writer:
            if isinstance(source, bytes):
                await writer.write(source)
                size, content = len(source), None
            else:
                size, content = await _read_into(writer, source, at_most)
            if content is not None:
                return Body(size, content)
            if size > at_most:
                return Body(size)
            await writer.commit()
        return Body(size, None, writer.id)

    async def store(
        self,
        body: Body,
        expires: float | None,
        job: Callable[[Execute], str | None],
        committed: Callable[[], object] = lambda: None,
    ) -> None:
        """Write the row of a body.

        In: `job`, which writes it with one statement and returns the blob of the row that it
        replaced; `committed`, called as soon as the row can be read.
        """
        stored = False

        def finish(replaced: str | None) -> None:
            nonlocal stored
            stored = True
            if replaced is not None:
                self._blobs.delete([replaced])
            if expires is not None:
                self._sweeper.expect(expires)
            committed()

        try:
            await self._rows.write(job, finish)
        finally:
            # A caller that is cancelled while its row is being committed has stored it.
            if not stored and body.blob is not None:
                self._blobs.delete([body.blob])

    async def take_in_stored(self, content: StoredContent) -> str:
        """Write a blob, to be referred to by `rewrite` or given to `drop_blobs`. Out: its id."""
        async with self._blobs.writer() as writer:
            for chunk in content.chunks():
                await writer.write(chunk)
            await writer.commit()
        return writer.id

    def drop_blobs(self, ids: Iterable[str]) -> None:
        """Remove blobs that no row refers to."""
        self._blobs.delete(ids)

    async def rewrite(
        self, job: Callable[[Execute], tuple[T, list[str]]], blobs: Iterable[str]
    ) -> T:
        """Change many rows in one transaction, all of which is undone when `job` raises.

        In: `job`, which returns a result and the blobs of the rows that are no more; `blobs`, those
        that its rows refer to. Out: the result.
        """
        stored = False

        def finish(outcome: tuple[T, list[str]]) -> None:
            nonlocal stored
            stored = True
            self._blobs.delete(outcome[1])

        try:
            result, _ = await self._rows.write(job, finish, atomic=True)
        finally:
            if not stored:
                self._blobs.delete(blobs)
        self._sweeper.begin()
        return result

    async def remove(
        self,
        sql: str,
        parameters: tuple[Any, ...],
        committed: Callable[[list[Any]], object] = lambda _: None,
    ) -> list[Any]:
        """Remove rows; gives what the DELETE returns of each, whose first value is `blob`."""

        def remove(execute: Execute) -> list[Any]:
            return execute(sql, parameters).fetchall()

        def finish(rows: list[Any]) -> None:
            self._blobs.delete([row[0] for row in rows if row[0] is not None])
            committed(rows)

        return await self._rows.write(remove, finish)

    def check_file(self) -> None:
        """See :meth:`pyflare_bindings.storage.row_file.RowFile.check_file`."""
        self._rows.check_file()

    async def close(self) -> None:
        """Finish the writes at hand and close the files. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self.is_open = False
        await self._sweeper.close()
        try:
            await self._rows.close()
        finally:
            await self._blobs.close()

    def _prepare(self) -> None:
        self._prepare_file()
        try:
            self._is_new = os.stat(self._rows.path).st_size == 0
        except FileNotFoundError:
            self._is_new = True

    def _note_blobs(self, execute: Execute) -> None:
        directory = self._blobs.directory
        if not directory.is_dir():
            return
        if self._is_new and any(directory.iterdir()):
            # They belonged to rows that are lost; with a copy of these they would be whole again.
            aside = directory.with_name(f"{directory.name}.{secrets.token_hex(4)}.lost")
            os.rename(directory, aside)
            _log.warning(
                "%s: this file was missing or empty, but not the contents beside it. It begins anew; they were kept "
                "as %s, for the case that you have a copy of the file.",
                self._rows.path,
                aside,
            )
            return
        self._known_blobs = {blob for (blob,) in execute(_BLOBS)}

    def _failure(self, error: apsw.Error) -> Exception:
        if self._closed:
            return ClosedError(f"{self._name} has been closed")
        return self._rows.failure(error)


async def _read_into(
    writer: BlobWriter, source: AsyncIterator[bytes | memoryview], at_most: int
) -> tuple[int, bytes | None]:
    """Read a stream: as bytes when it is short, else into the writer. Out: its length too."""
    beginning = bytearray()
    size = 0
    async for chunk in source:
        size += len(chunk)
        if size > at_most:
            continue
        if size <= LARGEST_IN_ROW:
            beginning += chunk
            continue
        if beginning:
            await writer.write(bytes(beginning))
            beginning.clear()
        await writer.write(bytes(chunk))
    return size, bytes(beginning) if size <= min(LARGEST_IN_ROW, at_most) else None
