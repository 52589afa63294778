"""Runs D1 requests on one database file: transactions, results and the request counter.

Plain synchronous code. One thread uses it at a time, which the owner sees to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import apsw

from ..storage.errors import FileGoneError, SqlError, state_error
from ..storage.plan import Plan
from ..storage.sandbox import WRONG_PARAMETER_COUNT, Sandbox, StoppedError
from ..storage.sqlite import Durability, file_identity
from .errors import DEFERRED_FOREIGN_KEY, NO_STATEMENTS, D1Error
from .results import Meta, Results, Statement, StatementResult
from .statement_filter import is_dropped

Outcome = Results | Exception

# The request counter is stored this far ahead, so that most requests need not store it. After a
# kill the numbers in between are skipped, never given out twice.
_COUNTERS_RESERVED = 4096
_COUNTER_KEY = 2

# A step that walks a whole b-tree of a smaller database is over in a few milliseconds.
_LARGE_BYTES = 16 * 1024 * 1024

# Within a batch, the size after a run of plain inserts is looked up once for so many of them.
_SIZE_EVERY = 16


class Engine:
    """One open database file.

    `counter` numbers the successful requests. Raises StateError when the file cannot be used.
    """

    __slots__ = ("_file", "_last_row_id", "_reserved", "_size", "counter", "sandbox")

    def __init__(self, path: Path, durability: Durability) -> None:
        self.sandbox = Sandbox(path, durability)
        self._file = file_identity(path)
        try:
            self.counter = self._reserved = self._stored_counter()
            self._last_row_id = 0
            self._size = 0
            self._note_size(self.sandbox.used_bytes())
        except apsw.Error as error:
            self.sandbox.close()
            raise state_error(path, error) from error

    def run(self, statements: Sequence[Statement]) -> Results:
        """Run one request, all of it or nothing.

        Raises D1Error, StateError, and StoppedError when it held the event loop too long.
        """
        sandbox = self.sandbox
        if len(statements) == 1 and self.counter < self._reserved:
            sql, params = statements[0]
            plan = sandbox.known_plan(sql)
            if plan is not None and plan.alone_and_reads:
                return self._run_read(plan, params)
        kept = _kept(statements)
        try:
            sandbox.begin(write=not self._keeps_data(kept))
            results = self._run_all(kept, statements)
            self._count(results)
            self._commit()
        except Exception as error:
            self._undo()
            raised = self._as_raised(error)
            if raised is error:
                raise
            raise raised from error
        except BaseException:
            self._undo()
            raise
        return results

    def run_group_on_thread(self, requests: Sequence[Sequence[Statement]]) -> list[Outcome]:
        """Like `run_group`, away from the event loop and its limits of time."""
        self.sandbox.enter_thread()
        try:
            return self.run_group(requests)
        finally:
            self.sandbox.leave_thread()

    def run_group(self, requests: Sequence[Sequence[Statement]]) -> list[Outcome]:
        """Run several requests with one commit, each of them all or nothing on its own."""
        if len(requests) == 1:
            return [self._outcome(requests[0])]
        outcomes: list[Outcome] = []
        try:
            self.sandbox.begin(write=True)
            for statements in requests:
                try:
                    outcomes.append(self._run_member(statements))
                except Exception as error:
                    if not self.sandbox.roll_back_to("request"):
                        # The statement undid the requests before it too (ON CONFLICT ROLLBACK).
                        self._undo()
                        return [self._outcome(each) for each in requests]
                    self._refresh()
                    outcomes.append(self._as_raised(error))
            self._commit()
        except Exception as error:
            self._undo()
            failure = self._as_raised(error)
            kept: list[Outcome] = [
                each if isinstance(each, Exception) else failure for each in outcomes
            ]
            kept += [failure] * (len(requests) - len(kept))
            return kept
        return outcomes

    def copy_rest_of_log(self) -> bool:
        """Copy what is in the write-ahead log into the database, with no request running.

        Out: whether all of it could be copied, so that the next commit starts the log anew.
        """
        try:
            pages, copied = self.sandbox.connection.wal_checkpoint()
        except apsw.Error:
            return False
        return copied >= pages

    def only_reads(self, statements: Sequence[Statement]) -> bool:
        """Whether a request is one statement that is known to only select."""
        if len(statements) != 1 or self.counter >= self._reserved:
            return False
        plan = self.sandbox.known_plan(statements[0].sql)
        return plan is not None and plan.alone_and_reads

    def close(self) -> None:
        """Store the exact counter and close the file."""
        if not self.in_place:
            self.sandbox.close()
            return
        try:
            if self._reserved:
                self._store_counter(self.counter)
            self.sandbox.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as error:
            raise state_error(self.sandbox.path, error) from error
        finally:
            self.sandbox.close()

    def _outcome(self, statements: Sequence[Statement]) -> Outcome:
        try:
            return self.run(statements)
        except Exception as error:
            return error

    def _run_member(self, statements: Sequence[Statement]) -> Results:
        sandbox = self.sandbox
        sandbox.internal("SAVEPOINT request")
        results = self._run_all(_kept(statements), statements)
        if sandbox.connection.status(apsw.SQLITE_DBSTATUS_DEFERRED_FKS)[0]:
            raise D1Error(DEFERRED_FOREIGN_KEY)
        self._count(results)
        sandbox.internal("RELEASE request")
        sandbox.internal("PRAGMA defer_foreign_keys=OFF")
        return results

    def _run_read(self, plan: Plan, params: Sequence[object]) -> Results:
        if len(params) != plan.parameter_count:
            raise D1Error(WRONG_PARAMETER_COUNT, 0)
        start = perf_counter()
        try:
            rows, _, read, _ = self.sandbox.run(plan, params)
        except SqlError as error:
            raise D1Error(str(error), 0) from error
        duration = (perf_counter() - start) * 1000
        meta = Meta(duration, 0, self._last_row_id, False, self._size, read, 0)
        columns = plan.columns
        if rows and len(rows[0]) != len(columns):
            columns = self.sandbox.columns_now(plan)
        results = Results()
        results.append(StatementResult(columns, rows, meta))
        self.counter = results.counter = self.counter + 1
        return results

    def _run_all(self, kept: Sequence[Statement], given: Sequence[Statement]) -> Results:
        results = Results()
        results.counter = 0
        try:
            self._run_each(kept, results)
        except SqlError as error:
            index = len(results)
            if len(kept) != len(given):
                places = [at for at, each in enumerate(given) if not is_dropped(each.sql)]
                index = places[index]
            raise D1Error(str(error), index) from error
        return results

    def _run_each(self, statements: Sequence[Statement], results: Results) -> None:
        sandbox = self.sandbox
        connection = sandbox.connection
        last = len(statements) - 1
        previous: str | None = None
        for position, (sql, params) in enumerate(statements):
            start = perf_counter()
            if start > sandbox.loop_deadline:
                raise StoppedError
            # A batch often runs one text many times, and then as the same object.
            if sql is not previous:
                plan = sandbox.plan(sql)
                previous = sql
            if plan.alone and len(params) == plan.parameter_count:
                rows, changes, read, written = sandbox.run(plan, params)
                keeps_size = plan.read_only
            else:
                plan, rows, changes, read, written = sandbox.execute(sql, params)
                keeps_size = False
                previous = None
            if plan.changes_schema:
                previous = None
            duration = (perf_counter() - start) * 1000
            last_row_id = connection.last_insert_rowid()
            if keeps_size or (plan.only_adds and position < last and position % _SIZE_EVERY):
                size = self._size
            else:
                size = sandbox.used_bytes()
            resized = size != self._size
            changed = changes != 0 or resized or last_row_id != self._last_row_id
            self._last_row_id = last_row_id
            if resized:
                self._note_size(size)
            meta = Meta(duration, changes, last_row_id, changed, size, read, written)
            columns = plan.columns
            if rows and len(rows[0]) != len(columns):
                columns = sandbox.columns_now(plan)
                previous = None
            results.append(StatementResult(columns, rows, meta))

    def _keeps_data(self, statements: Sequence[Statement]) -> bool:
        if self.counter >= self._reserved:
            return False
        for statement in statements:
            plan = self.sandbox.known_plan(statement.sql)
            if plan is None or not plan.read_only or not plan.alone:
                return False
        return True

    def _count(self, results: Results) -> None:
        if self.counter >= self._reserved:
            self._reserve()
        self.counter = results.counter = self.counter + 1

    @property
    def in_place(self) -> bool:
        """Whether the file that was opened is still the one at its path."""
        return file_identity(self.sandbox.path) == self._file

    def _commit(self) -> None:
        # SQLite would go on writing into a deleted file, and acknowledge what nobody will see again.
        if not self.in_place:
            raise FileGoneError(self.sandbox.path)
        try:
            self.sandbox.commit()
        except apsw.ConstraintError as error:
            raise D1Error(DEFERRED_FOREIGN_KEY) from error

    def _undo(self) -> None:
        try:
            self.sandbox.roll_back()
        except apsw.Error as error:
            raise self.sandbox.translate(error) from error
        self._refresh()

    def _refresh(self) -> None:
        # The row id of what was undone stays, as it does in SQLite; size and counter do not.
        self._last_row_id = self.sandbox.connection.last_insert_rowid()
        try:
            self._note_size(self.sandbox.used_bytes())
            self._reserved = self._stored_counter()
        except apsw.Error as error:
            raise self.sandbox.translate(error) from error

    def _as_raised(self, error: Exception) -> Exception:
        if isinstance(error, apsw.Error):
            error = self.sandbox.translate(error)
        if isinstance(error, SqlError) and not isinstance(error, D1Error):
            return D1Error(str(error))
        return error

    def _note_size(self, size: int) -> None:
        self._size = size
        self.sandbox.is_large = size > _LARGE_BYTES

    def _stored_counter(self) -> int:
        sandbox = self.sandbox
        if not sandbox.internal("SELECT 1 FROM sqlite_schema WHERE name = '_cf_METADATA'"):
            return 0
        found = sandbox.internal("SELECT value FROM _cf_METADATA WHERE key = ?", (_COUNTER_KEY,))
        return int(found[0][0]) if found else 0

    def _reserve(self) -> None:
        sandbox = self.sandbox
        if not self._reserved:
            sandbox.internal(
                "CREATE TABLE IF NOT EXISTS _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB)"
            )
        self._store_counter(self.counter + _COUNTERS_RESERVED)
        self._reserved = self.counter + _COUNTERS_RESERVED
        self._note_size(sandbox.used_bytes())

    def _store_counter(self, value: int) -> None:
        connection = self.sandbox.connection
        last_row_id = connection.last_insert_rowid()
        self.sandbox.internal(
            "INSERT INTO _cf_METADATA (key, value) VALUES (?1, ?2)"
            " ON CONFLICT (key) DO UPDATE SET value = ?2",
            (_COUNTER_KEY, value),
        )
        connection.set_last_insert_rowid(last_row_id)


def _kept(statements: Sequence[Statement]) -> Sequence[Statement]:
    for statement in statements:
        if is_dropped(statement.sql):
            kept = [statement for statement in statements if not is_dropped(statement.sql)]
            break
    else:
        kept = list(statements)
    if not kept:
        raise D1Error(NO_STATEMENTS)
    return kept
