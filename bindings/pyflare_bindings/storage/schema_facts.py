"""What the row counters have to know of the tables in a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .sql_text import tokens

InternalQuery = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]

# Marks an index on an expression, whose columns SQLite does not tell.
EXPRESSION = "*"


class TableFacts(NamedTuple):
    """What one changed row of a table costs.

    `b_trees` is the number of b-trees that a new row is written to; `index_columns` holds the
    lower-case column names of each index; `rowid_alias` is the INTEGER PRIMARY KEY, if any.
    `cascades` tells that a foreign key carries a change of this table on to another one.
    """

    b_trees: int
    index_columns: tuple[frozenset[str], ...]
    rowid_alias: str | None
    autoincrement: bool
    virtual: bool
    cascades: bool


class SchemaFacts:
    """Reads and remembers facts of tables until the schema changes."""

    __slots__ = ("_known", "_query")

    def __init__(self, query: InternalQuery) -> None:
        self._query = query
        self._known: dict[str, TableFacts | None] = {}

    def forget(self) -> None:
        """The schema has changed."""
        self._known = {}

    def of(self, table: str) -> TableFacts | None:
        """The facts of a table by its name in any case; None for what is not a table."""
        name = table.lower()
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def all(self) -> dict[str, TableFacts]:
        """The facts of every table, by lower-case name."""
        names = self._query("SELECT name FROM sqlite_schema WHERE type = 'table'", ())
        facts = {name.lower(): self.of(name) for (name,) in names}
        return {name: fact for name, fact in facts.items() if fact is not None}

    def _read(self, name: str) -> TableFacts | None:
        found = self._query(
            "SELECT type, wr FROM pragma_table_list WHERE schema = 'main' AND lower(name) = ?",
            (name,),
        )
        if not found or found[0][0] not in ("table", "virtual", "shadow"):
            return None
        kind, without_rowid = found[0]
        if kind == "virtual":
            return TableFacts(0, (), None, False, True, False)
        columns: dict[str, set[str]] = {}
        for index, column in self._query(
            "SELECT l.name, lower(x.name) FROM pragma_index_list(?) AS l,"
            " pragma_index_xinfo(l.name) AS x WHERE x.key"
            " AND NOT (l.origin = 'pk' AND ?)",
            (name, without_rowid),
        ):
            columns.setdefault(index, set()).add(EXPRESSION if column is None else column)
        keys = self._query(
            "SELECT lower(name), upper(type) FROM pragma_table_xinfo(?) WHERE pk > 0", (name,)
        )
        has_alias = len(keys) == 1 and keys[0][1] == "INTEGER" and not without_rowid
        (text,) = self._query(
            "SELECT max(sql) FROM sqlite_schema WHERE type = 'table' AND lower(name) = ?", (name,)
        )[0]
        autoincrement = has_alias and any(
            token.upper() == "AUTOINCREMENT" for token in tokens(text or "")
        )
        cascades = self._query(
            "SELECT 1 FROM sqlite_schema AS s, pragma_foreign_key_list(s.name) AS f"
            " WHERE s.type = 'table' AND lower(f.\"table\") = ?"
            " AND (f.on_delete NOT IN ('NO ACTION', 'RESTRICT')"
            " OR f.on_update NOT IN ('NO ACTION', 'RESTRICT')) LIMIT 1",
            (name,),
        )
        return TableFacts(
            b_trees=1 + len(columns),
            index_columns=tuple(frozenset(held) for held in columns.values()),
            rowid_alias=keys[0][0] if has_alias else None,
            autoincrement=autoincrement,
            virtual=False,
            cascades=bool(cascades),
        )
