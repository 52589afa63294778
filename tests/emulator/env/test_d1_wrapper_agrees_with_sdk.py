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


async def batch_made_javascript(db: Any) -> Any:
    from pyodide.ffi import to_js

    statements = [db.prepare("SELECT ? AS n").bind(n) for n in range(2)]
    session = db.withSession()
    return [
        await db.batch(to_js(statements)),
        await session.batch(to_js([session.prepare("SELECT 1 AS a")])),
        await db.batch(to_js([*statements, db.prepare("SELECT 3 AS n")])),
    ]


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


#: Calls with arguments that are missing, too many, of another type, or given by name.
CALLS: dict[str, Callable[[Any], Any]] = {
    "first(None)": lambda db: db.prepare("SELECT 1 AS a").first(None),
    "first(None) of no rows": lambda db: db.prepare("SELECT 1 AS a WHERE 0").first(None),
    "first(5)": lambda db: db.prepare("SELECT 1 AS a").first(5),
    "first(5) of a column 5": lambda db: db.prepare('SELECT 1 AS "5"').first(5),
    "first(column=)": lambda db: db.prepare("SELECT 1 AS a").first(column="a"),
    "first of two": lambda db: db.prepare("SELECT 1 AS a").first("a", "b"),
    "all(1)": lambda db: db.prepare("SELECT 1 AS a").all(1),
    "raw(options=)": lambda db: db.prepare("SELECT 1 AS a").raw(options={"columnNames": True}),
    "raw of two": lambda db: db.prepare("SELECT 1 AS a").raw({"columnNames": True}, 5),
    "prepare()": lambda db: db.prepare().all(),
    "prepare(None)": lambda db: db.prepare(None).all(),
    "prepare(query=)": lambda db: db.prepare(query="SELECT 1").all(),
    "prepare of two": lambda db: db.prepare("SELECT 1", 5).all(),
    "bind(a=)": lambda db: db.prepare("SELECT ?").bind(a=1).all(),
    "bind of one and one by name": lambda db: db.prepare("SELECT ?").bind(1, a=1).all(),
    "exec()": lambda db: db.exec(),
    "exec(None)": lambda db: db.exec(None),
    "exec(5)": lambda db: db.exec(5),
    "exec(query=)": lambda db: db.exec(query="SELECT 1"),
    "exec of two": lambda db: db.exec("SELECT 1", 5),
    "batch()": lambda db: db.batch(),
    "batch(None)": lambda db: db.batch(None),
    "batch(5)": lambda db: db.batch(5),
    "batch(statements=)": lambda db: db.batch(statements=[]),
    "batch of two": lambda db: db.batch([db.prepare("SELECT 1")], 5),
    "query()": lambda db: db.query({"queries": []}),
    "dump()": lambda db: db.dump(),
}


def awaits(call: Callable[[Any], Any]) -> Program:
    async def program(db: Any) -> Any:
        return await call(db)

    return program


def opens_session(*arguments: Any, **named: Any) -> Program:
    async def program(db: Any) -> Any:
        return db.withSession(*arguments, **named).getBookmark()

    return program


PROGRAMS: dict[str, Program] = {f"bind {name}": binds(value) for name, value in VALUES.items()}
PROGRAMS |= {name: awaits(call) for name, call in CALLS.items()}
PROGRAMS |= {
    "withSession(None)": opens_session(None),
    "withSession(5)": opens_session(5),
    "withSession(constraint=)": opens_session(constraint="x"),
    "withSession of two": opens_session(" x ", 5),
}
PROGRAMS |= {
    program.__name__: program
    for program in (
        returning_rows,
        no_rows,
        first_of_column,
        missing_column,
        batch,
        batch_made_javascript,
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
            (key, comparable(item))
            for key, item in value.items()
            if key not in ("duration", "sql_duration_ms")
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


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the SDK"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("first(None)", "Error: D1_COLUMN_NOTFOUND: Column not found (null)"),
        ("first(5)", "Error: D1_COLUMN_NOTFOUND: Column not found (5)"),
        ("first(column=)", "Error: D1_COLUMN_NOTFOUND: Column not found ([object Object])"),
        ("exec()", "TypeError: Cannot read properties of undefined (reading 'trim')"),
        ("exec(None)", "TypeError: Cannot read properties of null (reading 'trim')"),
        ("exec(5)", "TypeError: query.trim is not a function"),
        ("exec(query=)", "TypeError: query.trim is not a function"),
        ("batch()", "TypeError: Cannot read properties of undefined (reading 'map')"),
        ("batch(None)", "TypeError: Cannot read properties of null (reading 'map')"),
        ("batch(5)", "TypeError: statements.map is not a function"),
        ("batch(statements=)", "TypeError: statements.map is not a function"),
        ("withSession(5)", "TypeError: constraintOrBookmark?.trim is not a function"),
        ("withSession(constraint=)", "TypeError: constraintOrBookmark?.trim is not a function"),
        (
            "bind(a=)",
            "Error: D1_TYPE_ERROR: Type 'object' not supported for value '[object Object]'",
        ),
        ("prepare(query=)", "Error: D1_ERROR: The SQL is not a text but [object Object]."),
        (
            "query()",
            "Error: D1_ERROR: D1Database.query() requires the d1_binding_jsrpc compatibility flag. "
            "Enable d1_binding_jsrpc before calling query().",
        ),
    ],
)
def test_the_error_of_a_wrong_argument(
    name: str, message: str, direct: bool, tmp_path: Path, runtime: None
) -> None:
    assert outcome(PROGRAMS[name], tmp_path, direct=direct) == ("JsException", message)


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the SDK"])
@pytest.mark.parametrize(
    "name",
    [
        "all(1)",
        "first of two",
        "raw of two",
        "prepare of two",
        "exec of two",
        "batch of two",
    ],
)
def test_surplus_arguments_are_ignored(
    name: str, direct: bool, tmp_path: Path, runtime: None
) -> None:
    assert outcome(PROGRAMS[name], tmp_path, direct=direct)[0] != "JsException"


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the SDK"])
def test_a_batch_may_be_a_javascript_array(direct: bool, tmp_path: Path, runtime: None) -> None:
    async def program(db: Any) -> Any:
        from pyodide.ffi import to_js

        results = await db.batch(to_js([db.prepare("SELECT ? AS n").bind(n) for n in (7, 8)]))
        return [result.results[0].n for result in results]

    assert outcome(program, tmp_path, direct=direct) == [("int", 7), ("int", 8)]


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the SDK"])
def test_meta_has_all_documented_fields(direct: bool, tmp_path: Path, runtime: None) -> None:
    async def program(db: Any) -> Any:
        meta = (await db.prepare("SELECT 1").run()).meta
        assert meta.timings.sql_duration_ms == meta.duration
        return [meta.served_by_region, meta.served_by_primary, meta.total_attempts]

    assert outcome(program, tmp_path, direct=direct) == [
        ("str", "WEUR"),
        ("bool", True),
        ("int", 1),
    ]
