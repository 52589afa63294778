"""``toLocaleString`` of dates and numbers: en-US, with time zones."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare.js.date import Date
from pyflare.js.error import JsException
from pyflare.js.intl import Intl
from pyflare.js.number import Number
from pyflare.js.value import JsObject


def in_zone(zone: str) -> Any:
    return JsObject.adopt({"timeZone": zone})


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "6/10/2024, 6:13:20 AM"),
        ("utc", "6/10/2024, 6:13:20 AM"),
        ("Asia/Tokyo", "6/10/2024, 3:13:20 PM"),
        ("America/New_York", "6/10/2024, 2:13:20 AM"),
    ],
)
def test_a_date_is_shown_in_a_time_zone(zone: str, text: str) -> None:
    moment = Date.new(1718000000123)
    assert moment.toLocaleString("en-US", in_zone(zone)) == text
    day, time = text.split(", ")
    assert moment.toLocaleDateString("en-US", in_zone(zone)) == day
    assert moment.toLocaleTimeString(None, timeZone=zone) == time


#: What V8 shows for 2024-06-10T06:13:20Z.
SHOWN = [
    ({"dateStyle": "full"}, "Monday, June 10, 2024"),
    ({"dateStyle": "long", "timeStyle": "short"}, "June 10, 2024 at 6:13 AM"),
    ({"dateStyle": "medium", "timeStyle": "medium"}, "Jun 10, 2024, 6:13:20 AM"),
    ({"dateStyle": "short", "timeStyle": "long"}, "6/10/24, 6:13:20 AM UTC"),
    ({"timeStyle": "full"}, "6:13:20 AM Coordinated Universal Time"),
    ({"year": "numeric", "month": "long", "day": "numeric"}, "June 10, 2024"),
    ({"year": "numeric", "month": "2-digit", "day": "2-digit"}, "06/10/2024"),
    ({"weekday": "short", "month": "short", "day": "numeric"}, "Mon, Jun 10"),
    ({"month": "long", "year": "numeric"}, "June 2024"),
    ({"weekday": "long"}, "Monday"),
    ({"weekday": "short", "hour": "numeric"}, "Mon 6 AM"),
    ({"hour": "2-digit", "minute": "2-digit"}, "06:13 AM"),
    ({"hour": "numeric", "minute": "numeric", "hourCycle": "h23"}, "06:13"),
    ({"hour12": False}, "6/10/2024, 06:13:20"),
    ({"minute": "numeric", "second": "numeric"}, "13:20"),
    ({"timeZone": "America/New_York", "timeZoneName": "short"}, "6/10/2024, 2:13:20 AM EDT"),
    ({"timeZone": "Asia/Kolkata", "timeZoneName": "short"}, "6/10/2024, 11:43:20 AM GMT+5:30"),
]


@pytest.mark.parametrize(("options", "text"), SHOWN)
def test_options_of_dates(options: Any, text: str) -> None:
    assert Date.new(1718000000123).toLocaleString("en-US", JsObject.adopt(options)) == text


def test_the_parts_that_a_method_is_for_are_added() -> None:
    moment = Date.new(1718000000123)
    assert moment.toLocaleDateString("en-US", hour="numeric") == "6/10/2024, 6 AM"
    assert moment.toLocaleTimeString("en-US", weekday="long") == "Monday 6:13:20 AM"
    with pytest.raises(JsException, match="TypeError: Invalid option : timeStyle"):
        moment.toLocaleDateString("en-US", timeStyle="short")


def test_an_invalid_date_is_said_to_be_one() -> None:
    assert Date.new(float("nan")).toLocaleString() == "Invalid Date"


@pytest.mark.parametrize("time", [-8.64e15, 8.64e15])
def test_a_date_that_python_has_no_year_for_is_shown(time: float) -> None:
    assert Date.new(time).toLocaleString("en-US", in_zone("Asia/Tokyo"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("en-US", in_zone("Nope/X")), "RangeError: Invalid time zone specified: Nope/X"),
        (("de-DE",), "for the locale de-DE is not supported by Pyflare, which knows en-US only"),
        ((["fr"],), "for the locale fr is not supported by Pyflare, which knows en-US only"),
        (("en-US", {"era": "long"}), "The option era of .* is not supported by Pyflare"),
        (
            ("en-US", {"month": "narrow"}),
            "The option month: narrow of .* is not supported by Pyflare",
        ),
        (("en-US", {"year": "numeric", "day": "numeric"}), "The option year and day of .*"),
        (("en-US", {"hour": "numeric", "second": "numeric"}), "The option hour and second of .*"),
        (("en-US", {"dateStyle": "full", "year": "numeric"}), "TypeError: Invalid option : option"),
        (("en-US", {"timeStyle": "full", "timeZone": "Asia/Tokyo"}), "The option timeStyle: full"),
    ],
)
def test_what_would_be_shown_otherwise_in_production_is_refused(arguments: Any, text: str) -> None:
    with pytest.raises(JsException, match=text):
        Date.new(0).toLocaleString(*arguments)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1234567.891, "1,234,567.891"),
        (0, "0"),
        (1e21, "1,000,000,000,000,000,000,000"),
        (-1234.5678, "-1,234.568"),
        (1000, "1,000"),
        (float("nan"), "NaN"),
        (float("inf"), "∞"),
        (float("-inf"), "-∞"),
    ],
)
def test_a_number_is_shown_in_groups(number: float, text: str) -> None:
    assert Number.new(number).toLocaleString() == text


def test_other_styles_of_numbers_are_refused() -> None:
    with pytest.raises(JsException, match=r"The option style of Number\.prototype\.toLocaleString"):
        Number.new(1).toLocaleString("en-US", style="percent")


def test_intl_formats_dates() -> None:
    made = Intl.DateTimeFormat.new("en-US", {"timeZone": "Asia/Tokyo"})
    assert made.format(Date.new(1718000000123)) == "6/10/2024"
    assert made.resolvedOptions().timeZone == "Asia/Tokyo"
    assert Intl.DateTimeFormat().resolvedOptions().timeZone == "UTC"
    assert Intl.DateTimeFormat("en-US", {"hour": "numeric"}).format(0) == "12 AM"
    assert Intl.DateTimeFormat("en-US", {"timeStyle": "short"}).format(0) == "12:00 AM"


def test_intl_refuses_what_cannot_be_shown() -> None:
    with pytest.raises(JsException, match="RangeError: Invalid time value"):
        Intl.DateTimeFormat.new().format(float("nan"))
    with pytest.raises(JsException, match="for the locale de-DE is not supported by Pyflare"):
        Intl.DateTimeFormat.new("de-DE")
    with pytest.raises(
        JsException, match=r"The option style of Intl\.NumberFormat is not supported"
    ):
        Intl.NumberFormat.new("en-US", {"style": "currency"})


def test_intl_formats_numbers() -> None:
    assert Intl.NumberFormat.new("en-US").format(1234.5) == "1,234.5"
