"""The yardstick of D1: the same statements on bare apsw, with the same durability."""

import time
from pathlib import Path

import apsw

from benchmarks import statements

SYNCHRONOUS = {"process": "NORMAL", "machine": "FULL"}


class BareSQLite:
    """One apsw connection over a file, WAL, with apsw's own statement cache."""

    def __init__(self, path: Path, durability: str) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self._connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS[durability]}").fetchall()
        for statement in statements.SCHEMA:
            self._connection.execute(statement)
        with self._connection:
            self._connection.executemany(statements.FILL, statements.items())

    def close(self) -> None:
        self._connection.close()

    def select(self, count: int) -> float:
        """Seconds for `count` point selects."""
        execute = self._connection.execute
        started = time.perf_counter()
        for index in range(count):
            execute(statements.SELECT, (index % statements.ROWS + 1,)).fetchone()
        return time.perf_counter() - started

    def insert(self, count: int) -> float:
        """Seconds for `count` inserts that each commit."""
        execute = self._connection.execute
        started = time.perf_counter()
        for index in range(count):
            execute(statements.INSERT, (index, statements.NOTE))
        return time.perf_counter() - started

    def batch(self, count: int) -> float:
        """Seconds for `count` transactions of `statements.BATCH` inserts."""
        execute = self._connection.execute
        started = time.perf_counter()
        for _ in range(count):
            execute("BEGIN")
            for index in range(statements.BATCH):
                execute(statements.INSERT, (index, statements.NOTE))
            execute("COMMIT")
        return time.perf_counter() - started

    def scan(self, count: int) -> float:
        """Seconds for `count` reads of all rows."""
        execute = self._connection.execute
        started = time.perf_counter()
        for _ in range(count):
            execute(statements.SCAN).fetchall()
        return time.perf_counter() - started

    def clear(self) -> None:
        """Empties the table that `insert` and `batch` fill."""
        self._connection.execute(statements.CLEAR)
