"""A SQLite connection that runs a user's SQL under the platform's rules.

The same sandbox serves D1 and the SQL of Durable Objects. It runs on one thread at a time; which
thread that is, and what a transaction means, is the owner's business.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import apsw

from .authorizer import Authorizer, is_reserved
from .errors import SqlError, is_storage_fault, platform_text, state_error
from .plan import EMPTY_PLAN, Plan, Planner
from .row_meter import RowMeter
from .schema_facts import SchemaFacts
from .sql_text import WHITESPACE, table_renamed_to, well_formed
from .sqlite import MAX_STATEMENT_BYTES, Durability, open_connection
from .unicode_repair import select_with_replacement

Row = tuple[Any, ...]

NO_STATEMENT = "SQL code did not contain a statement."
WRONG_PARAMETER_COUNT = "Wrong number of parameter bindings for SQL query."
PARAMETERS_NOT_IN_LAST = (
    "When executing multiple SQL statements in a single call, only the last statement can have "
    "parameters."
)

# The statement cache goes by text. This mark makes internal texts ones that no user can send, so
# that a statement compiled with the sandbox off never reaches a user.
INTERNAL_MARK = f" /* {os.urandom(16).hex()} */"

_PLANS_KEPT = 512
_LONGEST_TEXT_KEPT = 16_384
_STEPS_BETWEEN_LOOKS = 100
# On a thread each look has to wait for the interpreter, so it looks around less often.
_STEPS_BETWEEN_LOOKS_ON_THREAD = 20_000
_BUSY_WAIT_SECONDS = 10.0


class StoppedError(Exception):
    """A statement was stopped: it held the event loop too long, or its request was given up."""


class Sandbox:
    """One connection to one file, `opened` by the owner or else here.

    `loop_deadline` is the time (of `perf_counter`) after which a statement on the event loop is
    stopped; there is none with `on_thread`; `given_up` stops a statement on the thread. With `is_large`,
    statements that cannot be stopped are not begun on the event loop. `wal_pages` is the
    length of the write-ahead log after the last commit.
    """

    __slots__ = (
        "_authorizer",
        "_begin_read",
        "_begin_write",
        "_busy_since",
        "_commit",
        "_cursor",
        "_execute",
        "_execute_internal",
        "_free_pages",
        "_mark",
        "_meter",
        "_older_plans",
        "_page_bytes",
        "_page_count",
        "_planner",
        "_plans",
        "_schema",
        "_schema_touched",
        "connection",
        "given_up",
        "is_large",
        "loop_deadline",
        "on_thread",
        "path",
        "wal_pages",
    )

    def __init__(
        self,
        path: Path,
        durability: Durability,
        opened: tuple[apsw.Connection, Authorizer] | None = None,
    ) -> None:
        self.path = path
        self.connection, self._authorizer = opened or open_connection(path, durability)
        self._mark = INTERNAL_MARK
        self._page_count = "PRAGMA page_count" + self._mark
        self._free_pages = "PRAGMA freelist_count" + self._mark
        self._begin_write = "BEGIN IMMEDIATE" + self._mark
        self._begin_read = "BEGIN" + self._mark
        self._commit = "COMMIT" + self._mark
        self._new_cursor()
        self._execute_internal = self.connection.cursor().execute
        self._schema = self._schema_facts()
        self._planner = Planner(self.connection, self._authorizer, self._schema)
        self._meter = RowMeter(self.connection, self._schema)
        self._plans: dict[str, Plan] = {}
        self._older_plans: dict[str, Plan] = {}
        self._schema_touched = False
        self.loop_deadline = float("inf")
        self.on_thread = False
        self.given_up = False
        self.is_large = False
        self.wal_pages = 0
        self._busy_since = 0.0
        self._page_bytes = 0
        self.connection.set_progress_handler(self._look_around, _STEPS_BETWEEN_LOOKS)
        self.connection.set_busy_handler(self._wait_for_other_process)
        self.connection.set_wal_hook(self._note_wal_pages)

    def close(self) -> None:
        """Close the file."""
        self.connection.close(force=True)

    # Internal statements

    def internal(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
        """Run one of the platform's own statements, which may touch what users may not."""
        self._authorizer.internal = True
        try:
            return self.connection.execute(sql + self._mark, parameters).fetchall()
        finally:
            self._authorizer.internal = False

    def begin(self, *, write: bool) -> None:
        """Open a transaction; a writing one holds the write lock from the start."""
        authorizer = self._authorizer
        authorizer.internal = True
        try:
            self._execute_internal(self._begin_write if write else self._begin_read)
        finally:
            authorizer.internal = False

    def commit(self) -> None:
        """Commit the transaction. Raises apsw.Error and leaves it open when SQLite refuses."""
        authorizer = self._authorizer
        authorizer.internal = True
        try:
            self._execute_internal(self._commit)
        finally:
            authorizer.internal = False
        self._schema_touched = False

    def roll_back(self) -> None:
        """Undo the transaction; harmless when SQLite has already done so."""
        if self.connection.in_transaction:
            self.internal("ROLLBACK")
        if self._schema_touched:
            self.forget_plans()
            self._schema_touched = False

    def roll_back_to(self, savepoint: str) -> bool:
        """Undo to a savepoint and release it. False when the whole transaction is gone."""
        if not self.connection.in_transaction:
            return False
        self.internal(f"ROLLBACK TO {savepoint}")
        self.internal(f"RELEASE {savepoint}")
        if self._schema_touched:
            self.forget_plans()
        return True

    def used_bytes(self) -> int:
        """The size of the database without its free pages."""
        authorizer = self._authorizer
        authorizer.internal = True
        try:
            pages: Any = self._execute_internal(self._page_count).get
            free: Any = self._execute_internal(self._free_pages).get
        finally:
            authorizer.internal = False
        if not self._page_bytes:
            self._page_bytes = int(self.internal("PRAGMA page_size")[0][0])
        return int(pages - free) * self._page_bytes

    # A user's statements

    def known_plan(self, text: str) -> Plan | None:
        """The plan of a text that has been compiled before."""
        plan = self._plans.get(text)
        if plan is None and (plan := self._older_plans.get(text)) is not None:
            self._keep(text, plan)
        return plan

    def plan(self, text: str) -> Plan:
        """Compile the first statement of `text`. Raises SqlError with the platform's text."""
        plan = self.known_plan(text)
        if plan is None:
            plan = self._compile(text)
            self._keep(text, plan)
        return plan

    def forget_plans(self) -> None:
        """The schema is no longer the one that plans were made for."""
        self._plans = {}
        self._older_plans = {}
        self._schema.forget()

    def columns_now(self, plan: Plan) -> tuple[str, ...]:
        """The columns of a statement after another program has changed the schema."""
        self.forget_plans()
        return self.plan(plan.sql).columns

    def execute(
        self, text: str, parameters: Sequence[Any]
    ) -> tuple[Plan, list[Row], int, int, int]:
        """Run every statement of `text`; the last one takes the parameters and gives the rows.

        Out: the plan and the rows of the last statement, the rows changed by all of them, and
        the rows read and written by the last one.
        Raises SqlError as the platform words it, StateError when the file is at fault and
        StoppedError. Statements before a failing one have been run: undoing them is the caller's.
        """
        plan = self.plan(text)
        if plan.alone and len(parameters) == plan.parameter_count:
            return plan, *self.run(plan, parameters)
        before = self.connection.total_changes()
        rest = text
        while True:
            plan = self.plan(rest)
            if plan.is_empty:
                raise SqlError(NO_STATEMENT)
            if not plan.tail:
                break
            if plan.parameter_count:
                raise SqlError(PARAMETERS_NOT_IN_LAST)
            self._step_once(plan)
            if perf_counter() > self.loop_deadline:
                raise StoppedError
            rest = plan.tail
        if len(parameters) != plan.parameter_count:
            raise SqlError(WRONG_PARAMETER_COUNT)
        rows, _, read, written = self.run(plan, parameters)
        if plan.empty_behind:
            raise SqlError(NO_STATEMENT)
        changes = self.connection.total_changes() - before
        return plan, rows, changes, read, written

    def run(self, plan: Plan, parameters: Sequence[Any]) -> tuple[list[Row], int, int, int]:
        """Run one statement to its end.

        Out: its rows, the number of rows changed, the rows read and the rows written.
        """
        if plan.unstoppable and self.is_large and not self.on_thread:
            raise StoppedError
        rule = plan.rule
        connection = self.connection
        before = connection.total_changes()
        if plan.is_metered:
            self._meter.start(rule)
        try:
            rows: list[Row] = self._execute(plan.sql, parameters).fetchall()
        except Exception as error:
            rows = self._recover(error, plan, parameters)
        finally:
            if plan.is_metered:
                self._meter.stop(rule)
        if plan.changes_schema:
            self._schema_touched = True
            self.forget_plans()
        changes = connection.total_changes() - before
        if plan.is_metered:
            return rows, changes, *self._meter.counts(rule, rows, changes)
        read = rule.base + rule.per_row * len(rows) + rule.per_change * changes
        written = rule.written_per_change * changes
        if changes:
            written += rule.written_if_any
        return rows, changes, read if read > rule.least else rule.least, written

    def enter_thread(self) -> None:
        """Work goes on away from the event loop, where it may take its time."""
        self.on_thread = True
        self.loop_deadline = float("inf")
        self.connection.set_progress_handler(self._look_around, _STEPS_BETWEEN_LOOKS_ON_THREAD)

    def leave_thread(self) -> None:
        """Work comes back to the event loop."""
        self.on_thread = False
        self.connection.set_progress_handler(self._look_around, _STEPS_BETWEEN_LOOKS)

    def translate(self, error: apsw.Error) -> Exception:
        """The error to raise in place of one of SQLite's."""
        if isinstance(error, apsw.InterruptError):
            return StoppedError()
        if isinstance(error, apsw.BusyError) and not self.on_thread:
            return StoppedError()
        if is_storage_fault(error):
            return state_error(self.path, error)
        return SqlError(platform_text(error))

    def _schema_facts(self) -> SchemaFacts:
        return SchemaFacts(self.internal)

    def _new_cursor(self) -> None:
        self._cursor = self.connection.cursor()
        self._execute = self._cursor.execute

    def _keep(self, text: str, plan: Plan) -> None:
        if len(text) > _LONGEST_TEXT_KEPT:
            return
        if len(self._plans) >= _PLANS_KEPT:
            self._older_plans = self._plans
            self._plans = {}
        self._plans[text] = plan

    def _compile(self, text: str) -> Plan:
        try:
            encoded = len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:
            return self._compile(well_formed(text))
        if encoded > MAX_STATEMENT_BYTES:
            raise SqlError("statement too long: SQLITE_TOOBIG")
        # SQLite reads a text up to its first NUL.
        text = text.partition("\0")[0]
        if not text.strip(WHITESPACE):
            return EMPTY_PLAN
        try:
            plan = self._planner.compile(text)
        except apsw.Error as error:
            raise self.translate(error) from error
        if plan.changes_schema and is_reserved(table_renamed_to(plan.sql)):
            raise SqlError("not authorized: SQLITE_AUTH")
        return plan

    def _step_once(self, plan: Plan) -> None:
        cursor = self.connection.cursor()
        try:
            cursor.execute(plan.sql)
        except apsw.Error as error:
            raise self.translate(error) from error
        except UnicodeDecodeError:
            # The row is thrown away in any case.
            pass
        finally:
            cursor.close(force=True)
        if plan.changes_schema:
            self._schema_touched = True
            self.forget_plans()

    def _recover(self, error: Exception, plan: Plan, parameters: Sequence[Any]) -> list[Row]:
        if isinstance(error, apsw.Error):
            raise self.translate(error) from error
        # The statement may still be at a row, and would keep its tables locked.
        self._cursor.close(force=True)
        self._new_cursor()
        try:
            match error:
                case UnicodeEncodeError():
                    clean = [well_formed(p) if isinstance(p, str) else p for p in parameters]
                    return self._execute(plan.sql, clean).fetchall()
                case UnicodeDecodeError() if plan.plain_read:
                    return select_with_replacement(self.connection, plan, parameters)
        except apsw.Error as second:
            raise self.translate(second) from second
        if isinstance(error, UnicodeDecodeError):
            raise SqlError(
                "The statement returns text that is not valid UTF-8. Store it as a BLOB, or leave "
                "the column out of RETURNING."
            ) from error
        if isinstance(error, TypeError):
            for position, value in enumerate(parameters, 1):
                if not isinstance(value, float | str | bytes | int | None):
                    raise TypeError(
                        f"parameter {position} is of type {type(value).__name__}; bind a float, "
                        "str, bytes or None"
                    ) from error
        raise error

    def _look_around(self) -> bool:
        if self._authorizer.internal:
            return False
        if self.on_thread:
            return self.given_up
        return perf_counter() > self.loop_deadline

    def _wait_for_other_process(self, attempt: int) -> bool:
        # Only another program that has the file open can hold a lock; the loop does not wait for
        # it.
        if not self.on_thread or self.given_up:
            return False
        if attempt == 0:
            self._busy_since = perf_counter()
        elif perf_counter() - self._busy_since > _BUSY_WAIT_SECONDS:
            return False
        apsw.sleep(5)
        return True

    def _note_wal_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self.wal_pages = pages
        return apsw.SQLITE_OK
