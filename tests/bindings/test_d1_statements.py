"""What counts as a statement, and how many may stand in one text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare_bindings.d1 import D1Error
from pyflare_bindings.storage.sql_text import (
    has_empty_statement_behind,
    table_renamed_to,
    well_formed,
)

NOTHING = "SQL code did not contain a statement."
NONE_DETECTED = "No SQL statements detected."
WRONG_COUNT = "Wrong number of parameter bindings for SQL query."
ONLY_LAST = (
    "When executing multiple SQL statements in a single call, only the last statement can have "
    "parameters."
)


@pytest.mark.parametrize("sql", ["", "  ", "\n\t", "  -- x", "\n-- x", " -- a\n -- b\n"])
def test_blanks_and_indented_comments_are_no_statement(d1: Any, sql: str) -> None:
    assert d1.error(sql) == NONE_DETECTED


def test_a_request_without_statements_is_refused(d1: Any) -> None:
    with pytest.raises(D1Error, match=NONE_DETECTED):
        d1.request()


@pytest.mark.parametrize("sql", [";", "-- hi", "/* hi */", " /* hi */ ", ";;", "-- a\n-- b"])
def test_a_text_of_comments_or_semicolons_is_an_error(d1: Any, sql: str) -> None:
    assert d1.error(sql) == NOTHING


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1;;",
        "SELECT 1; ;",
        "SELECT 1; -- hi",
        "SELECT 1; /* c */",
        "SELECT 1;\n;\n",
        "SELECT 1; SELECT 2;;",
        "SELECT 1; SELECT 2; -- hi",
    ],
)
def test_something_empty_behind_the_last_statement_is_an_error(d1: Any, sql: str) -> None:
    assert d1.error(sql) == NOTHING


def test_a_statement_before_something_empty_is_undone(d1: Any) -> None:
    d1.run("CREATE TABLE t (x)")
    assert d1.error("INSERT INTO t VALUES (1);;") == NOTHING
    assert d1.value("SELECT count(*) FROM t") == 0


@pytest.mark.parametrize(
    "sql", ["SELECT 1", "SELECT 1;", "SELECT 1 ; \n\t\r\f\v", "-- hi\nSELECT 1", ";SELECT 1"]
)
def test_one_statement_may_have_blanks_and_comments_around_it(d1: Any, sql: str) -> None:
    assert d1.rows(sql) == [(1,)]


def test_a_comment_inside_a_statement_is_part_of_the_column_name(d1: Any) -> None:
    assert d1.run("SELECT 1 -- hi").columns == ("1 -- hi",)


def test_semicolons_in_a_closing_comment_do_not_count(d1: Any) -> None:
    assert d1.rows("SELECT 1 AS a -- ;;\n;") == [(1,)]


def test_several_statements_in_one_text_give_the_rows_of_the_last(d1: Any) -> None:
    result = d1.run("SELECT 1 AS a; SELECT 2 AS b")
    assert (result.columns, result.rows) == (("b",), [(2,)])


def test_empty_statements_between_two_statements_are_skipped(d1: Any) -> None:
    assert d1.rows("SELECT 1;;; SELECT 2") == [(2,)]


def test_every_statement_of_a_text_counts_into_changes(d1: Any) -> None:
    d1.run("CREATE TABLE t (x)")
    meta = d1.run("INSERT INTO t VALUES (1), (2); INSERT INTO t VALUES (3)").meta
    assert (meta.changes, meta.rows_written) == (3, 1)


def test_a_write_before_a_select_in_one_text_shows_in_the_size(d1: Any) -> None:
    d1.run("CREATE TABLE t (x)")
    before = d1.run("SELECT 1").meta.size_after
    meta = d1.run("INSERT INTO t VALUES (zeroblob(50000)); SELECT 1").meta
    assert meta.size_after > before
    assert meta.changed_db


def test_a_later_statement_sees_the_table_that_an_earlier_one_creates(d1: Any) -> None:
    d1.run("CREATE TABLE t (x); INSERT INTO t VALUES (?)", 7)
    assert d1.rows("SELECT x FROM t") == [(7,)]


def test_a_statement_that_is_not_the_last_is_run_to_its_first_row_only(d1: Any) -> None:
    d1.run("CREATE TABLE t (x)")
    d1.run("INSERT INTO t VALUES (1), (2), (3) RETURNING x; SELECT 1")
    assert d1.value("SELECT count(*) FROM t") == 3


def test_an_open_select_before_it_does_not_lock_a_table(d1: Any) -> None:
    d1.run("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)")
    d1.run("SELECT * FROM t; DROP TABLE t")
    assert "no such table: t" in d1.error("SELECT * FROM t")


def test_only_the_last_statement_may_have_parameters(d1: Any) -> None:
    assert d1.error("SELECT ?; SELECT ?", 1, 2) == ONLY_LAST


@pytest.mark.parametrize(
    ("sql", "given_values"),
    [
        ("SELECT ?", 0),
        ("SELECT ?", 2),
        ("SELECT 1", 1),
        ("SELECT ?3", 1),
        ("SELECT :a, :a", 2),
        ("SELECT 1; SELECT ?", 0),
    ],
)
def test_the_number_of_values_must_be_exact(d1: Any, sql: str, given_values: int) -> None:
    assert d1.error(sql, *range(given_values)) == WRONG_COUNT


@pytest.mark.parametrize(
    ("sql", "values", "row"),
    [
        ("SELECT ?, ?", (1, 2), (1, 2)),
        ("SELECT ?2, ?1", (1, 2), (2, 1)),
        ("SELECT ?3", (1, 2, 3), (3,)),
        ("SELECT :a, @b, $c, :a", (1, 2, 3), (1, 2, 3, 1)),
    ],
)
def test_placeholders_are_filled_by_position(
    d1: Any, sql: str, values: tuple[int, ...], row: tuple[int, ...]
) -> None:
    assert d1.rows(sql, *values) == [row]


def test_dropped_statements_are_missing_from_the_results_of_a_batch(d1: Any) -> None:
    results = d1.request(*map(d1.statement, ["SELECT 1", "  -- note", "", "SELECT 2"]))
    assert [result.rows for result in results] == [[(1,)], [(2,)]]


def test_the_statement_at_fault_is_counted_among_those_given(d1: Any) -> None:
    with pytest.raises(D1Error) as caught:
        d1.request(*map(d1.statement, ["SELECT 1", "  -- note", "SELECTT 2"]))
    assert caught.value.statement_index == 2


def test_a_single_statement_at_fault_is_the_first(d1: Any) -> None:
    d1.rows("SELECT abs(?)", 1)
    with pytest.raises(D1Error) as caught:
        d1.request(d1.statement("SELECT abs(-9223372036854775807 - 1)"))
    assert caught.value.statement_index == 0


def test_sql_is_read_up_to_its_first_nul(d1: Any) -> None:
    assert d1.rows("SELECT 1\0 nonsense") == [(1,)]


def test_lone_surrogates_in_sql_and_values_become_replacement_characters(d1: Any) -> None:
    assert d1.rows("SELECT '\ud800', ?", "a\udfffb") == [("\ufffd", "a\ufffdb")]


@given(st.text())
def test_well_formed_leaves_other_text_alone(text: str) -> None:
    assert well_formed(text) == text


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("SELECT 1;", False),
        ("SELECT 1;;", True),
        ("SELECT ';';", False),
        ("SELECT 1 /* ;; */;", False),
        ('SELECT ";;" ;', False),
        ("CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END;", False),
        ("CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END; ;", True),
    ],
)
def test_stray_semicolons_are_told_from_those_inside_a_statement(
    statement: str, found: bool
) -> None:
    assert has_empty_statement_behind(statement) is found


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("ALTER TABLE t RENAME TO u", "u"),
        ('alter table "t" /* x */ rename -- y\n to "u ""v"""', 'u "v"'),
        ("ALTER TABLE main.t RENAME TO [u v]", "u v"),
        ("ALTER TABLE t RENAME COLUMN a TO b", None),
        ("ALTER TABLE t RENAME a TO b", None),
        ("ALTER TABLE t ADD COLUMN b DEFAULT 'RENAME TO x'", None),
    ],
)
def test_the_new_name_of_a_table_is_read_from_the_text(statement: str, name: str | None) -> None:
    assert table_renamed_to(statement) == name


def test_thousands_of_statements_may_stand_in_one_text(d1: Any) -> None:
    d1.run("CREATE TABLE t (x)")
    meta = d1.run("INSERT INTO t VALUES (1);" * 3000).meta
    assert meta.changes == 3000
    assert d1.value("SELECT count(*) FROM t") == 3000


def test_plans_are_kept_for_a_bounded_number_of_texts(d1: Any) -> None:
    for number in range(1500):
        assert d1.value(f"SELECT {number}") == number
    sandbox = d1.owner._engine.sandbox
    assert len(sandbox._plans) + len(sandbox._older_plans) <= 1024
