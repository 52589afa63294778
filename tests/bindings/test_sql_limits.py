"""The limits of the platform; production's where they are tighter than those of local tools."""

from __future__ import annotations

from typing import Any

import pytest

MEGABYTE = 1_000_000


def columns(count: int) -> str:
    return ", ".join(f"c{index}" for index in range(count))


def arguments(count: int) -> str:
    return ", ".join("1" * count)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {', '.join('?' * 100)}",
        "SELECT ?100",
    ],
)
def test_a_hundred_parameters_are_allowed(d1: Any, sql: str) -> None:
    d1.run(sql, *range(100))


def test_the_101st_parameter_is_refused(d1: Any) -> None:
    text = d1.error(f"SELECT {', '.join('?' * 101)}", *range(101))
    assert text == "too many SQL variables at offset 307: SQLITE_ERROR"


def test_parameter_101_is_refused(d1: Any) -> None:
    text = "variable number must be between ?1 and ?100 at offset 7: SQLITE_ERROR"
    assert d1.error("SELECT ?101") == text


def test_a_statement_of_100000_bytes_is_allowed(d1: Any) -> None:
    d1.run("SELECT '" + "a" * 99_991 + "'")


@pytest.mark.parametrize("filler", ["a" * 99_992, "é" * 49_996])
def test_a_longer_statement_is_refused(d1: Any, filler: str) -> None:
    assert d1.error(f"SELECT '{filler}'") == "statement too long: SQLITE_TOOBIG"


@pytest.mark.parametrize("value", ["a" * 2 * MEGABYTE, bytes(2 * MEGABYTE)])
def test_a_value_of_two_megabytes_may_be_bound(d1: Any, value: str | bytes) -> None:
    assert d1.value("SELECT length(?)", value) == 2 * MEGABYTE


@pytest.mark.parametrize("value", ["a" * (2 * MEGABYTE + 1), bytes(2 * MEGABYTE + 1)])
def test_a_larger_value_cannot_be_bound(d1: Any, value: str | bytes) -> None:
    assert d1.error("SELECT length(?)", value) == "string or blob too big: SQLITE_TOOBIG"


def test_a_larger_value_cannot_be_made(d1: Any) -> None:
    text = d1.error("SELECT length(zeroblob(2000001) || 'x')")
    assert text == "string or blob too big: SQLITE_TOOBIG"


def test_a_larger_row_cannot_be_stored(d1: Any) -> None:
    d1.run("CREATE TABLE t (a, b)")
    text = d1.error("INSERT INTO t VALUES (?, ?)", bytes(MEGABYTE), bytes(MEGABYTE))
    assert text == "string or blob too big: SQLITE_TOOBIG"


def test_a_table_may_have_a_hundred_columns(d1: Any) -> None:
    d1.run(f"CREATE TABLE wide ({columns(100)})")
    assert len(d1.run("SELECT * FROM wide").columns) == 100


def test_a_table_with_101_columns_is_refused(d1: Any) -> None:
    text = d1.error(f"CREATE TABLE big ({columns(101)})")
    assert text == "too many columns on big: SQLITE_ERROR"


def test_a_result_with_101_columns_is_refused(d1: Any) -> None:
    text = d1.error(f"SELECT {arguments(101)}")
    assert text == "too many columns in result set: SQLITE_ERROR"


def test_a_pattern_of_fifty_bytes_is_allowed(d1: Any) -> None:
    assert d1.value("SELECT ? LIKE ?", "a" * 50, "a" * 50) == 1


@pytest.mark.parametrize("operator", ["LIKE", "GLOB"])
def test_a_longer_pattern_is_refused(d1: Any, operator: str) -> None:
    text = d1.error(f"SELECT 'a' {operator} ?", "a" * 51)
    assert text == "LIKE or GLOB pattern too complex: SQLITE_ERROR"


def test_a_function_may_have_32_arguments(d1: Any) -> None:
    d1.run(f"SELECT json_array({arguments(32)})")


def test_a_function_with_33_arguments_is_refused(d1: Any) -> None:
    text = d1.error(f"SELECT json_array({arguments(33)})")
    assert text == "too many arguments on function json_array at offset 7: SQLITE_ERROR"


def test_a_sixth_compound_term_is_refused(d1: Any) -> None:
    d1.run(" UNION ".join(["SELECT 1"] * 5))
    text = d1.error(" UNION ".join(["SELECT 1"] * 6))
    assert text == "too many terms in compound SELECT: SQLITE_ERROR"


def test_many_rows_of_values_are_no_compound_select(d1: Any) -> None:
    assert len(d1.rows("VALUES " + ", ".join(f"({n})" for n in range(500)))) == 500


def test_an_expression_deeper_than_100_is_refused(d1: Any) -> None:
    text = d1.error("SELECT " + "-(" * 101 + "1" + ")" * 101)
    assert text.startswith("Expression tree is too large (maximum depth 100)")


def test_endless_recursion_of_triggers_is_refused(d1: Any) -> None:
    d1.run("CREATE TABLE t (x)")
    d1.run("CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO t VALUES (new.x + 1); END")
    d1.run("PRAGMA recursive_triggers = on")
    assert "triggers nested too deep" in d1.error("INSERT INTO t VALUES (1)")
