"""`pyflare d1 execute`, `export` and `info`."""

import json
import sqlite3
from pathlib import Path

import pytest

from .conftest import SETTINGS, Cli


def test_statements_run_in_order_and_print_one_result_each(cli: Cli) -> None:
    done = cli(
        "d1",
        "execute",
        "mydb",
        "--command",
        "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x;y')",
    )
    assert done.code == 0
    assert "🚣 2 commands executed successfully." in done.err
    found = cli("d1", "execute", "DB", "--command", "SELECT * FROM t", "--json")
    assert [each["results"] for each in found.json] == [[{"a": 1, "b": "x;y"}]]
    assert found.json[0]["success"] is True
    assert found.json[0]["meta"]["duration"] >= 0
    assert found.err == ""


def test_all_statements_are_one_transaction(cli: Cli) -> None:
    cli("d1", "execute", "DB", "--command", "CREATE TABLE t (a UNIQUE)")
    failed = cli(
        "d1", "execute", "DB", "--command", "INSERT INTO t VALUES (1); INSERT INTO t VALUES (1)"
    )
    assert failed.code == 1
    assert "in statement 2: INSERT INTO t VALUES (1)" in failed.err
    count = cli("d1", "execute", "DB", "--command", "SELECT count(*) AS n FROM t", "--json")
    assert count.json[0]["results"] == [{"n": 0}]


def test_a_failure_with_json_is_json(cli: Cli) -> None:
    failed = cli("d1", "execute", "DB", "--command", "SELECT bad", "--json")
    assert failed.code == 1
    assert failed.json == {"error": {"text": "no such column: bad at offset 7: SQLITE_ERROR"}}


def test_a_blob_is_shown_as_the_list_of_its_bytes(cli: Cli) -> None:
    found = cli("d1", "execute", "DB", "--command", "SELECT x'0102' AS b, NULL AS n", "--json")
    assert found.json[0]["results"] == [{"b": "[1, 2]", "n": None}]


def test_a_file_is_run_without_the_transaction_around_it(cli: Cli, project: Path) -> None:
    (project / "dump.sql").write_text(
        "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t (a);\n"
        "INSERT INTO t VALUES ('COMMIT');\nCOMMIT;\n-- the end\n"
    )
    assert cli("d1", "execute", "DB", "--file", "dump.sql", "--yes").code == 0
    found = cli("d1", "execute", "DB", "--command", "SELECT a FROM t", "--json")
    assert found.json[0]["results"] == [{"a": "COMMIT"}]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--command", "SELECT 1", "--preview"), "Cannot use --preview without --remote."),
        (("--command", "SELECT 1", "--remote"), "--remote works on data in Cloudflare's network"),
        (
            ("--command", "SELECT 1", "--remote", "--local"),
            "can't use --local and --remote at the same time",
        ),
        (("--file", "none.sql"), 'Unable to read SQL text file "none.sql".'),
        (("--file", "binary.db"), "Provided file is a binary SQLite database file"),
        (("--file", "latin.sql"), "is not UTF-8 (byte 8)"),
        (("--file", "twice.sql"), "contains several transactions"),
        (("--command", ""), "No SQL statements detected."),
        (("--command", "BEGIN"), "To execute a transaction, please use"),
    ],
)
def test_what_cannot_be_run_is_refused(
    cli: Cli, project: Path, words: tuple[str, ...], text: str
) -> None:
    sqlite3.connect(project / "binary.db").executescript("CREATE TABLE t (a)").connection.close()
    (project / "latin.sql").write_bytes(b"SELECT '\xe9'")
    (project / "twice.sql").write_text("BEGIN TRANSACTION;COMMIT;BEGIN TRANSACTION;COMMIT;")
    failed = cli("d1", "execute", "DB", *words)
    assert failed.code == 1
    assert text in failed.err


def test_an_unknown_database_is_named_with_the_file(cli: Cli) -> None:
    failed = cli("d1", "execute", "nope", "--command", "SELECT 1")
    assert (failed.code, failed.out) == (1, "")
    assert (
        "Couldn't find a D1 DB with the name or binding 'nope' in your wrangler.json file."
        in failed.err
    )


def test_a_configuration_that_cannot_be_used_fails_the_command(cli: Cli, project: Path) -> None:
    (project / "wrangler.json").write_text('{"d1_databases": 1}')
    failed = cli("d1", "execute", "DB", "--command", "SELECT 1")
    assert failed.code == 1
    assert "d1_databases" in failed.err


def test_a_state_directory_that_cannot_be_made_is_named(cli: Cli, project: Path) -> None:
    (project / "file").write_text("")
    failed = cli("d1", "execute", "DB", "--command", "SELECT 1", "--persist-to", "file/state")
    assert failed.code == 1
    assert "file/state cannot be used" in failed.err
    assert "Choose another with --persist-to." in failed.err


def test_state_is_beside_the_configuration_wherever_one_stands(cli: Cli, project: Path) -> None:
    (project / "deep").mkdir()
    cli("d1", "execute", "DB", "--command", "CREATE TABLE t (a)", "--cwd", str(project / "deep"))
    assert (project / ".pyflare" / "state").is_dir()
    assert (project / ".pyflare" / ".gitignore").read_text() == "*\n"


def test_equal_ids_share_a_database_and_others_do_not(cli: Cli, project: Path) -> None:
    other = project / "other"
    other.mkdir()
    databases = [
        {"binding": "SAME", "database_id": "dbid-1"},
        {"binding": "DIFFERENT", "database_id": "dbid-2"},
    ]
    (other / "wrangler.json").write_text(json.dumps({**SETTINGS, "d1_databases": databases}))
    where = ("--persist-to", str(project / "shared"))
    cli("d1", "execute", "DB", "--command", "CREATE TABLE t (a)", *where)
    words = ("--command", "SELECT * FROM t", "-c", str(other / "wrangler.json"), *where)
    assert cli("d1", "execute", "SAME", *words).code == 0
    assert "no such table: t" in cli("d1", "execute", "DIFFERENT", *words).err


def test_an_export_holds_everything_and_can_be_executed(cli: Cli, project: Path) -> None:
    cli(
        "d1", "execute", "DB", "--command",
        "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, v, r REAL);"
        "CREATE INDEX i ON t (v);"
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END;"
        "CREATE VIEW w AS SELECT v FROM t;"
        "INSERT INTO t (v, r) VALUES ('it''s;\n\\n two\r lines', 1.0), (x'00ff', 1e999), (NULL, -2.5),"
        " (char(65, 0, 66), 9007199254740993)",
    )  # fmt: skip
    assert cli("d1", "export", "DB", "--output", "all.sql").code == 0
    again = ("--persist-to", "again")
    assert cli("d1", "execute", "DB", "--file", "all.sql", *again).code == 0
    query = "SELECT id, quote(v) AS v, quote(r) AS r, typeof(v) AS t FROM t"
    first, second = (
        cli("d1", "execute", "DB", "--command", query, "--json", *where).json[0]["results"]
        for where in ((), again)
    )
    assert first == second
    assert len(first) == 4
    names = "SELECT name FROM sqlite_schema WHERE name IN ('i', 'g', 'w')"
    found = cli("d1", "execute", "DB", "--command", names, "--json", *again)
    assert len(found.json[0]["results"]) == 3


@pytest.mark.parametrize(
    ("no_data", "no_schema"),
    [("--no-data", "--no-schema"), ("--data=false", "--schema=false")],
)
def test_an_export_can_leave_out_data_schema_and_tables(
    cli: Cli, project: Path, no_data: str, no_schema: str
) -> None:
    cli(
        "d1", "execute", "DB", "--command",
        "CREATE TABLE a (v); CREATE TABLE b (v); INSERT INTO a VALUES (1); INSERT INTO b VALUES (2)",
    )  # fmt: skip
    texts = []
    for words in ((no_data,), (no_schema,), ("--table", "b")):
        cli("d1", "export", "DB", "--output", "out.sql", *words)
        texts.append((project / "out.sql").read_text().splitlines()[1:])
    insert_a, insert_b = 'INSERT INTO "a" ("v") VALUES(1);', 'INSERT INTO "b" ("v") VALUES(2);'
    assert texts == [
        ["CREATE TABLE a (v);", "CREATE TABLE b (v);"],
        [insert_a, insert_b],
        ["CREATE TABLE b (v);", insert_b],
    ]


def test_an_export_that_fails_leaves_the_old_file(cli: Cli, project: Path) -> None:
    cli("d1", "execute", "DB", "--command", "CREATE VIRTUAL TABLE f USING fts5(a)")
    (project / "out.sql").write_text("old")
    failed = cli("d1", "export", "DB", "--output", "out.sql")
    assert failed.code == 1
    assert "D1 Export error: cannot export databases with Virtual Tables (fts5)" in failed.err
    assert (project / "out.sql").read_text() == "old"
    assert sorted(path.name for path in project.glob(".out*")) == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--output", ".", "--no-data"), "Please specify a file path for --output, not a directory."),
        (("--output", "file/x"), "cannot be written"),
    ],
)  # fmt: skip
def test_an_export_refuses_what_cannot_be_written(
    cli: Cli, project: Path, words: tuple[str, ...], text: str
) -> None:
    (project / "file").write_text("")
    failed = cli("d1", "export", "DB", *words)
    assert failed.code == 1
    assert text in failed.err


def test_an_export_of_a_table_that_is_not_there_names_it(cli: Cli, project: Path) -> None:
    cli("d1", "execute", "DB", "--command", "CREATE TABLE t (a)")
    failed = cli("d1", "export", "DB", "--output", "out.sql", "--table", "t", "--table", "nope")
    assert failed.code == 1
    assert "D1 Export error: there is no table nope" in failed.err
    assert not (project / "out.sql").exists()


@pytest.mark.parametrize(
    ("sql", "printed"),
    [
        ("9007199254740991", "9007199254740991"),
        ("9007199254740992", "9007199254740992"),
        ("9223372036854775807", "9223372036854776000"),
        ("-9223372036854775807", "-9223372036854776000"),
        ("1.0", "1"),
        ("1.5", "1.5"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("9e999", "null"),
    ],
)
def test_numbers_are_printed_as_javascript_prints_them(cli: Cli, sql: str, printed: str) -> None:
    found = cli("d1", "execute", "DB", "--command", f"SELECT {sql} AS n", "--json")
    assert f'"n": {printed}\n' in found.out


def test_info_names_tables_and_size(cli: Cli) -> None:
    cli("d1", "execute", "DB", "--command", "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)")
    found = cli("d1", "info", "mydb", "--json").json
    assert found["tables"] == [{"name": "t", "rows": 2}]
    assert found["name"] == "mydb"
    assert found["uuid"] == "dbid-1"
    assert found["file_size"] > 0


def test_info_of_an_empty_database_has_no_tables(cli: Cli) -> None:
    assert cli("d1", "info", "DB", "--json").json["tables"] == []
