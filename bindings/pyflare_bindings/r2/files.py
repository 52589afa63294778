"""The files of one bucket: its rows, and the blobs that are too large for a row."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextvars import Context
from pathlib import Path
from typing import Any, TypeVar

import apsw

from ..storage.blobs import BlobStore
from ..storage.errors import StateError, state_error
from ..storage.row_file import Execute, RowFile
from ..storage.sqlite import Durability
from .rows import SCHEMA, Row

_log = logging.getLogger(__name__)

_REFERRED = "SELECT blob FROM objects WHERE blob IS NOT NULL UNION ALL SELECT blob FROM parts"

T = TypeVar("T")


class BucketFiles:
    """Reads, and writes that are done as a whole or not at all.

    In: `path` of the database. The blobs get a directory beside it, whose name the database knows:
    a database that begins anew, because a damaged one was moved away, leaves the old one's blobs
    alone, and finds them again when it is put back.
    """

    __slots__ = ("_blobs", "_durability", "_opening", "_rows", "_sweep")

    def __init__(
        self, path: Path, durability: Durability, prepare_file: Callable[[], None]
    ) -> None:
        self._durability = durability
        self._rows = RowFile(path, durability, SCHEMA, prepare_file)
        self._blobs: BlobStore | None = None
        self._opening = asyncio.Lock()
        self._sweep: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the others can be used; otherwise `open` has to be awaited first."""
        return self._blobs is not None and self._rows.is_open

    @property
    def exists(self) -> bool:
        """Whether there is a database yet."""
        return self._rows.path.exists()

    @property
    def blobs(self) -> BlobStore:
        """The contents that are too large for a row."""
        assert self._blobs is not None
        return self._blobs

    async def open(self) -> None:
        """Open the files. Raises StateError naming the file at fault, and ClosedError."""
        if self.is_open:
            return
        async with self._opening:
            await self._rows.open()
            if self._blobs is None:
                self._blobs = BlobStore(await self._blob_directory(), self._durability)
                # It belongs to no worker, though a worker's call may be what opens the bucket.
                self._sweep = asyncio.get_running_loop().create_task(
                    self._remove_orphans(self._blobs), context=Context()
                )

    async def _blob_directory(self) -> Path:
        ((number,),) = self.read("PRAGMA user_version")
        if not number:
            number = secrets.randbelow(2**31 - 1) + 1
            await self._rows.write(lambda execute: execute(f"PRAGMA user_version = {number}"))
        path = self._rows.path
        return path.with_name(f"{path.stem}-{number:08x}.blobs")

    def read(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
        """All rows of a SELECT. Raises StateError."""
        try:
            return self._rows.read(sql, parameters).fetchall()
        except apsw.Error as error:
            raise self._rows.failure(error) from error

    async def write(self, change: Callable[[Execute], T], committed: Callable[[T], object]) -> T:
        """Run `change` in a transaction; what it raises undoes it and is raised.

        Out: what it returns, once committed. `committed` has been called with it by then, also
        when the caller has been cancelled meanwhile.
        """
        return await self._rows.write(change, committed, atomic=True)

    def check_file(self) -> None:
        """See :meth:`pyflare_bindings.storage.row_file.RowFile.check_file`."""
        self._rows.check_file()

    async def close(self) -> None:
        """Finish what is being written, swept and removed, and close the files."""
        try:
            if self._sweep is not None:
                await asyncio.wait([self._sweep])
            await self._rows.close()
        finally:
            if self._blobs is not None:
                await self._blobs.close()

    async def _remove_orphans(self, blobs: BlobStore) -> None:
        # What is written from now on has names of its own, which the sweep leaves alone.
        try:
            if not blobs.directory.exists():
                return
            known = await asyncio.wrap_future(blobs.submit(self._referred_blobs))
            removed = await blobs.sweep(known)
        except StateError as error:
            _log.warning("%s", error)
            return
        if removed:
            _log.info("%s: removed %d unfinished files", blobs.directory, removed)

    def _referred_blobs(self) -> set[str]:
        path = self._rows.path
        try:
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                connection.set_busy_timeout(10_000)
                return {blob for (blob,) in connection.execute(_REFERRED)}
            finally:
                connection.close(force=True)
        except apsw.Error as error:
            raise state_error(path, error) from error
