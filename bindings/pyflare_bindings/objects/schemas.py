"""What is known of statements, shared by all objects that have the same tables.

The objects of one class mostly do. A new one then need not find out once more what each of its
statements reads and writes, which takes longer than to run them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ..storage.plan import Plan
from ..storage.sandbox import Row
from ..storage.schema_facts import InternalQuery, SchemaFacts, TableFacts

_KEPT: Final = 64

Schema = tuple[Row, ...]


class Knowledge(NamedTuple):
    """The plans of statements, by their text, and the facts of tables, by their name."""

    plans: dict[str, Plan]
    facts: dict[str, TableFacts | None]


class Schemas:
    """The knowledge of one namespace, by what stands in the schema table."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Schema, Knowledge] = {}

    def knowledge(self, schema: Schema) -> Knowledge:
        """What is known with this schema, to be added to."""
        knowledge = self._known.get(schema)
        if knowledge is None:
            if len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            knowledge = self._known[schema] = Knowledge({}, {})
        return knowledge


class SharedFacts(SchemaFacts):
    """Facts of tables that other objects may have found out.

    In: `adopt`, called before anything is read.
    """

    __slots__ = ("_adopt",)

    def __init__(self, query: InternalQuery, adopt: Callable[[], None]) -> None:
        super().__init__(query)
        self._adopt = adopt

    def of(self, table: str) -> TableFacts | None:
        """The facts of a table by its name in any case; None for what is not a table."""
        if table.lower() not in self._known:
            self._adopt()
        return super().of(table)

    def share(self, known: dict[str, TableFacts | None]) -> None:
        """Use and complete what others know."""
        self._known = known
