"""``String``, ``Boolean``, ``Symbol``, ``BigInt``, ``RegExp``, ``Math``, equality and the URI functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.js import uri
from pyflare.js.equality import same_value, same_value_zero, strictly_equal, to_boolean
from pyflare.js.error import JsException, SyntaxError_, URIError
from pyflare.js.math import Math
from pyflare.js.regexp import RegExp
from pyflare.js.string import Boolean, String
from pyflare.js.symbol import BigInt, Symbol
from pyflare.js.value import JsObject, jsnull

Node = Callable[..., list[Any]]
NAN = float("nan")


@pytest.mark.parametrize(
    ("left", "right", "strict", "zero", "same"),
    [
        (1, 1.0, True, True, True),
        (1, True, False, False, False),
        ("1", 1, False, False, False),
        (NAN, NAN, False, True, True),
        (0, -0.0, True, True, False),
        (None, jsnull, False, False, False),
        ([], [], False, False, False),
        ("a", "a", True, True, True),
    ],
)
def test_equalities(left: Any, right: Any, strict: bool, zero: bool, same: bool) -> None:
    results = (strictly_equal(left, right), same_value_zero(left, right), same_value(left, right))
    assert results == (strict, zero, same)


@pytest.mark.parametrize("value", [0, -0.0, NAN, "", None, jsnull, False])
def test_what_is_false(value: Any) -> None:
    assert not to_boolean(value)


@pytest.mark.parametrize("value", [1, "0", [], {}, JsObject.adopt({}), b""])
def test_what_is_true(value: Any) -> None:
    assert to_boolean(value)


def test_object_is_tells_minus_zero() -> None:
    assert not JsObject.is_(0, -0.0)


def test_conversions_by_call_and_boxes_by_new() -> None:
    assert (String(5), String(), Boolean("")) == ("5", "", False)
    boxed = String.new("añ😀")
    assert (boxed.length, boxed.valueOf(), boxed.constructor.name) == (4, "añ😀", "String")
    assert Boolean.new(1).valueOf() is True


def test_string_statics() -> None:
    assert String.fromCharCode(72, 0xD83D, 0xDE00) == "H😀"
    assert String.fromCodePoint(0x1F600) == "😀"
    assert String.raw({"raw": ["a", "b"]}, 1) == "a1b"


def test_symbols() -> None:
    symbol = Symbol("x")
    assert (symbol.typeof, str(symbol), symbol.description) == ("symbol", "Symbol(x)", "x")
    assert Symbol("x") is not symbol
    assert Symbol.for_("k") is Symbol.for_("k")
    assert Symbol.keyFor(Symbol.for_("k")) == "k"
    assert str(Symbol.iterator) == "Symbol(Symbol.iterator)"


def test_bigint_gives_an_int() -> None:
    assert [BigInt(value) for value in (5, 5.0, "0x10", " 7 ", "")] == [5, 5, 16, 7, 0]
    assert (BigInt.asIntN(8, 255), BigInt.asUintN(8, -1)) == (-1, 255)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Symbol.new(), "TypeError: Symbol is not a constructor"),
        (lambda: BigInt.new(), "TypeError: BigInt is not a constructor"),
        (
            lambda: BigInt(1.5),
            "RangeError: The number 1.5 cannot be converted to a BigInt because it is not an integer",
        ),
        (lambda: BigInt("1_0"), "SyntaxError: Cannot convert 1_0 to a BigInt"),
        (lambda: BigInt(None), "TypeError: Cannot convert undefined to a BigInt"),
        (lambda: String.fromCodePoint(-1), "RangeError: Invalid code point -1"),
        (
            lambda: RegExp.new("a", "zz"),
            "SyntaxError: Invalid flags supplied to RegExp constructor 'zz'",
        ),
    ],
)
def test_errors(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(JsException) as caught:
        call()
    assert str(caught.value) == text


def test_a_broken_pattern_is_a_syntax_error() -> None:
    with pytest.raises(SyntaxError_, match=r"Invalid regular expression: /\(/"):
        RegExp.new("(")


def test_exec_gives_the_match_and_its_groups() -> None:
    found = RegExp.new(r"(?<year>\d{4})-(\d\d)$").exec("on 2020-05")
    assert (list(found), found.index, found.input, found.groups.year) == (
        ["2020-05", "2020", "05"],
        3,
        "on 2020-05",
        "2020",
    )


def test_a_global_expression_moves_on() -> None:
    pattern = RegExp.new("a", "g")
    assert [pattern.test("aa"), pattern.lastIndex, pattern.test("aa"), pattern.test("aa")] == [
        True,
        1,
        True,
        False,
    ]


def test_exec_without_a_match_is_null() -> None:
    assert RegExp.new("x").exec("y") is jsnull


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "expected"),
    [
        (r"a$", "", "a\n", False),
        (r"a$", "m", "a\nb", True),
        (r"\d", "", "٣", False),
        (r"[\d.]+", "", "1.5", True),
        (r"\/x", "", "/x", True),
        (r"[^]", "", "\n", True),
        (r"[]", "", "x", False),
        (r"\u{1F600}", "u", "😀", True),
        (r"(?<n>a)\k<n>", "", "aa", True),
        ("A", "i", "a", True),
        (".", "s", "\n", True),
        (r"[[]", "", "[", True),
        (r"^[&&||~~]$", "", "&", True),
        (r"^[+--]$", "", ",", True),
    ],
)
def test_javascript_notation(pattern: str, flags: str, text: str, expected: bool) -> None:
    assert RegExp.new(pattern, flags).test(text) is expected


def test_regexp_has_its_own_parts() -> None:
    pattern = RegExp.new(RegExp.new("a", "ig"))
    assert (pattern.source, pattern.flags, str(pattern), pattern.global_) == (
        "a",
        "gi",
        "/a/gi",
        True,
    )
    assert (pattern.ignoreCase, pattern.multiline, pattern.sticky) == (True, False, False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda: Math.round(-2.5), -2),
        (lambda: Math.round(2.5), 3),
        (lambda: Math.max(), -math.inf),
        (lambda: Math.min(3, "2", True), 1),
        (lambda: Math.floor("1.9"), 1),
        (lambda: Math.trunc(-1.9), -1),
        (lambda: Math.sign(-3), -1),
        (lambda: Math.log(0), -math.inf),
        (lambda: Math.pow(0, -1), math.inf),
        (lambda: Math.hypot(3, 4), 5),
        (lambda: Math.clz32(1), 31),
        (lambda: Math.imul(2**31, 3), -(2**31)),
        (lambda: Math.fround(5.5), 5.5),
        (lambda: Math.atan2(0, 1), 0),
        (lambda: Math.cbrt(27), 3),
        (lambda: Math.cbrt(-125), -5),
        (lambda: round(Math.cbrt(2), 12), 1.259921049895),
    ],
)
def test_math(value: Callable[[], float], expected: float) -> None:
    assert value() == pytest.approx(expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Math.sqrt(-1),
        lambda: Math.max(1, None),
        lambda: Math.acos(2),
        lambda: Math.pow(1, math.inf),
    ],
)
def test_math_gives_nan_where_python_raises(call: Callable[[], float]) -> None:
    assert math.isnan(call())


def test_math_random_lies_in_the_unit_interval() -> None:
    assert 0 <= Math.random() < 1
    assert str(Math) == "[object Math]"


TEXTS = [
    "a b&c=d/é?#",
    "100%",
    "😀",
    "a+b",
    "%41%2F%e2%82%ac",
    "~!*()'-_.",
    ";,/?:@&=+$#",
    "\u00ff\u0100",
]


@pytest.mark.parametrize(
    "name",
    ["encodeURIComponent", "encodeURI", "decodeURIComponent", "decodeURI", "escape", "unescape"],
)
def test_uri_functions_agree_with_node(node: Node, name: str) -> None:
    own = []
    for text in TEXTS:
        try:
            own.append(getattr(uri, name)(text))
        except URIError as error:
            own.append(f"ERROR {error}")
    assert own == node(f"{name}(x)", TEXTS)


@pytest.mark.parametrize(
    "call",
    [
        lambda: uri.encodeURIComponent("\ud800"),
        lambda: uri.decodeURIComponent("%ff"),
        lambda: uri.decodeURI("%"),
    ],
)
def test_malformed_uris_are_refused(call: Callable[[], str]) -> None:
    with pytest.raises(URIError) as caught:
        call()
    assert str(caught.value) == "URIError: URI malformed"
