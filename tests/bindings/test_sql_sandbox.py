"""What SQL may touch, and the texts of its refusals and failures."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare_bindings.storage.authorizer import TRANSACTION_REFUSED

DENIED = "not authorized: SQLITE_AUTH"


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELEC", 'near "SELEC": syntax error at offset 0: SQLITE_ERROR'),
        ("SELECT 1; SELEC", 'near "SELEC": syntax error at offset 0: SQLITE_ERROR'),
        ("SELECT * FROM nope", "no such table: nope: SQLITE_ERROR"),
        ("SELECT nope", "no such column: nope at offset 7: SQLITE_ERROR"),
        ("SELECT 'é', nope", "no such column: nope at offset 13: SQLITE_ERROR"),
        ("SELECT", "incomplete input: SQLITE_ERROR"),
        ("SELECT nosuch(1)", "no such function: nosuch at offset 7: SQLITE_ERROR"),
        (
            "CREATE TABLE sqlite_foo (x)",
            "object name reserved for internal use: sqlite_foo: SQLITE_ERROR",
        ),
        ("DELETE FROM sqlite_master", "table sqlite_master may not be modified: SQLITE_ERROR"),
        (
            "SELECT sqlite_version()",
            "not authorized to use function: sqlite_version at offset 7: SQLITE_ERROR",
        ),
        ("SELECT abs(-9223372036854775807 - 1)", "integer overflow: SQLITE_ERROR"),
        ("SELECT 1 LIMIT 1.5", "datatype mismatch: SQLITE_MISMATCH"),
    ],
)
def test_a_failure_is_worded_as_on_the_platform(d1: Any, sql: str, text: str) -> None:
    assert d1.error(sql) == text


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        (
            "INSERT INTO nn VALUES (1, 5, 1)",
            "UNIQUE constraint failed: nn.id: SQLITE_CONSTRAINT "
            "(extended: SQLITE_CONSTRAINT_PRIMARYKEY)",
        ),
        (
            "INSERT INTO nn VALUES (2, 1, 1)",
            "UNIQUE constraint failed: nn.b: SQLITE_CONSTRAINT "
            "(extended: SQLITE_CONSTRAINT_UNIQUE)",
        ),
        (
            "INSERT INTO nn VALUES (2, NULL, 1)",
            "NOT NULL constraint failed: nn.b: SQLITE_CONSTRAINT "
            "(extended: SQLITE_CONSTRAINT_NOTNULL)",
        ),
        (
            "INSERT INTO nn VALUES (2, 2, 0)",
            "CHECK constraint failed: c>0: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_CHECK)",
        ),
        (
            "INSERT INTO child VALUES (99)",
            "FOREIGN KEY constraint failed: SQLITE_CONSTRAINT "
            "(extended: SQLITE_CONSTRAINT_FOREIGNKEY)",
        ),
        (
            "INSERT INTO strict VALUES (7.5)",
            "cannot store REAL value in INTEGER column strict.i: SQLITE_CONSTRAINT "
            "(extended: SQLITE_CONSTRAINT_DATATYPE)",
        ),
    ],
)
def test_a_broken_constraint_names_its_kind(d1: Any, sql: str, text: str) -> None:
    d1.run("CREATE TABLE nn (id INTEGER PRIMARY KEY, b INTEGER NOT NULL UNIQUE, c CHECK (c>0))")
    d1.run("CREATE TABLE child (p REFERENCES nn (id))")
    d1.run("CREATE TABLE strict (i INTEGER) STRICT")
    d1.run("INSERT INTO nn VALUES (1, 1, 1)")
    assert d1.error(sql) == text


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN",
        "BEGIN IMMEDIATE",
        "COMMIT",
        "END",
        "ROLLBACK",
        "SAVEPOINT s",
        "RELEASE s",
        "ROLLBACK TO s",
    ],
)
class TestTransactionStatements:
    """F-007: statements that open or close a transaction are refused and leave none open."""

    def test_are_refused_with_the_way_to_go(self, d1: Any, sql: str) -> None:
        assert d1.error(sql) == TRANSACTION_REFUSED

    def test_are_refused_after_internal_transactions_have_been_run(self, d1: Any, sql: str) -> None:
        d1.run("CREATE TABLE t (x)")
        d1.request(*[d1.statement("INSERT INTO t VALUES (1)")] * 3)
        assert d1.error(sql) == TRANSACTION_REFUSED

    def test_leave_the_next_insert_committed(self, d1: Any, sql: str) -> None:
        d1.run("CREATE TABLE t (x)")
        d1.error(sql)
        d1.run("INSERT INTO t VALUES (1)")
        assert not d1.owner._engine.sandbox.connection.in_transaction
        assert d1.value("SELECT count(*) FROM t") == 1


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT * FROM _cf_METADATA", "access to _cf_METADATA.key is prohibited: SQLITE_AUTH"),
        ("SELECT count(*) FROM _cf_METADATA", DENIED),
        ("SELECT 1 FROM _CF_metadata", DENIED),
        ("INSERT INTO _cf_METADATA VALUES (9, 9)", DENIED),
        ("UPDATE _cf_METADATA SET value = 9", DENIED),
        ("DELETE FROM _cf_METADATA", DENIED),
        ("DROP TABLE _cf_METADATA", DENIED),
        ("CREATE TABLE _cf_mine (x)", DENIED),
        ("CREATE TABLE _CF_mine (x)", DENIED),
        ("CREATE VIEW _cf_v AS SELECT 1", DENIED),
        ("CREATE INDEX _cf_i ON t (a)", DENIED),
        ("CREATE INDEX i ON _cf_METADATA (value)", DENIED),
        ("CREATE TRIGGER _cf_t AFTER INSERT ON t BEGIN SELECT 1; END", DENIED),
        ("CREATE VIRTUAL TABLE _cf_f USING fts5(x)", DENIED),
        ("ALTER TABLE _cf_METADATA ADD COLUMN x", DENIED),
        ("ALTER TABLE t RENAME TO _cf_t", DENIED),
        ('ALTER TABLE t RENAME TO "_CF_t"', DENIED),
        ("PRAGMA table_info(_cf_METADATA)", DENIED),
        ("SELECT * FROM pragma_table_info('_cf_METADATA')", DENIED),
    ],
)
def test_names_of_the_platform_are_out_of_reach(d1: Any, sql: str, text: str) -> None:
    d1.run("CREATE TABLE t (a)")
    assert d1.error(sql) == text


def test_a_statement_of_the_platform_stays_out_of_reach_after_it_has_run(d1: Any) -> None:
    """The statement cache goes by text; an internal statement in it must not be handed out."""
    d1.run("SELECT 1")
    sandbox = d1.owner._engine.sandbox
    text = "SELECT value FROM _cf_METADATA WHERE key = 2"
    assert sandbox.internal(text)
    assert "prohibited" in d1.error(text)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE a_cf_b (x)",
        "CREATE TABLE _cfoo (x)",
        "CREATE TABLE d1_foo (x)",
        "ALTER TABLE t RENAME COLUMN a TO _cf_a",
        "CREATE VIEW v AS SELECT * FROM _cf_METADATA",
        "REINDEX _cf_METADATA",
        "SELECT name FROM sqlite_master",
        "SELECT name FROM sqlite_schema",
        "ANALYZE",
        "PRAGMA table_list",
        "EXPLAIN SELECT * FROM t",
        "EXPLAIN QUERY PLAN SELECT * FROM t",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT * FROM n",
    ],
)
def test_what_the_name_rule_does_not_forbid_is_allowed(d1: Any, sql: str) -> None:
    d1.run("CREATE TABLE t (a)")
    d1.run(sql)


def test_a_view_over_a_table_of_the_platform_cannot_be_read(d1: Any) -> None:
    d1.run("SELECT 1")
    d1.run("CREATE VIEW v AS SELECT * FROM _cf_METADATA")
    assert "prohibited" in d1.error("SELECT * FROM v")


def test_tables_of_the_platform_are_listed(d1: Any) -> None:
    d1.run("SELECT 1")
    assert d1.rows("SELECT name FROM sqlite_master") == [("_cf_METADATA",)]


@pytest.mark.parametrize("table", ["sqlite_sequence", "sqlite_stat1"])
def test_the_tables_of_autoincrement_and_analyze_are_writable(d1: Any, table: str) -> None:
    d1.run("CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a)")
    d1.run("CREATE INDEX i ON t (a)")
    d1.run("INSERT INTO t (a) VALUES (1)")
    d1.run("ANALYZE")
    d1.run(f"DELETE FROM {table}")
    assert d1.value(f"SELECT count(*) FROM {table}") == 0


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH DATABASE ':memory:' AS other",
        "ATTACH 'file' AS other",
        "DETACH main",
        "CREATE TEMP TABLE x (a)",
        "CREATE TEMPORARY VIEW x AS SELECT 1",
        "CREATE VIRTUAL TABLE x USING dbstat",
        "PRAGMA writable_schema = 1",
    ],
)
def test_other_databases_and_modules_are_refused(d1: Any, sql: str) -> None:
    assert d1.error(sql) == DENIED


def test_extensions_cannot_be_loaded(d1: Any) -> None:
    assert d1.error("SELECT load_extension('x')") == "not authorized: SQLITE_ERROR"


@pytest.mark.parametrize("name", ["dbstat", "generate_series", "sqlite_dbpage", "sqlite_stmt"])
def test_foreign_table_functions_do_not_exist(d1: Any, name: str) -> None:
    assert d1.error(f"SELECT * FROM {name}").startswith(f"no such table: {name}")


@pytest.mark.parametrize(
    "expression",
    [
        "abs(-1)",
        "concat_ws(',', 1, 2)",
        "iif(1, 2, 3)",
        "json_extract('[1]', '$[0]')",
        "'[1]' ->> 0",
        "jsonb('[1]')",
        "strftime('%Y', 0)",
        "unixepoch('now')",
        "pow(2, 3)",
        "ceil(1.5)",
        "string_agg('a', ',')",
        "group_concat('a')",
        "max(1, 2)",
        "CURRENT_TIMESTAMP",
        "row_number() OVER ()",
        "'abc' LIKE 'a%'",
        "typeof(randomblob(4))",
        "last_insert_rowid()",
        "octet_length('é')",
        '"a double-quoted string"',
    ],
)
def test_listed_functions_work(d1: Any, expression: str) -> None:
    d1.run(f"SELECT {expression}")


@pytest.mark.parametrize(
    "function",
    [
        "sqlite_source_id()",
        "sqlite_compileoption_get(1)",
        "ceiling(1.5)",
        "power(2, 3)",
        "log10(100)",
        "json_pretty('[]')",
        "json_error_position('[')",
        "subtype('a')",
        "unistr('a')",
        "if(1, 2, 3)",
        "median(1)",
        "percentile(1, 50)",
    ],
)
def test_functions_that_are_not_listed_are_refused(d1: Any, function: str) -> None:
    name = function.partition("(")[0]
    refusal = f"not authorized to use function: {name} at offset 7: SQLITE_ERROR"
    assert d1.error(f"SELECT {function}") == refusal


@pytest.mark.parametrize(
    "pragma",
    [
        "table_list",
        "table_info(t)",
        "table_xinfo('t')",
        "data_version",
        "page_size",
        "case_sensitive_like = on",
        "foreign_keys",
        "foreign_keys = OFF",
        "defer_foreign_keys = 'yes'",
        "ignore_check_constraints = onwards",
        "legacy_alter_table = 0",
        "recursive_triggers = TRUE",
        "reverse_unordered_selects",
        "foreign_key_check",
        "foreign_key_check(t)",
        "foreign_key_list(t)",
        "index_info(i)",
        "index_list(t)",
        "index_xinfo(i)",
        "quick_check",
        "quick_check(10)",
        "quick_check(t)",
        "optimize",
        "optimize(-1)",
        "optimize(0xfffe)",
    ],
)
def test_listed_pragmas_work(d1: Any, pragma: str) -> None:
    d1.run("CREATE TABLE t (a); CREATE INDEX i ON t (a)")
    d1.run(f"PRAGMA {pragma}")


@pytest.mark.parametrize(
    "pragma",
    [
        "table_info",
        "data_version = 1",
        "page_size = 512",
        "foreign_keys = 2",
        "foreign_keys = maybe",
        "foreign_key_check(_cf_METADATA)",
        "index_list(_cf_METADATA)",
        "quick_check(_cf_METADATA)",
        "optimize(abc)",
        "optimize(99999999999)",
        "user_version",
        "user_version = 3",
        "schema_version",
        "journal_mode = DELETE",
        "synchronous = OFF",
        "integrity_check",
        "page_count",
        "freelist_count",
        "cache_size",
        "encoding",
        "database_list",
        "collation_list",
        "function_list",
        "module_list",
        "pragma_list",
        "compile_options",
        "writable_schema = 1",
        "temp_store = 2",
        "busy_timeout = 5",
        "made_up",
    ],
)
def test_all_other_pragmas_are_refused(d1: Any, pragma: str) -> None:
    d1.run("SELECT 1")
    assert d1.error(f"PRAGMA {pragma}") == DENIED


@pytest.mark.parametrize("name", ["page_count", "user_version", "function_list"])
def test_refused_pragmas_are_refused_as_table_functions_too(d1: Any, name: str) -> None:
    assert "not authorized" in d1.error(f"SELECT * FROM pragma_{name}")


def test_listed_pragmas_work_as_table_functions(d1: Any) -> None:
    d1.run("CREATE TABLE t (a, b)")
    assert d1.rows("SELECT name FROM pragma_table_info('t')") == [("a",), ("b",)]


def test_full_text_search_works_with_its_functions_and_vocabulary(d1: Any) -> None:
    """F-005: the vocabulary of a full-text table is as usable as the table."""
    d1.run("CREATE VIRTUAL TABLE doc USING fts5(title, body, tokenize='trigram')")
    d1.run("INSERT INTO doc VALUES ('first', 'hello world'), ('second', 'good bye')")
    d1.run("CREATE VIRTUAL TABLE voc USING fts5vocab('doc', 'row')")
    assert d1.rows(
        "SELECT title, highlight(doc, 1, '[', ']'), bm25(doc) < 0 FROM doc WHERE doc MATCH 'hello'"
    ) == [("first", "[hello] world", 1)]
    assert d1.value("SELECT count(*) FROM voc") > 5


def test_rtree_tables_work(d1: Any) -> None:
    d1.run("CREATE VIRTUAL TABLE box USING rtree(id, x0, x1)")
    d1.run("INSERT INTO box VALUES (1, 0.0, 2.0)")
    assert d1.rows("SELECT id FROM box WHERE x0 <= 1 AND x1 >= 1") == [(1,)]


@pytest.mark.parametrize("table", ["doc_data", "doc_content"])
def test_the_inner_tables_of_full_text_search_are_read_only(d1: Any, table: str) -> None:
    d1.run("CREATE VIRTUAL TABLE doc USING fts5(x)")
    assert "may not be modified" in d1.error(f"DELETE FROM {table}")


def test_a_table_can_be_renamed_and_altered(d1: Any) -> None:
    d1.run("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    d1.run("ALTER TABLE t RENAME TO u")
    d1.run("ALTER TABLE u ADD COLUMN b DEFAULT 2")
    d1.run("ALTER TABLE u RENAME COLUMN a TO c")
    assert d1.run("SELECT * FROM u").columns == ("c", "b")
    d1.run("ALTER TABLE u DROP COLUMN c")
    assert d1.rows("SELECT * FROM u") == [(2,)]


def test_users_triggers_fire(d1: Any) -> None:
    d1.run("CREATE TABLE t (a); CREATE TABLE log (a)")
    d1.run("CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END")
    d1.run("INSERT INTO t VALUES (5)")
    assert d1.rows("SELECT a FROM log") == [(5,)]


def test_vacuum_is_not_possible_in_the_transaction_of_a_request(d1: Any) -> None:
    assert d1.error("VACUUM") == "cannot VACUUM from within a transaction: SQLITE_ERROR"


def test_switching_foreign_keys_off_has_no_effect(d1: Any) -> None:
    d1.run("PRAGMA foreign_keys = off")
    assert d1.value("PRAGMA foreign_keys") == 1
