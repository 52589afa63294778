"""What the assets answer: headers, conditional requests, missing files, and who goes first."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import threading
from typing import Any

import pytest

from pyflare.assets.contents import FileBody

PAGES = {
    "index.html": "home",
    "404.html": "not here",
    "docs/404.html": "no such page of the docs",
    "docs/intro.html": "intro",
    "style.css": "body {}",
}


def test_a_file_is_answered_with_its_headers(make: Any) -> None:
    got = make({"style.css": "body {}"}).answer("/style.css")

    assert got.status == 200
    assert got.body == b"body {}"
    assert got.get("content-type") == "text/css; charset=utf-8"
    assert got.get("cache-control") == "public, max-age=0, must-revalidate"
    assert got.get("cf-cache-status") == "HIT"
    assert re.fullmatch(r'"[0-9a-f]{32}"', got.get("etag"))
    assert got.get("last-modified") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.html", "text/html; charset=utf-8"),
        ("a.txt", "text/plain; charset=utf-8"),
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.mjs", "text/javascript; charset=utf-8"),
        ("a.JSON", "application/json"),
        ("a.png", "image/png"),
        ("a.svg", "image/svg+xml"),
        ("a.ico", "image/vnd.microsoft.icon"),
        ("a.woff2", "font/woff2"),
        ("a.wasm", "application/wasm"),
        ("a.pdf", "application/pdf"),
        ("a.webmanifest", "application/manifest+json"),
        ("a.tar.gz", "application/gzip"),
        ("a", None),
        ("a.unknown", None),
        (".html", None),
        ("html", None),
    ],
)
def test_the_extension_decides_the_content_type(make: Any, name: str, expected: str) -> None:
    got = make({name: "x"}, html_handling="none").answer(f"/{name}")

    assert got.get("content-type") == expected


@pytest.mark.parametrize("header", ["Authorization", "Range"])
def test_a_request_with_credentials_or_a_range_is_not_told_to_cache(make: Any, header: str) -> None:
    got = make({"a.txt": "0123456789"}).answer("/a.txt", **{header: "bytes=0-1"})

    assert (got.status, got.body) == (200, b"0123456789")
    assert got.get("cache-control") is None


@pytest.mark.parametrize("form", ["{}", "W/{}"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("size", [3, 300_000])
def test_an_unchanged_file_is_not_sent_again(make: Any, form: str, method: str, size: int) -> None:
    assets = make({"a.txt": "x" * size})
    tag = assets.answer("/a.txt").get("etag")

    got = assets.answer("/a.txt", method, If_None_Match=form.format(tag))

    assert (got.status, got.body) == (304, b"")
    assert got.get("etag") == tag
    assert got.get("cache-control") == "public, max-age=0, must-revalidate"


@pytest.mark.parametrize("given", ["*", '"other"', '{}, "other"', "{}x", "w/{}", "bare"])
def test_a_condition_in_another_form_does_not_count(make: Any, given: str) -> None:
    assets = make({"a.txt": "x"})
    tag = assets.answer("/a.txt").get("etag")

    assert assets.answer("/a.txt", If_None_Match=given.format(tag)).status == 200


def test_modification_times_do_not_count(make: Any) -> None:
    got = make({"a.txt": "x"}).answer("/a.txt", If_Modified_Since="Fri, 01 Jan 2100 00:00:00 GMT")

    assert got.status == 200


def test_equal_files_have_equal_tags_and_others_do_not(make: Any) -> None:
    assets = make({"a.txt": "x", "b.txt": "x", "c.txt": "y"})
    a, b, c = (assets.answer(f"/{name}.txt").get("etag") for name in "abc")

    assert a == b != c


def test_a_large_file_is_answered_whole(make: Any) -> None:
    content = os.urandom(1_500_000)
    assets = make({"large.bin": content})

    got, again = assets.answer("/large.bin"), assets.answer("/large.bin")

    assert got.body == again.body == content
    assert got.length == len(content)
    assert got.get("etag") == again.get("etag")


def test_head_tells_the_length_and_sends_no_body(make: Any) -> None:
    got = make({"large.bin": b"x" * 300_000}).answer("/large.bin", "HEAD")

    assert (got.status, got.length, got.body) == (200, 300_000, b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "QUERY"])
def test_a_file_has_no_other_methods(make: Any, method: str) -> None:
    assets = make({"a.txt": "x"})

    got = assets.answer("/a.txt", method)

    assert (got.status, got.headers, got.body) == (405, [], b"")
    assert assets.answer("/b.txt", method) is None


@pytest.mark.parametrize(
    ("handling", "path", "status", "body"),
    [
        ("none", "/missing", 404, ""),
        ("none", "/docs/missing", 404, ""),
        ("404-page", "/missing", 404, "not here"),
        ("404-page", "/docs/missing", 404, "no such page of the docs"),
        ("404-page", "/docs/deep/missing", 404, "no such page of the docs"),
        ("404-page", "/else/missing", 404, "not here"),
        ("single-page-application", "/missing", 200, "home"),
        ("single-page-application", "/docs/missing", 200, "home"),
        ("single-page-application", "/docs/intro", 200, "intro"),
    ],
)
def test_what_a_missing_file_answers(
    make: Any, handling: str, path: str, status: int, body: str
) -> None:
    got = make(PAGES, not_found_handling=handling).get(path)

    assert (got.status, got.body.decode()) == (status, body)


@pytest.mark.parametrize("handling", ["404-page", "single-page-application"])
def test_without_its_page_a_missing_file_is_an_empty_404(make: Any, handling: str) -> None:
    got = make({"a.txt": "x"}, not_found_handling=handling).get("/missing")

    assert (got.status, got.body) == (404, b"")


def test_a_page_for_missing_files_can_be_unchanged_too(make: Any) -> None:
    assets = make(PAGES, not_found_handling="404-page")
    tag = assets.get("/missing").get("etag")

    assert assets.get("/other", If_None_Match=tag).status == 304


# Who answers: the Worker (None) or the assets.

NAVIGATE = {"Sec_Fetch_Mode": "navigate"}


@pytest.mark.parametrize(
    ("settings", "path", "headers", "status"),
    [
        ({}, "/style.css", {}, 200),
        ({}, "/api", {}, None),
        ({"not_found_handling": "404-page"}, "/api", {}, None),
        ({"not_found_handling": "404-page"}, "/api", NAVIGATE, 404),
        ({"not_found_handling": "single-page-application"}, "/api", {}, None),
        ({"not_found_handling": "single-page-application"}, "/api", NAVIGATE, 200),
        ({"not_found_handling": "none"}, "/api", NAVIGATE, None),
        (
            {"not_found_handling": "single-page-application", "navigation_first": False},
            "/api",
            NAVIGATE,
            None,
        ),
        ({"run_worker_first": True}, "/style.css", {}, None),
        ({"run_worker_first": True}, "/", NAVIGATE, None),
        ({"run_worker_first": ("/api/*",)}, "/style.css", {}, 200),
        ({"run_worker_first": ("/api/*",)}, "/api/x", {}, None),
        ({"run_worker_first": ("/api/*",)}, "/api", {}, None),
        ({"run_worker_first": ("/*", "!/style.css")}, "/style.css", {}, 200),
        ({"run_worker_first": ("/*", "!/style.css")}, "/", {}, None),
        ({"run_worker_first": ("/*", "!/nothing/*")}, "/nothing/x", {}, 404),
        ({"run_worker_first": ("/*.css",)}, "/style.css", {}, None),
        ({"run_worker_first": ("/style.css",)}, "/style.cssx", {}, None),
        ({"run_worker_first": ("/sty.e.css",)}, "/style.css", {}, 200),
        # A list of patterns makes the page for missing files count for every request it leaves to the assets.
        (
            {"run_worker_first": ("/api/*",), "not_found_handling": "single-page-application"},
            "/profile",
            {},
            200,
        ),
        (
            {"run_worker_first": ("/api/*",), "not_found_handling": "404-page"},
            "/profile",
            {},
            404,
        ),
    ],
)
def test_who_answers_first(
    make: Any, settings: dict[str, Any], path: str, headers: dict[str, str], status: int | None
) -> None:
    got = make(PAGES, **settings).answer(path, **headers)

    assert (got and got.status) == status


def test_a_form_posted_to_a_single_page_application_is_refused(make: Any) -> None:
    assets = make(PAGES, not_found_handling="single-page-application")

    assert assets.answer("/form", "POST", **NAVIGATE).status == 405
    assert assets.answer("/form", "POST") is None


def test_without_a_worker_the_assets_answer_everything(make: Any) -> None:
    assets = make(PAGES, has_worker=False)

    assert assets.answer("/style.css").status == 200
    assert assets.answer("/api").status == 404
    assert assets.answer("/style.css", "POST").status == 405


# Addresses in other forms than the proper one.


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("//a.txt", "/a.txt"),
        ("/docs//b.txt", "/docs/b.txt"),
        ("///docs///b.txt?q=1", "/docs/b.txt?q=1"),
        ("/a@b.txt", "/a%40b.txt"),
        ("/%61.txt", "/a.txt"),
        ("/docs%2Fb.txt", "/docs/b.txt"),
        ("/caf%C3%A9.txt".lower(), "/caf%C3%A9.txt"),
        ("/[x].txt", "/%5Bx%5D.txt"),
        ("/a+b.txt", "/a%2Bb.txt"),
    ],
)
def test_an_address_in_another_form_leads_to_the_proper_one(
    make: Any, path: str, location: str
) -> None:
    assets = make(
        {"a.txt": "", "docs/b.txt": "", "a@b.txt": "", "café.txt": "", "[x].txt": "", "a+b.txt": ""}
    )

    got = assets.answer(path)

    assert (got.status, got.location) == (307, location)
    assert assets.answer(location).status == 200


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("it's (a) ~file!*.txt", "/it's%20(a)%20~file!*.txt"),
        ("100%.txt", "/100%25.txt"),
        ("%5Bx%5D.txt", "/%255Bx%255D.txt"),
        ("?.txt", "/%3F.txt"),
        ("日本.txt", "/%E6%97%A5%E6%9C%AC.txt"),
        ("back\\slash.txt", "/back%5Cslash.txt"),
    ],
)
def test_a_file_with_an_odd_name_has_one_address(make: Any, name: str, path: str) -> None:
    got = make({name: "found"}).answer(path)

    assert (got.status, got.body) == (200, b"found")


@pytest.mark.parametrize(
    "path", ["/%zz", "/%", "/a%2", "/%ff%fe", "/%00", "/a.txt%00", "/a.txt%20"]
)
def test_an_address_that_cannot_be_decoded_is_no_file(make: Any, path: str) -> None:
    assert make({"a.txt": "x"}).answer(path) is None


# What is on disk counts at each request.


def test_a_changed_file_is_answered_afresh(make: Any) -> None:
    assets = make({"a.txt": "before"})
    before = assets.answer("/a.txt")
    assets.write("a.txt", "after!")

    after = assets.answer("/a.txt", If_None_Match=before.get("etag"))

    assert (after.status, after.body) == (200, b"after!")


def test_files_that_come_and_go_are_noticed(make: Any) -> None:
    assets = make({"a.txt": "x", "deep/er/b.txt": "x"})
    assert assets.answer("/new.txt") is None
    assert assets.answer("/deep/er/new.txt") is None
    assets.write("new.txt", "new")
    assets.write("deep/er/new.txt", "newer")
    (assets.root / "a.txt").unlink()

    assert assets.answer("/new.txt").body == b"new"
    assert assets.answer("/deep/er/new.txt").body == b"newer"
    assert assets.answer("/a.txt") is None


def test_a_file_that_becomes_a_folder_is_noticed(make: Any) -> None:
    assets = make({"a": "file"})
    assert assets.answer("/a").body == b"file"
    (assets.root / "a").unlink()
    assets.write("a/index.html", "folder")

    assert assets.answer("/a").location == "/a/"
    assert assets.answer("/a/").body == b"folder"


def test_a_directory_that_disappears_has_no_files(make: Any) -> None:
    assets = make({"a.txt": "x"})
    assert assets.answer("/a.txt").status == 200
    os.rename(assets.root, assets.root.with_name("elsewhere"))

    assert assets.answer("/a.txt") is None

    os.rename(assets.root.with_name("elsewhere"), assets.root)
    assert assets.answer("/a.txt").status == 200


def test_a_file_that_is_replaced_all_the_time_is_always_answered_whole(make: Any) -> None:
    assets = make({"a.txt": "0" * 1000, "b.txt": "0" * 400_000})
    stop = threading.Event()

    def replace() -> None:
        number = 0
        while not stop.is_set():
            number = (number + 1) % 10
            for name, size in (("a.txt", 1000), ("b.txt", 400_000)):
                assets.write("new", str(number) * size)
                os.replace(assets.root / "new", assets.root / name)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        answers = [assets.get(path) for _ in range(150) for path in ("/a.txt", "/b.txt")]
    finally:
        stop.set()
        writer.join()

    for got in answers:
        assert got.status == 200
        assert set(got.body) == {got.body[0]}
        assert len(got.body) == got.length
        assert got.get("etag") == f'"{hashlib.sha256(got.body).hexdigest()[:32]}"'


def test_a_body_that_nobody_reads_to_its_end_closes_its_file(make: Any) -> None:
    assets = make({"large.bin": b"x" * 1_000_000})
    file = (assets.root / "large.bin").open("rb", buffering=0)
    body = FileBody(file, 1_000_000)

    async def leave_while_it_reads() -> None:
        reading = asyncio.create_task(body.read())
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])
        body.close()

    asyncio.run(leave_while_it_reads())
    # The loop's end waits for its threads.
    assert file.closed


def test_a_file_that_becomes_shorter_while_it_is_sent_is_an_error(make: Any) -> None:
    assets = make({"large.bin": b"x" * 600_000})
    file = (assets.root / "large.bin").open("rb", buffering=0)
    body = FileBody(file, 1_000_000)

    async def read() -> int:
        return sum([len(part) async for part in body])

    with pytest.raises(OSError, match=r"large.bin became shorter while it was sent"):
        asyncio.run(read())
    assert file.closed
