"""SQL of an object: what is bound, what comes back, and how a cursor goes on."""

from __future__ import annotations

import math
from typing import Any

import pytest

BOUND: dict[str, tuple[Any, Any, str]] = {
    "int": (7, 7, "real"),
    "float": (1.5, 1.5, "real"),
    "text": ("a", "a", "text"),
    "none": (None, None, "null"),
    "nan": (math.nan, None, "null"),
    "infinity": (math.inf, math.inf, "real"),
    "bytes": (b"\0\xff", memoryview(b"\0\xff"), "blob"),
    "memoryview": (memoryview(b"a"), memoryview(b"a"), "blob"),
    "true": (True, "true", "text"),
    "false": (False, "false", "text"),
    "list": ([1, 2], "1,2", "text"),
    "dict": ({"a": 1}, "[object Object]", "text"),
}


@pytest.mark.parametrize(("value", "back", "kind"), BOUND.values(), ids=BOUND)
def test_a_value_is_bound(storage: Any, value: Any, back: Any, kind: str) -> None:
    row = storage(lambda storage: storage.sql.exec("SELECT ? AS v, typeof(?1) AS t", value).one())
    assert (row.v, row.t) == (back, kind)


def test_numbers_that_are_no_javascript_numbers_are_refused(storage: Any) -> None:
    assert storage.error(lambda storage: storage.sql.exec("SELECT ?", 2**53)) == (
        "TypeError: Cannot convert a BigInt value to a number"
    )


def test_symbols_are_refused(storage: Any) -> None:
    from pyflare.js.symbol import Symbol

    with pytest.raises(Exception, match="Cannot convert a Symbol value to a string"):
        storage.raw(lambda storage: storage.sql.exec("SELECT ?", Symbol._make("s")))


def test_whole_numbers_come_back_as_int(storage: Any) -> None:
    row = storage(
        lambda storage: storage.sql.exec("SELECT 2.0 AS a, 9007199254740993 AS b, -0.5 AS c").one()
    )
    assert [type(value) for value in row.values()] == [int, float, float]


def test_null_is_null_for_javascript_and_none_for_python(storage: Any) -> None:
    from pyflare.js.value import jsnull

    def program(storage: Any) -> Any:
        return storage.sql.exec("SELECT NULL AS n").one().n

    assert storage.raw(program) is jsnull
    assert storage(program) is None


@pytest.mark.parametrize("rows", [3, 50])
def test_many_rows_are_converted_like_few(storage: Any, rows: int) -> None:
    def program(storage: Any) -> Any:
        storage.sql.exec("CREATE TABLE t (i INTEGER, r, s TEXT, b BLOB, mixed, big)")
        for number in range(rows):
            storage.sql.exec(
                "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)",
                number,
                float(number),
                f"s{number}",
                bytes([number]),
                None if number % 2 else "even",
                None,
            )
        storage.sql.exec("UPDATE t SET big = 9007199254740993 WHERE i = 1")
        cursor = storage.sql.exec("SELECT * FROM t ORDER BY i")
        return cursor.toArray(), storage.sql.exec("SELECT * FROM t ORDER BY i").raw().toArray()

    dicts, lists = storage(program)
    assert [list(row.values()) for row in dicts] == lists
    for number, row in enumerate(lists):
        assert row[:4] == [number, number, f"s{number}", memoryview(bytes([number]))]
        assert [type(value) for value in row[:4]] == [int, int, str, memoryview]
        assert row[4] == (None if number % 2 else "even")
        assert row[5] == (9007199254740992.0 if number == 1 else None)


def _three(storage: Any) -> Any:
    storage.sql.exec("DROP TABLE IF EXISTS t")
    storage.sql.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    storage.sql.exec("INSERT INTO t (v) VALUES ('a'), ('b'), ('c')")
    return storage.sql.exec("SELECT v FROM t ORDER BY id")


def test_next_and_iteration_share_the_position(storage: Any) -> None:
    def program(storage: Any) -> Any:
        cursor = _three(storage)
        first = cursor.next()
        raw = cursor.raw().next()
        rest = [row.v for row in cursor]
        return first, raw, rest, list(cursor), cursor.toArray(), cursor.next(), cursor.next()

    assert storage(program) == (
        {"done": False, "value": {"v": "a"}},
        {"done": False, "value": ["b"]},
        ["c"],
        [],
        [],
        {"done": True},
        {"done": True},
    )


def test_duplicate_names_keep_the_last_value_in_dicts_and_all_in_lists(storage: Any) -> None:
    def program(storage: Any) -> Any:
        query = "SELECT 1 AS a, 2 AS a"
        cursor = storage.sql.exec(query)
        return cursor.columnNames, cursor.one(), storage.sql.exec(query).raw().toArray()

    assert storage(program) == (["a", "a"], {"a": 2}, [[1, 2]])


def test_counters_are_one_row_ahead(storage: Any) -> None:
    def program(storage: Any) -> Any:
        _three(storage)
        cursor = storage.sql.exec("SELECT v FROM t")
        counts = []
        for _ in range(4):
            counts.append(cursor.rowsRead)
            cursor.next()
        return counts

    # The unwrapped cursor: the SDK's wrapper keeps the first value that it reads.
    assert storage.raw(program) == [1, 2, 3, 3]
    assert storage(program) == [1, 1, 1, 1]


def test_a_write_is_complete_when_exec_returns(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        _three(storage)
        storage.sql.exec("INSERT INTO t (v) VALUES ('d') RETURNING id")
        cursor = storage.sql.exec("UPDATE t SET v = 'x'")
        return cursor.rowsWritten, storage.sql.exec("SELECT count(*) AS n FROM t").one().n

    assert storage(program) == (4, 4)
    assert storage(lambda storage: storage.sql.exec("SELECT max(v) AS v FROM t").one().v) == "x"


def test_a_row_that_fails_takes_the_one_before_it_along(storage: Any) -> None:
    def program(storage: Any) -> Any:
        storage.sql.exec("CREATE TABLE t (n INTEGER)")
        for number in ("1", "2", "9223372036854775807"):
            storage.sql.exec(f"INSERT INTO t VALUES ({number})")
        cursor = storage.sql.exec("SELECT abs(n) + 1 - (n > 2) * 0, abs(-n - (n > 2)) FROM t")
        first = cursor.next().done
        with pytest.raises(Exception, match="integer overflow: SQLITE_ERROR"):
            cursor.next()
        return first

    assert storage(program) is False


def test_the_size_is_read_only(storage: Any) -> None:
    def program(storage: Any) -> Any:
        before = storage.sql.databaseSize
        with pytest.raises(Exception, match="Cannot assign to read only property 'databaseSize'"):
            storage.sql.databaseSize = 1
        return before

    assert storage.raw(program) == 4096


ERRORS: list[tuple[str, str]] = [
    ("SELEC 1", 'near "SELEC": syntax error at offset 0: SQLITE_ERROR'),
    ("SELECT * FROM nope", "no such table: nope: SQLITE_ERROR"),
    ("SELECT * FROM _cf_KV", "access to _cf_KV.key is prohibited: SQLITE_AUTH"),
    ("BEGIN", ""),
    ("COMMIT", ""),
    ("SAVEPOINT s", ""),
]


@pytest.mark.parametrize(("query", "text"), ERRORS)
def test_errors_are_plain_errors_with_the_platforms_text(
    storage: Any, query: str, text: str
) -> None:
    async def program(storage: Any) -> Any:
        await storage.put("a", 1)
        return storage.sql.exec(query)

    assert storage.error(program).startswith(f"Error: {text}")


def test_a_cursor_names_its_class_for_javascript(storage: Any) -> None:
    def program(storage: Any) -> Any:
        cursor = storage.sql.exec("SELECT 1 AS a")
        return (
            cursor.constructor.name,
            cursor.raw().constructor.name,
            isinstance(cursor, storage.sql.Cursor),
        )

    assert storage.raw(program) == ("Cursor", "RawIterator", True)
