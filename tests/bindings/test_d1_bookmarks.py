"""Bookmarks order the requests of a database, over restarts too."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare_bindings.d1 import Statement
from pyflare_bindings.d1.bookmarks import bookmark_at
from pyflare_bindings.registry import BindingRegistry


@pytest.mark.parametrize(
    ("counter", "bookmark"),
    [
        (0, "00000000-00000000-00000000-00000000000000000000000000000000"),
        (42, "00000000-0000002a-00000000-00000000000000000000000000000000"),
        (0xFFFFFFFF, "00000001-00000000-00000000-00000000000000000000000000000000"),
    ],
)
def test_a_bookmark_holds_the_counter_in_two_groups(counter: int, bookmark: str) -> None:
    assert bookmark_at(counter) == bookmark


@given(st.integers(0, 2**60), st.integers(0, 2**60))
def test_bookmarks_sort_as_strings_by_time(first: int, second: int) -> None:
    assert (bookmark_at(first) < bookmark_at(second)) == (first < second)


def test_every_successful_request_advances_the_counter_by_one(d1: Any) -> None:
    d1.run("CREATE TABLE t (x)")
    start = d1.request(d1.statement("SELECT 1")).counter
    d1.request(*[d1.statement("INSERT INTO t VALUES (1)")] * 3)
    assert d1.request(d1.statement("SELECT 1")).counter == start + 2


def test_a_failed_request_does_not_advance_it(d1: Any) -> None:
    before = d1.request(d1.statement("SELECT 1")).counter
    d1.error("nonsense")
    d1.error("SELECT abs(-9223372036854775807 - 1)")
    assert d1.request(d1.statement("SELECT 1")).counter == before + 1


def test_results_carry_the_bookmark_of_their_request(d1: Any) -> None:
    results = d1.request(d1.statement("SELECT 1"))
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}", results.bookmark)
    assert results.bookmark == bookmark_at(results.counter) == d1.owner.bookmark


def test_a_database_that_nobody_has_used_has_no_bookmark(registry: BindingRegistry) -> None:
    assert registry.d1("a").bookmark is None


async def bookmarks_of(root: Path, requests: int) -> list[str]:
    registry = BindingRegistry(root)
    database = registry.d1("a")
    found = [(await database.query([Statement("SELECT 1")])).bookmark for _ in range(requests)]
    await registry.close()
    return found


def test_the_counter_goes_on_after_a_restart(tmp_path: Path) -> None:
    first = asyncio.run(bookmarks_of(tmp_path, 5))
    second = asyncio.run(bookmarks_of(tmp_path, 5))
    assert first + second == [bookmark_at(n) for n in range(1, 11)]


def test_the_counter_goes_on_past_the_numbers_that_were_reserved(d1: Any) -> None:
    start = d1.request(d1.statement("SELECT 1")).counter
    last = start
    for _ in range(9000):
        last = d1.request(d1.statement("SELECT 1")).counter
    assert last == start + 9000
    stored = d1.owner._engine.sandbox.internal("SELECT value FROM _cf_METADATA WHERE key = 2")
    assert stored[0][0] >= last
