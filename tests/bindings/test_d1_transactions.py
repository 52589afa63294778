"""A request is one transaction: all of it or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare_bindings.d1 import D1Error

FOREIGN_KEY = (
    "FOREIGN KEY constraint failed: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_FOREIGNKEY)"
)


@pytest.fixture
def accounts(d1: Any) -> Any:
    d1.run("CREATE TABLE acct (id INTEGER PRIMARY KEY)")
    return d1


@pytest.mark.parametrize(
    "fault",
    [
        "INSERTT INTO acct VALUES (2)",
        "INSERT INTO acct VALUES (1)",
        "INSERT INTO nowhere VALUES (1)",
        "SELECT abs(-9223372036854775807 - 1)",
        "INSERT OR ROLLBACK INTO acct VALUES (1)",
        "INSERT INTO acct VALUES (?)",
        "BEGIN",
    ],
)
def test_a_batch_that_fails_leaves_nothing_behind(accounts: Any, fault: str) -> None:
    """F-002: neither with a fault of syntax nor with one at run time."""
    sound = [accounts.statement("INSERT INTO acct VALUES (?)", n) for n in (1, 3)]
    with pytest.raises(D1Error) as caught:
        accounts.request(*sound, accounts.statement(fault), accounts.statement("SELECT 1"))
    assert caught.value.statement_index == 2
    assert accounts.value("SELECT count(*) FROM acct") == 0


def test_the_database_works_on_after_a_failed_batch(accounts: Any) -> None:
    accounts.error("INSERT INTO acct VALUES (1); INSERT OR ROLLBACK INTO acct VALUES (1)")
    accounts.run("INSERT INTO acct VALUES (1)")
    assert accounts.value("SELECT count(*) FROM acct") == 1


def test_a_batch_gives_the_results_of_its_statements_in_order(accounts: Any) -> None:
    results = accounts.request(
        accounts.statement("INSERT INTO acct VALUES (5)"),
        accounts.statement("SELECT id FROM acct"),
        accounts.statement("DELETE FROM acct"),
        accounts.statement("SELECT id FROM acct"),
    )
    assert [result.rows for result in results] == [[], [(5,)], [], []]
    assert [result.meta.changes for result in results] == [1, 0, 1, 0]


def test_changes_of_the_schema_are_undone_too(accounts: Any) -> None:
    with pytest.raises(D1Error):
        accounts.request(
            accounts.statement("CREATE TABLE extra (x)"),
            accounts.statement("INSERT INTO extra VALUES (1)"),
            accounts.statement("ALTER TABLE acct ADD COLUMN y"),
            accounts.statement("nonsense"),
        )
    assert accounts.run("SELECT * FROM acct").columns == ("id",)
    assert accounts.error("SELECT * FROM extra") == "no such table: extra: SQLITE_ERROR"


def test_a_batch_may_use_what_it_has_created(accounts: Any) -> None:
    results = accounts.request(
        accounts.statement("CREATE TABLE extra (x)"),
        accounts.statement("INSERT INTO extra VALUES (?)", 1),
        accounts.statement("ALTER TABLE extra ADD COLUMN y DEFAULT 2"),
        accounts.statement("SELECT * FROM extra"),
    )
    assert (results[3].columns, results[3].rows) == (("x", "y"), [(1, 2)])


def test_a_batch_repeating_one_text_sees_the_schema_change_between(accounts: Any) -> None:
    text = "SELECT * FROM acct"
    results = accounts.request(
        accounts.statement("INSERT INTO acct VALUES (1)"),
        accounts.statement(text),
        accounts.statement("ALTER TABLE acct ADD COLUMN y"),
        accounts.statement(text),
    )
    assert [results[1].columns, results[3].columns] == [("id",), ("id", "y")]


class TestForeignKeys:
    @pytest.fixture
    def family(self, d1: Any) -> Any:
        d1.run("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        d1.run("CREATE TABLE child (p REFERENCES parent (id))")
        return d1

    def test_are_on(self, family: Any) -> None:
        assert family.error("INSERT INTO child VALUES (1)") == FOREIGN_KEY

    def test_may_be_deferred_to_the_end_of_a_batch(self, family: Any) -> None:
        family.request(
            family.statement("PRAGMA defer_foreign_keys = on"),
            family.statement("INSERT INTO child VALUES (1)"),
            family.statement("INSERT INTO parent VALUES (1)"),
        )
        assert family.value("SELECT count(*) FROM child") == 1

    def test_deferred_but_broken_at_the_end_are_reported_as_in_production(
        self, family: Any
    ) -> None:
        text = family.error("PRAGMA defer_foreign_keys = on; INSERT INTO child VALUES (1)")
        assert text == "FOREIGN KEY constraint failed"
        assert family.value("SELECT count(*) FROM child") == 0

    def test_deferred_by_the_table_are_reported_in_the_same_way(self, family: Any) -> None:
        family.run("CREATE TABLE late (p REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
        assert family.error("INSERT INTO late VALUES (1)") == "FOREIGN KEY constraint failed"
        assert family.value("SELECT count(*) FROM late") == 0

    def test_are_deferred_for_one_request_only(self, family: Any) -> None:
        family.run("PRAGMA defer_foreign_keys = on")
        assert family.error("INSERT INTO child VALUES (1)") == FOREIGN_KEY
