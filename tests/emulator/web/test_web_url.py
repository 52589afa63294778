"""URL and URLSearchParams."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.js.array import JsArray
from pyflare.js.error import JsException
from pyflare.js.searchparams import URLSearchParams
from pyflare.js.url import URL, _parse_with_ada, parse
from pyflare.js.value import JsObject, jsnull

PARTS = (
    "href",
    "origin",
    "protocol",
    "username",
    "password",
    "host",
    "hostname",
    "port",
    "pathname",
    "search",
    "hash",
)


def parts(url: URL) -> dict[str, str]:
    return {part: getattr(url, part) for part in PARTS}


def test_the_parts_of_a_url() -> None:
    url = URL.new("https://us%20er:pass@Example.com:8443/a/./b/../c%20d?x=1&y=é#frag")
    assert parts(url) == {
        "href": "https://us%20er:pass@example.com:8443/a/c%20d?x=1&y=%C3%A9#frag",
        "origin": "https://example.com:8443",
        "protocol": "https:",
        "username": "us%20er",
        "password": "pass",
        "host": "example.com:8443",
        "hostname": "example.com",
        "port": "8443",
        "pathname": "/a/c%20d",
        "search": "?x=1&y=%C3%A9",
        "hash": "#frag",
    }


@pytest.mark.parametrize(
    ("text", "base", "href"),
    [
        ("b", "http://h/a/c", "http://h/a/b"),
        ("/b?x", "http://h/a/c?y", "http://h/b?x"),
        ("//k/b", "https://h/a", "https://k/b"),
        ("http://other/", "https://h/a", "http://other/"),
        ("HTTP://H:80", None, "http://h/"),
        ("http://münchen.de/ä", None, "http://xn--mnchen-3ya.de/%C3%A4"),
        ("http://1.2.3/", None, "http://1.2.0.3/"),
        ("http://[::1]:80/", None, "http://[::1]/"),
        ("  http://h/ ", None, "http://h/"),
        ("mailto:a@b", None, "mailto:a@b"),
    ],
)
def test_parsing(text: str, base: str | None, href: str) -> None:
    assert URL.new(text, base).href == href


@pytest.mark.parametrize("text", ["", "/a", "http://", "http://a b/", "http://h:99999/"])
def test_what_is_no_url(text: str) -> None:
    with pytest.raises(JsException) as caught:
        URL.new(text)
    assert str(caught.value) == "TypeError: Invalid URL string."
    assert URL.canParse(text) is False
    assert URL.parse(text) is jsnull


@pytest.mark.parametrize(
    ("part", "value", "href"),
    [
        ("protocol", "http", "http://h.com:81/p?q#f"),
        ("hostname", "other.org", "https://other.org:81/p?q#f"),
        ("host", "k:82", "https://k:82/p?q#f"),
        ("port", "443", "https://h.com/p?q#f"),
        ("pathname", "a b", "https://h.com:81/a%20b?q#f"),
        ("search", "x=1", "https://h.com:81/p?x=1#f"),
        ("search", "", "https://h.com:81/p#f"),
        ("hash", "g", "https://h.com:81/p?q#g"),
        ("username", "u", "https://u@h.com:81/p?q#f"),
        ("password", "s", "https://:s@h.com:81/p?q#f"),
        ("href", "http://new/", "http://new/"),
        ("port", "nonsense", "https://h.com:81/p?q#f"),
        ("hostname", "", "https://h.com:81/p?q#f"),
    ],
)
def test_every_part_can_be_set_and_impossible_values_are_ignored(
    part: str, value: str, href: str
) -> None:
    url = URL.new("https://h.com:81/p?q#f")
    setattr(url, part, value)
    assert url.href == href


def test_an_impossible_href_is_refused() -> None:
    with pytest.raises(JsException) as caught:
        URL.new("http://h/").href = "nonsense"
    assert str(caught.value) == "TypeError: Invalid URL string."


def test_the_search_parameters_are_live_both_ways() -> None:
    url = URL.new("http://h/?a=1")
    params = url.searchParams
    params.set("b", "2 3")
    assert url.href == "http://h/?a=1&b=2+3"
    url.search = "?c=4"
    assert list(params.keys()) == ["c"]
    url.href = "http://h/?d=5"
    assert params.get("d") == "5"
    params.delete("d")
    assert url.href == "http://h/"
    assert url.searchParams is params


def test_a_url_as_text() -> None:
    url = URL.new("http://h/")
    assert (str(url), url.toString(), url.toJSON()) == ("http://h/",) * 3


@pytest.mark.parametrize("name", ["createObjectURL", "revokeObjectURL"])
def test_object_urls_are_not_there(name: str) -> None:
    with pytest.raises(JsException) as caught:
        getattr(URL, name)("x")
    assert str(caught.value) == f"Error: URL.{name}() is not implemented"


HOSTS = ["a", "b.c", "localhost", "127.0.0.1", "1.2", "xn--x", "-", "0x7f", "256.1.1.1", "[", "é"]
PATHS = ["/", "//", ".", "..", "%2e", "%41", "%", "?", "#", "&", "=", "'", "|", "^", " ", "\\"]
PORTS = [":80", ":443", ":8080", ":0", ":65536", "@"]
PIECES = st.sampled_from([*HOSTS, *PATHS, *PORTS])


@given(st.sampled_from(["http://", "https://", "HTTP://"]), st.lists(PIECES, max_size=7))
def test_the_fast_path_agrees_with_the_full_parser(scheme: str, pieces: list[str]) -> None:
    text = scheme + "".join(pieces)
    assert parse(text) == _parse_with_ada(text, None)


@pytest.mark.parametrize(
    "init",
    [
        "?a=1&b=2",
        "a=1&b=2",
        [("a", "1"), ("b", "2")],
        {"a": 1, "b": 2}.items(),
        JsObject.adopt({"a": "1", "b": "2"}),
        JsArray.adopt([JsArray.adopt(["a", "1"]), JsArray.adopt(["b", "2"])]),
        URLSearchParams.new("a=1&b=2"),
    ],
)
def test_every_form_of_parameters(init: Any) -> None:
    assert [list(pair) for pair in URLSearchParams.new(init).entries()] == [["a", "1"], ["b", "2"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a=b+c%20d", [("a", "b c d")]),
        ("a", [("a", "")]),
        ("=b&&c=", [("", "b"), ("c", "")]),
        ("a=%", [("a", "%")]),
        ("a=%zz%4", [("a", "%zz%4")]),
        ("a=%E9", [("a", "\ufffd")]),
        ("a=%C3%A9&é=1", [("a", "é"), ("é", "1")]),
        ("a=b=c", [("a", "b=c")]),
    ],
)
def test_decoding(query: str, expected: list[tuple[str, str]]) -> None:
    assert [tuple(pair) for pair in URLSearchParams.new(query).entries()] == expected


def test_encoding() -> None:
    params = URLSearchParams.new([("a b", "é~*-._"), ("c", "1&2=3+4'")])
    assert params.toString() == "a+b=%C3%A9%7E*-._&c=1%262%3D3%2B4%27"


def test_reading_and_changing_parameters() -> None:
    params = URLSearchParams.new("a=1&b=2&a=3")
    assert (params.get("a"), params.get("x"), list(params.getAll("a")), params.size) == (
        "1",
        jsnull,
        ["1", "3"],
        3,
    )
    assert "a" in params
    assert "x" not in params
    assert (params.has("a", "3"), params.has("a", "2")) == (True, False)
    params.set("a", "9")
    assert params.toString() == "a=9&b=2"
    params.append("a", "8")
    params.delete("a", "9")
    assert params.toString() == "b=2&a=8"
    params.delete("b")
    params["c"] = "1"
    assert params["c"] == "1"
    params.delete("c")
    assert params["c"] is jsnull
    assert list(params.values()) == ["8"]


def test_sorting_is_by_utf16_units_and_keeps_equal_names_in_order() -> None:
    params = URLSearchParams.new([("\uffff", "1"), ("😀", "2"), ("a", "x"), ("a", "b")])
    params.sort()
    assert [tuple(pair) for pair in params.entries()] == [
        ("a", "x"),
        ("a", "b"),
        ("😀", "2"),
        ("\uffff", "1"),
    ]


def test_entries_that_are_no_pairs_are_refused() -> None:
    with pytest.raises(JsException) as caught:
        URLSearchParams.new([["a"]])
    assert str(caught.value) == "TypeError: Invalid URL search params sequence."


@given(st.lists(st.tuples(st.text(), st.text())))
def test_what_is_encoded_is_decoded_again(pairs: list[tuple[str, str]]) -> None:
    params = URLSearchParams.new(pairs)
    again = URLSearchParams.new("?" + params.toString())
    assert [list(pair) for pair in again.entries()] == [list(pair) for pair in params.entries()]
