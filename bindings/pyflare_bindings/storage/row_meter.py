"""Row counts that have to be found while, or after, a statement runs."""

from __future__ import annotations

from typing import Any

import apsw

from .row_counts import CountRule
from .schema_facts import SchemaFacts

_FULL_SCAN_STEPS = "SQLITE_STMTSTATUS_FULLSCAN_STEP"


class RowMeter:
    """Watches one statement of a connection at a time."""

    __slots__ = ("_connection", "_schema", "_status")

    def __init__(self, connection: apsw.Connection, schema: SchemaFacts) -> None:
        self._connection = connection
        self._schema = schema
        self._status: dict[str, int] = {}

    def start(self, rule: CountRule) -> None:
        """A statement with this rule is about to run."""
        self._status = {}
        if rule.measure_reads is not None:
            self._connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._note_status)
        if rule.measure_writes is not None:
            rule.measure_writes.written = 0
            self._connection.preupdate_hook(rule.measure_writes)

    def stop(self, rule: CountRule) -> None:
        """The statement has ended."""
        if rule.measure_reads is not None:
            self._connection.trace_v2(0, None)
        if rule.measure_writes is not None:
            self._connection.preupdate_hook(None)

    def counts(self, rule: CountRule, rows: list[Any], changes: int) -> tuple[int, int]:
        """The rows read and written by the statement, which gave `rows` and changed `changes`."""
        if rule.created_table is not None:
            return self._for_new_table(rule, rule.created_table)
        if rule.created_index:
            steps = self._status.get(_FULL_SCAN_STEPS, 0)
            indexed = steps + 1 if steps else 0
            return 2 * max(indexed, 1), indexed + 1
        read = rule.base + rule.per_row * len(rows) + rule.per_change * changes
        if rule.measure_reads is not None:
            read += rule.measure_reads.total(self._status, rows, changes)
        if rule.measure_writes is not None:
            written = rule.measure_writes.written
        elif rule.written_is_direct_changes:
            written = self._connection.changes()
        else:
            written = rule.written_per_change * changes
        if written:
            written += rule.written_if_any
        return max(read, rule.least), written

    def _for_new_table(self, rule: CountRule, name: str) -> tuple[int, int]:
        table = self._schema.of(name)
        b_trees = 1 if table is None else table.b_trees
        # The first AUTOINCREMENT brings the table sqlite_sequence with it.
        if table is not None and table.autoincrement and rule.first_autoincrement:
            return 2, b_trees + 3
        return 1, b_trees + 1

    def _note_status(self, event: dict[str, Any]) -> None:
        # Nested statements report before the outer one, whose numbers are kept.
        self._status.update(event["stmt_status"])
