"""The direct wrapper of `env.DB` gives what the SDK's own wrapper gives, value for value and error for error."""

import asyncio
import datetime
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.workers.runtime import Runtime
from pyflare_bindings.registry import BindingRegistry

Program = Callable[[Any], Awaitable[Any]]
VALUES = {
    "text": "a",
    "empty text": "",
    "emoji": "🙂",
    "nul": "a\0b",
    "int": 7,
    "negative": -1,
    "largest safe": 2**53 - 1,
    "too large": 2**53,
    "float": 1.5,
    "whole float": 7.0,
    "nan": math.nan,
    "infinity": math.inf,
    "true": True,
    "none": None,
    "bytes": b"\x00\xff\x10",
    "no bytes": b"",
    "memoryview": memoryview(b"xyz")[1:],
    "bytearray": bytearray(b"ab"),
    "byte numbers": [1, 2, 255],
    "empty list": [],
    "fraction list": [1.5],
    "large numbers": [256],
    "text list": ["a"],
    "dict": {"a": 1},
    "tuple": (1,),
    "datetime": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
    "object": object,
}


def binds(value: Any) -> Program:
    async def program(db: Any) -> Any:
        statement = db.prepare("SELECT ? AS v, typeof(?) AS t").bind(value, value)
        return [await statement.all(), await statement.first(), await statement.raw()]

    return program


async def returning_rows(db: Any) -> Any:
    await db.prepare("CREATE TABLE t (id INTEGER PRIMARY KEY, v)").run()
    return await db.prepare("INSERT INTO t (v) VALUES (?), (?) RETURNING *").bind("x", None).run()


async def no_rows(db: Any) -> Any:
    statement = db.prepare("SELECT 1 AS a WHERE 0")
    return [
        await statement.all(),
        await statement.first(),
        await statement.first("missing"),
        await statement.raw(),
        await statement.raw(columnNames=True),
        await statement.raw({"columnNames": True}),
        await statement.raw(None),
    ]


async def first_of_column(db: Any) -> Any:
    statement = db.prepare("SELECT 1 AS a, NULL AS b, 2 AS a")
    return [await statement.first("a"), await statement.first("b"), await statement.all()]


async def missing_column(db: Any) -> Any:
    return await db.prepare("SELECT 1 AS a").first("b")


async def batch(db: Any) -> Any:
    return await db.batch([db.prepare("SELECT ? AS n").bind(n) for n in range(3)])


async def empty_batch(db: Any) -> Any:
    return await db.batch([])


async def batch_of_texts(db: Any) -> Any:
    return await db.batch(["SELECT 1"])


async def batch_tuple(db: Any) -> Any:
    return await db.batch((db.prepare("SELECT 1"),))


async def failing_batch(db: Any) -> Any:
    return await db.batch([db.prepare("SELECT 1"), db.prepare("SELEC 2")])


async def exec_lines(db: Any) -> Any:
    return (await db.exec("CREATE TABLE a(x);\nCREATE TABLE b(y);")).count


async def exec_failure(db: Any) -> Any:
    return await db.exec("SELECT 1\nSELEC 2")


async def syntax_error(db: Any) -> Any:
    return await db.prepare("SELEC 1").run()


async def sql_is_no_text(db: Any) -> Any:
    return await db.prepare(5).run()


async def wrong_count(db: Any) -> Any:
    return await db.prepare("SELECT ?").bind(1, 2).all()


async def session(db: Any) -> Any:
    fresh = db.withSession("first-primary")
    before = fresh.getBookmark()
    row = await fresh.prepare("SELECT 1 AS a").first()
    return [before, row.a, len(fresh.getBookmark())]


async def session_with_bookmark(db: Any) -> Any:
    resumed = db.withSession("zzz")
    await resumed.prepare("SELECT 1").run()
    return resumed.getBookmark()


async def plain_session(db: Any) -> Any:
    return db.withSession().getBookmark()


async def attributes(db: Any) -> Any:
    bound = db.prepare("SELECT ?").bind(1)
    return [bound.statement, bound.params]


async def integers_beyond_double(db: Any) -> Any:
    return await db.prepare(
        "SELECT 9007199254740993 AS a, 9e999 AS b, -0.0 AS c, x'00ff' AS d"
    ).all()


async def rebinding_keeps_the_receiver(db: Any) -> Any:
    once = db.prepare("SELECT ? AS v").bind("a")
    twice = once.bind("b")
    return [(await once.first()).v, (await twice.first()).v]


PROGRAMS: dict[str, Program] = {f"bind {name}": binds(value) for name, value in VALUES.items()}
PROGRAMS |= {
    program.__name__: program
    for program in (
        returning_rows,
        no_rows,
        first_of_column,
        missing_column,
        batch,
        empty_batch,
        batch_of_texts,
        batch_tuple,
        failing_batch,
        exec_lines,
        exec_failure,
        syntax_error,
        sql_is_no_text,
        wrong_count,
        session,
        session_with_bookmark,
        plain_session,
        attributes,
        integers_beyond_double,
        rebinding_keeps_the_receiver,
    )
}


@pytest.fixture
def runtime() -> Any:
    installed = Runtime()
    installed.install()
    yield
    installed.uninstall()


def outcome(program: Program, folder: Path, *, direct: bool) -> Any:
    from workers.rpc import _BindingWrapper

    from pyflare.env.d1 import D1Database
    from pyflare.env.d1_requests import Connection
    from pyflare.env.d1_sdk import D1DatabaseWrapper

    async def run() -> Any:
        registry = BindingRegistry(folder)
        raw = D1Database._make(Connection(registry.d1("db")))
        db = D1DatabaseWrapper(raw) if direct else _BindingWrapper(raw)
        try:
            return comparable(await program(db))
        except Exception as error:
            return (type(error).__name__, str(error))
        finally:
            await registry.close()

    return asyncio.run(run())


def comparable(value: Any) -> Any:
    """With types, and without the one number that differs from run to run."""
    if isinstance(value, dict):
        return type(value).__name__, [
            (key, comparable(item)) for key, item in value.items() if key != "duration"
        ]
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return type(value).__name__, value


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_outcome(name: str, tmp_path: Path, runtime: None) -> None:
    program = PROGRAMS[name]
    assert outcome(program, tmp_path / "direct", direct=True) == outcome(
        program, tmp_path / "sdk", direct=False
    )


def test_an_operation_runs_although_nobody_awaits_it(tmp_path: Path, runtime: None) -> None:
    async def program(db: Any) -> Any:
        await db.prepare("CREATE TABLE t (v)").run()
        db.prepare("INSERT INTO t VALUES (1)").run().close()
        return (await db.prepare("SELECT count(*) AS n FROM t").first()).n

    assert outcome(program, tmp_path, direct=True) == ("int", 1)
