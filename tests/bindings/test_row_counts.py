"""rows_read and rows_written, as far as a stock SQLite lets them be found."""

from __future__ import annotations

from typing import Any

import pytest

SIX_ROWS = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER)",
    "CREATE INDEX t_a ON t (a)",
    "INSERT INTO t VALUES (1,1,10), (2,2,20), (3,2,30), (4,3,40), (5,4,50), (6,5,60)",
)


@pytest.mark.parametrize(
    ("sql", "counts"),
    [
        # reading
        ("SELECT 1", (0, 0)),
        ("SELECT * FROM t", (6, 0)),
        ("SELECT b FROM t WHERE b = 20", (6, 0)),
        ("SELECT * FROM t WHERE id = 1", (1, 0)),
        ("SELECT * FROM t WHERE id = 99", (1, 0)),
        ("SELECT * FROM t WHERE a = 2", (3, 0)),
        ("SELECT * FROM t WHERE a = 99", (0, 0)),
        ("SELECT * FROM t WHERE a > 1 AND a < 5", (4, 0)),
        ("SELECT * FROM t WHERE a > 100", (1, 0)),
        ("SELECT * FROM t WHERE id IN (1, 2, 3)", (3, 0)),
        ("SELECT count(*) FROM t", (6, 0)),
        ("SELECT max(id) FROM t", (1, 0)),
        ("SELECT min(a) FROM t", (1, 0)),
        ("SELECT * FROM t ORDER BY b", (12, 0)),
        ("SELECT * FROM t ORDER BY b LIMIT 2", (12, 0)),
        ("SELECT * FROM t ORDER BY a", (6, 0)),
        ("SELECT b, count(*) FROM t GROUP BY b", (12, 0)),
        ("SELECT DISTINCT b FROM t", (6, 0)),
        ("SELECT * FROM t LIMIT 2", (2, 0)),
        ("SELECT * FROM t AS x JOIN t AS y ON y.id = x.id", (12, 0)),
        ("SELECT value FROM json_each('[1,2,3]')", (3, 0)),
        ("EXPLAIN SELECT * FROM t", (0, 0)),
        ("PRAGMA table_info(t)", (0, 0)),
        # inserting
        ("INSERT INTO t (a, b) VALUES (1, 1), (2, 2), (3, 3)", (0, 6)),
        ("INSERT INTO t (id, a) VALUES (77, 1)", (1, 2)),
        ("INSERT INTO t (a) VALUES (1) RETURNING *", (1, 2)),
        ("INSERT INTO t (id, a) VALUES (77, 1) RETURNING *", (2, 2)),
        ("INSERT INTO t VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET b = 3", (1, 1)),
        ("INSERT INTO t VALUES (1, 1, 1) ON CONFLICT (id) DO NOTHING", (1, 0)),
        ("INSERT OR REPLACE INTO t (id, a) VALUES (1, 2)", (1, 2)),
        # updating
        ("UPDATE t SET b = 5 WHERE id = 1", (1, 1)),
        ("UPDATE t SET a = 9 WHERE id = 1", (1, 2)),
        ("UPDATE t SET a = 1 WHERE id = 1", (1, 2)),
        ("UPDATE t SET id = 77 WHERE id = 1", (3, 2)),
        ("UPDATE t SET b = 1", (6, 6)),
        # deleting
        ("DELETE FROM t WHERE id = 1", (1, 1)),
        ("DELETE FROM t WHERE id = 99", (1, 0)),
        ("DELETE FROM t WHERE a = 2", (3, 2)),
        ("DELETE FROM t", (0, 6)),
        # the schema
        ("CREATE TABLE x (a)", (1, 2)),
        ("CREATE TABLE x (a UNIQUE)", (1, 3)),
        ("CREATE TABLE x (a TEXT PRIMARY KEY)", (1, 3)),
        ("CREATE TABLE x (id INTEGER PRIMARY KEY AUTOINCREMENT)", (2, 4)),
    ],
)
def test_counts_with_six_rows(d1: Any, sql: str, counts: tuple[int, int]) -> None:
    for setup in SIX_ROWS:
        d1.run(setup)
    assert d1.counts(sql) == counts
    # The second time the plan of the statement is known.
    if counts[1] == 0:
        assert d1.counts(sql) == counts


@pytest.mark.parametrize(
    ("setup", "sql", "counts"),
    [
        ("CREATE TABLE e (a)", "SELECT * FROM e", (1, 0)),
        ("CREATE TABLE e (a)", "DELETE FROM e", (0, 0)),
        ("CREATE TABLE e (a)", "CREATE INDEX i ON e (a)", (2, 1)),
        ("CREATE TABLE e (a); INSERT INTO e VALUES (1)", "DELETE FROM e", (0, 1)),
        (
            "CREATE TABLE e (id INTEGER PRIMARY KEY AUTOINCREMENT, a)",
            "INSERT INTO e (a) VALUES (1)",
            (1, 2),
        ),
        (
            "CREATE TABLE e (k TEXT PRIMARY KEY, v) WITHOUT ROWID",
            "INSERT INTO e VALUES ('a', 1), ('b', 2)",
            (0, 2),
        ),
        (
            "CREATE TABLE e (k TEXT PRIMARY KEY); INSERT INTO e VALUES ('a')",
            "SELECT * FROM e WHERE k = 'a'",
            (1, 0),
        ),
        ("CREATE TABLE e (k TEXT PRIMARY KEY)", "SELECT * FROM e WHERE k = 'b'", (0, 0)),
        (
            "CREATE TABLE e (k UNIQUE, v); INSERT INTO e VALUES ('a', 1)",
            "INSERT OR IGNORE INTO e VALUES ('a', 2)",
            (0, 0),
        ),
        ("CREATE VIRTUAL TABLE d USING fts5(x)", "INSERT INTO d VALUES ('hello')", (0, 1)),
        (
            "CREATE VIRTUAL TABLE d USING fts5(x); INSERT INTO d VALUES ('hello')",
            "SELECT * FROM d WHERE d MATCH 'hello'",
            (1, 0),
        ),
    ],
)
def test_counts_in_other_tables(d1: Any, setup: str, sql: str, counts: tuple[int, int]) -> None:
    d1.run(setup)
    assert d1.counts(sql) == counts


def test_rows_written_by_a_cascade_count(d1: Any) -> None:
    d1.run("CREATE TABLE p (id INTEGER PRIMARY KEY); INSERT INTO p VALUES (1)")
    d1.run("CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE)")
    d1.run("INSERT INTO c VALUES (1, 1), (2, 1)")
    assert d1.run("DELETE FROM p WHERE id = 1").meta.rows_written == 3


def test_rows_written_by_a_trigger_count(d1: Any) -> None:
    d1.run("CREATE TABLE t (x); CREATE TABLE log (x UNIQUE)")
    d1.run("CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.x); END")
    assert d1.run("INSERT INTO t VALUES (1)").meta.rows_written == 3


def test_a_new_index_makes_the_next_insert_dearer(d1: Any) -> None:
    d1.run("CREATE TABLE t (a)")
    assert d1.run("INSERT INTO t VALUES (1)").meta.rows_written == 1
    d1.run("CREATE INDEX i ON t (a)")
    assert d1.run("INSERT INTO t VALUES (1)").meta.rows_written == 2


def test_only_the_last_statement_of_a_text_is_counted(d1: Any) -> None:
    d1.run("CREATE TABLE t (a)")
    meta = d1.run("INSERT INTO t VALUES (1), (2); SELECT * FROM t").meta
    assert (meta.rows_read, meta.rows_written) == (2, 0)
