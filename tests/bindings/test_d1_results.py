"""The rows of a D1 statement and what its meta says."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare_bindings.d1 import (
    Meta,
    StatementResult,
    d1_values,
    rows_as_dicts,
    rows_as_dicts_in_turns,
)
from pyflare_bindings.d1.values import d1_value

SAFE = 2**53 - 1


class Row(dict[str, Any]):
    pass


def result_of(columns: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> StatementResult:
    return StatementResult(tuple(columns), list(rows), Meta(0.0, 0, 0, False, 0, 0, 0))


# Rows


def test_a_statement_without_rows_gives_an_empty_list(d1: Any) -> None:
    """F-006: never None."""
    result = d1.run("CREATE TABLE t (x)")
    assert (result.columns, result.rows) == ((), [])


def test_columns_are_known_without_rows(d1: Any) -> None:
    d1.run("CREATE TABLE t (a, b)")
    assert d1.run("SELECT b, a AS c FROM t").columns == ("b", "c")


def test_duplicate_and_empty_column_names_are_kept(d1: Any) -> None:
    result = d1.run('SELECT 1 AS a, 2 AS a, 3 AS ""')
    assert (result.columns, result.rows) == (("a", "a", ""), [(1, 2, 3)])


def test_returning_gives_rows(d1: Any) -> None:
    d1.run("CREATE TABLE t (x)")
    result = d1.run("INSERT INTO t VALUES (1), (2) RETURNING x AS y")
    assert (result.columns, result.rows) == (("y",), [(1,), (2,)])


def test_select_star_follows_a_change_of_the_table(d1: Any) -> None:
    d1.run("CREATE TABLE t (a)")
    assert d1.run("SELECT * FROM t").columns == ("a",)
    d1.run("ALTER TABLE t ADD COLUMN b")
    assert d1.run("SELECT * FROM t").columns == ("a", "b")


def test_select_star_follows_a_change_that_was_rolled_back(d1: Any) -> None:
    d1.run("CREATE TABLE t (a)")
    with pytest.raises(Exception, match="nope"):
        d1.request(
            *map(
                d1.statement,
                ["ALTER TABLE t ADD COLUMN b", "SELECT * FROM t", "SELECT * FROM nope"],
            )
        )
    assert d1.run("SELECT * FROM t").columns == ("a",)


def test_select_star_follows_a_change_by_another_program(d1: Any) -> None:
    d1.run("CREATE TABLE t (a)")
    d1.run("INSERT INTO t VALUES (1)")
    d1.rows("SELECT * FROM t")
    other = apsw.Connection(str(d1.owner.path))
    other.execute("ALTER TABLE t ADD COLUMN b DEFAULT 2")
    other.close()
    result = d1.run("SELECT * FROM t")
    assert (result.columns, result.rows) == (("a", "b"), [(1, 2)])


# What is bound


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("typeof(?)", "real"),
        ("? || ''", "7.0"),
        ("CAST(? AS TEXT)", "7.0"),
        ("7 / (? - 5)", 3.5),
        ("json_array(?)", "[7.0]"),
        ("json_object('a', ?)", '{"a":7.0}'),
    ],
)
def test_a_number_is_bound_as_real(d1: Any, expression: str, value: Any) -> None:
    assert d1.value(f"SELECT {expression}", 7) == value


@pytest.mark.parametrize(
    ("column", "stored"),
    [
        ("TEXT", ("text", "7.0")),
        ("INTEGER", ("integer", 7)),
        ("NUMERIC", ("integer", 7)),
        ("BLOB", ("real", 7)),
        ("", ("real", 7)),
    ],
)
def test_the_affinity_of_a_column_decides_what_is_stored(
    d1: Any, column: str, stored: tuple[str, Any]
) -> None:
    d1.run(f"CREATE TABLE t (x {column})")
    d1.run("INSERT INTO t VALUES (?)", 7)
    assert d1.rows("SELECT typeof(x), x FROM t") == [stored]


def test_a_bound_limit_must_be_a_whole_number(d1: Any) -> None:
    assert len(d1.rows("SELECT 1 UNION SELECT 2 UNION SELECT 3 LIMIT ?", 2)) == 2
    assert d1.error("SELECT 1 LIMIT ?", 1.5) == "datatype mismatch: SQLITE_MISMATCH"


def test_bytes_are_stored_as_a_blob_and_read_as_numbers(d1: Any) -> None:
    """F-001: the exact bytes come back, as a list of 0..255."""
    d1.run("CREATE TABLE t (b BLOB)")
    d1.run("INSERT INTO t VALUES (?), (?)", b"\x00\xff\x10", b"")
    assert d1.rows("SELECT b, typeof(b), length(b) FROM t") == [
        ([0, 255, 16], "blob", 3),
        ([], "blob", 0),
    ]


def test_a_type_that_cannot_be_bound_is_named(d1: Any) -> None:
    with pytest.raises(TypeError, match="parameter 2 is of type dict; bind a float, str, bytes"):
        d1.run("SELECT ?, ?", 1, {})


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_are_not_finite_read_as_none(d1: Any, value: float) -> None:
    assert d1.value("SELECT ?", value) is None


def test_text_keeps_its_nul_characters(d1: Any) -> None:
    assert d1.value("SELECT ?", "a\0b") == "a\0b"


# What is read


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("9007199254740991", 9007199254740991),
        ("9007199254740993", 9007199254740992.0),
        ("-9007199254740993", -9007199254740992.0),
        ("9223372036854775807", 9223372036854775807.0),
        ("7.0", 7),
        ("-0.0", 0),
        ("7.5", 7.5),
        ("1e300", 1e300),
        ("9e999", None),
        ("-9e999", None),
        ("NULL", None),
        ("x'00ff'", [0, 255]),
        ("'text'", "text"),
    ],
)
@pytest.mark.parametrize("rows", [1, 20])
def test_a_value_is_read_as_a_worker_sees_it(d1: Any, sql: str, value: Any, rows: int) -> None:
    many = d1.rows(
        f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows})"
        f" SELECT {sql} FROM n"
    )
    assert many == [(value,)] * rows
    assert type(many[0][0]) is type(value)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT CAST(x'61ff62' AS TEXT), 1, x'ff'", "a\ufffdb"),
        ("SELECT CAST(x'61ff62' AS TEXT), 1, x'ff' -- closing comment", "a\ufffdb"),
        ("SELECT CAST(x'eda080' AS TEXT), 1, x'ff';", "\ufffd\ufffd\ufffd"),
    ],
)
def test_text_that_is_not_utf8_is_read_with_replacement_characters(
    d1: Any, sql: str, text: str
) -> None:
    assert d1.rows(sql) == [(text, 1, [255])]


def test_stored_text_that_is_not_utf8_is_read_with_parameters(d1: Any) -> None:
    d1.run("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT)")
    d1.run("INSERT INTO t VALUES (1, 'good'), (2, CAST(x'ff' AS TEXT))")
    assert d1.rows("SELECT x FROM t WHERE id >= ? ORDER BY id", 1) == [("good",), ("\ufffd",)]


def test_returning_text_that_is_not_utf8_is_a_clear_error_and_undone(d1: Any) -> None:
    d1.run("CREATE TABLE t (x)")
    text = d1.error("INSERT INTO t VALUES (CAST(x'ff' AS TEXT)) RETURNING x")
    assert "not valid UTF-8" in text
    assert d1.value("SELECT count(*) FROM t") == 0


VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.integers(-5, 5).map(float),
    st.text(max_size=3),
    st.binary(max_size=3),
)


@given(st.lists(st.tuples(VALUES, VALUES, st.integers(-3, 3), st.floats(0, 1)), max_size=30))
def test_columns_are_converted_like_single_values(rows: list[tuple[Any, ...]]) -> None:
    expected = [tuple(map(d1_value, row)) for row in rows]
    assert repr(d1_values(result_of("abcd", rows))) == repr(expected)


@pytest.mark.parametrize(
    "column",
    [
        [1] * 20 + [SAFE + 1],
        [-SAFE - 1] + [SAFE] * 20,
        [1] * 20 + [None],
        [SAFE + 1] * 20 + [None],
        [1] * 20 + [1.0],
        [1.5] * 20 + [2],
        [1.0] * 20,
        [1.5] * 20 + [float(2**53)],
        [math.inf] + [1.5] * 20,
        [math.inf, -math.inf] * 10,
        ["a"] * 20 + [1.0],
        [1.0] * 20 + ["a"],
        [None] * 20 + ["a"],
        [None] * 20 + [b"a"],
        [1.0, b"a"] * 10,
    ],
)
def test_a_long_column_is_converted_like_single_values(column: list[Any]) -> None:
    rows = [(value,) for value in column]
    assert repr(d1_values(result_of("a", rows))) == repr([(d1_value(v),) for v in column])


def test_values_that_need_no_change_are_left_alone() -> None:
    rows = [(n, f"name {n}", n + 0.5, None) for n in range(100)]
    assert d1_values(result_of("abcd", rows)) == rows


# Rows as objects


@pytest.mark.parametrize("count", [0, 1, 3, 20, 1000])
def test_rows_become_objects_of_the_given_class(count: int) -> None:
    rows = rows_as_dicts(result_of(("a", "b"), [(float(n), "x") for n in range(count)]), Row)
    assert rows == [{"a": n, "b": "x"} for n in range(count)]
    assert all(type(row) is Row for row in rows)


def test_the_last_of_two_equal_names_wins_at_the_place_of_the_first() -> None:
    (row,) = rows_as_dicts(result_of(("a", "b", "a"), [(1, 2, 3)]), Row)
    assert list(row.items()) == [("a", 3), ("b", 2)]


@pytest.mark.parametrize("name", ["", "a b", "class", "'\"\\", "}): 1", "{x}", "é\n", "v0", "_"])
def test_any_text_may_name_a_column(name: str) -> None:
    assert rows_as_dicts(result_of((name, "z"), [(1, 2)]), Row) == [{name: 1, "z": 2}]


def test_rows_without_columns_become_empty_objects() -> None:
    assert rows_as_dicts(result_of((), []), Row) == []


def test_a_large_result_is_converted_in_turns() -> None:
    result = result_of(("a", "b"), [(n, float(n)) for n in range(100_000)])
    beats = 0

    async def heart() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0)

    async def scenario() -> list[Row]:
        beating = asyncio.create_task(heart())
        rows = await rows_as_dicts_in_turns(result, Row)
        beating.cancel()
        return rows

    rows = asyncio.run(scenario())
    assert rows == rows_as_dicts(result, Row)
    assert beats >= 5


def test_a_small_result_is_converted_without_suspending() -> None:
    making = rows_as_dicts_in_turns(result_of("a", [(1,)]), Row)
    with pytest.raises(StopIteration) as done:
        making.send(None)
    assert done.value.value == [{"a": 1}]


# Meta


def test_meta_has_the_fields_of_the_platform(d1: Any) -> None:
    """F-006: these names, grouped in one object."""
    assert list(d1.run("SELECT 1").meta.as_dict()) == [
        "served_by",
        "served_by_region",
        "served_by_primary",
        "timings",
        "duration",
        "changes",
        "last_row_id",
        "changed_db",
        "size_after",
        "rows_read",
        "rows_written",
        "total_attempts",
    ]


def test_duration_is_in_milliseconds(d1: Any) -> None:
    d1.run("SELECT 1")
    assert 0 < d1.run("SELECT 1").meta.duration < 1000


@pytest.mark.parametrize(
    ("sql", "changes"),
    [
        ("INSERT INTO t VALUES (10, 1), (11, 2)", 2),
        ("UPDATE t SET a = 0", 3),
        ("DELETE FROM t WHERE id < 3", 2),
        ("DELETE FROM t", 3),
        ("DELETE FROM t WHERE id = 99", 0),
        ("SELECT * FROM t", 0),
        ("CREATE TABLE other (x)", 0),
        ("INSERT OR REPLACE INTO t VALUES (1, 9)", 1),
        ("DELETE FROM parent", 3),
        ("INSERT INTO loud VALUES (1)", 2),
    ],
)
def test_changes_counts_rows_with_those_of_triggers_and_cascades(
    d1: Any, sql: str, changes: int
) -> None:
    for setup in (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
        "CREATE TABLE parent (id INTEGER PRIMARY KEY); INSERT INTO parent VALUES (1)",
        "CREATE TABLE child (p REFERENCES parent ON DELETE CASCADE)",
        "INSERT INTO child VALUES (1), (1)",
        "CREATE TABLE loud (x); CREATE TABLE echo (x)",
        "CREATE TRIGGER tr AFTER INSERT ON loud BEGIN INSERT INTO echo VALUES (1); END",
    ):
        d1.run(setup)
    meta = d1.run(sql).meta
    assert meta.changes == changes
    assert meta.changed_db is (changes > 0 or sql.startswith("CREATE"))


class TestLastRowId:
    def test_is_zero_in_a_database_just_opened(self, d1: Any) -> None:
        assert d1.run("SELECT 1").meta.last_row_id == 0

    def test_is_that_of_the_last_insert(self, d1: Any) -> None:
        d1.run("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        assert d1.run("INSERT INTO t VALUES (41), (42)").meta.last_row_id == 42

    def test_is_repeated_by_what_follows(self, d1: Any) -> None:
        d1.run("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        d1.run("INSERT INTO t VALUES (42)")
        assert d1.run("SELECT 1").meta.last_row_id == 42
        assert d1.run("UPDATE t SET id = 7").meta.last_row_id == 42

    def test_stays_after_a_rolled_back_batch(self, d1: Any) -> None:
        d1.run("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        with pytest.raises(Exception, match="nope"):
            d1.request(
                d1.statement("INSERT INTO t VALUES (77)"), d1.statement("SELECT * FROM nope")
            )
        assert d1.run("SELECT 1").meta.last_row_id == 77

    def test_is_not_touched_by_a_table_without_rowid(self, d1: Any) -> None:
        d1.run("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        d1.run("CREATE TABLE w (k TEXT PRIMARY KEY) WITHOUT ROWID")
        d1.run("INSERT INTO t VALUES (5)")
        assert d1.run("INSERT INTO w VALUES ('a')").meta.last_row_id == 5

    def test_is_not_touched_by_storing_the_request_counter(self, d1: Any) -> None:
        d1.run("SELECT 1")
        d1.run("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        d1.run("INSERT INTO t VALUES (5)")
        d1.owner._engine.counter = d1.owner._engine._reserved
        d1.run("SELECT 1")
        assert d1.run("SELECT 1").meta.last_row_id == 5


class TestSizeAfter:
    def test_is_one_page_for_an_empty_database(self, d1: Any) -> None:
        assert d1.run("SELECT 1").meta.size_after == 4096

    def test_grows_by_a_page_for_a_table_and_one_for_the_request_counter(self, d1: Any) -> None:
        assert d1.run("CREATE TABLE t (x)").meta.size_after == 8192
        assert d1.run("SELECT 1").meta.size_after == 12288

    def test_grows_with_the_data_and_shrinks_with_it(self, d1: Any) -> None:
        d1.run("CREATE TABLE t (x)")
        empty = d1.run("SELECT 1").meta.size_after
        assert d1.run("INSERT INTO t VALUES (zeroblob(100000))").meta.size_after > empty + 90_000
        assert d1.run("DELETE FROM t").meta.size_after == empty

    def test_is_that_before_after_a_rollback(self, d1: Any) -> None:
        d1.run("CREATE TABLE t (x)")
        before = d1.run("SELECT 1").meta.size_after
        with pytest.raises(Exception, match="nope"):
            d1.request(
                d1.statement("INSERT INTO t VALUES (zeroblob(100000))"),
                d1.statement("SELECT * FROM nope"),
            )
        assert d1.run("SELECT 1").meta.size_after == before

    def test_of_the_last_statement_of_a_batch_is_that_of_the_database(self, d1: Any) -> None:
        d1.run("CREATE TABLE t (x)")
        results = d1.request(*[d1.statement("INSERT INTO t VALUES (zeroblob(3000))")] * 50)
        assert results[-1].meta.size_after == d1.run("SELECT 1").meta.size_after
        sizes = [result.meta.size_after for result in results]
        assert sizes == sorted(sizes)
