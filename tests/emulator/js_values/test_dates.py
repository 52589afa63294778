"""``Date``: reading, writing and computing, in UTC."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.js.date import Date
from pyflare.js.date_text import parse_date
from pyflare.js.error import RangeError
from pyflare.js.value import jsnull

Node = Callable[..., list[Any]]

TEXTS = [
    "2020-01-01",
    "2020",
    "2020-06",
    "2020-01-01T10:00",
    "2020-01-01T10:00:00Z",
    "2020-01-01T10:00:00.5Z",
    "2020-01-01T10:00:00.123456+02:00",
    "2020-01-01T24:00:00Z",
    "2020-01-01T24:00:01Z",
    "2020-13-01",
    "2020-01-32",
    "2020-02-30",
    "+275760-09-13T00:00:00.000Z",
    "+275760-09-13T00:00:00.001Z",
    "-000001-01-01T00:00:00Z",
    "Tue, 01 Jan 2019 00:00:00 GMT",
    "Tue Jan 01 2019 12:34:56 GMT+0200 (Central European Standard Time)",
    "Jan 1, 2020 5:00 PM",
    "1 January 2020",
    "January 1 2020 12:00 AM EST",
    "1/31/2020",
    "2020/1/31",
    "2020-1-5",
    "2020-01-01 10:00:00",
    "2020-01-01 10:00:00.250",
    "Thu, 01 Jan 1970 00:00:00 GMT",
    "31 Dec 99 23:59:59",
    "hello",
    "",
    "Invalid Date",
    "12",
    "2020-01-01T10:00:00+25:00",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
]


def test_reading_agrees_with_node(node: Node) -> None:
    own = [Date.new(text).toJSON() for text in TEXTS]
    theirs = [jsnull if found is None else found for found in node("new Date(x).toJSON()", TEXTS)]
    assert dict(zip(TEXTS, own, strict=True)) == dict(zip(TEXTS, theirs, strict=True))


@pytest.mark.parametrize(
    "method",
    ["toISOString", "toString", "toUTCString", "toDateString", "toTimeString", "toLocaleString"],
)
def test_writing_agrees_with_node(node: Node, method: str) -> None:
    source = random.Random(3)
    times = [source.randint(-8_640_000_000_000_000, 8_640_000_000_000_000) for _ in range(300)]
    times += [source.randint(0, 4_000_000_000_000) for _ in range(300)] + [0, -1, 951_782_400_000]
    if method == "toLocaleString":
        times = [time for time in times if 0 <= time <= 4_000_000_000_000]
    own = [getattr(Date.new(time), method)() for time in times]
    assert own == node(f"new Date(x).{method}()", times)


def test_setters_agree_with_node(node: Node) -> None:
    calls = [
        ["setMonth", [1]], ["setMonth", [13, 5]], ["setDate", [0]], ["setHours", [25, 61, 61, 1001]],
        ["setFullYear", [2021]], ["setFullYear", [2021, 1, 29]], ["setMinutes", [-1]],
        ["setSeconds", [1.9]], ["setMilliseconds", [-1]], ["setUTCDate", [32]],
    ]  # fmt: skip
    own = []
    for name, arguments in calls:
        date = Date.new(2020, 0, 31, 10, 20, 30, 400)
        getattr(date, name)(*arguments)
        own.append(date.getTime())
    expression = (
        "((d) => { d[x[0]](...x[1]); return d.getTime(); })(new Date(2020, 0, 31, 10, 20, 30, 400))"
    )
    assert own == node(expression, calls)


def test_parts_of_a_date() -> None:
    date = Date.new("2021-03-04T05:06:07.008Z")
    parts = [
        date.getFullYear(), date.getMonth(), date.getDate(), date.getDay(), date.getHours(),
        date.getMinutes(), date.getSeconds(), date.getMilliseconds(), date.getTimezoneOffset(),
    ]  # fmt: skip
    assert parts == [2021, 2, 4, 4, 5, 6, 7, 8, 0]


def test_time_values_are_whole_milliseconds() -> None:
    assert Date.new(1.9).getTime() == 1
    assert type(Date.new(1500000000000.0).getTime()) is int


def test_two_digit_years_are_of_the_twentieth_century() -> None:
    assert Date.new(99, 0).toISOString() == "1999-01-01T00:00:00.000Z"
    assert Date.UTC(2020, 1) == 1580515200000


def test_an_invalid_date_has_no_iso_form() -> None:
    with pytest.raises(RangeError) as caught:
        Date.new("nonsense").toISOString()
    assert str(caught.value) == "RangeError: Invalid time value"


def test_an_invalid_date_is_null_in_json_and_nan_as_a_number() -> None:
    date = Date.new(math.nan)
    assert date.toJSON() is jsnull
    assert math.isnan(date.getTime())
    assert str(date) == "Invalid Date"


def test_now_is_an_int_near_the_clock() -> None:
    before = datetime.datetime.now(datetime.UTC).timestamp() * 1000
    now = Date.now()
    assert type(now) is int
    assert before - 1 <= now <= before + 60_000


def test_called_without_new_it_gives_a_text() -> None:
    assert isinstance(Date(), str)


def test_a_datetime_becomes_a_date_and_back() -> None:
    moment = datetime.datetime(2022, 5, 6, 7, 8, 9, 123000, datetime.UTC)
    date = Date.from_datetime(moment)
    assert date.toISOString() == "2022-05-06T07:08:09.123Z"
    assert date.to_datetime() == moment


def test_a_naive_datetime_is_utc() -> None:
    assert Date.from_datetime(datetime.datetime(1970, 1, 2)).getTime() == 86_400_000


def test_dates_are_ordered_by_time_and_equal_by_identity() -> None:
    early, late = Date.new(1), Date.new(2)
    assert early < late
    assert late >= 2
    assert Date.new(1) != early


_PARTS = [
    "2020", "05", "6", "7:08", "07:08:09", " PM", "T", "t", "-", "/", ".", ",", " ", "May", "may ", "Mayo", "Jan",
    "GMT",
    "+0100", "+01:00", "Z", "UTC", "(x)", "Mon", "foo", "31", "13", "0", "99", "T07:08", "-05", "2020-05-06", "24:00",
    "EST", "2020-05-06T07:08:09", ".5", "-0500",
]  # fmt: skip


def test_reading_of_random_parts_agrees_with_node(node: Node) -> None:
    dice = random.Random(3)
    texts = ["".join(dice.choice(_PARTS) for _ in range(dice.randint(1, 5))) for _ in range(4000)]
    ours = [None if found != found else found for found in map(parse_date, texts)]
    assert dict(zip(texts, ours, strict=True)) == dict(
        zip(texts, node("Date.parse(x)", texts), strict=True)
    )
