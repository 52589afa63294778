"""A D1 database as SQL text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.d1 import D1Database, D1Error, Statement
from pyflare_bindings.d1.export import export_lines
from pyflare_bindings.registry import BindingRegistry


def with_database(root: Path, program: Callable[[D1Database], Coroutine[Any, Any, Any]]) -> Any:
    async def run() -> Any:
        registry = BindingRegistry(root)
        try:
            return await program(registry.d1("db"))
        finally:
            await registry.close()

    return asyncio.run(run())


async def text_of(database: D1Database, **options: Any) -> str:
    _, pieces = await export_lines(database, **options)
    return b"".join([piece async for piece in pieces]).decode()


def exported(root: Path, *sql: str, **options: Any) -> list[str]:
    async def program(database: D1Database) -> list[str]:
        await database.query([Statement(each) for each in sql])
        return (await text_of(database, **options)).splitlines()

    found: list[str] = with_database(root, program)
    return found


def test_an_empty_database_is_one_pragma(tmp_path: Path) -> None:
    assert exported(tmp_path, "SELECT 1") == ["PRAGMA defer_foreign_keys=TRUE;"]


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("NULL", "NULL"),
        ("9223372036854775807", "9223372036854775807"),
        ("1.0", "1.0"),
        ("-1e999", "-9.0e+999"),
        ("x'00FF'", "X'00ff'"),
        ("'it''s'", "'it''s'"),
        ("'a' || char(10) || 'b'", "replace('a\\nb','\\n',char(10))"),
        ("'\\n' || char(10)", "replace('\\n\\\\n','\\\\n',char(10))"),
        ("'a' || char(13, 10)", "replace(replace('a\\r\\n','\\n',char(10)),'\\r',char(13))"),
        ("char(65, 0)", "CAST(X'4100' AS TEXT)"),
    ],
)
def test_a_value_is_a_literal_that_means_the_same(tmp_path: Path, value: str, literal: str) -> None:
    lines = exported(tmp_path, "CREATE TABLE t (v)", f"INSERT INTO t VALUES ({value})")
    assert lines[2:] == [f'INSERT INTO "t" ("v") VALUES({literal});']

    async def compare(database: D1Database) -> Any:
        same = f"SELECT v IS {literal} AND typeof(v) = typeof({literal}) FROM t"
        return (await database.query([Statement(same)]))[0].rows

    assert with_database(tmp_path, compare) == [(1,)]


def test_odd_names_generated_columns_and_tables_without_rowid_come_back(tmp_path: Path) -> None:
    lines = exported(
        tmp_path / "one",
        'CREATE TABLE "odd "" name" ("a b" PRIMARY KEY, g AS (upper("a b"))) WITHOUT ROWID',
        'INSERT INTO "odd "" name" VALUES (\'x\')',
    )

    async def again(database: D1Database) -> Any:
        await database.query([Statement(line) for line in lines])
        return (await database.query([Statement('SELECT * FROM "odd "" name"')]))[0].rows

    assert with_database(tmp_path / "two", again) == [("x", "X")]


def test_indexes_triggers_and_views_come_last(tmp_path: Path) -> None:
    lines = exported(
        tmp_path,
        "CREATE TABLE t (v)",
        "CREATE VIEW w AS SELECT v FROM t",
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END",
        "CREATE INDEX i ON t (v)",
        "INSERT INTO t VALUES (1)",
    )
    assert [line.split(" ", 2)[1] for line in lines[2:]] == ["INTO", "INDEX", "TRIGGER", "VIEW"]


def test_what_is_written_while_it_is_read_does_not_show(tmp_path: Path) -> None:
    async def program(database: D1Database) -> int:
        row = Statement("INSERT INTO t VALUES (hex(randomblob(500)))")
        await database.query([Statement("CREATE TABLE t (v)"), *[row] * 2000])
        _, pieces = await export_lines(database)
        first = await anext(pieces)
        await database.query([Statement("DELETE FROM t WHERE rowid > 10")])
        rest = b"".join([piece async for piece in pieces])
        return (first + rest).count(b"INSERT INTO")

    assert with_database(tmp_path, program) == 2000


def test_an_export_that_is_given_up_lets_the_database_close(tmp_path: Path) -> None:
    async def program(database: D1Database) -> None:
        row = Statement("INSERT INTO t VALUES (hex(randomblob(500)))")
        await database.query([Statement("CREATE TABLE t (v)"), *[row] * 2000])
        _, pieces = await export_lines(database)
        await anext(pieces)
        await pieces.aclose()  # type: ignore[attr-defined]
        await pieces.aclose()  # type: ignore[attr-defined]

    with_database(tmp_path, program)
    assert not [*tmp_path.rglob("*-wal")]


def test_virtual_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(D1Error, match=r"cannot export databases with Virtual Tables \(fts5\)"):
        exported(tmp_path, "CREATE VIRTUAL TABLE f USING fts5(a)")
