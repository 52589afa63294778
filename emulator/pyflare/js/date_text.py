"""Dates as text: ``Date.parse`` and the forms that ``Date`` prints.

The ISO form is the standard's; everything else is read as V8 reads it, see :mod:`pyflare.js.date_lenient`. Local time
is UTC, as it is on the platform.

Source: https://tc39.es/ecma262/#sec-date-time-string-format
"""

from __future__ import annotations

import math
import re
from typing import Final

from .date_lenient import read_leniently

__all__ = [
    "DAYS",
    "MONTHS",
    "MS_PER_DAY",
    "civil_from_days",
    "days_from_civil",
    "make_time",
    "parse_date",
]

MS_PER_DAY: Final = 86_400_000
#: The largest distance from 1970 that a Date can hold, in milliseconds.
MAX_TIME: Final = 8_640_000_000_000_000
MONTHS: Final = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
DAYS: Final = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")

_ISO: Final = re.compile(
    r"(?P<year>[0-9]{4}|[+-][0-9]{6})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?)?"
    r"(?:[Tt](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?"
    r"(?P<zone>[Zz]|[+-][0-9]{2}:?[0-9]{2})?)?"
)
#: Such a date is read by the standard's form or not at all.
_ISO_DATE_AND_T: Final = re.compile(
    r"(?:[0-9]{4}|[+-][0-9]{6})(?:-[0-9]{2}(?:-[0-9]{2})?)?T", re.IGNORECASE
)


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a date in the proleptic Gregorian calendar; ``month`` is 0..11, any ``day``."""
    year += month // 12
    month = month % 12 + 1
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + day_of_era - 719_468 + day - 1


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month (0..11) and day of a number of days since 1970-01-01."""
    days += 719_468
    era = days // 146_097
    day_of_era = days - era * 146_097
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 2 if shifted < 10 else shifted - 10
    year = year_of_era + era * 400 + (month <= 1)
    return year, month, day_of_year - (153 * shifted + 2) // 5 + 1


def make_time(
    year: float,
    month: float,
    day: float = 1,
    hour: float = 0,
    minute: float = 0,
    second: float = 0,
    milliseconds: float = 0,
) -> float:
    """A time value from its parts, which may be out of range and then carry; NaN for what no Date can hold."""
    parts = (year, month, day, hour, minute, second, milliseconds)
    if any(not math.isfinite(part) or abs(part) > 1e17 for part in parts):
        return math.nan
    whole = [int(part) for part in parts]
    days = days_from_civil(whole[0], whole[1], whole[2])
    return time_clip(
        days * MS_PER_DAY + whole[3] * 3_600_000 + whole[4] * 60_000 + whole[5] * 1000 + whole[6]
    )


def time_clip(time: float) -> float:
    """A time value as a Date holds it: whole milliseconds, NaN outside the range."""
    if not abs(time) <= MAX_TIME:
        return math.nan
    return int(time)


def parse_date(text: str) -> float:
    """The time value of a text in milliseconds, NaN if it is none."""
    found = _ISO.fullmatch(text)
    if found is not None and found["year"] != "-000000":
        time = _iso_time(found)
        if time is not None:
            return time
    if _ISO_DATE_AND_T.match(text):
        return math.nan
    return _parse_leniently(text)


def _iso_time(found: re.Match[str]) -> float | None:
    month, day = int(found["month"] or 1), int(found["day"] or 1)
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    milliseconds = int((found["fraction"] or "0")[:3].ljust(3, "0"))
    if not (1 <= month <= 12 and 1 <= day <= 31 and minute < 60 and second < 60):
        return None
    if hour > 24 or (hour == 24 and (minute or second or milliseconds)):
        return None
    minutes = 0
    if (zone := found["zone"]) and zone not in "Zz":
        hours, offset_minutes = int(zone[1:3]), int(zone[-2:])
        if hours > 23 or offset_minutes > 59:
            return None
        minutes = (hours * 60 + offset_minutes) * (1 if zone[0] == "+" else -1)
    return make_time(
        int(found["year"]), month - 1, day, hour, minute - minutes, second, milliseconds
    )


def _parse_leniently(text: str) -> float:
    parts = read_leniently(text)
    if parts is None:
        return math.nan
    return make_time(
        parts.year, parts.month, parts.day,
        parts.hour, parts.minute - parts.offset, parts.second, parts.milliseconds,
    )  # fmt: skip
