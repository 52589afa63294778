"""Conditions and ranges as Workers give them."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.emulator.env.r2.conftest import Bucket


async def text(found: Any) -> str:
    return await found.text()  # type: ignore[no-any-return]


def test_a_failed_condition_gives_the_object_without_a_body(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        written = await b.put("k", "hello")
        found = await b.get("k", {"onlyIf": {"etagDoesNotMatch": written.etag}})
        return found.size, hasattr(found, "body"), await b.get("x", onlyIf={"etagMatches": "x"})

    assert bucket(program) == (5, False, None)


@pytest.mark.parametrize("as_headers", [False, True])
def test_create_if_absent_and_replace_if_present(bucket: Bucket, as_headers: bool) -> None:
    def condition(name: str) -> Any:
        import js

        if not as_headers:
            return {name: "*"}
        header = {"etagMatches": "If-Match", "etagDoesNotMatch": "If-None-Match"}[name]
        return js.Headers.new({header: "*"}.items())

    async def program(b: Any) -> Any:
        outcomes = [
            await b.put("k", "1", {"onlyIf": condition("etagMatches")}),
            await b.put("k", "2", {"onlyIf": condition("etagDoesNotMatch")}),
            await b.put("k", "3", {"onlyIf": condition("etagDoesNotMatch")}),
            await b.put("k", "4", {"onlyIf": condition("etagMatches")}),
        ]
        return [each is not None for each in outcomes], await text(await b.get("k"))

    assert bucket(program) == ([False, True, False, True], "4")


def test_dates_are_conditions(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        await b.put("k", "x")
        uploaded = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        second = datetime.timedelta(seconds=1)
        conditions = [
            {"uploadedBefore": uploaded},
            {"uploadedBefore": uploaded + second},
            {"uploadedAfter": uploaded},
            {"uploadedAfter": uploaded - second},
        ]
        return [hasattr(await b.get("k", onlyIf=each), "body") for each in conditions]

    assert bucket(program) == [False, True, False, True]


def test_dates_in_headers_are_compared_by_the_second_and_unreadable_ones_are_the_epoch(
    bucket: Bucket,
) -> None:
    async def program(b: Any) -> Any:
        import js

        await b.put("k", "x")
        headers = [
            {"If-Modified-Since": "Wed, 31 Dec 2025 23:59:59 GMT"},
            {"If-Modified-Since": "Thu, 01 Jan 2026 00:00:00 GMT"},
            {"If-Unmodified-Since": "Thu, 01 Jan 2026 00:00:00 GMT"},
            {"If-Modified-Since": "gibberish"},
            {"If-Unmodified-Since": "gibberish"},
        ]
        return [
            hasattr(await b.get("k", onlyIf=js.Headers.new(each.items())), "body")
            for each in headers
        ]

    assert bucket(program) == [True, False, False, True, False]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-0", "0"),
        ("bytes=3-", "3456789"),
        ("bytes=-4", "6789"),
        ("bytes=-50", "0123456789"),
        ("bytes=8-99", "89"),
        ("bytes=5-2", "0123456789"),
        ("bytes=0-1,4-5", "0123456789"),
        ("items=0-1", "0123456789"),
    ],
)
def test_range_headers(bucket: Bucket, header: str, expected: str) -> None:
    async def program(b: Any) -> Any:
        import js

        await b.put("k", "0123456789")
        found = await b.get("k", {"range": js.Headers.new({"Range": header}.items())})
        assert found.size == 10
        assert found.range["length"] == len(expected)
        return await found.text()

    assert bucket(program) == expected


def test_a_range_behind_the_end_is_refused(bucket: Bucket) -> None:
    async def program(b: Any) -> Any:
        import js

        await b.put("k", "0123456789")
        await b.get("k", {"range": js.Headers.new({"Range": "bytes=10-"}.items())})

    assert bucket.failure(program) == (
        "Error",
        "get: The requested range is not satisfiable (10039)",
    )
