"""The owner of the objects of one class: their ids, and the storage of those that live."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ..clock import Clock
from ..storage.errors import ClosedError
from ..storage.sqlite import Durability
from .alarm_parts import ObjectResetError
from .files import ObjectFiles
from .ids import ObjectId, ObjectIds
from .images import alarm_in
from .moving import MovedObject, copy_out, holds, put_in, read_incoming
from .open_databases import OpenDatabases
from .outcome import ObjectKey
from .storage import ObjectStorage

Schedule = Callable[[ObjectKey, int | None], asyncio.Future[None]]


class ObjectNamespace:
    """All objects of one class of one worker.

    In: `unique_key`, worker and class joined by a hyphen; `schedule`, which asks the scheduler to
    wake an object. The registry makes it; nothing is on disk before an object's first write.
    """

    __slots__ = ("_clock", "_closed", "_files", "_live", "_schedule", "ids", "unique_key")

    def __init__(
        self,
        unique_key: str,
        directory: Path,
        clock: Clock,
        durability: Durability,
        open_databases: OpenDatabases,
        schedule: Schedule,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self.unique_key = unique_key
        self.ids = ObjectIds(unique_key)
        self._clock = clock
        self._schedule = schedule
        self._files = ObjectFiles(directory, durability, open_databases, prepare)
        self._live: dict[bytes, ObjectStorage] = {}
        self._closed = False

    def open(self, id: ObjectId) -> ObjectStorage:
        """The storage of an object; the same one until it has been closed.

        Raises ClosedError after `close`, ObjectResetError while the one before is being closed and
        StateError when the object's file cannot be used.
        """
        if self._closed:
            raise ClosedError(f"the namespace {self.unique_key!r} has been closed")
        storage = self._live.get(id.raw)
        if storage is None:
            key = ObjectKey(self.unique_key, id.hex)
            storage = ObjectStorage(
                id,
                self._files,
                self._clock,
                partial(self._schedule, key),
                partial(self._forget, id.raw),
            )
            self._live[id.raw] = storage
        elif storage.is_closing:
            raise ObjectResetError("the instance before this one has not come to its end")
        elif id.name is not None:
            storage.know_name(id.name)
        return storage

    def live(self, id: ObjectId) -> ObjectStorage | None:
        """The storage that an instance of the object has open."""
        storage = self._live.get(id.raw)
        return None if storage is None or storage.is_closing else storage

    def stored_ids(self) -> list[ObjectId]:
        """The objects that have stored something, in order. Raises StateError."""
        ids = {*self._files.ids_with_file(), *self._files.young.ids()}
        return [ObjectId(raw) for raw in sorted(ids)]

    def stored_alarms(
        self, changed_since: float | None = None
    ) -> Iterator[tuple[ObjectId, int | None]]:
        """Every object that may have an alarm, with the one it has.

        In: `changed_since`, to leave out files that were not written to since then, in seconds
        since the epoch by the clock of the file system.
        Out: milliseconds since the epoch, None for no alarm; of a live object the earliest time
        that the scheduler may have to know. Files that cannot be read are left out.
        Raises StateError.
        """
        files = self._files
        own_file = set(files.ids_with_file())
        live = set(self._live)
        if files.changed(files.young.path, changed_since):
            for raw, alarm in files.young.alarms():
                if raw not in own_file and raw not in live:
                    yield ObjectId(raw), alarm
        for raw in own_file - live:
            path = files.path_of(raw)
            if files.changed(path, changed_since):
                stored = alarm_in(path)
                if stored is not None or changed_since is not None:
                    yield ObjectId(raw), stored
        for storage in list(self._live.values()):
            yield storage.id, storage.alarm.earliest()

    def holds(self, id: ObjectId) -> bool:
        """Whether an object has stored something. Raises StateError."""
        return holds(self._files, id.raw)

    async def restore(self, id: ObjectId, incoming: Path) -> MovedObject:
        """Put the database in the file `incoming` in the place of what an object has stored.

        In: `incoming`, a whole database without a log, on the same file system; it is moved. Its
        alarm wakes the object here. Nothing is stored for a database with nothing in it. Raises
        ObjectResetError when an instance lives, and StateError.
        """
        self._check_not_live(id)
        moved = read_incoming(incoming, id.name)
        if self.holds(id):
            storage = self.open(id)
            storage.delete_all(keep_alarm=False)
            await storage.commit()
            await storage.close()
        if not moved.is_empty:
            if moved.alarm is not None:
                # Too early an alarm does no harm, one that is missing would.
                await self._schedule(ObjectKey(self.unique_key, id.hex), moved.alarm)
            put_in(self._files, id.raw, incoming, moved.alarm)
        return moved

    def copy_to(self, id: ObjectId, destination: Path) -> MovedObject | None:
        """Write the database of an object to a new file; None, and no file, when there is none.

        Raises as `restore` does.
        """
        self._check_not_live(id)
        return copy_out(self._files, id.raw, destination)

    def _check_not_live(self, id: ObjectId) -> None:
        if self._closed:
            raise ClosedError(f"the namespace {self.unique_key!r} has been closed")
        if id.raw in self._live:
            raise ObjectResetError("an instance of the object is alive")

    def check_file(self) -> None:
        """Break every live object whose file was deleted or replaced."""
        if not self._files.young.in_place:
            self._files.young.close()
        for storage in list(self._live.values()):
            storage.check_file()

    async def close(self) -> None:
        """Close every live object and the files."""
        if self._closed:
            return
        self._closed = True
        await asyncio.gather(
            *(storage.close() for storage in list(self._live.values())), return_exceptions=True
        )
        await self._files.close()

    def _forget(self, raw: bytes) -> None:
        self._live.pop(raw, None)
