"""``_headers``: which lines count, and what they do to an answer."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare.assets.header_rules import parse_headers


def applied(text: str, path: str = "/a", host: str = "site.test") -> list[tuple[str, str]]:
    return parse_headers(text).apply(host, path, [("etag", "t"), ("cache-control", "built-in")])


def added(text: str, path: str = "/a", host: str = "site.test") -> dict[str, str]:
    built_in = {"etag": "t", "cache-control": "built-in"}
    return {key: value for key, value in applied(text, path, host) if built_in.get(key) != value}


@pytest.mark.parametrize(
    ("address", "path", "host", "matches"),
    [
        ("/a", "/a", "site.test", True),
        ("/a", "/a/", "site.test", False),
        ("/a", "/ab", "site.test", False),
        ("/*", "/", "site.test", True),
        ("/a/*", "/a/b/c", "site.test", True),
        ("/a/*", "/a", "site.test", False),
        ("/*.css", "/x/y.css", "site.test", True),
        ("/:page/edit", "/one/edit", "site.test", True),
        ("/:page/edit", "/one/two/edit", "site.test", False),
        ("https://site.test/*", "/a", "site.test", True),
        ("https://site.test/*", "/a", "other.test", False),
        ("https://site.test", "/", "site.test", True),
        ("https://:sub.test/*", "/a", "site.test", True),
        ("https://:sub.test/*", "/a", "a.site.test", False),
        ("/café", "/caf%C3%A9", "site.test", True),
        ("/a.b", "/axb", "site.test", False),
    ],
)
def test_which_requests_an_address_means(address: str, path: str, host: str, matches: bool) -> None:
    assert added(f"{address}\n  X-Rule: yes", path, host) == ({"x-rule": "yes"} if matches else {})


def test_a_rule_takes_the_place_of_what_was_there_and_later_ones_add_to_it() -> None:
    text = "/*\n  Cache-Control: one\n/a\n  Cache-Control: two\n"

    assert applied(text) == [("etag", "t"), ("cache-control", "one, two")]


def test_one_rule_may_name_a_header_twice() -> None:
    assert added("/*\n  X-A: 1\n  X-A: 2") == {"x-a": "1, 2"}


def test_a_header_can_be_removed_and_set_again() -> None:
    assert applied("/*\n  ! ETag\n  ! Cache-Control\n/a\n  ETag: mine") == [("etag", "mine")]


def test_splats_and_placeholders_are_filled_in() -> None:
    text = "/:kind/*\n  X-Seen: :kind, :splat, :other\n"

    assert added(text, "/blog/a/b") == {"x-seen": "blog, a/b, :other"}


def test_a_longer_placeholder_is_not_taken_for_a_shorter_one() -> None:
    assert added("/:id/:id_2\n  X: :id_2 :id", "/a/b") == {"x": "b a"}


def test_values_may_hold_colons_and_comments_are_left_out() -> None:
    text = "# all\n/*\n  # more\n  Link: <https://a.test>; rel=preload\n"

    assert added(text) == {"link": "<https://a.test>; rel=preload"}


@pytest.mark.parametrize(
    ("text", "problem", "number"),
    [
        ("  X-A: 1", "Path should come before header (x-a: 1)", 1),
        ("what", "Expected a path beginning with at least one forward-slash", 1),
        ("/a\n  X-A", "Expected a colon-separated header pair (e.g. name: value)", 2),
        ("/a\n  X A: 1", "Header name cannot include spaces", 2),
        ("/a\n  : 1", "No header name specified", 2),
        ("/a\n  X-A:", "No header value specified", 2),
        ("/a\n/b\n  X-A: 1", "No headers specified", 1),
        ("/a/*/b/*\n  X-A: 1", "Only one splat (*) is allowed in a rule.", 1),
        ("/:a/:a\n  X-A: 1", "A placeholder may be used only once in a rule.", 1),
        (
            "https://a.test:8080/\n  X-A: 1",
            "Specifying ports is not supported. Skipping absolute URL https://a.test:8080/.",
            1,
        ),
        (
            "http://a.test/\n  X-A: 1",
            "URLs should either be relative (e.g. begin with a forward-slash), or use HTTPS "
            '(e.g. begin with "https://").',
            1,
        ),
        ("/a\n  X\u00e9: 1", "'x\u00e9' is not the name of a header", 2),
    ],
)
def test_a_line_that_does_not_count_is_told(text: str, problem: str, number: int) -> None:
    rules = parse_headers(text)

    assert (rules.complaints[0].problem, rules.complaints[0].number) == (problem, number)


def test_a_line_that_is_too_long_is_left_out() -> None:
    rules = parse_headers(f"/a\n  X-A: {'x' * 2000}\n  X-B: 1")

    assert rules.complaints[0].problem.startswith("Ignoring line 2 as it exceeds")
    assert rules.apply("h", "/a", []) == [("x-b", "1")]


def test_a_hundred_rules_count() -> None:
    rules = parse_headers("".join(f"/{index}\n  X-A: 1\n" for index in range(103)))

    assert len(rules) == 100
    assert rules.complaints[0].problem == (
        "Maximum number of rules supported is 100. Skipping remaining 7 lines of file."
    )


def test_rules_apply_to_every_answer_of_the_assets(make: Any) -> None:
    files = {
        "_headers": "/*\n  X-A: 1\n  ! Cache-Control\n",
        "_redirects": "/old /new\n",
        "a.txt": "x",
        "b.html": "x",
    }
    assets = make(files)
    tag = assets.answer("/a.txt").get("etag")

    answers = [
        assets.get("/a.txt"),
        assets.get("/a.txt", If_None_Match=tag),
        assets.get("/b.html"),
        assets.get("/old"),
        assets.get("/missing"),
        assets.get("/a.txt", "POST"),
    ]

    assert [each.status for each in answers] == [200, 304, 307, 302, 404, 405]
    assert {each.get("x-a") for each in answers} == {"1"}
    assert {each.get("cache-control") for each in answers} == {None}


def test_rules_see_the_address_that_was_asked_for(make: Any) -> None:
    files = {"_headers": "/b\n  X-A: 1\n", "_redirects": "/a /b 200\n", "b.html": "x"}
    assets = make(files)

    assert assets.get("/a").get("x-a") is None
    assert assets.get("/b").get("x-a") == "1"


def test_a_changed_file_of_rules_counts_at_once(make: Any) -> None:
    assets = make({"_headers": "/*\n  X-A: 1\n", "a.txt": ""})
    assert assets.get("/a.txt").get("x-a") == "1"
    assets.write("_headers", "/*\n  X-A: 22\n")
    assert assets.get("/a.txt").get("x-a") == "22"
    (assets.root / "_headers").unlink()

    assert assets.get("/a.txt").get("x-a") is None


def test_the_log_is_told_what_counts_and_what_does_not(make: Any) -> None:
    assets = make({"_headers": "/a\n  X-A: 1\n/b\n  Nonsense\n", "_redirects": "/a /b\n", "a": ""})
    assets.get("/a")
    assets.get("/a")

    assert assets.log.said == ["✨ Parsed 1 valid header rule.", "✨ Parsed 1 valid redirect rule."]
    assert assets.log.warned == [
        "Found 2 invalid header rules:\n"
        "▶︎ Expected a colon-separated header pair (e.g. name: value)\n"
        "    at _headers:4 | Nonsense\n"
        "▶︎ No headers specified\n"
        "    at _headers:3 | /b"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "/a\n  X-A: 1\n/b\n  X-B: 1\n/a\n  X-C: 1",
        "/sp ace/*\n  X-A: 1\n/sp%20ace/*\n  X-C: 1",
        "/a\n  X-A: 1\n/a\n  X-B: 1\n/a\n  X-C: 1",
    ],
)
def test_of_an_address_that_stands_twice_the_last_block_counts(text: str) -> None:
    path = "/sp%20ace/x" if "ace" in text else "/a"

    assert added(text, path) == {"x-c": "1"}
    (first, *_) = parse_headers(text).complaints
    assert first.problem == "This address stands again further down, and only its last block counts"
    assert first.number == 1


def test_a_block_without_headers_takes_no_other_s_place() -> None:
    assert added("/a\n  X-A: 1\n/a\n") == {"x-a": "1"}


def test_a_block_keeps_the_place_of_the_first_one_of_its_address() -> None:
    assert added("/a\n  X-A: 1\n/*\n  X-A: 2\n/a\n  X-A: 3") == {"x-a": "3, 2"}


@pytest.mark.parametrize("name", ["Content-Length", "Transfer-Encoding", "Connection"])
def test_headers_of_the_connection_do_not_count(name: str) -> None:
    rules = parse_headers(f"/*\n  {name}: 3\n  X-A: 1")
    assert rules.apply("site.test", "/a", []) == [("x-a", "1")]
    (complaint,) = rules.complaints
    assert complaint.problem.endswith("is a header of the connection, which the server sets")
