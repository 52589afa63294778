"""The owner of one Analytics Engine dataset."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import apsw

from .clock import Clock
from .storage.errors import ClosedError
from .storage.row_file import Execute, RowFile
from .storage.sqlite import Durability

__all__ = ["AnalyticsDataset", "AnalyticsRow", "DataPoint"]

_log = logging.getLogger(__name__)

FIELDS: Final = 20
MAX_INDEX_BYTES: Final = 96
MAX_BLOB_BYTES: Final = 16_000

#: Points that may wait for the file. Beyond it they are dropped, as production samples under load.
_MAX_WAITING: Final = 100_000

_NUMBERS: Final = range(1, FIELDS + 1)
_BLOBS: Final = ", ".join(f"blob{n}" for n in _NUMBERS)
_DOUBLES: Final = ", ".join(f"double{n}" for n in _NUMBERS)
_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS points (
    id INTEGER PRIMARY KEY,
    timestamp REAL NOT NULL,
    _sample_interval INTEGER NOT NULL DEFAULT 1,
    index1 NOT NULL,
    {_BLOBS},
    {_DOUBLES}
);
"""
_INSERT: Final = (
    f"INSERT INTO points (timestamp, index1, {_BLOBS}, {_DOUBLES})"
    f" VALUES (?, ?{', ?' * (2 * FIELDS)})"
)
_SELECT: Final = (
    f"SELECT timestamp, index1, _sample_interval, {_BLOBS}, {_DOUBLES} FROM points ORDER BY id"
)

#: Text as SQL shows it; bytes that are no UTF-8 stay bytes.
Blob = str | bytes


@dataclass(slots=True, frozen=True)
class DataPoint:
    """What is written: at most one index, 20 blobs and 20 doubles. None leaves a slot empty."""

    indexes: Sequence[Blob | None] = ()
    blobs: Sequence[Blob | None] = ()
    doubles: Sequence[float] = ()

    def check(self) -> None:
        """Raise ValueError, with the platform's text, for a point over the limits.

        Source: https://developers.cloudflare.com/analytics/analytics-engine/limits/ and
        `src/workerd/api/analytics-engine.c++` of workerd, whose stray brackets these are.
        """
        if len(self.indexes) > 1:
            raise ValueError("writeDataPoint(): Maximum of 1 indexes supported.")
        if self.indexes and _size(self.indexes[0]) > MAX_INDEX_BYTES:
            raise ValueError(
                f"writeDataPoint(): Size of indexes[0] exceeds {MAX_INDEX_BYTES} bytes)."
            )
        if len(self.blobs) > FIELDS:
            raise ValueError(f"writeDataPoint(): Maximum of {FIELDS} blobs supported.")
        if sum(map(_size, self.blobs)) > MAX_BLOB_BYTES:
            raise ValueError(
                f"writeDataPoint(): Cumulative size of blobs exceeds {MAX_BLOB_BYTES} bytes)."
            )
        if len(self.doubles) > FIELDS:
            raise ValueError(f"writeDataPoint(): Maximum of {FIELDS} doubles supported.")


@dataclass(slots=True, frozen=True)
class AnalyticsRow:
    """One point as it was stored.

    `timestamp` in seconds since the epoch; `blobs` and `doubles` always have 20 entries, an empty
    text and zero where nothing was written; `index1` is empty without an index. `named` gives the
    columns under the names that production's SQL has for them.
    """

    timestamp: float
    dataset: str
    index1: Blob
    blobs: tuple[Blob, ...]
    doubles: tuple[float, ...]
    sample_interval: int = 1

    def named(self) -> dict[str, Any]:
        """The row as `blob1`, `double1`, `index1`, `timestamp`, `dataset` and `_sample_interval`."""
        return {
            "dataset": self.dataset,
            "timestamp": self.timestamp,
            "_sample_interval": self.sample_interval,
            "index1": self.index1,
            **{f"blob{n}": blob for n, blob in enumerate(self.blobs, 1)},
            **{f"double{n}": double for n, double in enumerate(self.doubles, 1)},
        }


class AnalyticsDataset:
    """Points that are written and read back in the order of their writing; none is sampled away.

    `write` returns at once. What was written in one turn of the event loop is stored together at
    the next, and all of it is seen by `rows` and is on the disk after `close`.
    """

    __slots__ = ("_clock", "_closed", "_flushing", "_rows", "_waiting", "_warned", "id", "path")

    def __init__(
        self,
        id: str,
        path: Path,
        clock: Clock,
        durability: Durability = "process",
        prepare_file: Callable[[], None] = lambda: None,
    ) -> None:
        self.id = id
        self.path = path
        self._clock = clock
        self._rows = RowFile(path, durability, _SCHEMA, prepare_file)
        self._waiting: list[tuple[Any, ...]] = []
        self._flushing: asyncio.Task[None] | None = None
        self._warned = False
        self._closed = False

    def write(self, point: DataPoint) -> None:
        """Store a point. Raises ValueError for one over the limits and ClosedError after `close`."""
        point.check()
        if self._closed:
            raise ClosedError(f"the dataset {self.id!r} has been closed")
        if len(self._waiting) >= _MAX_WAITING:
            if not self._warned:
                self._warned = True
                _log.warning(
                    "The dataset %r takes in points faster than they can be stored: some are lost.",
                    self.id,
                )
            return
        self._waiting.append(
            (
                self._clock.now(),
                (point.indexes[0] if point.indexes else None) or "",
                *_padded(point.blobs),
                *_padded(point.doubles),
            )
        )
        if self._flushing is None:
            # It belongs to no worker, though a worker's call is what begins it.
            self._flushing = asyncio.get_running_loop().create_task(
                self._flush(), context=Context()
            )

    async def rows(self) -> list[AnalyticsRow]:
        """Every point of the dataset, oldest first. Raises StateError and ClosedError."""
        await self._flushed()
        await self._rows.open()
        try:
            rows = self._rows.read(_SELECT).fetchall()
        except apsw.Error as error:
            raise self._rows.failure(error) from error
        return [self._row(row) for row in rows]

    async def clear(self) -> None:
        """Remove every point. Raises StateError and ClosedError."""
        await self._flushed()
        await self._rows.open()
        await self._rows.write(_clear)

    def check_file(self) -> None:
        """See :meth:`pyflare_bindings.storage.row_file.RowFile.check_file`."""
        self._rows.check_file()

    async def close(self) -> None:
        """Store what waits and close the file. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._flushed()
        finally:
            await self._rows.close()

    async def _flushed(self) -> None:
        if self._flushing is not None:
            await asyncio.shield(self._flushing)

    async def _flush(self) -> None:
        try:
            await self._rows.open()
            while self._waiting:
                points, self._waiting = self._waiting, []
                await self._rows.write(partial(_insert, points), atomic=True)
        except Exception as error:
            # Nobody waits for a point, so that the log is the only place to say it.
            self._waiting.clear()
            _log.error("Points for the dataset %r were lost: %s", self.id, error)
        finally:
            self._flushing = None

    def _row(self, row: tuple[Any, ...]) -> AnalyticsRow:
        timestamp, index, interval = row[:3]
        blobs = tuple("" if blob is None else blob for blob in row[3 : 3 + FIELDS])
        doubles = tuple(0.0 if double is None else double for double in row[3 + FIELDS :])
        return AnalyticsRow(timestamp, self.id, index, blobs, doubles, interval)


def _size(blob: Blob | None) -> int:
    if blob is None:
        return 0
    return len(blob if isinstance(blob, bytes) else blob.encode())


def _padded(values: Sequence[Any]) -> list[Any]:
    return [*values, *[None] * (FIELDS - len(values))]


def _insert(points: list[tuple[Any, ...]], execute: Execute) -> None:
    for point in points:
        execute(_INSERT, point)


def _clear(execute: Execute) -> None:
    execute("DELETE FROM points").fetchall()
