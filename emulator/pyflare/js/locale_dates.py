"""Dates as text of the locale en-US: ``Date.prototype.toLocaleString`` and its kin.

Options whose pattern is not known here are refused by name; nothing is passed over.

Source: https://tc39.es/ecma402/#sec-datetimeformat-abstracts and the patterns of https://cldr.unicode.org/
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final, NoReturn
from zoneinfo import ZoneInfo

from .date_text import MS_PER_DAY, civil_from_days
from .error import RangeError, TypeError_
from .locale_text import require_plain
from .number import to_string
from .value import is_nullish, own_items

__all__ = ["locale_text"]

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

_NUMBER: Final = ("numeric", "2-digit")
_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "weekday": ("long", "short"),
    "year": _NUMBER,
    "month": ("long", "short", *_NUMBER),
    "day": _NUMBER,
    "hour": _NUMBER,
    "minute": _NUMBER,
    "second": _NUMBER,
    "dateStyle": ("full", "long", "medium", "short"),
    "timeStyle": ("full", "long", "medium", "short"),
    "hourCycle": ("h12", "h23"),
    "timeZoneName": ("short",),
}
_KNOWN: Final = frozenset((*_VALUES, "hour12", "timeZone"))
_DATE_FIELDS: Final = ("weekday", "year", "month", "day")
_TIME_FIELDS: Final = ("hour", "minute", "second")

_DATE_STYLES: Final[Mapping[str, Mapping[str, str]]] = {
    "full": {"weekday": "long", "year": "numeric", "month": "long", "day": "numeric"},
    "long": {"year": "numeric", "month": "long", "day": "numeric"},
    "medium": {"year": "numeric", "month": "short", "day": "numeric"},
    "short": {"year": "2-digit", "month": "numeric", "day": "numeric"},
}
_NUMERIC_DATE: Final = {"year": "numeric", "month": "numeric", "day": "numeric"}
_SECONDS: Final = {"hour": "numeric", "minute": "2-digit", "second": "2-digit"}
_TIME_STYLES: Final[Mapping[str, Mapping[str, str]]] = {
    "full": _SECONDS | {"timeZoneName": "long"},
    "long": _SECONDS | {"timeZoneName": "short"},
    "medium": _SECONDS,
    "short": {"hour": "numeric", "minute": "2-digit"},
}
#: Abbreviations that en-US knows; other zones are shown by what they are ahead of Greenwich.
_AMERICAN: Final = frozenset(
    ("EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "AKST", "AKDT", "HST", "HDT")
)
#: The years of which Python's time zones know something, in milliseconds since 1970.
_FIRST, _LAST = -62_100_000_000_000, 253_300_000_000_000
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def locale_text(time: int, method: str, locales: Any, options: Any, defaults: str) -> str:
    """A valid time value as text.

    Args: ``method`` for the texts of errors; ``defaults`` what is shown when the options name nothing: ``date``,
    ``time``, ``all``, or ``any`` (the date, unless there is a time).
    Raises: RangeError for a zone that is none, TypeError for locales and options that have no pattern here.
    """
    name = method if defaults == "any" else f"Date.prototype.{method}"
    require_plain(name, locales, options, _KNOWN)
    given = {} if is_nullish(options) else {k: v for k, v in own_items(options) if v is not None}
    for key, allowed in _VALUES.items():
        if key in given and given[key] not in allowed:
            _refuse(name, f"{key}: {to_string(given[key])}")
    zone = to_string(given.get("timeZone", "UTC"))
    offset, abbreviation = _zone(time, zone)
    fields = _fields(given, name, defaults)
    local = time + offset
    date = _date(local, fields, name)
    clock = _clock(local, fields, given, name)
    if "timeZoneName" in fields:
        if fields["timeZoneName"] == "long" and abbreviation != "UTC":
            _refuse(name, "timeStyle: full in other zones than UTC")
        shown = "Coordinated Universal Time" if fields["timeZoneName"] == "long" else abbreviation
        if clock:
            clock += f" {shown}"
        else:
            date += f", {shown}"
    if not (date and clock):
        return date or clock
    if fields.get("month") == "long":
        return f"{date} at {clock}"
    only_weekday = not any(key in fields for key in ("year", "month", "day"))
    return f"{date} {clock}" if only_weekday else f"{date}, {clock}"


def _refuse(method: str, what: str) -> NoReturn:
    raise TypeError_(f"The option {what} of {method} is not supported by Pyflare")


def _fields(given: Mapping[str, Any], method: str, defaults: str) -> dict[str, str]:
    """What is to be shown, and how."""
    fields = {
        key: given[key] for key in (*_DATE_FIELDS, *_TIME_FIELDS, "timeZoneName") if key in given
    }
    styles = {"date": "timeStyle", "time": "dateStyle"}
    if "dateStyle" in given or "timeStyle" in given:
        if fields or styles.get(defaults) in given:
            raise TypeError_(f"Invalid option : {styles.get(defaults, 'option')}")
        return {
            **_DATE_STYLES.get(given.get("dateStyle", ""), {}),
            **_TIME_STYLES.get(given.get("timeStyle", ""), {}),
        }
    wanted = {"date": _DATE_FIELDS, "time": _TIME_FIELDS}.get(
        defaults, (*_DATE_FIELDS, *_TIME_FIELDS)
    )
    if not any(key in fields for key in wanted):
        if defaults != "time":
            fields |= _NUMERIC_DATE
        if defaults in ("time", "all"):
            fields |= _SECONDS
    return fields


def _zone(time: int, name: str) -> tuple[int, str]:
    """What local time is ahead of UTC, in milliseconds, and the zone's short name."""
    if name.upper() in ("UTC", "GMT"):
        return 0, "UTC"
    try:
        known = ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise RangeError(f"Invalid time zone specified: {name}") from None
    moment = _EPOCH + datetime.timedelta(milliseconds=min(max(time, _FIRST), _LAST))
    local = moment.astimezone(known)
    offset = (local.utcoffset() or datetime.timedelta()) // datetime.timedelta(milliseconds=1)
    if local.tzname() in _AMERICAN and name.startswith(("America/", "US/", "Pacific/Honolulu")):
        return offset, str(local.tzname())
    hours, minutes = divmod(abs(offset) // 60_000, 60)
    ahead = f"{'-' if offset < 0 else '+'}{hours}{f':{minutes:02}' if minutes else ''}"
    return offset, f"GMT{ahead if offset else ''}"


def _date(local: int, fields: Mapping[str, str], method: str) -> str:
    days = local // MS_PER_DAY
    year, month, day = civil_from_days(days)
    shown = {key: fields[key] for key in _DATE_FIELDS if key in fields}
    if not shown:
        return ""
    years = f"{year % 100:02}" if shown.get("year") == "2-digit" else str(year)
    day_text = f"{day:02}" if shown.get("day") == "2-digit" else str(day)
    weekday = _DAYS[(days + 4) % 7][: None if shown.get("weekday") == "long" else 3]
    rest = [key for key in shown if key != "weekday"]
    if not rest:
        return weekday
    pattern = " and ".join(shown)
    style = shown.get("month")
    if rest == ["year", "day"] or ("weekday" in shown and not {"month", "day"} <= shown.keys()):
        _refuse(method, pattern)
    if style in ("long", "short"):
        text = _MONTHS[month][: None if style == "long" else 3]
        if "day" in shown:
            text += f" {day_text}"
        if "year" in shown:
            text += f", {years}" if "day" in shown else f" {years}"
    else:
        months = f"{month + 1:02}" if style == "2-digit" else str(month + 1)
        parts = {"month": months, "day": day_text, "year": years}
        text = "/".join(part for key, part in parts.items() if key in shown)
    return f"{weekday}, {text}" if "weekday" in shown else text


def _clock(local: int, fields: Mapping[str, str], given: Mapping[str, Any], method: str) -> str:
    shown = [key for key in _TIME_FIELDS if key in fields]
    if not shown:
        return ""
    if shown not in (["hour"], ["hour", "minute"], [*_TIME_FIELDS], ["minute", "second"]):
        _refuse(method, " and ".join(shown))
    seconds = local % MS_PER_DAY // 1000
    hour = seconds // 3600
    texts = [f"{seconds % 3600 // 60:02}", f"{seconds % 60:02}"]
    if "hour" not in shown:
        return ":".join(texts)
    twelve = given.get("hour12")
    if twelve is None:
        twelve = given.get("hourCycle") != "h23"
    hours = hour % 12 or 12 if twelve else hour
    padded = not twelve or fields["hour"] == "2-digit"
    text = ":".join([f"{hours:02}" if padded else str(hours), *texts[: len(shown) - 1]])
    return f"{text} {'AM' if hour < 12 else 'PM'}" if twelve else text
