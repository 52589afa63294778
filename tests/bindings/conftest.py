"""A D1 database that tests can talk to without writing coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from pyflare_bindings.d1 import (
    D1Database,
    D1Error,
    Results,
    Statement,
    StatementResult,
    d1_values,
)
from pyflare_bindings.registry import BindingRegistry

# How long an example takes says something about the machine, not about the code.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def statement(sql: str, *params: Any) -> Statement:
    """A statement whose numbers are bound as D1 binds them."""
    return Statement(sql, tuple(float(p) if isinstance(p, int) else p for p in params))


class D1Client:
    """One database, called synchronously."""

    def __init__(self, runner: asyncio.Runner, owner: D1Database) -> None:
        self.runner = runner
        self.owner = owner

    statement = staticmethod(statement)

    def request(self, *statements: Statement) -> Results:
        return self.runner.run(self.owner.query(statements))

    def run(self, sql: str, *params: Any) -> StatementResult:
        (result,) = self.request(statement(sql, *params))
        return result

    def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        return d1_values(self.run(sql, *params))

    def value(self, sql: str, *params: Any) -> Any:
        ((value,),) = self.rows(sql, *params)
        return value

    def error(self, sql: str, *params: Any) -> str:
        with pytest.raises(D1Error) as caught:
            self.request(statement(sql, *params))
        return str(caught.value)

    def counts(self, sql: str, *params: Any) -> tuple[int, int]:
        meta = self.run(sql, *params).meta
        return meta.rows_read, meta.rows_written


@pytest.fixture
def registry(tmp_path: Path) -> BindingRegistry:
    return BindingRegistry(tmp_path / "state")


@pytest.fixture
def d1(registry: BindingRegistry) -> Iterator[D1Client]:
    with asyncio.Runner() as runner:
        yield D1Client(runner, registry.d1("test"))
        runner.run(registry.close())
