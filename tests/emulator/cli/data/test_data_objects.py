"""`pyflare do list`, `sql` and `alarms`."""

import asyncio
import json
from pathlib import Path

import pytest

from pyflare_bindings.registry import BindingRegistry

from .conftest import SETTINGS, Cli

NEXT_CENTURY = 4_102_444_800_000


@pytest.fixture
def counter(project: Path) -> str:
    """An object "a" with a table and an alarm. Gives its id."""

    async def fill() -> str:
        registry = BindingRegistry(project / ".pyflare" / "state")
        namespace = registry.objects("shop-Counter")
        storage = namespace.open(namespace.ids.from_name("a"))
        storage.exec("CREATE TABLE n (v, b); INSERT INTO n VALUES (1, x'01ff')")
        storage.alarm.set(NEXT_CENTURY)
        await storage.commit()
        await storage.close()
        await registry.close()
        return storage.id.hex

    return asyncio.run(fill())


def test_objects_are_listed_with_their_names(cli: Cli, counter: str) -> None:
    (found,) = cli("do", "list", "Counter", "--json").json
    assert (found["id"], found["name"]) == (counter, "a")
    assert found["size"] > 0


def test_sql_reads_and_writes_what_an_object_has_stored(cli: Cli, counter: str) -> None:
    cli("do", "sql", "--name", "a", "--command", "INSERT INTO n VALUES (2, NULL)")
    found = cli("do", "sql", "COUNTER", "--id", counter, "--command", "SELECT * FROM n")
    assert found.json == {
        "results": [{"v": 1, "b": [1, 255]}, {"v": 2, "b": None}],
        "meta": {"rows_read": 2, "rows_written": 0},
    }


def test_sql_that_fails_leaves_nothing(cli: Cli, counter: str) -> None:
    failed = cli("do", "sql", "--name", "a", "--command", "INSERT INTO n VALUES (2, 2); SELECT no")
    assert failed.code == 1
    assert "no such column: no" in failed.err
    found = cli("do", "sql", "--name", "a", "--command", "SELECT count(*) AS n FROM n")
    assert found.json["results"] == [{"n": 1}]


def test_alarms_are_listed_and_survive_a_look_at_the_object(cli: Cli, counter: str) -> None:
    cli("do", "sql", "--name", "a", "--command", "SELECT 1")
    (alarm,) = cli("do", "alarms").json
    assert alarm == {"id": counter, "name": "a", "time": "2100-01-01T00:00:00.000Z"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ("list", "Nope"),
            "class or binding 'Nope' in your wrangler.json file. Those in it: Counter.",
        ),
        (("sql", "--id", "12", "--command", "SELECT 1"), "must be 64 hex digits"),
        (("sql", "--id", "0" * 64, "--command", "SELECT 1"), "is not valid for this namespace"),
        (("sql", "--name", "b", "--command", "SELECT 1"), "There is no object b with stored data."),
    ],
)
def test_what_cannot_be_done_is_refused(cli: Cli, words: tuple[str, ...], text: str) -> None:
    failed = cli("do", *words)
    assert failed.code == 1
    assert text in failed.err


def test_with_several_classes_one_has_to_be_named(cli: Cli, project: Path) -> None:
    classes = [{"tag": "v1", "new_sqlite_classes": ["Counter", "Other"]}]
    (project / "wrangler.json").write_text(json.dumps({**SETTINGS, "migrations": classes}))
    failed = cli("do", "list")
    assert failed.code == 1
    assert "Say which class is meant. Those in wrangler.json: Counter, Other." in failed.err
