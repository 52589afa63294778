"""How many rows a statement read and wrote, the way the platform bills them.

The platform counts inside a patched SQLite. With a stock one the numbers are found from the
compiled program: for most statements a linear rule, worked out once per text, gives them from the
rows returned and changed, at no cost per run. The others are measured while they run, with a
trace for what was read and a hook for what was written, and are close estimates.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import apsw

from .authorizer import Action
from .schema_facts import EXPRESSION, SchemaFacts, TableFacts
from .sql_text import words


@dataclass(slots=True)
class CountRule:
    """How the counters of one statement follow from what it returned and changed.

    Read = `base` + `per_row` for a row returned + `per_change` for a row changed, and at least
    `least`. Written = `written_per_change` for a row changed + `written_if_any` when there was
    one. The other fields ask for a look at the run, which `RowMeter` takes.
    """

    base: int = 0
    least: int = 0
    per_row: int = 0
    per_change: int = 0
    written_per_change: int = 0
    written_if_any: int = 0
    measure_reads: ReadMeasure | None = None
    measure_writes: WriteMeasure | None = None
    created_table: str | None = None
    first_autoincrement: bool = False
    created_index: bool = False
    written_is_direct_changes: bool = False

    @property
    def needs_meter(self) -> bool:
        """Whether the counters do not follow from the rows returned and changed alone."""
        return (
            self.measure_reads is not None
            or self.measure_writes is not None
            or self.created_table is not None
            or self.written_is_direct_changes
        )


@dataclass(slots=True, frozen=True)
class ReadMeasure:
    """How to put together the rows read from the counters of SQLite's trace."""

    scans: int
    lookups: int
    equalities: int
    ranges: int
    virtuals: int
    counts_all: bool

    def total(self, status: dict[str, int], rows: list[Any], changes: int) -> int:
        """The estimate after a run that gave `rows` and changed `changes` rows."""
        if self.counts_all and rows:
            return max((v for v in rows[0] if isinstance(v, int)), default=0)
        touched = max(len(rows), changes)
        scanned = status.get("SQLITE_STMTSTATUS_FULLSCAN_STEP", 0) + self.scans
        found = self.lookups * max(touched, 1)
        if touched:
            found += self.equalities * (touched + 1)
        found += self.ranges * max(touched, 1) + self.virtuals * touched
        read = scanned + found
        if status.get("SQLITE_STMTSTATUS_SORT", 0):
            read += scanned if self.scans == 1 and not found else max(touched, 1)
        return read


class WriteMeasure:
    """Counts the rows written while a statement runs, through SQLite's preupdate hook."""

    __slots__ = ("_costs", "_deletes", "_set_columns", "_tables", "written")

    def __init__(
        self, tables: dict[str, TableFacts], deletes: bool, set_columns: dict[str, set[str]]
    ) -> None:
        self.written = 0
        self._deletes = deletes
        self._tables = tables
        self._set_columns = set_columns
        self._costs: dict[str, int] = {}

    def __call__(self, change: apsw.PreUpdate) -> None:
        table = change.table_name.lower()
        facts = self._tables.get(table)
        if facts is None or facts.virtual:
            return
        match change.opcode:
            case apsw.SQLITE_INSERT:
                self.written += facts.b_trees
            case apsw.SQLITE_DELETE:
                # A row that REPLACE pushes out is part of the insert and free.
                self.written += 1 if self._deletes else 0
            case _:
                cost = self._costs.get(table)
                if cost is None:
                    cost = update_cost(facts, self._set_columns.get(table, set()))
                    self._costs[table] = cost
                self.written += cost


def update_cost(table: TableFacts, columns: set[str]) -> int:
    """Rows written for one updated row: itself, and each index that holds a column of SET."""
    if table.rowid_alias is not None and table.rowid_alias in columns:
        return table.b_trees
    return 1 + sum(1 for held in table.index_columns if held & columns or EXPRESSION in held)


_NO_ROWS = CountRule()
_DDL = frozenset(
    {
        apsw.SQLITE_CREATE_INDEX,
        apsw.SQLITE_CREATE_TABLE,
        apsw.SQLITE_CREATE_TRIGGER,
        apsw.SQLITE_CREATE_VIEW,
        apsw.SQLITE_CREATE_VTABLE,
        apsw.SQLITE_DROP_INDEX,
        apsw.SQLITE_DROP_TABLE,
        apsw.SQLITE_DROP_TRIGGER,
        apsw.SQLITE_DROP_VIEW,
        apsw.SQLITE_DROP_VTABLE,
        apsw.SQLITE_ALTER_TABLE,
        apsw.SQLITE_REINDEX,
        apsw.SQLITE_ANALYZE,
    }
)
_WRITES = frozenset({apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE})

# A program of these operations alone visits each row of one table once and returns it.
_BARE_SCAN = words(
    "Init OpenRead ReopenIdx Rewind Column Rowid Copy SCopy RealAffinity ResultRow Next Halt "
    "Transaction Goto Null Explain DeferredSeek"
)
_LOOPS = frozenset({"Next", "Prev", "VNext", "SorterNext", "Rewind", "Last", "Sort", "SorterSort"})


def changes_schema(actions: list[Action]) -> bool:
    """Whether what SQLite knows of the schema, or of its statistics, is different afterwards."""
    return any(
        action.code in _DDL
        or (action.code == apsw.SQLITE_PRAGMA and (action.first or "").lower() == "optimize")
        for action in actions
    )


def is_plain_read(actions: list[Action]) -> bool:
    """Whether a statement only selects, so that it needs no transaction around it."""
    allowed = (
        apsw.SQLITE_SELECT,
        apsw.SQLITE_READ,
        apsw.SQLITE_FUNCTION,
        apsw.SQLITE_RECURSIVE,
    )
    return all(action.code in allowed for action in actions)


def rule_for(
    actions: list[Action],
    operations: frozenset[str],
    outline: list[str],
    schema: SchemaFacts,
    *,
    has_conflict_clause: bool,
    returns_rows: bool,
) -> CountRule:
    """The rule for one compiled statement.

    In: what the authorizer was told, the operations of EXPLAIN, the lines of EXPLAIN QUERY PLAN
    and the tables of the database. An ON CONFLICT clause makes a statement do one of two things.
    """
    ddl = {action.code for action in actions} & _DDL
    if ddl:
        return _schema_rule(actions, ddl, schema)
    if any(action.code == apsw.SQLITE_PRAGMA for action in actions):
        return _NO_ROWS
    rule = CountRule()
    _set_reads(rule, operations, outline)
    writes = [action for action in actions if action.code in _WRITES]
    if writes:
        _set_writes(rule, writes, operations, schema, has_conflict_clause)
        # What RETURNING gives is collected first and then read once more.
        rule.per_row += returns_rows
    return rule


def _schema_rule(actions: list[Action], ddl: set[int], schema: SchemaFacts) -> CountRule:
    if apsw.SQLITE_CREATE_TABLE in ddl and apsw.SQLITE_CREATE_VTABLE not in ddl:
        name = next(a.first for a in actions if a.code == apsw.SQLITE_CREATE_TABLE)
        return CountRule(
            created_table=name, first_autoincrement=schema.of("sqlite_sequence") is None
        )
    if apsw.SQLITE_CREATE_INDEX in ddl:
        return CountRule(measure_reads=ReadMeasure(0, 0, 0, 0, 0, False), created_index=True)
    return CountRule(measure_reads=ReadMeasure(1, 0, 0, 0, 0, False))


def _set_reads(rule: CountRule, operations: frozenset[str], details: list[str]) -> None:
    visits = Counter(map(_visit, details))
    if "Count" not in operations and not operations & _LOOPS:
        # Each search is made once and finds one row at most.
        rule.base = visits["rowid"] + visits["extreme"]
        rule.per_row = visits["equality"]
        return
    visits.pop(None, None)
    if visits == {"scan": 1} and operations <= _BARE_SCAN:
        rule.per_row = 1
        rule.least = 1
    elif visits.keys() == {"extreme"}:
        rule.base = visits["extreme"]
    elif visits or "Count" in operations:
        rule.measure_reads = ReadMeasure(
            scans=visits["scan"],
            lookups=visits["rowid"],
            equalities=visits["equality"],
            ranges=visits["range"],
            virtuals=visits["virtual"],
            counts_all="Count" in operations,
        )


_SEARCH = re.compile(r"SEARCH .* USING (?P<how>.*?)(?: \((?P<terms>.*)\))?(?: LEFT-JOIN)?$")


def _visit(line: str) -> str | None:
    if line.startswith("SCAN "):
        if "VIRTUAL TABLE" in line:
            return "virtual"
        if line == "SCAN CONSTANT ROW" or re.fullmatch(r"SCAN \d+ CONSTANT ROWS?", line):
            return None
        return "scan"
    if not line.startswith("SEARCH "):
        return None
    match = _SEARCH.match(line)
    if match is None or match["terms"] is None:
        return "extreme"
    terms = match["terms"].split(" AND ")
    equal = all(term.endswith("=?") and term[-3:-2] not in "<>" for term in terms)
    if "INTEGER PRIMARY KEY" in match["how"]:
        return "rowid" if equal else "range"
    return "equality" if equal else "range"


def _set_writes(
    rule: CountRule,
    writes: list[Action],
    operations: frozenset[str],
    schema: SchemaFacts,
    has_conflict_clause: bool,
) -> None:
    targets: dict[tuple[int, str], set[str]] = {}
    for action in writes:
        columns = targets.setdefault((action.code, (action.first or "").lower()), set())
        columns.add((action.second or "").lower())
    tables = {name: facts for _, name in targets if (facts := schema.of(name)) is not None}
    inserted = [tables.get(name) for code, name in targets if code == apsw.SQLITE_INSERT]
    if any(facts is not None and facts.autoincrement for facts in inserted):
        # The table's entry in sqlite_sequence is looked up and written.
        rule.base += 1
        rule.written_if_any = 1
    elif inserted and "NotExists" in operations:
        rule.per_change = 1
        rule.least = 1
    fires = any(action.within is not None for action in writes)
    cascades = any(facts.cascades for facts in tables.values())
    (code, name), columns = next(iter(targets.items()))
    target = tables.get(name)
    if target is None or len(targets) > 1 or fires or cascades or has_conflict_clause:
        rule.measure_writes = WriteMeasure(
            tables=schema.all() if cascades else tables,
            deletes=any(code == apsw.SQLITE_DELETE for code, _ in targets),
            set_columns={
                name: columns
                for (code, name), columns in targets.items()
                if code == apsw.SQLITE_UPDATE
            },
        )
    elif target.virtual:
        rule.written_is_direct_changes = True
    elif code == apsw.SQLITE_INSERT:
        rule.written_per_change = target.b_trees
    elif code == apsw.SQLITE_DELETE:
        rule.written_per_change = 1
    else:
        rule.written_per_change = update_cost(target, columns)
        if target.rowid_alias is not None and target.rowid_alias in columns:
            rule.per_change = 2
