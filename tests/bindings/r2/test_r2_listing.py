"""Listings: order, prefixes, groups, pages and cursors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.r2 import (
    HttpMetadata,
    Limits,
    ListOptions,
    ListResult,
    ObjectOptions,
    R2Bucket,
    R2Error,
)


def fill(r2: Any, *keys: str) -> None:
    async def put_all() -> None:
        for key in keys:
            await r2.bucket.put(key, b"")

    r2.run(put_all())


def walk(r2: Any, **options: Any) -> list[ListResult]:
    pages = [r2.list(**options)]
    while pages[-1].truncated:
        pages.append(r2.list(**{**options, "cursor": pages[-1].cursor}))
    return pages


def all_keys(pages: list[ListResult]) -> list[str]:
    return [found.key for page in pages for found in page.objects]


def all_prefixes(pages: list[ListResult]) -> list[str]:
    return [prefix for page in pages for prefix in page.delimited_prefixes]


def test_keys_come_in_the_order_of_their_bytes(r2: Any) -> None:
    keys = ["b", "a", "B", "a/b", "a0", "\uffff", "😀", "é", "a\0b", "", "\x7f"]
    fill(r2, *keys)
    assert r2.keys() == sorted(keys, key=str.encode)


def test_a_prefix_selects_what_begins_with_it(r2: Any) -> None:
    fill(r2, "a", "ab", "ab\0c", "ab/", "abé", "ac", "b")
    assert r2.keys(prefix="ab") == ["ab", "ab\0c", "ab/", "abé"]
    assert r2.keys(prefix="ab\0") == ["ab\0c"]
    assert r2.keys(prefix="zzz") == []


def test_a_prefix_is_no_pattern(r2: Any) -> None:
    fill(r2, "a%b", "axb", "a_b", "a*b")
    assert r2.keys(prefix="a%") == ["a%b"]


def test_listing_starts_after_a_key_that_need_not_exist(r2: Any) -> None:
    fill(r2, "a", "b", "c")
    assert r2.keys(start_after="b") == ["c"]
    assert r2.keys(start_after="aa") == ["b", "c"]
    assert r2.keys(start_after="", prefix="b") == ["b"]


def test_keys_are_cut_behind_the_delimiter_and_folded(r2: Any) -> None:
    fill(r2, "a", "d/1", "d/2", "d/e/3", "f/", "g")
    page = r2.list(delimiter="/")
    assert [found.key for found in page.objects] == ["a", "g"]
    assert page.delimited_prefixes == ["d/", "f/"]
    inner = r2.list(delimiter="/", prefix="d/")
    assert [found.key for found in inner.objects] == ["d/1", "d/2"]
    assert inner.delimited_prefixes == ["d/e/"]


def test_a_delimiter_of_several_characters(r2: Any) -> None:
    fill(r2, "a--b--c", "a--d", "a-b")
    page = r2.list(delimiter="--")
    assert ([found.key for found in page.objects], page.delimited_prefixes) == (["a-b"], ["a--"])


def test_a_prefix_that_ends_inside_a_group_still_folds(r2: Any) -> None:
    fill(r2, "photos/1", "photos/2", "phone")
    page = r2.list(delimiter="/", prefix="pho")
    assert ([found.key for found in page.objects], page.delimited_prefixes) == (
        ["phone"],
        ["photos/"],
    )


def test_starting_inside_a_group_gives_the_group_while_it_goes_on(r2: Any) -> None:
    fill(r2, "a/1", "a/2", "b")
    assert r2.list(delimiter="/", start_after="a/1").delimited_prefixes == ["a/"]
    assert r2.list(delimiter="/", start_after="a/2").delimited_prefixes == []


@pytest.mark.parametrize("limit", [1, 2, 7, 1000])
def test_pages_give_every_key_once(r2: Any, limit: int) -> None:
    keys = [f"{n:03}" for n in range(60)]
    fill(r2, *keys)
    pages = walk(r2, limit=limit)
    assert all_keys(pages) == keys
    assert all(len(page.objects) == limit for page in pages[:-1])


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_objects_and_groups_count_together(r2: Any, limit: int) -> None:
    fill(r2, "a", "d/1", "d/2", "e", "f/1", "g/1", "g/2", "h")
    pages = walk(r2, delimiter="/", limit=limit)
    assert (all_keys(pages), all_prefixes(pages)) == (["a", "e", "h"], ["d/", "f/", "g/"])
    for page in pages[:-1]:
        assert len(page.objects) + len(page.delimited_prefixes) == limit


def test_a_full_last_page_is_not_truncated(r2: Any) -> None:
    fill(r2, "a", "b", "c/1")
    assert not r2.list(limit=3).truncated
    assert not r2.list(limit=3, delimiter="/").truncated
    assert r2.list(limit=2).truncated


def test_a_deleted_cursor_key_does_no_harm(r2: Any) -> None:
    fill(r2, "a", "b", "c")
    cursor = r2.list(limit=2).cursor
    r2.run(r2.bucket.delete("b"))
    assert r2.keys(cursor=cursor) == ["c"]


def test_what_is_put_behind_the_cursor_appears_and_what_is_put_before_it_does_not(r2: Any) -> None:
    fill(r2, "b", "d", "f")
    cursor = r2.list(limit=1).cursor
    fill(r2, "a", "c")
    assert r2.keys(cursor=cursor) == ["c", "d", "f"]


def test_a_key_that_joins_a_group_does_not_repeat_the_group(r2: Any) -> None:
    fill(r2, "a/1", "b")
    cursor = r2.list(limit=1, delimiter="/").cursor
    fill(r2, "a/2")
    page = r2.list(cursor=cursor, delimiter="/")
    assert (page.delimited_prefixes, [found.key for found in page.objects]) == ([], ["b"])


def test_the_later_of_cursor_and_start_wins(r2: Any) -> None:
    fill(r2, "a", "b", "c", "d")
    cursor = r2.list(limit=2).cursor
    assert r2.keys(cursor=cursor, start_after="a") == ["c", "d"]
    assert r2.keys(cursor=cursor, start_after="c") == ["d"]


def test_an_empty_bucket_has_one_empty_page(r2: Any) -> None:
    assert r2.list() == ListResult([], [], None)


@pytest.mark.parametrize("limit", [0, -2, 1001, 5000])
def test_a_limit_outside_of_a_thousand_is_refused(r2: Any, limit: int) -> None:
    with pytest.raises(R2Error) as caught:
        r2.list(limit=limit)
    assert (caught.value.code, str(caught.value)) == (
        10022,
        "MaxKeys params must be positive integer <= 1000.",
    )


@pytest.mark.parametrize("cursor", ["", "!!!", "YWJj", "é", "AAAAAAAAAAAA", "a" * 5000])
def test_a_foreign_cursor_is_refused(r2: Any, cursor: str) -> None:
    assert r2.code(r2.bucket.list(ListOptions(cursor=cursor))) == 10029


def test_metadata_is_there_when_it_is_asked_for(r2: Any) -> None:
    r2.put("k", b"", ObjectOptions(HttpMetadata("a/b"), {"c": "d"}))
    (bare,) = r2.list().objects
    (http,) = r2.list(include=frozenset({"httpMetadata"})).objects
    (both,) = r2.list(include=frozenset({"httpMetadata", "customMetadata"})).objects
    assert (bare.http_metadata, bare.custom_metadata) == (None, None)
    assert (http.http_metadata, http.custom_metadata) == (HttpMetadata("a/b"), None)
    assert (both.http_metadata, both.custom_metadata) == (HttpMetadata("a/b"), {"c": "d"})


def test_a_page_with_much_metadata_is_shorter(r2: Any) -> None:
    async def put_all() -> None:
        for n in range(100):
            await r2.bucket.put(f"{n:03}", b"", ObjectOptions(custom_metadata={"a": "x" * 8000}))

    r2.run(put_all())
    assert len(r2.list().objects) == 100
    pages = walk(r2, include=frozenset({"customMetadata"}))
    assert all_keys(pages) == [f"{n:03}" for n in range(100)]
    assert max(len(page.objects) for page in pages) < 40


def test_short_pages_can_be_forced(r2: Any, clock: Any) -> None:
    r2.bucket = R2Bucket("short", r2.directory / "short.sqlite", clock, limits=Limits(page_keys=3))
    keys = [str(n) for n in range(8)]
    fill(r2, *keys)
    pages = walk(r2)
    r2.run(r2.bucket.close())
    assert [len(page.objects) for page in pages] == [3, 3, 2]


def test_uploads_under_way_are_not_listed(r2: Any) -> None:
    upload = r2.run(r2.bucket.uploads.create("k"))
    r2.run(r2.bucket.uploads.upload_part("k", upload, 1, b"x"))
    assert r2.list() == ListResult([], [], None)


def test_what_is_read_for_a_page_depends_on_the_page_and_not_on_the_bucket(r2: Any) -> None:
    groups, members = 30, 100
    fill(r2, *(f"p/{g:02}/{m:03}" for g in range(groups) for m in range(members)))
    rows = 0
    read = r2.bucket._files.read

    def counting(sql: str, parameters: tuple[Any, ...] = ()) -> Any:
        nonlocal rows
        found = read(sql, parameters)
        rows += len(found)
        return found

    from pyflare_bindings.r2.listing import list_page

    options = ListOptions(prefix="p/", delimiter="/")
    page = list_page(counting, options, Limits())
    assert len(page.delimited_prefixes) == groups
    assert rows <= 2 * groups


@pytest.mark.parametrize("limit", [1, 7, 1000])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prefix": "p/"},
        {"prefix": "p/", "delimiter": "/"},
        {"delimiter": "/"},
        {"start_after": "p/0500"},
    ],
    ids=str,
)
def test_a_large_bucket_is_walked_to_its_end(
    large: Any, limit: int, options: dict[str, Any]
) -> None:
    keys: list[str] = large.all_keys
    pages = walk(large, limit=limit, **options)
    prefix, start = options.get("prefix", ""), options.get("start_after", "")
    wanted = [key for key in keys if key.startswith(prefix) and key > start]
    folded = {
        key[: key.index("/", len(prefix)) + 1]
        for key in wanted
        if "delimiter" in options and "/" in key[len(prefix) :]
    }
    alone = [key for key in wanted if not key.startswith(tuple(folded) or ("\0",))]
    assert all_keys(pages) == alone
    assert all_prefixes(pages) == sorted(folded)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """2,500 objects, a third of them below `p/`, and fifty more below `p/a/`."""
    keys = [f"{'p/' if n % 3 == 0 else ''}{n:04}" for n in range(2500)]
    keys += [f"p/a/{n}" for n in range(1, 51)]

    class Walked:
        """What `walk` needs of a bucket."""

        all_keys = sorted(keys)

        def list(self, **options: Any) -> Any:
            return runner.run(bucket.list(ListOptions(**options)))

    async def fill_it() -> None:
        for key in keys:
            await bucket.put(key, b"")

    path = tmp_path_factory.mktemp("large") / "a.sqlite"
    with asyncio.Runner() as runner:
        bucket = R2Bucket("a", path, ManualClock())
        runner.run(fill_it())
        yield Walked()
        runner.run(bucket.close())
