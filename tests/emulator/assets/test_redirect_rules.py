"""``_redirects``: which lines count, and where they lead."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare.assets.redirect_rules import parse_redirects


def rules(text: str, html_handling: str = "auto-trailing-slash") -> Any:
    return parse_redirects(text, html_handling)


@pytest.mark.parametrize(
    ("line", "path", "status", "location"),
    [
        ("/a /b", "/a", 302, "/b"),
        ("/a /b 301", "/a", 301, "/b"),
        ("/a /b 303", "/a", 303, "/b"),
        ("/a /b 307", "/a", 307, "/b"),
        ("/a\t/b   308", "/a", 308, "/b"),
        ("/a /b # why", "/a", 302, "/b"),
        ("/a /b 301 # why", "/a", 301, "/b"),
        ("/a /b#part", "/a", 302, "/b#part"),
        ("a /b", "/a", 302, "/b"),
        ("/a /b", "/a?x=1", 302, "/b?x=1"),
        ("/a /b?y=2", "/a?x=1", 302, "/b?y=2"),
        ("/a /b#part", "/a?x=1", 302, "/b?x=1#part"),
        ("/a /b/../c", "/a", 302, "/c"),
        ("/a https://other.test/b", "/a?x=1", 302, "https://other.test/b?x=1"),
        ("/a https://other.test:8443/b", "/a", 302, "https://other.test:8443/b"),
        ("/go https://books.example.com/a 302", "/go", 302, "https://books.example.com/a"),
        ("/s/* /n/:splat 301", "/s/one/two", 301, "/n/one/two"),
        ("/s/* /n/:splat 301", "/s/", 301, "/n/"),
        ("/p/:x/:y /q/:y?z=:x", "/p/one/two", 302, "/q/two?z=one"),
        ("/p/:x/:y /q/:unknown", "/p/one/two", 302, "/q/:unknown"),
        ("/u/* https://other.test/:splat", "/u/a//b", 302, "https://other.test/a//b"),
        ("/s/* /:splat", "/s//evil.test/", 302, "/evil.test/"),
        ("/s/* /:splat", "/s/%2Fevil.test/", 302, "/%2Fevil.test/"),
        ("/caf\u00e9 /b", "/caf%C3%A9", 302, "/b"),
    ],
)
def test_where_a_rule_leads(make: Any, line: str, path: str, status: int, location: str) -> None:
    got = make({"_redirects": f"{line}\n"}).answer(path)

    assert (got.status, got.location) == (status, location)


def test_a_target_on_the_same_host_by_another_scheme_keeps_its_origin(make: Any) -> None:
    got = make({"_redirects": "/a https://site.test/b\n"}).answer("/a")

    assert got.location == "https://site.test/b"


@pytest.mark.parametrize(
    ("path", "matches"), [("/p/one", False), ("/p/one/", False), ("/p/one/two/three", False)]
)
def test_a_placeholder_is_one_segment(make: Any, path: str, matches: bool) -> None:
    assert (make({"_redirects": "/p/:x/:y /q\n"}).answer(path) is not None) is matches


def test_rules_come_before_files(make: Any) -> None:
    assert make({"_redirects": "/a.txt /b\n", "a.txt": "x"}).answer("/a.txt").location == "/b"


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_rules_count_for_every_method(make: Any, method: str) -> None:
    assert make({"_redirects": "/a /b 307\n"}).answer("/a", method).status == 307


def test_exact_rules_above_the_first_pattern_win_and_the_rest_count_in_order(make: Any) -> None:
    text = "/x /first\n/y/* /pattern\n/y/z /below\n/x2 /below\n"
    assets = make({"_redirects": text})

    assert assets.answer("/x").location == "/first"
    assert assets.answer("/y/z").location == "/pattern"
    assert assets.answer("/x2").location == "/below"


def test_a_rewrite_answers_with_the_other_file(make: Any) -> None:
    assets = make({"_redirects": "/u/* /user 200\n/d /nothing 200\n", "user.html": "a user"})

    got = assets.answer("/u/7?x=1")

    assert (got.status, got.body, got.location) == (200, b"a user", None)
    assert assets.answer("/d").status == 404


def test_a_loop_ends_at_the_browser(make: Any) -> None:
    assets = make({"_redirects": "/loop /loop2\n/loop2 /loop\n"})

    assert assets.answer("/loop").location == "/loop2"
    assert assets.answer("/loop2").location == "/loop"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("/a", "Expected exactly 2 or 3 whitespace-separated tokens. Got 1."),
        ("/a /b 301 more", "Expected exactly 2 or 3 whitespace-separated tokens. Got 4."),
        ("/a # comment", "URLs should either be relative"),
        ("https://site.test/a /b", "Only relative URLs are allowed. Skipping absolute URL"),
        ("/a http://other.test/", "URLs should either be relative"),
        ("/a b", "URLs should either be relative"),
        ("/a /b 404", "Valid status codes are 200, 301, 302 (default), 303, 307, or 308. Got 404."),
        (
            "/a /b soon",
            "Valid status codes are 200, 301, 302 (default), 303, 307, or 308. Got soon.",
        ),
        ("/a https://other.test/ 200", "Proxy (200) redirects can only point to relative paths."),
        ("/* /index.html 200", "Infinite loop detected in this rule and has been ignored."),
        ("/* /index", "Infinite loop detected in this rule and has been ignored."),
        ("/app/* /app/index.html 200", "Infinite loop detected"),
        ("/ /index.html", "Infinite loop detected"),
        ("/a/*/b/* /c", "Only one splat"),
    ],
)
def test_a_line_that_does_not_count_is_told_and_the_others_apply(line: str, problem: str) -> None:
    found = rules(f"/first /1\n{line}\n/last /2\n")

    assert [(each.number, each.line) for each in found.complaints] == [(2, line)]
    assert found.complaints[0].problem.startswith(problem)
    assert found.match("h", "/first").to == "/1"
    assert found.match("h", "/last").to == "/2"


def test_without_html_handling_the_root_may_lead_to_its_index() -> None:
    assert len(rules("/ /index.html\n", "none")) == 1


def test_a_path_that_was_named_before_is_left_out() -> None:
    found = rules("/a /1\n/a /2\n/b/* /3\n/b/* /4\n")

    assert [each.problem for each in found.complaints] == [
        "Ignoring duplicate rule for path /a.",
        "Ignoring duplicate rule for path /b/*.",
    ]
    assert found.match("h", "/a").to == "/1"


def test_two_thousand_exact_rules_count() -> None:
    found = rules("".join(f"/{index} /x\n" for index in range(2001)) + "/p/* /y\n")

    assert len(found) == 2001
    assert found.match("h", "/2000") is None
    assert found.match("h", "/p/x").to == "/y"
    assert found.complaints[0].problem == (
        "Maximum number of static rules supported is 2000. Skipping line."
    )


def test_a_hundred_patterns_count() -> None:
    found = rules("".join(f"/{index}/* /x\n" for index in range(105)))

    assert len(found) == 100
    assert found.complaints[0].problem == (
        "Maximum number of dynamic rules supported is 100. Skipping remaining 6 lines of file."
    )


def test_a_line_that_is_too_long_is_left_out() -> None:
    found = rules(f"/a /{'x' * 2000}\n/b /c\n")

    assert found.complaints[0].problem.startswith("Ignoring line 1 as it exceeds")
    assert len(found) == 1
