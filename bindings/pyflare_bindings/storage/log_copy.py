"""Copying the write-ahead log into its database away from the event loop.

SQLite's automatic checkpoint would run inside a commit, and hold it for several fsyncs. Instead
the log is copied on the owner's thread while requests go on, and then the little that has been
added meanwhile with the queue held, after which SQLite begins the log anew. Without the second
step a steady stream of writes would let the log grow for ever.
"""

from __future__ import annotations

import logging
from pathlib import Path

import apsw

_log = logging.getLogger(__name__)

_PAGES_BETWEEN_COPIES = 4096


class LogCopy:
    """When the log of one database is due, and its first copy.

    `limit` is the length in pages above which the log is due; `running` is true from the first
    copy to the end of the second one, `rest_due` between them.
    """

    __slots__ = ("_pages_between", "limit", "path", "rest_due", "running")

    def __init__(self, path: Path, pages_between: int = _PAGES_BETWEEN_COPIES) -> None:
        self.path = path
        self._pages_between = pages_between
        self.limit = pages_between
        self.running = False
        self.rest_due = False

    def copy(self) -> None:
        """Copy what is in the log now, through a connection of its own. Never raises."""
        try:
            connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                # A connection that has not read yet does not know of the log, and would copy nothing.
                connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
                connection.wal_checkpoint()
            finally:
                connection.close(force=True)
        except apsw.Error as error:
            # Nothing is lost: the log keeps what could not be copied until the next attempt.
            _log.warning("%s: the write-ahead log could not be copied: %s", self.path, error)

    def finish(self, complete: bool, pages: int) -> None:
        """The rest has been copied, or not: another program reading the file can prevent it."""
        self.running = False
        self.limit = self._pages_between + (0 if complete else pages)
