"""One live instance of an object: its transactions, its alarm, and its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import apsw

from ..clock import Clock
from ..storage.errors import FileGoneError, SqlError, StateError
from ..storage.sql_text import well_formed
from . import key_values as kv
from .alarm import ObjectAlarm
from .alarm_parts import AlarmMark, ObjectResetError, Tell
from .connection import ObjectConnection
from .database import Home, ObjectDatabase
from .errors import ABORTED_BY_ROLLBACK, TRANSACTION_LOST, CriticalSqlError
from .files import ObjectFiles
from .ids import ObjectId

if TYPE_CHECKING:
    from typing import ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")

_log = logging.getLogger(__name__)

_LONGEST_NAME_BYTES = 1024


def _nothing() -> None:
    """Nobody wants to know."""


class _Begin(NamedTuple):
    """What the transaction found."""

    alarm: int | None
    name_stored: bool
    mark: AlarmMark


class LiveObject:
    """The database of one instance, from the moment it is needed to the end of the instance.

    The first write opens the implicit transaction and calls `on_write`; `commit` ends it. Reads
    alone open none. `on_broken` is called once, with the reason, when memory and database may
    disagree, after which every call raises `broken`: the instance has to be torn down with `close`.
    `on_crowded` is called, outside of the instance's own turns, when what it wrote should be
    committed at once, to make room for others.
    """

    __slots__ = (
        "_alarm_at_start",
        "_alarm_row",
        "_at_begin",
        "_closed",
        "_database",
        "_files",
        "_held",
        "_marks",
        "_name_stored",
        "_on_closed",
        "_synced",
        "_tell",
        "_told_nothing",
        "_writing",
        "alarm",
        "broken",
        "id",
        "name",
        "on_broken",
        "on_crowded",
        "on_write",
    )

    def __init__(
        self,
        id: ObjectId,
        files: ObjectFiles,
        clock: Clock,
        tell: Tell,
        on_closed: Callable[[], None],
    ) -> None:
        self.id = id
        self.on_write: Callable[[], None] = _nothing
        self.on_broken: Callable[[BaseException], None] = _ignore
        self.on_crowded: Callable[[], object] = _nothing
        self.broken: BaseException | None = None
        self.name: str | None = None
        self._name_stored = False
        self._files = files
        self._on_closed = on_closed
        self._tell = tell
        self._database = ObjectDatabase(id.raw, files, self)
        self._writing = False
        self._closed: asyncio.Future[None] | None = None
        self._synced: asyncio.Future[None] | None = None
        self._held: list[asyncio.Future[None]] = []
        self._marks: list[AlarmMark] = []
        self._at_begin: _Begin | None = None
        self._alarm_row: int | None = None
        try:
            self._load()
        except BaseException:
            self._database.discard()
            raise
        self._told_nothing = True
        self._alarm_at_start = self._alarm_row
        self.alarm = ObjectAlarm(
            AlarmRow(self),
            clock=clock,
            tell=self._tell_scheduler,
            make_durable=self._make_durable,
            broken=self._break,
            label=f"object {id.hex}",
        )

    def _load(self) -> None:
        if self._database.home is not Home.NOWHERE:
            connection = self._database.open()
            alarm: Any = connection.own(kv.READ_METADATA, (kv.ALARM,)).get
            self._alarm_row = None if alarm is None else alarm // kv.NANOSECONDS
            stored_name: Any = connection.own(kv.READ_METADATA, (kv.NAME,)).get
            self.name = stored_name
            self._name_stored = stored_name is not None
        if self.id.name is not None:
            self.know_name(self.id.name)

    def know_name(self, name: str) -> None:
        """The name that the object was called by; stored with its next transaction.

        A name of more than 1024 bytes is not kept, as on the platform.
        """
        if self.name is None and len(well_formed(name).encode()) <= _LONGEST_NAME_BYTES:
            self.name = well_formed(name)

    # Transactions

    @property
    def in_transaction(self) -> bool:
        """Whether something is written that `commit` has not committed."""
        return self._writing

    @property
    def depth(self) -> int:
        """How many savepoints are open."""
        return len(self._marks)

    def savepoint(self) -> int:
        """Begin a transaction within the implicit one. Out: its depth, for the calls below."""
        connection = self._writable()
        depth = len(self._marks)
        self._guarded(connection.internal, f"SAVEPOINT _cf_savepoint_{depth}")
        self._marks.append(self.alarm.mark())
        return depth

    def release(self, depth: int) -> None:
        """Keep what was written since the savepoint, as part of what is around it."""
        self._check()
        connection = self._database.connection
        assert connection is not None, "a savepoint keeps it open"
        assert depth == len(self._marks) - 1, "the innermost savepoint comes first"
        self._guarded(connection.internal, f"RELEASE _cf_savepoint_{depth}")
        self._marks.pop()
        if not self._marks and self._held:
            self.on_write()

    def roll_back(self, depth: int, *, keep: bool = False) -> None:
        """Undo what was written since the savepoint, and end it unless it is to be kept."""
        self._check()
        connection = self._database.connection
        assert connection is not None, "a savepoint keeps it open"
        assert depth == len(self._marks) - 1, "the innermost savepoint comes first"
        connection.cancel_cursors(ABORTED_BY_ROLLBACK, depth + 1)
        name = f"_cf_savepoint_{depth}"
        if not self._guarded(connection.roll_back_to, name):
            raise self._break_with(CriticalSqlError(TRANSACTION_LOST))
        row: Any = self._guarded(connection.own, kv.READ_METADATA, (kv.ALARM,)).get
        self._alarm_row = None if row is None else row // kv.NANOSECONDS
        self.alarm.roll_back(self._marks[-1])
        if keep:
            self._guarded(connection.internal, f"SAVEPOINT {name}")
            return
        self._marks.pop()
        if not self._marks and self._held:
            self.on_write()

    def commit(self) -> asyncio.Future[None]:
        """End the implicit transaction.

        Resolves when what was written is durable and the scheduler is not behind its alarm, which
        is what an output gate waits for. Raises, through the future, what makes the storage
        `broken`. While a savepoint is open it resolves with the first commit after that.
        """
        return self.alarm.commit()

    def roll_back_all(self) -> None:
        """Undo the implicit transaction with all savepoints in it."""
        if self._writing:
            self._undo()

    # The end

    def close(self) -> asyncio.Future[None]:
        """End the instance: undo what is not committed, hand the alarm to the scheduler.

        Resolves when the namespace can open the object again. It may be called again.
        """
        if self._closed is None:
            self.roll_back_all()
            self._closed = asyncio.get_running_loop().create_future()
            torn_down = self.alarm.tear_down()
            if self.broken is None:
                self.broken = ObjectResetError("the object was reset")
            if torn_down.done():
                self._finish(torn_down)
            else:
                torn_down.add_done_callback(self._finish)
        return self._closed

    @property
    def is_closing(self) -> bool:
        """Whether `close` has been called."""
        return self._closed is not None

    def close_if_idle(self) -> bool:
        """Close the database, unless it was used since the last time, or is in use.

        The next call opens it again. Out: whether it is closed.
        """
        connection = self._database.connection
        if connection is None:
            return True
        if connection.recent:
            connection.recent = False
            return False
        if self._writing or connection.is_read:
            return False
        self._database.close()
        return True

    def close_early(self) -> bool:
        """Close the database, with what the last turn wrote committed and what is read read ahead.

        Out: whether it is closed. It stays open for an explicit transaction, a commit that waits
        for the scheduler, and a cursor with very many rows.
        """
        if self._writing and not self._marks:
            self.on_crowded()
        connection = self._database.connection
        if connection is None:
            return True
        if self._writing or not connection.read_ahead():
            return False
        self._database.close()
        return True

    @property
    def place(self) -> asyncio.Semaphore | None:
        """What an explicit transaction across turns has to hold; None when it needs no file.

        Raises StateError.
        """
        return self._files.open_databases.places if self._database.takes_files else None

    def check_file(self) -> None:
        """Break when the file was deleted or replaced under the object."""
        if self.broken is None and self._database.is_gone:
            self._break(FileGoneError(self._database.path))

    # Inside

    def _check(self) -> None:
        if self.broken is not None:
            raise self.broken

    def _reading(self) -> ObjectConnection | None:
        """The open database; None when there is nothing to read."""
        self._check()
        try:
            if self._database.home is Home.NOWHERE:
                return None
            return self._database.open()
        except StateError as error:
            raise self._break_with(error) from error

    def _opened(self) -> ObjectConnection:
        self._check()
        return self._guarded(self._database.open)

    def _writable(self) -> ObjectConnection:
        """The open database with a transaction open."""
        if not self._writing:
            self._begin()
        elif self.broken is not None:
            raise self.broken
        connection = self._database.connection
        assert connection is not None, "it has a transaction"
        return connection

    def _begin(self) -> None:
        if self.broken is not None:
            raise self.broken
        try:
            connection = self._database.begin()
            self._at_begin = _Begin(self._alarm_row, self._name_stored, self.alarm.mark())
            self._writing = True
            if self.name is not None and not self._name_stored:
                connection.own(kv.WRITE_METADATA, (kv.NAME, self.name))
                self._name_stored = True
        except (SqlError, StateError) as error:
            raise self._break_with(error) from error
        self.on_write()

    def _tell_scheduler(self, time: int | None) -> asyncio.Future[None]:
        if self._told_nothing and self._closed is not None and time == self._alarm_at_start:
            # The scheduler already is where the instance before this one left it.
            return self._resolved()
        self._told_nothing = False
        return self._tell(time)

    def _make_durable(self) -> asyncio.Future[None]:
        if self.broken is not None:
            raise self.broken
        if self._marks:
            held: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._held.append(held)
            return held
        if self._writing:
            try:
                self._database.commit(self._alarm_row)
            except Exception:
                self._undo()
                raise
            self._writing = False
            self._at_begin = None
        durable = self._durable()
        if self._held:
            self._release_held(durable)
        return durable

    def _durable(self) -> asyncio.Future[None]:
        if self._files.durability == "machine":
            return self._files.sync(self._database.log_path)
        return self._resolved()

    def _resolved(self) -> asyncio.Future[None]:
        if self._synced is None:
            self._synced = asyncio.get_running_loop().create_future()
            self._synced.set_result(None)
        return self._synced

    def _release_held(self, durable: asyncio.Future[None]) -> None:
        held, self._held = self._held, []

        def release(durable: asyncio.Future[None]) -> None:
            failure = durable.exception()
            for each in held:
                if not each.done():
                    if failure is None:
                        each.set_result(None)
                    else:
                        each.set_exception(failure)

        if durable.done():
            release(durable)
        else:
            durable.add_done_callback(release)

    def _undo(self) -> None:
        self._writing = False
        self._marks.clear()
        began, self._at_begin = self._at_begin, None
        try:
            self._database.roll_back()
        except StateError as error:
            self._break(error)
        if began is not None:
            self._alarm_row = began.alarm
            self._name_stored = began.name_stored
            self.alarm.roll_back(began.mark)

    def _guarded(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except (SqlError, StateError) as error:
            raise self._judged(error) from error
        except apsw.Error as error:
            connection = self._database.connection
            assert connection is not None, "it has just been used"
            raise self._judged(connection.translate(error)) from error

    def _judged(self, error: Exception) -> Exception:
        """The error to raise; what leaves the object in doubt breaks it."""
        connection = self._database.connection
        if isinstance(error, CriticalSqlError | StateError):
            return self._break_with(error)
        lost = self._writing and (connection is None or not connection.connection.in_transaction)
        if lost:
            # The statement said ON CONFLICT ROLLBACK, which undoes all that others wrote too.
            return self._break_with(CriticalSqlError(TRANSACTION_LOST))
        return error

    def _break_with(self, error: Exception) -> Exception:
        self._break(error)
        return error

    def _break(self, error: BaseException) -> None:
        if self.broken is not None:
            return
        self.broken = error
        if self._writing:
            self._undo()
        self._let_go(str(error))
        self.on_broken(error)

    def _let_go(self, reason: str) -> None:
        """Close the database, so that whoever has a cursor or asks for more meets the reason."""
        if self._database.connection is not None:
            self._database.connection.cancel_cursors(reason)
        try:
            self._database.discard()
        except StateError as error:
            _log.warning("%s", error)

    def _finish(self, _torn_down: asyncio.Future[None]) -> None:
        self._let_go(str(self.broken))
        self._on_closed()
        if self._closed is not None and not self._closed.done():
            self._closed.set_result(None)


class AlarmRow:
    """The alarm as the open transaction sees it."""

    __slots__ = ("_storage",)

    def __init__(self, storage: LiveObject) -> None:
        self._storage = storage

    def read(self) -> int | None:
        return self._storage._alarm_row

    def write(self, time: int | None) -> None:
        storage = self._storage
        if time is None and storage._alarm_row is None:
            return
        connection = storage._writable()
        value = None if time is None else time * kv.NANOSECONDS
        storage._guarded(connection.own, kv.WRITE_METADATA, (kv.ALARM, value))
        storage._alarm_row = time


def _ignore(_: BaseException) -> None:
    """Nobody wants to know."""
