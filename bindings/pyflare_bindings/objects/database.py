"""Where the bytes of one object are: nowhere yet, among the young ones, or in a file of its own."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Final

import apsw

from ..storage.authorizer import Authorizer
from ..storage.errors import (
    FileGoneError,
    StateError,
    descriptors_are_used_up,
    platform_text,
    state_error,
)
from ..storage.sqlite import file_identity
from .connection import ObjectConnection
from .errors import CANCELLED_BY_DELETE_ALL, CONSTRAINT_AT_COMMIT, CriticalSqlError
from .files import ObjectFiles
from .images import empty_image, image_of, log_of, open_file, open_image, unwritable, write_file
from .key_values import ALARM, NAME, NANOSECONDS, WRITE_METADATA
from .open_databases import Closable
from .schemas import Schemas
from .young_objects import LARGEST_IMAGE

# So many transactions in one go show that an object is worth a file of its own.
_YOUNG_COMMITS: Final = 4
# An object with rows that are being read stays where it is up to this size: its readers see what is
# written meanwhile. Above, storing it as a whole with each commit would hold up everybody else.
_LARGEST_WITH_READERS: Final = 1024 * 1024
# Above this length the log of a file is copied by another connection, which needs its index.
_LOG_PAGES_ALONE: Final = 256


class Home(enum.Enum):
    """Where an object is kept."""

    NOWHERE = enum.auto()
    YOUNG = enum.auto()
    FILE = enum.auto()


class ObjectDatabase:
    """The database of one object, opened when it is needed and closed when it is idle.

    In: `owner`, who decides when it is idle. `connection` is None while it is closed. A young
    object's database lives in memory and is stored as a whole by each commit; one that is used
    often, or grows, gets a file.
    """

    __slots__ = (
        "_file",
        "_files",
        "_home",
        "_image",
        "_owner",
        "_settings",
        "_shared",
        "connection",
        "id",
        "path",
    )

    def __init__(self, id: bytes, files: ObjectFiles, owner: Closable) -> None:
        self.id = id
        self.path = files.path_of(id)
        self.connection: ObjectConnection | None = None
        self._files = files
        self._owner = owner
        self._home: Home | None = None
        self._image: bytes | None = None
        self._settings: dict[str, str] = {}
        self._shared = False
        self._file: tuple[int, int] | None = None

    @property
    def home(self) -> Home:
        """Where the object is kept. Raises StateError."""
        home = self._home
        if home is None:
            if self.path.exists():
                home = Home.FILE
            else:
                self._image = self._files.young.load(self.id)
                home = Home.NOWHERE if self._image is None else Home.YOUNG
            self._home = home
        return home

    def open(self) -> ObjectConnection:
        """Open the database, an empty one for an object that is nowhere. Raises StateError."""
        home = self.home
        if home is Home.FILE:
            self._shared = self._shared or self._files.is_copying(self.path)
            opened = self._open_file()
            self._file = file_identity(self.path)
        else:
            image, self._image = self._image, None
            if home is Home.YOUNG and image is None:
                image = self._files.young.load(self.id)
                if image is None:
                    self._home = None
                    raise FileGoneError(self._files.young.path)
            try:
                opened = open_image(image or empty_image())
            except apsw.Error as error:
                raise state_error(self._files.young.path, error) from error
        connection = self.connection = ObjectConnection(
            self.path, opened, self._files.schemas, self._settings
        )
        self._files.open_databases.opened(self._owner, in_file=home is Home.FILE)
        return connection

    def _open_file(self) -> tuple[apsw.Connection, Authorizer]:
        others = self._files.open_databases
        others.make_room()
        try:
            return open_file(self.path, shared=self._shared)
        except StateError:
            # Something else in the process may need more descriptors than are left for it.
            if not (descriptors_are_used_up() and others.give_back()):
                raise
        return open_file(self.path, shared=self._shared)

    @property
    def takes_files(self) -> bool:
        """Whether the next transaction needs a file of its own. Raises StateError."""
        if self.home is Home.FILE:
            return True
        connection = self.connection
        return connection is not None and connection.commits >= _YOUNG_COMMITS

    def begin(self) -> ObjectConnection:
        """Open a transaction. Raises StateError."""
        connection = self.ready()
        connection.recent = True
        try:
            connection.begin(write=True)
        except apsw.Error as error:
            raise connection.translate(error) from error
        return connection

    def ready(self) -> ObjectConnection:
        """The open database, in the place where the next transaction is to go. Raises StateError."""
        connection = self.connection or self.open()
        young = self._home is not Home.FILE
        if young and connection.commits >= _YOUNG_COMMITS and not connection.is_read:
            return self._move_to_file(connection, self._image_of(connection))
        return connection

    def commit(self, alarm: int | None) -> None:
        """Commit the transaction; it then survives the end of the process.

        In: the object's alarm, in milliseconds since the epoch.
        Raises what `translate` gives, with the transaction open, or StateError with it lost.
        """
        connection = self.connection
        assert connection is not None, "there is a transaction"
        try:
            connection.commit()
        except apsw.ConstraintError as error:
            raise CriticalSqlError(CONSTRAINT_AT_COMMIT + platform_text(error)) from error
        except apsw.Error as error:
            raise connection.translate(error) from error
        connection.commits += 1
        if self._home is Home.FILE:
            self._after_commit(connection)
            return
        try:
            image = self._image_of(connection)
            size = len(image)
            if size > LARGEST_IMAGE and (size > _LARGEST_WITH_READERS or not connection.is_read):
                self._move_to_file(connection, image)
                return
            self._files.young.store(self.id, image, alarm)
        except StateError:
            # What is in memory has not been kept.
            self.discard()
            raise
        self._files.copy_young_log()
        self._home = Home.YOUNG

    def _after_commit(self, connection: ObjectConnection) -> None:
        if connection.commits == 1:
            connection.own("PRAGMA synchronous = NORMAL")
        if file_identity(self.path) != self._file:
            self.discard()
            raise FileGoneError(self.path)
        if connection.wal_pages > _LOG_PAGES_ALONE:
            if not self._shared:
                if connection.is_read:
                    return
                self._shared = True
                self.close()
                connection = self.open()
                connection.commits = 1
            self._files.copy_log(self.path, connection.wal_pages)

    def _image_of(self, connection: ObjectConnection) -> bytes:
        try:
            return image_of(connection.connection)
        except apsw.Error as error:
            raise state_error(self.path, error) from error

    def _move_to_file(self, old: ObjectConnection, image: bytes) -> ObjectConnection:
        """Give the object a file, which counts from the moment it is there."""
        self._files.prepare()
        log_of(self.path).unlink(missing_ok=True)
        write_file(self.path, image, sync=self._files.durability == "machine")
        self._home = Home.FILE
        self._files.young.remove(self.id)
        self._forget_connection(old)
        return self.open()

    def _forget_connection(self, old: ObjectConnection) -> None:
        self.connection = None
        self._files.open_databases.closed(self._owner)
        # Whoever still reads from it keeps it.
        if not old.is_read:
            old.close()

    def reset(self, alarm: int | None, name: str | None) -> None:
        """Delete everything but the alarm, in one step that a crash does not divide.

        An open transaction is dropped. Raises StateError.
        """
        connection = self.connection
        if connection is not None:
            connection.cancel_cursors(CANCELLED_BY_DELETE_ALL)
        self.roll_back()
        image = None if alarm is None else _image_with(alarm, name)
        home = self.home
        if home is Home.FILE:
            self._reset_file(image)
        else:
            self.discard()
            if image is not None:
                self._files.young.store(self.id, image, alarm)
            elif home is Home.YOUNG:
                self._files.young.remove(self.id)
        self._home = None

    def _reset_file(self, image: bytes | None) -> None:
        # What is in the log must not come back over the new file.
        connection = self.connection or self.open()
        machine = self._files.durability == "machine"
        try:
            connection.own(f"PRAGMA synchronous = {'FULL' if machine else 'OFF'}")
            connection.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as error:
            raise connection.translate(error) from error
        self.discard()
        if image is not None:
            write_file(self.path, image, sync=machine)
            return
        self._files.young.remove(self.id)
        try:
            self.path.unlink(missing_ok=True)
            for suffix in ("-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        except OSError as error:
            raise unwritable(self.path, error) from error

    def roll_back(self) -> None:
        """Undo the open transaction, if there is one. Raises StateError."""
        connection = self.connection
        if connection is None:
            return
        try:
            connection.roll_back()
        except apsw.Error as error:
            self.discard()
            raise state_error(self.path, error) from error

    @property
    def log_path(self) -> Path:
        """The log that the last commit went to."""
        return log_of(self.path if self._home is Home.FILE else self._files.young.path)

    def close(self) -> None:
        """Close the database, which nobody may be using."""
        connection = self.connection
        if connection is not None:
            self._forget_connection(connection)

    def discard(self) -> None:
        """Close the database whatever its state, and look anew where it is the next time."""
        connection, self.connection = self.connection, None
        self._home = None
        self._image = None
        if connection is not None:
            self._files.open_databases.closed(self._owner)
            try:
                connection.close()
            except apsw.Error as error:
                raise state_error(self.path, error) from error

    @property
    def is_gone(self) -> bool:
        """Whether the open file was deleted or replaced."""
        if self.connection is None or self._home is not Home.FILE:
            return False
        return file_identity(self.path) != self._file


def _image_with(alarm: int, name: str | None) -> bytes:
    opened = open_image(empty_image())
    connection = ObjectConnection(Path(":memory:"), opened, Schemas(), {})
    try:
        connection.own(WRITE_METADATA, (ALARM, alarm * NANOSECONDS))
        if name is not None:
            connection.own(WRITE_METADATA, (NAME, name))
        return image_of(connection.connection)
    finally:
        connection.close()
