"""A database driven at random behaves like a dictionary with transactions."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyflare_bindings.d1 import D1Error, Statement
from pyflare_bindings.registry import BindingRegistry

KEYS = st.integers(0, 5)
WRITES = st.tuples(st.sampled_from(["insert", "replace", "update", "delete"]), KEYS, KEYS)

SQL = {
    "insert": "INSERT INTO t (k, v) VALUES (?1, ?2)",
    "replace": "INSERT INTO t (k, v) VALUES (?1, ?2) ON CONFLICT (k) DO UPDATE SET v = ?2",
    "update": "UPDATE t SET v = ?2 WHERE k = ?1",
    "delete": "DELETE FROM t WHERE k = ?1 AND ?2 = ?2",
}


def statement(write: tuple[str, int, int]) -> Statement:
    kind, key, value = write
    return Statement(SQL[kind], (float(key), float(value)))


def apply(model: dict[int, int], write: tuple[str, int, int]) -> bool:
    """Change the model. Out: whether the database accepts the write."""
    kind, key, value = write
    match kind:
        case "insert":
            if key in model:
                return False
            model[key] = value
        case "replace":
            model[key] = value
        case "update":
            if key in model:
                model[key] = value
        case _:
            model.pop(key, None)
    return True


def apply_all(model: dict[int, int], writes: list[tuple[str, int, int]]) -> dict[int, int] | None:
    """The model after a batch, None when one of its writes is refused."""
    changed = dict(model)
    return changed if all(apply(changed, write) for write in writes) else None


class DatabaseMachine(RuleBasedStateMachine):
    durability: Any = "process"

    @initialize()
    def open_first(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.model: dict[int, int] = {}
        self.bookmark = ""
        self.open()
        self.ask([Statement("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")])

    def open(self) -> None:
        self.registry = BindingRegistry(Path(self.directory.name), durability=self.durability)
        self.database = self.registry.d1("model")

    def ask(self, statements: list[Statement]) -> Any:
        results = self.runner.run(self.database.query(statements))
        assert results.bookmark > self.bookmark
        self.bookmark = results.bookmark
        return results

    @rule(writes=st.lists(WRITES, min_size=1, max_size=4))
    def batch(self, writes: list[tuple[str, int, int]]) -> None:
        after = apply_all(self.model, writes)
        if after is None:
            with pytest.raises(D1Error, match="UNIQUE constraint failed"):
                self.ask([statement(write) for write in writes])
        else:
            assert len(self.ask([statement(write) for write in writes])) == len(writes)
            self.model = after

    @rule(batches=st.lists(st.lists(WRITES, min_size=1, max_size=3), min_size=2, max_size=6))
    def batches_at_once(self, batches: list[list[tuple[str, int, int]]]) -> None:
        async def gather() -> list[Any]:
            return await asyncio.gather(
                *(self.database.query([statement(w) for w in batch]) for batch in batches),
                return_exceptions=True,
            )

        for batch, answer in zip(batches, self.runner.run(gather()), strict=True):
            after = apply_all(self.model, batch)
            assert isinstance(answer, D1Error) == (after is None)
            if after is not None:
                self.model = after
                self.bookmark = max(self.bookmark, answer.bookmark)

    @rule(key=KEYS)
    def fail_after_a_write(self, key: int) -> None:
        with pytest.raises(D1Error, match="no such table"):
            self.ask([statement(("replace", key, 99)), Statement("SELECT * FROM nowhere")])

    @rule()
    def restart(self) -> None:
        self.runner.run(self.registry.close())
        self.open()

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if hasattr(self, "database"):
            (result,) = self.ask([Statement("SELECT k, v FROM t ORDER BY k")])
            assert result.rows == sorted(self.model.items())

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self.registry.close())
            self.runner.close()
            self.directory.cleanup()


class DurableDatabaseMachine(DatabaseMachine):
    durability = "machine"


TestDatabase = DatabaseMachine.TestCase
TestDatabase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestDurableDatabase = DurableDatabaseMachine.TestCase
TestDurableDatabase.settings = settings(max_examples=8, stateful_step_count=15, deadline=None)
