"""Removing expired rows, and the files of their bodies, in the background."""

from __future__ import annotations

import asyncio
import logging
from contextvars import Context
from typing import Any, Final

import apsw

from ..clock import Clock, Timer
from .blobs import BlobStore
from .errors import ClosedError, StateError
from .row_file import Execute, RowFile

__all__ = ["ExpirySweeper"]

_log = logging.getLogger(__name__)

# A batch holds the event loop for about a millisecond.
_BATCH: Final = 50
_SHORTEST_PAUSE_SECONDS: Final = 1.0
_PAUSE_AFTER_FAILURE_SECONDS: Final = 60.0
# Wall time can be set back and forth while a timer runs, so no timer runs for long.
_LONGEST_PAUSE_SECONDS: Final = 3600.0

_FIRST: Final = "SELECT expires FROM entries WHERE expires IS NOT NULL ORDER BY expires, id LIMIT 1"
_REMOVE: Final = (
    "DELETE FROM entries WHERE id IN"
    " (SELECT id FROM entries WHERE expires <= ? ORDER BY expires, id LIMIT ?) RETURNING blob"
)


class ExpirySweeper:
    """Removes rows of a table `entries(id, expires, blob)` once `expires` has passed.

    `expires` is in seconds since the epoch and NULL where a row stays. Readers do not depend on
    the sweep: they compare with the clock themselves.
    """

    __slots__ = ("_blobs", "_clock", "_closed", "_due", "_rows", "_sweeping", "_timer")

    def __init__(self, clock: Clock, rows: RowFile, blobs: BlobStore) -> None:
        self._clock = clock
        self._rows = rows
        self._blobs = blobs
        self._due = float("inf")
        self._timer: Timer | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._closed = False

    def begin(self) -> None:
        """Take note of the rows that are there. Raises StateError."""
        first = self._first()
        if first is not None:
            self.expect(first)

    def expect(self, expires: float) -> None:
        """Take note that there is a row that expires at this time."""
        if expires < self._due and self._sweeping is None and not self._closed:
            self._book(expires)

    async def close(self) -> None:
        """Stop, after the batch at hand."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._sweeping is not None:
            await asyncio.wait([self._sweeping])

    def _first(self) -> float | None:
        try:
            return self._rows.read(_FIRST).get  # type: ignore[no-any-return]
        except apsw.Error as error:
            raise self._rows.failure(error) from error

    def _book(self, expires: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = expires
        pause = max(expires - self._clock.now(), _SHORTEST_PAUSE_SECONDS)
        pause = min(pause, _LONGEST_PAUSE_SECONDS)
        # The timer belongs to no worker, though a worker's write may be what books it.
        self._timer = Context().run(self._clock.call_later, pause, self._start)

    def _start(self) -> None:
        self._timer = None
        if not self._closed:
            self._sweeping = asyncio.get_running_loop().create_task(self._sweep())

    async def _sweep(self) -> None:
        try:
            more = True
            while more and not self._closed:
                more = await self._remove_batch()
                await asyncio.sleep(0)
            expires = None if self._closed else self._first()
        except ClosedError:
            expires = None
        except Exception as error:
            # Nobody waits for this, and the rows are invisible already: a later sweep tries again.
            failure = error if isinstance(error, StateError) else repr(error)
            _log.warning("expired entries could not be removed: %s", failure)
            expires = self._clock.now() + _PAUSE_AFTER_FAILURE_SECONDS
        self._sweeping = None
        self._due = float("inf")
        if expires is not None:
            self.expect(expires)

    async def _remove_batch(self) -> bool:
        now = self._clock.now()

        def remove(execute: Execute) -> list[Any]:
            return execute(_REMOVE, (now, _BATCH)).fetchall()

        def removed(rows: list[Any]) -> None:
            self._blobs.delete([blob for (blob,) in rows if blob is not None])

        rows = await self._rows.write(remove, removed)
        return len(rows) == _BATCH
