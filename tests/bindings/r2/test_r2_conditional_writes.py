"""Conditions of a write are tested in the transaction that stores the object."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyflare_bindings.r2 import WILDCARD, Conditions, Etag

IF_ABSENT = Conditions(etag_does_not_match=(WILDCARD,))
IF_PRESENT = Conditions(etag_matches=(WILDCARD,))


def test_a_wildcard_creates_what_is_absent_and_replaces_what_is_there(r2: Any) -> None:
    assert r2.put("k", b"1", conditions=IF_PRESENT) is None
    assert r2.put("k", b"2", conditions=IF_ABSENT) is not None
    assert r2.put("k", b"3", conditions=IF_ABSENT) is None
    assert r2.put("k", b"4", conditions=IF_PRESENT) is not None
    assert r2.read("k") == b"4"


def test_a_write_that_was_meant_for_another_version_is_refused(r2: Any) -> None:
    first = r2.stored("k", b"1")
    r2.put("k", b"2")
    assert r2.put("k", b"3", conditions=Conditions(etag_matches=(Etag(first.etag),))) is None
    assert r2.read("k") == b"2"


@pytest.mark.parametrize("size", [10, 100_000], ids=["in the row", "in a file"])
def test_twenty_writes_at_once_have_one_winner(r2: Any, size: int) -> None:
    contents = [os.urandom(size) for _ in range(20)]

    async def race() -> list[Any]:
        return await asyncio.gather(
            *(r2.bucket.put("k", content, conditions=IF_ABSENT) for content in contents)
        )

    outcomes = r2.run(race())
    (winner,) = [index for index, found in enumerate(outcomes) if found is not None]
    assert r2.read("k") == contents[winner]
    assert len(r2.blobs()) == (1 if size > 32_768 else 0)


def test_a_body_is_not_read_when_the_conditions_fail_beforehand(r2: Any) -> None:
    async def unread() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    assert r2.put("k", unread(), length=5, conditions=IF_PRESENT) is None


def test_an_object_that_appears_while_the_body_comes_in_counts(r2: Any) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b"x" * 50_000
        await r2.bucket.put("k", b"first")
        yield b"x" * 50_000

    assert r2.put("k", slow(), length=100_000, conditions=IF_ABSENT) is None
    assert r2.read("k") == b"first"
    assert r2.blobs() == []
