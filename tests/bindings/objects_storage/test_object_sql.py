"""SQL of an object: what runs, when it runs, what its cursor gives, and what it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare_bindings.objects import ObjectStorage
from pyflare_bindings.storage.authorizer import TRANSACTION_REFUSED
from pyflare_bindings.storage.errors import SqlError

from .conftest import Objects, rows, sql_error

SIX_ROWS = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER); "
    "CREATE INDEX t_a ON t (a); "
    "INSERT INTO t VALUES (1,1,10), (2,2,20), (3,2,30), (4,3,40), (5,4,50), (6,5,60)"
)

# Statements and what they are


@pytest.mark.parametrize("sql", ["", " \n", "  -- hi", ";", "-- hi", "/* hi */", "\0SELECT 1"])
def test_a_text_without_a_statement_is_refused(storage: ObjectStorage, sql: str) -> None:
    assert sql_error(storage, sql) == "SQL code did not contain a statement."


@pytest.mark.parametrize("behind", [";;", "; -- hi", "; /* c */", "; ;"])
def test_an_empty_statement_behind_is_an_error_after_the_first_one_has_run(
    storage: ObjectStorage, behind: str
) -> None:
    assert (
        sql_error(storage, f"CREATE TABLE t (x){behind}") == "SQL code did not contain a statement."
    )
    assert rows(storage, "SELECT name FROM sqlite_schema WHERE name = 't'") == [("t",)]


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT 1 -- hi", ("1 -- hi",)),
        ("-- hi\nSELECT 1 AS x", ("x",)),
        ("SELECT 1 AS x;", ("x",)),
        ("SELECT 1 AS x; \t\r\n\v\f", ("x",)),
        ("SELECT 1 AS x; SELECT 2 AS y", ("y",)),
        ("SELECT 1 AS x, 2 AS x", ("x", "x")),
        ("CREATE TABLE u (x)", ()),
        ("SELECT 1 AS x WHERE 0", ("x",)),
    ],
)
def test_columns_are_those_of_the_last_statement(
    storage: ObjectStorage, sql: str, columns: tuple[str, ...]
) -> None:
    cursor = storage.exec(sql)
    assert cursor.columns == columns
    cursor.fetch_all()
    assert cursor.columns == columns


def test_a_later_statement_may_need_an_earlier_one(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    assert rows(storage, "SELECT x FROM t") == [(1,), (2,)]


def test_statements_before_a_failing_one_stay_applied(storage: ObjectStorage) -> None:
    assert sql_error(storage, "CREATE TABLE t (x); SELEC") == (
        'near "SELEC": syntax error at offset 0: SQLITE_ERROR'
    )
    assert rows(storage, "SELECT count(*) FROM t") == [(0,)]


def test_only_the_last_statement_may_have_parameters(storage: ObjectStorage) -> None:
    assert sql_error(storage, "SELECT ?; SELECT ?", 1.0) == (
        "When executing multiple SQL statements in a single call, only the last statement can "
        "have parameters."
    )


@pytest.mark.parametrize(
    ("sql", "bindings"),
    [("SELECT ?", ()), ("SELECT ?", (1.0, 2.0)), ("SELECT 1", (1.0,)), ("SELECT ?2", (1.0,))],
)
def test_the_number_of_values_has_to_fit(
    storage: ObjectStorage, sql: str, bindings: tuple[float, ...]
) -> None:
    assert sql_error(storage, sql, *bindings) == (
        "Wrong number of parameter bindings for SQL query."
    )


def test_statements_before_one_with_a_wrong_number_of_values_have_run(
    storage: ObjectStorage,
) -> None:
    sql_error(storage, "CREATE TABLE t (x); INSERT INTO t VALUES (?)")
    assert rows(storage, "SELECT count(*) FROM t") == [(0,)]


@pytest.mark.parametrize(
    ("value", "kind"),
    [(1.0, "real"), ("a", "text"), (b"a", "blob"), (None, "null"), (float("inf"), "real")],
)
def test_a_value_is_bound_by_its_type(storage: ObjectStorage, value: Any, kind: str) -> None:
    assert rows(storage, "SELECT ?1, typeof(?1)", value) == [(value, kind)]


def test_a_value_of_another_type_is_refused_by_position(storage: ObjectStorage) -> None:
    with pytest.raises(TypeError, match="parameter 2 is of type list"):
        storage.exec("SELECT ?, ?", (1.0, []))
    assert rows(storage, "SELECT 1") == [(1,)]


def test_text_that_is_not_utf_8_is_read_with_replacements(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES ('a'), (CAST(x'62ff63' AS TEXT)), ('d')")
    assert rows(storage, "SELECT x FROM t") == [("a",), ("b\ufffdc",), ("d",)]
    cursor = storage.exec("SELECT x FROM t")
    assert [cursor.next() for _ in range(4)] == [("a",), ("b\ufffdc",), ("d",), None]


def test_a_lone_surrogate_is_bound_as_a_replacement_character(storage: ObjectStorage) -> None:
    assert rows(storage, "SELECT ?", "\ud800") == [("\ufffd",)]
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES (?)", ("\ud800",))
    assert rows(storage, "SELECT x FROM t") == [("\ufffd",)]


# When statements run


def test_a_write_is_complete_when_exec_returns(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES (1), (2)")
    assert rows(storage, "SELECT count(*) FROM t") == [(2,)]


def test_rows_of_returning_that_nobody_reads_do_not_hold_up_the_commit(
    objects: Objects, storage: ObjectStorage
) -> None:
    storage.exec("CREATE TABLE t (x)")
    cursor = storage.exec("INSERT INTO t VALUES (1), (2) RETURNING x")
    objects.commit(storage)
    assert cursor.fetch_all() == [(1,), (2,)]
    assert rows(storage, "SELECT count(*) FROM t") == [(2,)]


def test_a_change_while_a_table_is_read_is_visible(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    storage.exec("INSERT INTO t VALUES (1), (2)")
    cursor = storage.exec("SELECT id FROM t")
    storage.exec("INSERT INTO t VALUES (3)")
    assert cursor.fetch_all() == [(1,), (2,), (3,)]


def test_a_table_that_is_being_read_cannot_be_dropped(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES (1), (2), (3)")
    cursor = storage.exec("SELECT x FROM t")
    assert sql_error(storage, "DROP TABLE t") == "database table is locked: SQLITE_LOCKED"
    cursor.fetch_all()
    storage.exec("DROP TABLE t")


def test_a_cursor_that_nobody_has_locks_nothing(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES (1), (2), (3)")
    storage.exec("SELECT x FROM t").next()
    storage.exec("DROP TABLE t")


def test_an_open_cursor_survives_the_commit(objects: Objects, storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES (1), (2), (3)")
    objects.commit(storage)
    cursor = storage.exec("SELECT x FROM t")
    assert cursor.next() == (1,)
    storage.exec("INSERT INTO t VALUES (4)")
    objects.commit(storage)
    assert cursor.fetch_all() == [(2,), (3,), (4,)]


def test_cursors_over_one_text_are_independent(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES (1), (2), (3)")
    first, second = storage.exec("SELECT x FROM t"), storage.exec("SELECT x FROM t")
    assert first.next() == (1,)
    assert second.next() == (1,)
    assert first.fetch_all() == second.fetch_all() == [(2,), (3,)]


# Cursors


def test_the_end_is_told_as_often_as_it_is_asked_for(storage: ObjectStorage) -> None:
    cursor = storage.exec("SELECT 1 UNION ALL SELECT 2")
    assert [cursor.next() for _ in range(4)] == [(1,), (2,), None, None]
    assert cursor.fetch_all() == []
    assert list(cursor) == []


def test_iterating_and_fetching_share_one_position(storage: ObjectStorage) -> None:
    cursor = storage.exec("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3")
    assert next(cursor) == (1,)
    assert cursor.next() == (2,)
    assert cursor.fetch_all() == [(3,)]


def test_an_error_takes_the_row_before_it_along(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES (1), (2), (-9223372036854775808), (3)")
    cursor = storage.exec("SELECT abs(x) FROM t")
    assert cursor.next() == (1,)
    for _ in range(2):
        with pytest.raises(SqlError, match=r"^integer overflow: SQLITE_ERROR$"):
            cursor.next()


def test_an_error_in_the_first_row_is_raised_by_exec(storage: ObjectStorage) -> None:
    with pytest.raises(SqlError, match=r"^integer overflow: SQLITE_ERROR$"):
        storage.exec("SELECT abs(-9223372036854775808)")


def test_a_closed_cursor_has_no_rows(storage: ObjectStorage) -> None:
    cursor = storage.exec("SELECT 1 UNION ALL SELECT 2")
    cursor.close()
    assert cursor.next() is None


def test_columns_follow_a_change_of_the_schema(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x)")
    assert storage.exec("SELECT * FROM t").columns == ("x",)
    storage.exec("ALTER TABLE t ADD COLUMN y")
    assert storage.exec("SELECT * FROM t").columns == ("x", "y")


def test_columns_follow_a_change_of_the_schema_that_was_rolled_back(
    storage: ObjectStorage,
) -> None:
    storage.exec("CREATE TABLE t (x)")
    depth = storage.savepoint()
    storage.exec("ALTER TABLE t ADD COLUMN y")
    storage.exec("INSERT INTO t VALUES (1, 2)")
    assert rows(storage, "SELECT * FROM t") == [(1, 2)]
    storage.roll_back(depth)
    storage.exec("INSERT INTO t VALUES (3)")
    cursor = storage.exec("SELECT * FROM t")
    assert cursor.columns == ("x",)
    assert cursor.fetch_all() == [(3,)]


# Counters


@pytest.mark.parametrize(("read", "counted"), [(0, 1), (1, 2), (2, 3), (5, 6), (6, 6)])
def test_a_scan_counts_the_rows_up_to_the_one_ahead(
    storage: ObjectStorage, read: int, counted: int
) -> None:
    storage.exec(SIX_ROWS)
    cursor = storage.exec("SELECT * FROM t")
    for _ in range(read):
        cursor.next()
    assert cursor.rows_read == counted
    assert cursor.rows_written == 0


@pytest.mark.parametrize(
    ("sql", "read", "written"),
    [
        ("SELECT * FROM t", 6, 0),
        ("SELECT * FROM t WHERE id = 1", 1, 0),
        ("SELECT * FROM t WHERE id = 99", 1, 0),
        ("SELECT * FROM t WHERE a = 2", 3, 0),
        ("SELECT * FROM t ORDER BY b", 12, 0),
        ("SELECT count(*) FROM t", 6, 0),
        ("INSERT INTO t (a) VALUES (9)", 0, 2),
        ("INSERT INTO t (a) VALUES (9) RETURNING *", 1, 2),
        ("UPDATE t SET b = 1 WHERE id = 1", 1, 1),
        ("DELETE FROM t WHERE id = 1", 1, 1),
        ("CREATE TABLE u (x)", 1, 2),
        ("SELECT * FROM t; SELECT * FROM t WHERE id = 1", 1, 0),
    ],
)
def test_the_rows_read_and_written(
    storage: ObjectStorage, sql: str, read: int, written: int
) -> None:
    storage.exec(SIX_ROWS)
    cursor = storage.exec(sql)
    cursor.fetch_all()
    assert (cursor.rows_read, cursor.rows_written) == (read, written)


def test_a_long_result_that_is_measured_is_complete(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x)")
    storage.exec(
        "WITH c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2500) "
        "INSERT INTO t SELECT x FROM c"
    )
    sql = "SELECT x FROM t WHERE x % 2 = 0 ORDER BY -x"
    expected = [(x,) for x in range(2500, 0, -2)]
    assert rows(storage, sql) == expected
    cursor = storage.exec(sql)
    assert [cursor.next() for _ in range(1251)] == [*expected, None]
    cursor = storage.exec(sql)
    assert cursor.next() == (2500,)
    assert cursor.fetch_all() == expected[1:]


def test_an_endless_result_can_be_read_in_part(storage: ObjectStorage) -> None:
    cursor = storage.exec(
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    )
    assert [cursor.next() for _ in range(1500)] == [(x,) for x in range(1, 1501)]


# The sandbox


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN",
        "BEGIN IMMEDIATE",
        "COMMIT",
        "END",
        "ROLLBACK",
        "SAVEPOINT x",
        "RELEASE x",
        "ROLLBACK TO x",
    ],
)
def test_transactions_are_not_made_in_sql(storage: ObjectStorage, sql: str) -> None:
    assert sql_error(storage, sql) == TRANSACTION_REFUSED
    assert storage.broken is None


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT * FROM _cf_KV", "access to _cf_KV.key is prohibited: SQLITE_AUTH"),
        ("SELECT count(*) FROM _cf_KV", "not authorized: SQLITE_AUTH"),
        ("SELECT * FROM _CF_METADATA", "access to _cf_METADATA.key is prohibited: SQLITE_AUTH"),
        ("INSERT INTO _cf_KV VALUES ('a', 1)", "not authorized: SQLITE_AUTH"),
        ("DELETE FROM _cf_METADATA", "not authorized: SQLITE_AUTH"),
        ("DROP TABLE _cf_KV", "not authorized: SQLITE_AUTH"),
        ("CREATE TABLE _cf_x (a)", "not authorized: SQLITE_AUTH"),
        ("CREATE TRIGGER r AFTER INSERT ON _cf_KV BEGIN SELECT 1; END", "not authorized: SQLITE_AUTH"),
        ("PRAGMA table_info(_cf_KV)", "not authorized: SQLITE_AUTH"),
        ("ATTACH ':memory:' AS x", "not authorized: SQLITE_AUTH"),
        ("PRAGMA journal_mode = DELETE", "not authorized: SQLITE_AUTH"),
        ("PRAGMA locking_mode", "not authorized: SQLITE_AUTH"),
        ("SELECT sqlite_version()", "not authorized to use function: sqlite_version at offset 7: SQLITE_ERROR"),
        ("SELECT nope FROM sqlite_schema", "no such column: nope at offset 7: SQLITE_ERROR"),
        ("SELECT * FROM nope", "no such table: nope: SQLITE_ERROR"),
    ],
)  # fmt: skip
def test_what_is_the_platforms_is_out_of_reach(storage: ObjectStorage, sql: str, text: str) -> None:
    storage.put("a", b"1")
    storage.get("a")
    assert sql_error(storage, sql) == text
    assert storage.get("a") == b"1"


def test_the_texts_that_the_platform_runs_are_refused_to_users(storage: ObjectStorage) -> None:
    storage.put("a", b"secret")
    assert storage.get("a") == b"secret"
    assert sql_error(storage, "SELECT value FROM _cf_KV WHERE key = ?", "a") == (
        "access to _cf_KV.value is prohibited: SQLITE_AUTH"
    )


def test_a_table_cannot_be_renamed_into_the_platforms(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x)")
    assert sql_error(storage, "ALTER TABLE t RENAME TO _cf_t") == "not authorized: SQLITE_AUTH"


def test_a_constraint_that_fails_leaves_the_transaction_as_it_was(
    objects: Objects, storage: ObjectStorage
) -> None:
    storage.exec("CREATE TABLE t (x UNIQUE)")
    storage.exec("INSERT INTO t VALUES (1)")
    assert sql_error(storage, "INSERT INTO t VALUES (2), (1)") == (
        "UNIQUE constraint failed: t.x: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE)"
    )
    objects.commit(storage)
    assert rows(objects.reopened(storage), "SELECT x FROM t") == [(1,)]


def test_foreign_keys_are_enforced(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE p (id INTEGER PRIMARY KEY)")
    storage.exec("CREATE TABLE c (p REFERENCES p)")
    assert sql_error(storage, "INSERT INTO c VALUES (1)") == (
        "FOREIGN KEY constraint failed: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_FOREIGNKEY)"
    )


def test_full_text_search_and_r_trees_are_there(storage: ObjectStorage) -> None:
    storage.exec("CREATE VIRTUAL TABLE f USING fts5(body)")
    storage.exec("INSERT INTO f VALUES ('the quick fox'), ('lazy dog')")
    assert rows(storage, "SELECT body FROM f('fox')") == [("the quick fox",)]
    storage.exec("CREATE VIRTUAL TABLE r USING rtree(id, lo, hi)")
    storage.exec("INSERT INTO r VALUES (1, 0, 10)")
    assert rows(storage, "SELECT id FROM r WHERE lo < 5") == [(1,)]


# Size


def test_an_empty_database_has_one_page(objects: Objects) -> None:
    storage = objects.open()
    assert storage.database_size == 4096
    rows(storage, "SELECT 1")
    assert storage.database_size == 4096


def test_the_size_grows_by_a_page_for_each_table(objects: Objects) -> None:
    storage = objects.open()
    storage.exec("CREATE TABLE t (x)")
    assert storage.database_size == 8192
    storage.put("a", b"1")
    assert storage.database_size == 12288
    storage.next_bookmark()
    assert storage.database_size == 16384


def test_the_size_shrinks_by_freed_pages(storage: ObjectStorage) -> None:
    storage.exec("CREATE TABLE t (x)")
    before = storage.database_size
    storage.exec("INSERT INTO t VALUES (zeroblob(100000))")
    assert storage.database_size > before + 98_000
    storage.exec("DELETE FROM t")
    assert storage.database_size == before


def test_a_statement_without_end_is_stopped_and_breaks_the_object(
    objects: Objects, storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyflare_bindings.objects.connection._SECONDS_AT_MOST", 0.02)
    with pytest.raises(SqlError, match="exceeded its CPU time limit and was reset"):
        storage.exec(
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
        )
    assert storage.broken is not None
    with pytest.raises(SqlError, match="exceeded its CPU time limit and was reset"):
        storage.get("a")
    assert rows(objects.reopened(storage), "SELECT 1") == [(1,)]


def test_a_vacuum_is_refused_in_the_implicit_transaction(storage: ObjectStorage) -> None:
    assert sql_error(storage, "VACUUM") == "cannot VACUUM from within a transaction: SQLITE_ERROR"
