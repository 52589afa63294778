"""Every class of D1 error, as a Worker catches it: the platform's words, and the next statement works."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .dev_server import DevServer
from .projects import DATABASE, write_project

# Runs what it is sent: [["sql", [parameters]], ...] as a batch, or one statement, and answers result or error.
RUNNER = """
from pyodide.ffi import JsException
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        asked = await request.json()
        try:
            match asked["how"]:
                case "exec":
                    result = await self.env.DB.exec(asked["sql"])
                case "batch":
                    result = await self.env.DB.batch([self.bound(*each) for each in asked["statements"]])
                case "first":
                    statement = self.bound(asked["sql"], asked.get("values", []))
                    result = await statement.first(asked["column"])
                case _:
                    result = await self.bound(asked["sql"], asked.get("values", [])).all()
        except JsException as error:
            return Response.json({"text": str(error)})
        return Response.json({"result": result})

    def bound(self, sql, values):
        odd = {"<dict>": {}, "<huge>": 2**60}
        values = [odd.get(value, value) if isinstance(value, str) else value for value in values]
        statement = self.env.DB.prepare(sql)
        return statement.bind(*values) if values else statement
"""
SCHEMA = (
    "CREATE TABLE parent (id INTEGER PRIMARY KEY);"
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, b TEXT UNIQUE,"
    " c INTEGER CHECK (c > 0), p INTEGER REFERENCES parent (id));"
    "CREATE TABLE typed (i INTEGER) STRICT;"
    "INSERT INTO t (id, a, b, c) VALUES (1, 'a', 'b', 1)"
)
TRANSACTION = (
    "D1_ERROR: To execute a transaction, please use the state.storage.transaction() or"
    " state.storage.transactionSync() APIs instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements."
)
COUNT = "D1_ERROR: Wrong number of parameter bindings for SQL query."
CONSTRAINT = "SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    directory = tmp_path_factory.mktemp("sql")
    project = write_project(directory, RUNNER, d1_databases=[DATABASE])
    server = DevServer(
        ["-c", project, "--port", "0", "--persist-to", directory / "state"],
        cwd=directory,
        log=directory / "server.log",
    )
    try:
        server.wait_until_ready()
        assert "result" in ask(server, SCHEMA)
        yield server
        assert server.stop() == 0
        server.check_output()
    finally:
        server.kill()


def ask(server: DevServer, sql: str = "", *values: Any, how: str = "all", **more: Any) -> Any:
    answer = server.post("/", json={"how": how, "sql": sql, "values": values, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELEC 1", 'D1_ERROR: near "SELEC": syntax error at offset 0: SQLITE_ERROR'),
        ("SELECT", "D1_ERROR: incomplete input: SQLITE_ERROR"),
        ("SELECT * FROM nope", "D1_ERROR: no such table: nope: SQLITE_ERROR"),
        ("SELECT nope FROM t", "D1_ERROR: no such column: nope at offset 7: SQLITE_ERROR"),
        ("SELECT nosuch(1)", "D1_ERROR: no such function: nosuch at offset 7: SQLITE_ERROR"),
        (
            "INSERT INTO t (id, a) VALUES (1, 'x')",
            f"D1_ERROR: UNIQUE constraint failed: t.id: {CONSTRAINT}_PRIMARYKEY)",
        ),
        (
            "INSERT INTO t (a, b) VALUES ('x', 'b')",
            f"D1_ERROR: UNIQUE constraint failed: t.b: {CONSTRAINT}_UNIQUE)",
        ),
        ("INSERT INTO t (a) VALUES (NULL)", f"D1_ERROR: NOT NULL constraint failed: t.a: {CONSTRAINT}_NOTNULL)"),
        ("INSERT INTO t (a, c) VALUES ('x', 0)", f"D1_ERROR: CHECK constraint failed: c > 0: {CONSTRAINT}_CHECK)"),
        (
            "INSERT INTO t (a, p) VALUES ('x', 99)",
            f"D1_ERROR: FOREIGN KEY constraint failed: {CONSTRAINT}_FOREIGNKEY)",
        ),
        (
            "INSERT INTO typed VALUES (7.5)",
            f"D1_ERROR: cannot store REAL value in INTEGER column typed.i: {CONSTRAINT}_DATATYPE)",
        ),
        ("SELECT sqlite_version()",
         "D1_ERROR: not authorized to use function: sqlite_version at offset 7: SQLITE_ERROR"),
        ("ATTACH 'other' AS other", "D1_ERROR: not authorized: SQLITE_AUTH"),
        ("PRAGMA journal_mode = DELETE", "D1_ERROR: not authorized: SQLITE_AUTH"),
        ("VACUUM", "D1_ERROR: cannot VACUUM from within a transaction: SQLITE_ERROR"),
        ("SELECT 1 LIMIT 'x'", "D1_ERROR: datatype mismatch: SQLITE_MISMATCH"),
        ("SELECT abs(-9223372036854775808)", "D1_ERROR: integer overflow: SQLITE_ERROR"),
        ("SELECT ?", COUNT),
        ("", "D1_ERROR: No SQL statements detected."),
        ("-- nothing", "D1_ERROR: SQL code did not contain a statement."),
        (
            "SELECT 'a' LIKE '" + "x" * 51 + "'",
            "D1_ERROR: LIKE or GLOB pattern too complex: SQLITE_ERROR",
        ),
        ("SELECT ?101", "D1_ERROR: variable number must be between ?1 and ?100 at offset 7: SQLITE_ERROR"),
    ],
)  # fmt: skip
def test_a_statement_that_fails_raises_the_platforms_text(
    database: DevServer, sql: str, text: str
) -> None:
    assert ask(database, sql)["text"] == f"Error: {text}"
    assert ask(database, "SELECT 1 AS one")["result"]["results"] == [{"one": 1}]


@pytest.mark.parametrize("word", ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "RELEASE a", "END"])
def test_transaction_words_are_refused_with_advice(database: DevServer, word: str) -> None:
    assert TRANSACTION in ask(database, word)["text"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("<dict>", "D1_TYPE_ERROR: Type 'object' not supported for value '[object Object]'"),
        ("<huge>", "D1_TYPE_ERROR: Type 'bigint' not supported for value '1152921504606846976'"),
        ([256], "D1_TYPE_ERROR: Type 'object' not supported for value '256'"),
    ],
)
def test_a_value_that_cannot_be_bound_is_refused_when_it_is_bound(
    database: DevServer, value: object, text: str
) -> None:
    assert text in ask(database, "SELECT ?", value)["text"]


@pytest.mark.parametrize(("marks", "values"), [(2, 1), (1, 2), (3, 2)])
def test_the_number_of_values_must_be_the_number_of_parameters(
    database: DevServer, marks: int, values: int
) -> None:
    sql = "SELECT " + ", ".join("?" * marks)

    assert COUNT in ask(database, sql, *range(values))["text"]


def test_more_than_a_hundred_parameters_are_refused(database: DevServer) -> None:
    sql = "SELECT max(" + ", ".join("?" * 10) + ")" + " + ?" * 91

    found = ask(database, sql, *range(101))

    assert "D1_ERROR: too many SQL variables at offset " in found["text"]


def test_a_statement_of_more_than_100000_bytes_is_refused(database: DevServer) -> None:
    found = ask(database, "SELECT '" + "x" * 100_000 + "'")

    assert "SQLITE_TOOBIG" in found["text"]


def test_a_value_of_more_than_two_million_bytes_is_refused(database: DevServer) -> None:
    found = ask(database, "SELECT hex(zeroblob(1100000))")

    assert "D1_ERROR: string or blob too big: SQLITE_TOOBIG" in found["text"]


def test_a_missing_column_of_first_is_named(database: DevServer) -> None:
    found = ask(database, "SELECT 1 AS one", how="first", column="two")

    assert "D1_COLUMN_NOTFOUND: Column not found (two)" in found["text"]


def test_exec_names_line_and_text(database: DevServer) -> None:
    found = ask(database, "SELECT\n1", how="exec")

    assert "D1_EXEC_ERROR: Error in line 1: SELECT: incomplete input: SQLITE_ERROR" in found["text"]


def test_a_batch_that_fails_leaves_nothing_behind(database: DevServer) -> None:
    statements = [
        ["INSERT INTO parent (id) VALUES (?)", [70]],
        ["INSERT INTO parent (id) VALUES (?)", [70]],
    ]

    found = ask(database, how="batch", statements=statements)

    assert "UNIQUE constraint failed: parent.id" in found["text"]
    left = ask(database, "SELECT count(*) AS n FROM parent WHERE id = 70")["result"]["results"]
    assert left == [{"n": 0}]


def test_an_error_nobody_catches_is_the_requests_error(tmp_path: Path, database: DevServer) -> None:
    answer = database.post("/", content=b"not json", headers={"user-agent": "curl/8"})

    assert answer.status_code == 500
    assert ask(database, "SELECT 1 AS one")["result"]["results"] == [{"one": 1}]
