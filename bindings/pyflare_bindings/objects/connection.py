"""The open database of one object: its own tables, the user's SQL, and the cursors over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any
from weakref import ref

import apsw

from ..storage.authorizer import Authorizer
from ..storage.errors import SqlError, StateError
from ..storage.plan import Plan
from ..storage.sandbox import (
    INTERNAL_MARK,
    NO_STATEMENT,
    PARAMETERS_NOT_IN_LAST,
    WRONG_PARAMETER_COUNT,
    Row,
    Sandbox,
)
from ..storage.sql_text import tokens, unquoted, words
from ..storage.unicode_repair import select_with_replacement
from .errors import CPU_TIME_EXCEEDED, CriticalSqlError
from .schemas import Schemas, SharedFacts
from .sql_cursor import SqlCursor

# SQL of an object runs on the event loop and cannot be moved; this ends the endless.
_SECONDS_AT_MOST = 30.0
_STEPS_BETWEEN_LOOKS = 100_000
# So many steps take a few milliseconds; after a longer while they belong to something else.
_PAUSE_SECONDS = 1.0
_CURSORS_KEPT = 8
# A statement whose row counts have to be measured is run so many rows ahead of its reader.
_MEASURED_ROWS = 1_000
_SCHEMA = "SELECT name, tbl_name, sql FROM sqlite_schema" + INTERNAL_MARK
_FOR_ONE_TRANSACTION = "defer_foreign_keys"
_NOT_IN_TRANSACTION = ("foreign_keys",)
_SETTINGS = words(
    "case_sensitive_like foreign_keys ignore_check_constraints legacy_alter_table "
    "recursive_triggers reverse_unordered_selects"
)
_CRITICAL = (apsw.NoMemError, apsw.InterruptError)


class ObjectConnection(Sandbox):
    """One open database.

    In: `schemas`, what is known of statements; `settings`, what PRAGMA statements have set, by
    name; they are said again and noted.
    `recent` is set by each use and cleared by whoever looks for what has been idle.
    `commits` counts the transactions since it was opened.
    """

    __slots__ = (
        "_adopted",
        "_idle_cursors",
        "_looked",
        "_open_cursors",
        "_schemas",
        "_settings",
        "_since",
        "commits",
        "recent",
    )

    def __init__(
        self,
        path: Path,
        opened: tuple[apsw.Connection, Authorizer],
        schemas: Schemas,
        settings: dict[str, str],
    ) -> None:
        super().__init__(path, "process", opened)
        self._schemas = schemas
        self._adopted = False
        self._settings = settings
        for statement in settings.values():
            self.connection.execute(statement).fetchall()
        self._idle_cursors: list[apsw.Cursor] = []
        self._open_cursors: list[ref[SqlCursor]] = []
        self._since = self._looked = 0.0
        self.commits = 0
        self.recent = True
        self.connection.set_progress_handler(self._look_around, _STEPS_BETWEEN_LOOKS)

    # The object's own tables

    def own(self, sql: str, parameters: tuple[Any, ...] = ()) -> apsw.Cursor:
        """Run a marked statement of the platform's. It must be read to its end before the next."""
        authorizer = self._authorizer
        authorizer.internal = True
        try:
            return self._execute_internal(sql, parameters)
        except apsw.Error as error:
            raise self.translate(error) from error
        finally:
            authorizer.internal = False

    def own_rows(self, sql: str, parameters: tuple[Any, ...]) -> list[Row]:
        """Run a marked statement of the platform's and return its rows."""
        authorizer = self._authorizer
        authorizer.internal = True
        try:
            return self._execute_internal(sql, parameters).fetchall()
        except apsw.Error as error:
            raise self.translate(error) from error
        finally:
            authorizer.internal = False

    # The user's SQL

    def exec(
        self, text: str, parameters: Sequence[Any], begin: Callable[[], None] | None
    ) -> SqlCursor:
        """Run every statement of `text`, the last one up to its first row.

        In: `parameters` for the last statement; `begin`, to be called before the first statement
        that writes, None when a transaction is open. A last statement that writes is run to its
        end, so that rows of RETURNING that nobody reads cannot hold up the commit.
        Raises SqlError with the platform's text; statements before a failing one stay applied.
        """
        plan = self.plan(text)
        while plan.tail and not plan.is_empty:
            if plan.parameter_count:
                raise SqlError(PARAMETERS_NOT_IN_LAST)
            if begin is not None and not plan.read_only:
                begin()
                begin = None
            self._step_once(plan)
            plan = self.plan(plan.tail)
        if plan.is_empty:
            raise SqlError(NO_STATEMENT)
        if len(parameters) != plan.parameter_count:
            raise SqlError(WRONG_PARAMETER_COUNT)
        if plan.read_only:
            if not plan.plain_read:
                self._heed(plan, begin)
        elif begin is not None:
            begin()
        if plan.read_only and not plan.is_metered:
            cursor = self._select(plan, parameters)
        elif plan.read_only:
            cursor = self._select_measured(plan, parameters)
        else:
            rows, _, read, written = self.run(plan, parameters)
            cursor = SqlCursor(self, plan, parameters)
            cursor.hold(rows, read, written)
        if plan.empty_behind:
            cursor.close()
            raise SqlError(NO_STATEMENT)
        return cursor

    def known_to_read(self, text: str) -> bool:
        """Whether a text has been compiled before and writes nothing."""
        plan = self.known_plan(text)
        return plan is not None and plan.alone and plan.read_only

    def _heed(self, plan: Plan, begin: Callable[[], None] | None) -> None:
        """Take care of what a PRAGMA sets beyond the statement itself."""
        pragma = tokens(plan.sql)
        if pragma[0].upper() != "PRAGMA":
            return
        given = next((at for at, token in enumerate(pragma) if token in "=("), 0)
        name = unquoted(pragma[given - 1]).lower()
        if name == _FOR_ONE_TRANSACTION and given:
            if begin is not None:
                begin()
        elif name in _SETTINGS and given and (begin is not None or name not in _NOT_IN_TRANSACTION):
            self._settings[name] = plan.sql

    def _select(self, plan: Plan, parameters: Sequence[Any]) -> SqlCursor:
        idle = self._idle_cursors
        source = idle.pop() if idle else self.connection.cursor()
        cursor = SqlCursor(self, plan, parameters)
        try:
            source.execute(plan.sql, parameters)
            first = next(source, None)
        except Exception as error:
            source.close(force=True)
            cursor.hold_rows(self.recover(error, plan, parameters))
            return cursor
        if first is None:
            idle.append(source)
        else:
            cursor.begin(first, source)
            cursors = self._open_cursors
            cursors.append(ref(cursor))
            if len(cursors) > 64:
                self._forget_closed()
        return cursor

    def _select_measured(self, plan: Plan, parameters: Sequence[Any]) -> SqlCursor:
        """Run a statement whose counters do not follow from its rows.

        They are right when it has no more rows than are measured, and too small after that.
        """
        source = self.connection.cursor()
        cursor = SqlCursor(self, plan, parameters)
        rule = plan.rule
        rows: list[Row] = []
        failure: Exception | None = None
        more: Row | None = None
        self._meter.start(rule)
        try:
            # Those before a row that fails are kept.
            rows.extend(islice(source.execute(plan.sql, parameters), _MEASURED_ROWS))
            if len(rows) == _MEASURED_ROWS:
                more = next(source, None)
        except Exception as error:
            failure = error
        finally:
            self._meter.stop(rule)
        if failure is not None:
            source.close(force=True)
            if not rows or isinstance(failure, UnicodeDecodeError):
                rows = self.recover(failure, plan, parameters)
                failure = None
        read, written = self._meter.counts(rule, rows, 0)
        cursor.hold(rows, read, written)
        if failure is not None:
            cursor.fail_behind(failure)
        elif more is not None:
            cursor.continue_with(more, source)
            self._open_cursors.append(ref(cursor))
        return cursor

    def recover(self, error: Exception, plan: Plan, parameters: Sequence[Any]) -> list[Row]:
        """The rows of a SELECT that apsw could not read, or the error to raise instead."""
        if isinstance(error, UnicodeDecodeError) and plan.plain_read:
            try:
                return select_with_replacement(self.connection, plan, parameters)
            except apsw.Error as second:
                raise self.translate(second) from second
        return self._recover(error, plan, parameters)

    def translate(self, error: apsw.Error) -> Exception:
        """The error to raise in place of one of SQLite's."""
        translated = super().translate(error) if not isinstance(error, _CRITICAL) else None
        if isinstance(translated, SqlError) and not isinstance(error, apsw.BusyError):
            return translated
        if isinstance(error, apsw.InterruptError):
            return CriticalSqlError(CPU_TIME_EXCEEDED)
        if isinstance(translated, StateError):
            return translated
        return CriticalSqlError(f"{error}: SQLITE_NOMEM" if translated is None else str(error))

    # What is known of statements

    def forget_plans(self) -> None:
        """The schema is no longer the one that plans were made for."""
        super().forget_plans()
        self._adopted = False

    def _schema_facts(self) -> SharedFacts:
        return SharedFacts(self.internal, self._adopt)

    def _compile(self, text: str) -> Plan:
        if not self._adopted:
            self._adopt()
            plan = self._plans.get(text)
            if plan is not None:
                return plan
        return super()._compile(text)

    def _adopt(self) -> None:
        if self._adopted:
            return
        try:
            schema = tuple(self.own_rows(_SCHEMA, ()))
        except UnicodeDecodeError:
            # Names that are not UTF-8 are nobody else's.
            self._adopted = True
            return
        knowledge = self._schemas.knowledge(schema)
        self._plans = knowledge.plans
        assert isinstance(self._schema, SharedFacts), "it was made here"
        self._schema.share(knowledge.facts)
        self._adopted = True

    # Cursors

    def take_back(self, source: apsw.Cursor) -> None:
        """A cursor has come to its end and can serve another statement."""
        if len(self._idle_cursors) < _CURSORS_KEPT:
            self._idle_cursors.append(source)

    @property
    def is_read(self) -> bool:
        """Whether somebody is still reading rows."""
        if self._open_cursors:
            self._forget_closed()
        return bool(self._open_cursors)

    def read_ahead(self) -> bool:
        """Read the remaining rows of all cursors. Out: whether there are no more."""
        cursors = [each() for each in self._open_cursors]
        return all(cursor is None or cursor.read_ahead() for cursor in cursors)

    def cancel_cursors(self, reason: str, depth: int = 0) -> None:
        """End all cursors that were opened at this depth of savepoints or a greater one."""
        for each in self._open_cursors:
            cursor = each()
            if cursor is not None and cursor.depth >= depth:
                cursor.cancel(reason)

    def _forget_closed(self) -> None:
        self._open_cursors = [
            each for each in self._open_cursors if (cursor := each()) and cursor.is_open
        ]

    # What takes long

    def _look_around(self) -> bool:
        now = perf_counter()
        if now - self._looked > _PAUSE_SECONDS:
            # Another statement, or the same one after its reader has taken a break.
            self._since = now
        self._looked = now
        return now - self._since > _SECONDS_AT_MOST and not self._authorizer.internal

    def _wait_for_other_process(self, attempt: int) -> bool:
        # Only the copy of the log, on its way to its end, can hold a lock.
        if attempt == 0:
            self._busy_since = perf_counter()
        elif perf_counter() - self._busy_since > 10.0:
            return False
        apsw.sleep(1)
        return True
