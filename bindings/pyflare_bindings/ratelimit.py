"""The owner of one rate limiting namespace: how often each key was let through in the current window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from .clock import Clock
from .storage.row_file import Execute, RowFile
from .storage.sqlite import Durability

__all__ = ["RateLimitNamespace"]

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS buckets (
    key TEXT NOT NULL,
    period INTEGER NOT NULL,
    window INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (key, period)
) WITHOUT ROWID;
"""
_COUNT: Final = (
    "INSERT INTO buckets (key, period, window, count) VALUES (?1, ?2, ?3, 1)"
    " ON CONFLICT (key, period) DO UPDATE SET window = ?3,"
    " count = iif(window = ?3, count + 1, 1) WHERE window <> ?3 OR count < ?4 RETURNING count"
)
_SWEEP: Final = "DELETE FROM buckets WHERE period = ? AND window < ?"


class RateLimitNamespace:
    """Counters of one `namespace_id`, shared by every binding and worker that names it.

    A key has one counter for each period; a limit is only the threshold that a caller compares it
    with. Time is cut into windows of `period` seconds since the epoch, and calls that were refused
    do not count. The counters survive a restart of the process, at either durability.

    Source: https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/ and the
    local emulation of `packages/miniflare`; production counts per location and is approximate.
    """

    __slots__ = ("_clock", "_rows", "_swept", "id", "path")

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
        # A counter that a power cut takes away lets a minute's calls through: no reason to wait for
        # the disk at each.
        self._rows = RowFile(path, "process", _SCHEMA, prepare_file)
        self._swept: dict[int, int] = {}

    async def limit(self, key: str, limit: float, period: int) -> bool:
        """Count a call. Out: whether it is within `limit` calls per `period` seconds.

        Raises StateError when the file cannot be used and ClosedError after `close`.
        """
        if limit <= 0:
            return False
        if not self._rows.is_open:
            await self._rows.open()
        window = int(self._clock.now() // period)
        # What is no number is no limit, as in JavaScript's comparisons.
        threshold = limit if limit < 2**62 else 2**62
        row = (key, period, window, threshold)

        def count(execute: Execute) -> int | None:
            if self._swept.get(period) != window:
                execute(_SWEEP, (period, window))
                self._swept[period] = window
            counted: int | None = execute(_COUNT, row).get
            return counted

        return await self._rows.write(count) is not None

    async def reset(self) -> None:
        """Forget every counter."""
        await self._rows.open()
        await self._rows.write(_forget)

    def check_file(self) -> None:
        """See :meth:`pyflare_bindings.storage.row_file.RowFile.check_file`."""
        self._rows.check_file()

    async def close(self) -> None:
        """Close the file. Idempotent."""
        await self._rows.close()


def _forget(execute: Execute) -> None:
    execute("DELETE FROM buckets").fetchall()
