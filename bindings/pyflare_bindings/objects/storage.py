"""The storage of one live object: key-value pairs, SQL, and the deletion of everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..storage.errors import SqlError, StateError
from ..storage.sql_text import well_formed
from . import key_values as kv
from .connection import ObjectConnection
from .errors import CriticalSqlError
from .images import PAGE_BYTES
from .key_values import KeyRange
from .live_object import AlarmRow, LiveObject
from .sql_cursor import SqlCursor


class ObjectStorage(LiveObject):
    """What one live instance of an object has stored. All calls are synchronous; values are bytes.

    Calls raise SqlError with the platform's text, and StateError when a file is at fault. What
    leaves the object in doubt makes it `broken`. The namespace makes it.
    """

    __slots__ = ()

    # Key-value pairs

    def get(self, key: str) -> bytes | None:
        """The value of a key; None when there is none."""
        connection = self._database.connection or self._reading()
        if connection is None:
            return None
        connection.recent = True
        try:
            value: Any = connection.own(kv.GET, (key,)).get
        except UnicodeEncodeError:
            return self.get(well_formed(key))
        except (CriticalSqlError, StateError) as error:
            raise self._break_with(error) from error
        return value  # type: ignore[no-any-return]

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The values of several keys, in the order of the keys; those without one are left out."""
        found = ((key, self.get(key)) for key in sorted(set(map(well_formed, keys))))
        return {key: value for key, value in found if value is not None}

    def list(
        self,
        start: str | None = None,
        start_after: str | None = None,
        end: str | None = None,
        prefix: str | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[tuple[str, bytes]]:
        """The pairs of a range, in the order of the keys' UTF-8 bytes, or the reverse of it.

        The range is from `start`, or behind `start_after`, up to `end` without it, and of keys with
        `prefix`; `limit` counts from where the order begins.
        """
        connection = self._database.connection or self._reading()
        if connection is None:
            return []
        wanted = _clean(KeyRange(start, start_after, end, prefix, reverse, limit))
        return self._guarded(connection.own_rows, *wanted.statement())

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""
        connection = self._writable()
        try:
            connection.own(kv.PUT, (key, value))
        except UnicodeEncodeError:
            self.put(well_formed(key), value)
        except (SqlError, StateError) as error:
            raise self._judged(error) from error

    def put_many(self, entries: Mapping[str, bytes]) -> None:
        """Set several values, all of them or none."""
        if not entries:
            return
        depth = self.savepoint()
        try:
            for key, value in entries.items():
                self.put(key, value)
        except BaseException:
            self.roll_back(depth)
            raise
        self.release(depth)

    def delete(self, key: str) -> bool:
        """Delete a key. Out: whether it was there."""
        return self.delete_many((key,)) > 0

    def delete_many(self, keys: Sequence[str]) -> int:
        """Delete several keys. Out: how many of them were there."""
        connection = self._database.connection or self._reading()
        if connection is None or not keys:
            return 0
        connection = self._writable()
        before = connection.connection.total_changes()
        for key in keys:
            self._guarded(connection.own, kv.DELETE, (well_formed(key),))
        return connection.connection.total_changes() - before

    def delete_all(self, keep_alarm: bool) -> None:
        """Delete everything, SQL tables too; the alarm only without `keep_alarm`.

        What the open transaction had written is dropped. It happens at once and survives the end of
        the process; `commit` has to follow, as after every write.
        Raises RuntimeError in an explicit transaction.
        """
        self._check()
        if self._marks:
            raise RuntimeError("Cannot call deleteAll() within a transaction")
        visible, began = self._alarm_row, self._at_begin
        if began is not None:
            self._alarm_row = began.alarm
        self._writing = False
        self._at_begin = None
        confirmed = self._alarm_row if keep_alarm else None
        try:
            self._database.reset(confirmed, self.name)
        except (SqlError, StateError) as error:
            raise self._break_with(error) from error
        self._alarm_row = confirmed
        self._name_stored = confirmed is not None and self.name is not None
        if not keep_alarm:
            self.alarm.delete()
        elif visible != confirmed:
            AlarmRow(self).write(visible)
            if began is not None and self._at_begin is not None:
                # The alarm was changed in the transaction before: to undo this one undoes that too.
                self._at_begin = self._at_begin._replace(mark=began.mark)
        self.on_write()

    # SQL

    def exec(self, sql: str, bindings: Sequence[Any] = ()) -> SqlCursor:
        """Run every statement of `sql`, the last one up to its first row.

        In: `bindings` for the last statement: float, str, bytes or None.
        Raises SqlError with the platform's text; statements before a failing one stay applied.
        """
        if self.broken is not None:
            raise self.broken
        connection = self._database.connection or self._opened()
        connection.recent = True
        if self._writing:
            try:
                cursor = connection.exec(sql, bindings, None)
            except Exception as error:
                raise self._judged(error) from error
        else:
            cursor = self._exec_in_transaction(connection, sql, bindings)
        cursor.depth = len(self._marks)
        return cursor

    def _exec_in_transaction(
        self, connection: ObjectConnection, sql: str, bindings: Sequence[Any]
    ) -> SqlCursor:
        if connection.commits and not connection.known_to_read(sql):
            # Where a file is due to the object, it has to be there before the statement begins.
            connection = self._guarded(self._database.ready)
        try:
            return connection.exec(sql, bindings, self._begin)
        except Exception as error:
            raise self._judged(error) from error

    @property
    def database_size(self) -> int:
        """The size of the database in bytes, without free pages, as the platform counts it."""
        connection = self._database.connection or self._reading()
        if connection is None:
            return PAGE_BYTES
        size = self._guarded(connection.used_bytes)
        # The platform creates these two tables when something is first put into them.
        for question in (kv.ANY_KEY, kv.ANY_METADATA):
            if not self._guarded(connection.own, question).get:
                size -= PAGE_BYTES
        return size

    def next_bookmark(self) -> int:
        """The number of the next bookmark: 0, 1, 2 and so on."""
        connection = self._writable()
        last: Any = self._guarded(connection.own, kv.READ_METADATA, (kv.BOOKMARK,)).get
        number = 0 if last is None else last + 1
        self._guarded(connection.own, kv.WRITE_METADATA, (kv.BOOKMARK, number))
        return int(number)


def _clean(wanted: KeyRange) -> KeyRange:
    return wanted._replace(
        start=wanted.start and well_formed(wanted.start),
        start_after=wanted.start_after and well_formed(wanted.start_after),
        end=wanted.end and well_formed(wanted.end),
        prefix=wanted.prefix and well_formed(wanted.prefix),
    )
