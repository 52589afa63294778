"""Numbers are written and read as JavaScript does."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.js.error import RangeError
from pyflare.js.number import (
    Number,
    format_number,
    from_float,
    is_finite,
    is_nan,
    parse_float,
    parse_int,
    to_integer,
    to_number,
    to_string,
)
from pyflare.js.value import JsObject, jsnull

Node = Callable[..., list[Any]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (1.5, "1.5"),
        (1e21, "1e+21"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e16, "10000000000000000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.25e-9, "1.25e-9"),
        (-2.5e25, "-2.5e+25"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (5e-324, "5e-324"),
        (2**60, "1152921504606846976"),
        (True, "true"),
        (None, "undefined"),
        (jsnull, "null"),
        ("text", "text"),
        (JsObject.adopt({}), "[object Object]"),
        ([1, 2], "[1, 2]"),
    ],
)
def test_string_of_a_value(value: Any, text: str) -> None:
    assert to_string(value) == text


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("", 0),
        ("  12\n", 12),
        ("0x1F", 31),
        ("0b101", 5),
        ("0o17", 15),
        (".5", 0.5),
        ("5.", 5),
        ("1e3", 1000),
        ("-Infinity", -math.inf),
        (True, 1),
        (jsnull, 0),
        (2.0, 2),
        (Number.new(7), 7),
    ],
)
def test_number_of_a_value(value: Any, number: float) -> None:
    assert to_number(value) == number


@pytest.mark.parametrize("value", [None, "1_0", "12px", "0x", "--1", "inf", JsObject.adopt({})])
def test_what_is_no_number_is_nan(value: Any) -> None:
    assert math.isnan(to_number(value))


def test_integral_numbers_arrive_as_int() -> None:
    assert type(from_float(3.0)) is int
    assert type(from_float(2.0**53)) is float


def test_minus_zero_arrives_as_zero() -> None:
    assert repr(from_float(-0.0)) == "0"


@pytest.mark.parametrize(
    ("text", "radix", "number"),
    [
        ("42px", None, 42),
        ("0x1f", None, 31),
        ("11", 2, 3),
        ("-8", None, -8),
        ("z", 36, 35),
        ("019", None, 19),
    ],
)
def test_parse_int(text: str, radix: int | None, number: int) -> None:
    assert parse_int(text, radix) == number


@pytest.mark.parametrize(("text", "radix"), [("px", None), ("", None), ("1", 1), ("1", 37)])
def test_parse_int_gives_nan_where_no_digits_are(text: str, radix: int | None) -> None:
    assert math.isnan(parse_int(text, radix))


@pytest.mark.parametrize(
    ("text", "number"), [("3.14abc", 3.14), ("  -.5e1x", -5), ("Infinityx", math.inf)]
)
def test_parse_float(text: str, number: float) -> None:
    assert parse_float(text) == number


def test_the_global_checks_convert_first() -> None:
    assert (is_nan("x"), is_nan("1"), is_finite("1"), is_finite("Infinity")) == (
        True,
        False,
        True,
        False,
    )


def test_to_integer_cuts_fractions_and_keeps_infinities() -> None:
    assert [to_integer(value) for value in (2.9, -2.9, math.nan, None, math.inf)] == [
        2,
        -2,
        0,
        0,
        math.inf,
    ]


def test_fixed_notation_rounds_the_exact_value() -> None:
    assert [Number.new(value).toFixed(2) for value in (1.005, 2.5, 0, -1.455)] == [
        "1.00",
        "2.50",
        "0.00",
        "-1.46",
    ]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: Number.new(1).toFixed(101),
            "RangeError: toFixed() digits argument must be between 0 and 100",
        ),
        (
            lambda: Number.new(1).toPrecision(0),
            "RangeError: toPrecision() argument must be between 1 and 100",
        ),
        (
            lambda: Number.new(1).toString(1),
            "RangeError: toString() radix must be between 2 and 36",
        ),
    ],
)
def test_bad_digit_counts_are_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(RangeError) as caught:
        call()
    assert str(caught.value) == text


def test_a_boxed_number_is_an_object_named_number() -> None:
    boxed = Number.new("12")
    assert (boxed.constructor.name, boxed.valueOf(), boxed.typeof) == ("Number", 12, "object")


def _doubles(count: int) -> list[float]:
    source = random.Random(7)
    values = [struct.unpack("d", source.randbytes(8))[0] for _ in range(count)]
    values += [source.uniform(-1, 1) * 10 ** source.randint(-25, 25) for _ in range(count)]
    return [value for value in values if math.isfinite(value)]


def test_formatting_agrees_with_node(node: Node) -> None:
    values = _doubles(2000)
    assert [format_number(value) for value in values] == node("String(x)", values)


@pytest.mark.parametrize(
    "method",
    [
        "toFixed(3)",
        "toPrecision(5)",
        "toExponential(4)",
        "toExponential()",
        "toString(2)",
        "toString(7)",
        "toString(36)",
    ],
)
def test_other_notations_agree_with_node(node: Node, method: str) -> None:
    # Fixed notation gives way to the exponential one above.
    largest = math.inf if "toString" in method else 1e20
    values = [value for value in _doubles(300) if abs(value) < largest]
    values += [0, 1, -1, 0.5, 255.5, 1e16, 2.0**53, 2.0**53 - 1]
    name, _, argument = method.rstrip(")").partition("(")
    arguments = [int(argument)] if argument else []
    own = [getattr(Number.new(value), name)(*arguments) for value in values]
    assert own == node(f"x.{method}", values)


def test_reading_agrees_with_node(node: Node) -> None:
    texts = [
        "12",
        " 0x10 ",
        "1e1000",
        "0b2",
        "-0x1",
        "+5",
        "1.2.3",
        "\ufeff7",
        "\u20288",
        "Infinity",
        "infinity",
        "1e",
        "٣",
    ]
    own = [to_string(to_number(text)) for text in texts]
    assert own == node("String(Number(x))", texts)
