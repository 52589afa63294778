"""The owner of all queues of a state directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from ..clock import Clock
from ..storage.row_file import Execute, RowFile
from ..storage.sqlite import Durability
from . import statements
from .messages import Arrival, QueueMetrics
from .queue import Queue

__all__ = ["QueueStore", "StoredQueue"]

T = TypeVar("T")


class StoredQueue(NamedTuple):
    """A queue that has been used, and what it holds."""

    name: str
    metrics: QueueMetrics


class QueueStore:
    """All queues, in one file, so that a message moves from one to another in one transaction.

    The registry makes it; its file is opened at the first request. Every method of it and of its
    queues raises StateError when the file cannot be used and ClosedError after `close`.
    `arrived` is called on the event loop whenever messages have come into a queue.
    """

    __slots__ = ("_counted", "_file", "_queues", "_ready", "arrived", "clock", "path")

    arrived: Arrival | None

    def __init__(
        self,
        path: Path,
        clock: Clock,
        durability: Durability = "process",
        prepare_file: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        self.clock = clock
        self.arrived = None
        self._queues: dict[str, Queue] = {}
        self._counted: list[tuple[str, int, int, int, int]] = []
        self._ready = False
        self._file = RowFile(path, durability, statements.SCHEMA, prepare_file, self._begin)

    def queue(self, name: str) -> Queue:
        """The queue of this name, which need not have been used before."""
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = Queue(self, name)
        return queue

    async def queues(self) -> list[StoredQueue]:
        """The queues that have been used, by name."""
        await self.open()
        names = [name for (name,) in self.read("SELECT name FROM queue ORDER BY name")]
        return [StoredQueue(name, await self.queue(name).metrics()) for name in names]

    def check_file(self) -> None:
        """See :meth:`pyflare_bindings.storage.row_file.RowFile.check_file`."""
        self._file.check_file()

    async def close(self) -> None:
        """Finish the writes at hand and close the file. Idempotent."""
        await self._file.close()

    # For the queues

    @property
    def is_open(self) -> bool:
        return self._ready and self._file.is_open

    async def open(self) -> None:
        """Open the file; what an earlier process was delivering can be delivered again."""
        if self.is_open:
            return
        await self._file.open()
        counted, self._counted = self._counted, []
        for name, *figures in counted:
            self.queue(name).restore(*figures)
        self._ready = True

    async def number_of(self, name: str) -> int:
        """The number of a queue, given to it now if it has none."""

        def job(execute: Execute) -> int:
            execute(statements.ADD_QUEUE, (name,))
            number: int = execute(statements.NUMBER_OF, (name,)).get
            return number

        return await self._file.write(job, atomic=True)

    async def write(
        self,
        job: Callable[[Execute], T],
        committed: Callable[[T], object],
        *,
        atomic: bool = False,
    ) -> T:
        """See :meth:`pyflare_bindings.storage.row_file.RowFile.write`."""
        return await self._file.write(job, committed, atomic=atomic)

    def read(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement that only reads."""
        try:
            return self._file.read(sql, values).fetchall()
        except apsw.Error as error:
            raise self._file.failure(error) from error

    def now(self) -> int:
        """Milliseconds since the epoch."""
        # A timer set for a whole millisecond must not find itself a rounding error too early.
        return int(self.clock.now() * 1000 + 0.001)

    def _begin(self, execute: Execute) -> None:
        execute(statements.RELEASE_PUSHED)
        counted: list[Any] = execute(statements.COUNT_ALL).fetchall()
        self._counted = counted
