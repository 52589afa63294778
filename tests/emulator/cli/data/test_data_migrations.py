"""`pyflare d1 migrations create`, `list` and `apply`."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import SETTINGS, Cli

TRIGGER = """\
-- a ; comment
CREATE TABLE "begin" (x, y);
create trigger t after insert on "begin" Begin
  update "begin" set y = case when new.x = 1 then ';END;' else 'END' end;
  delete from "begin" where x = 'none';
end;
CREATE TABLE after_all(x)
"""


def write(project: Path, **files: str) -> None:
    (project / "migrations").mkdir(exist_ok=True)
    for name, text in files.items():
        (project / "migrations" / f"{name}.sql").write_text(text)


def tables(cli: Cli) -> list[str]:
    found = cli(
        "d1", "execute", "DB", "--json", "--command",
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'trigger') AND substr(name, 1, 4) <> '_cf_'"
        " AND name NOT LIKE 'sqlite%'"
        " AND name <> 'd1_migrations' ORDER BY name",
    )  # fmt: skip
    return [row["name"] for row in found.json[0]["results"]]


def recorded(cli: Cli) -> list[str]:
    found = cli(
        "d1", "execute", "DB", "--json", "--command", "SELECT name FROM d1_migrations ORDER BY id"
    )
    return [row["name"] for row in found.json[0]["results"]]


def test_create_numbers_what_it_makes(cli: Cli, project: Path) -> None:
    done = cli("d1", "migrations", "create", "DB", "make", "the tables")
    assert "✅ Successfully created Migration '0001_make_the_tables.sql'!" in done.out
    text = (project / "migrations" / "0001_make_the_tables.sql").read_text()
    assert re.fullmatch(r"-- Migration number: 0001 \t \d{4}-\d\d-\d\dT[\d:.]+Z\n", text)
    cli("d1", "migrations", "create", "DB", "more")
    assert (project / "migrations" / "0002_more.sql").exists()


def test_create_refuses_a_message_that_is_a_path(cli: Cli) -> None:
    failed = cli("d1", "migrations", "create", "DB", "../up")
    assert failed.code == 1
    assert "cannot hold / or" in failed.err


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_triggers_comments_and_odd_names_apply_in_full(cli: Cli, project: Path, ends: str) -> None:
    (project / "migrations").mkdir()
    (project / "migrations" / "0001_a.sql").write_bytes(TRIGGER.replace("\n", ends).encode())
    done = cli("d1", "migrations", "apply", "DB")
    assert done.code == 0, done.err
    assert tables(cli) == ["after_all", "begin", "t"]


def test_files_apply_in_the_order_of_their_numbers_and_only_once(cli: Cli, project: Path) -> None:
    write(
        project,
        **{
            "0010_b": "INSERT INTO t VALUES (2);",
            "0002_a": "INSERT INTO t VALUES (1);",
            "0001_init": "CREATE TABLE t (v);",
        },
    )
    (project / "migrations" / "README.md").write_text("no SQL")
    (project / "migrations" / "0002_a.sql~").write_text("no SQL")
    assert cli("d1", "migrations", "apply", "DB").code == 0
    assert recorded(cli) == ["0001_init.sql", "0002_a.sql", "0010_b.sql"]
    assert "✅ No migrations to apply!" in cli("d1", "migrations", "apply", "DB").out
    write(project, **{"0003_c": "INSERT INTO t VALUES (3);"})
    listed = cli("d1", "migrations", "list", "DB").out
    assert "0003_c.sql" in listed
    assert "0002_a.sql" not in listed
    cli("d1", "migrations", "apply", "DB")
    assert recorded(cli)[-1] == "0003_c.sql"


def test_the_first_failure_stops_and_what_came_before_stays(cli: Cli, project: Path) -> None:
    write(
        project,
        **{
            "0001_good": "CREATE TABLE good (v);",
            "0002_bad": "CREATE TABLE half (v); INSERT INTO nowhere VALUES (1);",
            "0003_late": "CREATE TABLE late (v);",
        },
    )
    failed = cli("d1", "migrations", "apply", "DB")
    assert failed.code == 1
    assert "Migration 0002_bad.sql failed with the following errors:" in failed.err
    assert "no such table: nowhere" in failed.err
    assert "INSERT INTO nowhere" in failed.err
    assert re.search(
        r"0001_good.sql.*✅.*0002_bad.sql.*❌.*0003_late.sql.*🕒️", failed.out, re.DOTALL
    )
    assert recorded(cli) == ["0001_good.sql"]
    assert tables(cli) == ["good"]


def test_two_runs_at_once_record_each_migration_once(cli: Cli, project: Path) -> None:
    write(project, **{f"{n:04}_m": f"CREATE TABLE t{n} (v);" for n in range(1, 6)})
    command = [sys.executable, "-m", "pyflare", "d1", "migrations", "apply", "DB"]
    both = [
        subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(2)
    ]
    outputs = [each.communicate(timeout=60)[0].decode() for each in both]
    assert [each.returncode for each in both] == [0, 0], outputs
    assert recorded(cli) == [f"{n:04}_m.sql" for n in range(1, 6)]


def test_settings_of_the_configuration_choose_folder_pattern_and_table(
    cli: Cli, project: Path
) -> None:
    database = {
        "binding": "DB",
        "database_id": "dbid-1",
        "migrations_dir": "sql",
        "migrations_pattern": "sql/*/migration.sql",
        "migrations_table": 'odd " name',
    }
    (project / "wrangler.json").write_text(json.dumps({**SETTINGS, "d1_databases": [database]}))
    for name, sql in (("0001_a", "CREATE TABLE a (v)"), ("0002_b", "CREATE TABLE b (v)")):
        (project / "sql" / name).mkdir(parents=True)
        (project / "sql" / name / "migration.sql").write_text(sql)
    assert cli("d1", "migrations", "apply", "DB").code == 0
    found = cli("d1", "execute", "DB", "--json", "--command", 'SELECT name FROM "odd "" name"')
    assert [row["name"] for row in found.json[0]["results"]] == [
        "0001_a/migration.sql",
        "0002_b/migration.sql",
    ]
    failed = cli("d1", "migrations", "create", "DB", "c")
    assert "would not match" in failed.err


def test_a_pattern_outside_the_folder_is_refused(cli: Cli, project: Path) -> None:
    database = {"binding": "DB", "migrations_dir": "sql", "migrations_pattern": "other/*.sql"}
    (project / "wrangler.json").write_text(json.dumps({**SETTINGS, "d1_databases": [database]}))
    failed = cli("d1", "migrations", "list", "DB")
    assert failed.code == 1
    assert "has to lie under its" in failed.err


def test_a_missing_folder_is_named(cli: Cli) -> None:
    failed = cli("d1", "migrations", "apply", "DB")
    assert failed.code == 1
    assert "No migrations folder found." in failed.err
    assert "No migrations present at ./migrations." in failed.err
