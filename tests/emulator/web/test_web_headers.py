"""Headers: names, values, order, guards."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.collections import JsMap
from pyflare.js.error import JsException
from pyflare.js.headers import Headers
from pyflare.js.value import JsObject, jsnull

UNEQUAL = "To initialize a Headers object from a sequence, each inner sequence must have exactly two elements."


def pairs(headers: Headers) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers]


@pytest.mark.parametrize(
    "init",
    [
        [("X-B", "2"), ("x-a", "1")],
        JsMap.new([["X-B", "2"], ["x-a", "1"]]),
        {"X-B": "2", "x-a": "1"}.items(),
        [["X-B", "2"], ["x-a", "1"]],
        JsArray.adopt([JsArray.adopt(["X-B", "2"]), JsArray.adopt(["x-a", "1"])]),
        JsObject.adopt({"X-B": "2", "x-a": "1"}),
        Headers.new({"X-B": "2", "x-a": "1"}.items()),
    ],
    ids=["tuples", "map", "items", "lists", "arrays", "object", "headers"],
)
def test_every_form_of_init_gives_lower_case_names_in_sorted_order(init: Any) -> None:
    assert pairs(Headers.new(init)) == [("x-a", "1"), ("x-b", "2")]


def test_keywords_are_an_init_object() -> None:
    assert pairs(Headers.new(accept="*/*")) == [("accept", "*/*")]


def test_copying_leaves_the_original_alone() -> None:
    first = Headers.new({"a": "1"}.items())
    Headers.new(first).set("a", "2")
    assert first.get("a") == "1"


def test_a_repeated_name_is_joined_by_comma_and_space() -> None:
    headers = Headers.new([("Vary", "a"), ("vary", "b")])
    headers.append("VARY", "c")
    assert headers.get("vary") == "a, b, c"


def test_set_cookie_values_stay_apart_everywhere() -> None:
    headers = Headers.new([("Set-Cookie", "a=1"), ("x", "y"), ("set-cookie", "b=2, c")])
    assert list(headers.getSetCookie()) == ["a=1", "b=2, c"]
    assert list(headers.getAll("Set-Cookie")) == ["a=1", "b=2, c"]
    assert pairs(headers) == [("set-cookie", "a=1"), ("set-cookie", "b=2, c"), ("x", "y")]
    assert headers.get("set-cookie") == "a=1, b=2, c"
    assert headers.wire_pairs() == [
        (b"x", b"y"),
        (b"set-cookie", b"a=1"),
        (b"set-cookie", b"b=2, c"),
    ]


def test_setting_a_cookie_replaces_all_and_deleting_removes_all() -> None:
    headers = Headers.new([("set-cookie", "a"), ("set-cookie", "b")])
    headers.set("Set-Cookie", "c")
    assert list(headers.getSetCookie()) == ["c"]
    headers.delete("set-cookie")
    assert not headers.has("set-cookie")


def test_get_all_is_for_cookies_only() -> None:
    with pytest.raises(JsException) as caught:
        Headers.new().getAll("accept")
    assert (
        str(caught.value)
        == 'TypeError: getAll() can only be used with the header name "Set-Cookie".'
    )


def test_an_absent_name_is_null() -> None:
    headers = Headers.new()
    assert headers.get("x") is jsnull
    assert headers["x"] is jsnull


def test_subscripts_read_write_and_delete() -> None:
    headers = Headers.new()
    headers["X-A"] = 1
    assert headers["x-a"] == "1"
    assert "X-a" in headers
    with pytest.raises(KeyError):
        del headers["x-A"]
    assert "x-a" not in headers


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("  a  ", "a"),
        ("\t a\r\n", "a"),
        ("a b", "a b"),
        ("", ""),
        ("a\tb", "a\tb"),
        (7, "7"),
        (True, "true"),
    ],
)
def test_values_lose_surrounding_whitespace_and_become_text(given: Any, kept: str) -> None:
    headers = Headers.new()
    headers.set("x", given)
    assert headers.get("x") == kept


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\0b"])
def test_a_value_with_a_line_break_or_nul_is_refused(value: str) -> None:
    with pytest.raises(JsException) as caught:
        Headers.new({"x": value}.items())
    assert str(caught.value) == "TypeError: Invalid header value."


@pytest.mark.parametrize("name", ["", "a b", "a:b", "ä", "a\n", "(x)"])
@pytest.mark.parametrize("operation", ["get", "has", "delete", "set", "append"])
def test_a_name_that_is_no_token_is_refused_by_every_operation(name: str, operation: str) -> None:
    headers = Headers.new()
    arguments = (name, "v") if operation in ("set", "append") else (name,)
    with pytest.raises(JsException) as caught:
        getattr(headers, operation)(*arguments)
    assert str(caught.value) == "TypeError: Invalid header name."


@pytest.mark.parametrize("init", [[("a",)], [("a", "b", "c")]])
def test_an_init_that_is_no_list_of_pairs_is_refused(init: Any) -> None:
    with pytest.raises(JsException) as caught:
        Headers.new(init)
    assert str(caught.value) == f"TypeError: {UNEQUAL}"


def test_text_beyond_ascii_travels_as_utf8_both_ways() -> None:
    headers = Headers.new({"x": "naïve ☃"}.items())
    raw = headers.wire_pairs()
    assert raw == [(b"x", "naïve ☃".encode())]
    assert Headers.from_raw(raw).get("x") == "naïve ☃"


def test_immutable_headers_refuse_every_change() -> None:
    headers = Headers.from_raw([(b"a", b"1")])
    for change in (
        lambda: headers.set("a", "2"),
        lambda: headers.append("a", "2"),
        lambda: headers.delete("a"),
        lambda: headers.__setitem__("a", "2"),
    ):
        with pytest.raises(JsException) as caught:
            change()
        assert str(caught.value) == "TypeError: Can't modify immutable headers."
    assert headers.get("a") == "1"


def test_a_copy_of_immutable_headers_can_be_changed() -> None:
    headers = Headers.new(Headers.from_raw([(b"a", b"1")]))
    headers.set("a", "2")
    assert headers.get("a") == "2"


def test_repeated_lines_of_a_request_are_joined_and_cookie_lines_by_semicolon() -> None:
    raw = [(b"x-a", b"1"), (b"cookie", b"a=1"), (b"x-a", b"2"), (b"cookie", b"b=2")]
    headers = Headers.from_raw(raw)
    assert headers.get("x-a") == "1, 2"
    assert headers.get("cookie") == "a=1; b=2"


def test_iterators_have_next_and_can_be_looped_over() -> None:
    headers = Headers.new({"b": "2", "a": "1"}.items())
    assert list(headers.keys()) == ["a", "b"]
    assert list(headers.values()) == ["1", "2"]
    entries = headers.entries()
    first = entries.next()
    assert (first.done, list(first.value)) == (False, ["a", "1"])
    assert [list(pair) for pair in entries] == [["b", "2"]]
    assert entries.next().done is True


def test_for_each_gives_value_name_and_headers() -> None:
    headers = Headers.new({"a": "1"}.items())
    seen: list[Any] = []
    headers.forEach(lambda *args: seen.append(args))
    assert seen == [("1", "a", headers)]


def test_the_constructor_is_known_by_name() -> None:
    assert Headers.new().constructor.name == "Headers"
