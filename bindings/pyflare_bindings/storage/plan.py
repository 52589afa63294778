"""One statement, compiled and described: what it needs, what it gives, how it is counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import apsw

from .authorizer import Action, Authorizer
from .row_counts import CountRule, changes_schema, is_plain_read, rule_for
from .schema_facts import SchemaFacts
from .sql_text import WHITESPACE, has_empty_statement_behind, tokens, words

# Operations that walk a whole b-tree in one step, where no progress handler can stop them.
_UNSTOPPABLE = words("Clear Count Destroy IntegrityCk")
_MAY_FREE_PAGES = words("Clear CreateBtree Delete Destroy IdxDelete ParseSchema Program VUpdate")

# Stands for "any number of NULLs" when a statement is compiled but not run; apsw's own query
# inspection uses it in the same way.
_ANY_BINDINGS: Any = apsw._null_bindings  # type: ignore[attr-defined]


@dataclass(slots=True)
class Plan:
    """The first statement of a text.

    `sql` is the statement alone, `tail` what stands behind it ("" for the last one).
    `is_empty` marks a text without a statement, `empty_behind` one with a stray semicolon behind
    its last statement; `alone` is the usual case, one statement and nothing else. `plain_read`
    statements only select; `only_adds` is a plain insert. `unstoppable` ones have a
    step that takes time in proportion to the database.
    """

    sql: str
    tail: str
    is_empty: bool
    empty_behind: bool
    parameter_count: int
    columns: tuple[str, ...]
    read_only: bool
    plain_read: bool
    changes_schema: bool
    unstoppable: bool
    only_adds: bool
    rule: CountRule
    alone: bool = field(init=False)
    alone_and_reads: bool = field(init=False)
    is_metered: bool = field(init=False)

    def __post_init__(self) -> None:
        self.alone = not (self.is_empty or self.tail or self.empty_behind)
        self.alone_and_reads = self.alone and self.plain_read
        self.is_metered = self.rule.needs_meter


EMPTY_PLAN = Plan("", "", True, False, 0, (), True, False, False, False, False, CountRule())


class _CompiledError(Exception):
    """Stops SQLite between compiling and running."""


class Planner:
    """Compiles texts on one connection without running them."""

    __slots__ = ("_authorizer", "_columns", "_cursor", "_explain", "_facts", "_schema", "_sql")

    def __init__(
        self, connection: apsw.Connection, authorizer: Authorizer, schema: SchemaFacts
    ) -> None:
        self._authorizer = authorizer
        self._schema = schema
        self._cursor = connection.cursor()
        self._cursor.exec_trace = self._look
        self._explain: Callable[..., apsw.Cursor] = connection.execute
        self._sql = ""
        self._columns: tuple[str, ...] = ()
        self._facts = (False, 0, True, False)

    def compile(self, text: str) -> Plan:
        """Describe the first statement of `text`. Raises apsw.Error as SQLite reports it."""
        actions: list[Action] = []
        self._authorizer.actions = actions
        try:
            self._cursor.execute(text, _ANY_BINDINGS, can_cache=False)
        except _CompiledError:
            pass
        finally:
            self._authorizer.actions = None
        has_program, parameter_count, read_only, explains = self._facts
        if not has_program:
            return EMPTY_PLAN
        sql, columns = self._sql, self._columns
        tail = text[len(sql) :].lstrip(WHITESPACE)
        if explains:
            rule, operations = CountRule(), frozenset[str]()
        else:
            rule, operations = self._inspect(sql, actions)
        return Plan(
            sql=sql,
            tail=tail,
            is_empty=False,
            empty_behind=not tail and has_empty_statement_behind(sql),
            parameter_count=parameter_count,
            columns=columns,
            read_only=read_only,
            plain_read=read_only and is_plain_read(actions),
            changes_schema=not explains and changes_schema(actions),
            unstoppable=not operations.isdisjoint(_UNSTOPPABLE),
            only_adds="Insert" in operations and operations.isdisjoint(_MAY_FREE_PAGES),
            rule=rule,
        )

    def _inspect(self, sql: str, actions: list[Action]) -> tuple[CountRule, frozenset[str]]:
        try:
            program = self._explain(sql, _ANY_BINDINGS, can_cache=False, explain=1).fetchall()
            outline = self._explain(sql, _ANY_BINDINGS, can_cache=False, explain=2).fetchall()
        except UnicodeDecodeError:
            # A constant of the program is text that is not UTF-8.
            return CountRule(), frozenset()
        operations = frozenset(str(row[1]) for row in program)
        rule = rule_for(
            actions,
            operations,
            [str(row[3]) for row in outline],
            self._schema,
            has_conflict_clause="CONFLICT" in {word.upper() for word in tokens(sql)},
            returns_rows=bool(self._columns),
        )
        return rule, operations

    def _look(self, cursor: apsw.Cursor, sql: str, _bindings: object) -> bool:
        has_program = bool(cursor.has_vdbe)
        self._sql = sql
        self._facts = (
            has_program,
            cursor.bindings_count,
            bool(cursor.is_readonly),
            bool(cursor.is_explain),
        )
        self._columns = (
            tuple(column[0] for column in cursor.get_description()) if has_program else ()
        )
        raise _CompiledError
