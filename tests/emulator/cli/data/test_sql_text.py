"""Where one statement ends and the next begins."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.cli.data.command import CommandError
from pyflare.cli.data.sql_text import MANY_TRANSACTIONS, statements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;", ["SELECT 1;"]),
        ("SELECT 1; SELECT 2", ["SELECT 1;", "SELECT 2"]),
        ("SELECT ';'; SELECT \";\", `;`, [;]", ["SELECT ';';", 'SELECT ";", `;`, [;]']),
        ("SELECT 'it''s;'; SELECT 2", ["SELECT 'it''s;';", "SELECT 2"]),
        ("-- a;\nSELECT 1; /* ; */ SELECT 2", ["-- a;\nSELECT 1;", "/* ; */ SELECT 2"]),
        ("SELECT 1;; ;", ["SELECT 1;"]),
        ("-- only a comment", []),
        ("SELECT 1; -- the end", ["SELECT 1;"]),
        ("", []),
        (
            "CREATE TEMP TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; END; SELECT 2",
            ["CREATE TEMP TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; END;", "SELECT 2"],
        ),
        (
            "create trigger t after insert on x begin select case a when 1 then 2 end; end; SELECT 2",
            [
                "create trigger t after insert on x begin select case a when 1 then 2 end; end;",
                "SELECT 2",
            ],
        ),
        ("CREATE TABLE trigger_ (a); SELECT 1", ["CREATE TABLE trigger_ (a);", "SELECT 1"]),
        ("SELECT 5-3; SELECT 4/2; SELECT 2", ["SELECT 5-3;", "SELECT 4/2;", "SELECT 2"]),
    ],
)
def test_statements_end_where_sqlite_says(text: str, expected: list[str]) -> None:
    assert statements(text) == expected


def test_one_transaction_around_all_is_taken_off() -> None:
    assert statements("BEGIN TRANSACTION;\nSELECT 1;\nCOMMIT;") == ["SELECT 1;"]


def test_several_transactions_are_refused() -> None:
    with pytest.raises(CommandError) as raised:
        statements("BEGIN TRANSACTION;COMMIT;BEGIN TRANSACTION;COMMIT;")
    assert str(raised.value) == MANY_TRANSACTIONS


WORDS = [
    "CREATE ", "TRIGGER ", "TEMP ", "BEGIN ", "END", "EXPLAIN ", "SELECT ", ";", " ", "\n", "'a;b'",
    "-- c\n", "/*;*/", '"', "x", "1", "CASE ", "[q]", "`", "'",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=25).map("".join))
def test_every_statement_but_the_last_is_complete_for_sqlite(text: str) -> None:
    found = statements(text)
    assert all(apsw.complete(each) for each in found[:-1])


@given(st.lists(st.sampled_from(WORDS), max_size=25).map("".join))
def test_no_word_is_lost(text: str) -> None:
    kept = "".join(statements(text))
    assert sum(map(kept.count, ("SELECT", "CASE"))) <= sum(map(text.count, ("SELECT", "CASE")))
    assert [c for c in kept if c not in "; \n"] == [
        c for c in kept if c not in "; \n" and c in text
    ]
