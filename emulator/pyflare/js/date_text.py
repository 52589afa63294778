"""Dates as text: ``Date.parse`` and the forms that ``Date`` prints.

The ISO form is the standard's; everything else is read the way V8's lenient parser reads it: words are month or day
names or time zones, numbers are day, year, or a time with colons, parentheses are comments. Local time is UTC, as it is
on the platform.

Source: https://tc39.es/ecma262/#sec-date-time-string-format
"""

from __future__ import annotations

import math
import re
from typing import Final

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
    r"(?:T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_TOKEN: Final = re.compile(r"[0-9]+|[A-Za-z]+|[:./+-]|[\s,]+|.", re.DOTALL)
_ZONES: Final = {
    "UTC": 0, "UT": 0, "GMT": 0, "Z": 0, "EST": -300, "EDT": -240, "CST": -360, "CDT": -300,
    "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
}  # fmt: skip


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
    found = _ISO.fullmatch(text.strip())
    if found is not None and found["year"] != "-000000":
        time = _iso_time(found)
        if time is not None:
            return time
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
    if (zone := found["zone"]) and zone != "Z":
        hours, offset_minutes = int(zone[1:3]), int(zone[4:])
        if hours > 23 or offset_minutes > 59:
            return None
        minutes = (hours * 60 + offset_minutes) * (1 if zone[0] == "+" else -1)
    return make_time(
        int(found["year"]), month - 1, day, hour, minute - minutes, second, milliseconds
    )


def _parse_leniently(text: str) -> float:
    tokens = [token for token in _TOKEN.findall(_without_comments(text)) if token.strip(" \t\n,")]
    reader = _LenientReader(tokens)
    return reader.read()


def _without_comments(text: str) -> str:
    depth, kept = 0, []
    for character in text:
        if character == "(":
            depth += 1
        elif character == ")":
            depth = max(0, depth - 1)
        elif not depth:
            kept.append(character)
    return "".join(kept)


class _LenientReader:
    """Reads dates such as ``Tue, 01 Jan 2019 00:00:00 GMT``, ``Jan 1, 2020 5:00 PM`` or ``1/31/2020``."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._numbers: list[tuple[str, str]] = []  # digits and the separator that follows them
        self._month: int | None = None
        self._month_position = 0
        self._clock: list[float] | None = None
        self._offset = 0
        self._zone_is_good = True
        self._afternoon: bool | None = None

    def read(self) -> float:
        index = 0
        while index < len(self._tokens):
            taken = self._take(index)
            if not taken:
                return math.nan
            index += taken
        return self._time()

    def _peek(self, index: int) -> str:
        return self._tokens[index] if index < len(self._tokens) else ""

    def _take(self, index: int) -> int:
        token = self._tokens[index]
        if token.isdigit():
            if self._peek(index + 1) == ":" and self._clock is None:
                return self._take_clock(index)
            self._numbers.append((token, self._peek(index + 1)))
            return 1
        if token.isalpha():
            return self._take_word(token)
        if token in "+-" and self._clock is not None and self._peek(index + 1).isdigit():
            return self._take_offset(index)
        return 1 if token in "-/.+" and self._numbers else 0

    def _take_word(self, word: str) -> int:
        upper = word.upper()
        if upper in ("AM", "PM"):
            self._afternoon = upper == "PM"
        elif upper in _ZONES:
            self._offset = _ZONES[upper]
        elif upper == "T" and self._numbers:
            return 1
        elif (prefix := word[:3].title()) in MONTHS and self._month is None:
            self._month = MONTHS.index(prefix)
            self._month_position = len(self._numbers)
        elif prefix not in DAYS and self._numbers:
            # Unknown words are passed over only before the first number.
            return 0
        return 1

    def _take_clock(self, index: int) -> int:
        clock = [float(self._tokens[index])]
        position = index + 1
        while self._peek(position) == ":" and self._peek(position + 1).isdigit() and len(clock) < 3:
            clock.append(float(self._tokens[position + 1]))
            position += 2
        clock += [0.0] * (3 - len(clock))
        milliseconds = 0
        if self._peek(position) == "." and self._peek(position + 1).isdigit():
            milliseconds = int(self._tokens[position + 1][:3].ljust(3, "0"))
            position += 2
        self._clock = [*clock, float(milliseconds)]
        return position - index

    def _take_offset(self, index: int) -> int:
        sign = -1 if self._tokens[index] == "-" else 1
        digits = self._tokens[index + 1]
        if self._peek(index + 2) == ":" and self._peek(index + 3).isdigit():
            hours, minutes, taken = int(digits), int(self._tokens[index + 3]), 4
        elif len(digits) <= 2:
            hours, minutes, taken = int(digits), 0, 2
        else:
            hours, minutes, taken = int(digits[:-2]), int(digits[-2:]), 2
        self._zone_is_good = hours < 24 and minutes < 60
        self._offset = sign * (hours * 60 + minutes)
        return taken

    def _time(self) -> float:
        date = self._date()
        if date is None:
            return math.nan
        hour, minute, second, milliseconds = self._clock or [0.0] * 4
        if self._afternoon is not None:
            if not 1 <= hour <= 12:
                return math.nan
            hour = hour % 12 + (12 if self._afternoon else 0)
        past_midnight = hour == 24 and (minute or second or milliseconds)
        if hour > 24 or minute > 59 or second > 59 or past_midnight or not self._zone_is_good:
            return math.nan
        return make_time(*date, hour, minute - self._offset, second, milliseconds)

    def _date(self) -> tuple[int, int, int] | None:
        digits = [number for number, _ in self._numbers]
        if self._month is not None:
            if not 1 <= len(digits) <= 2:
                return None
            first, second = digits[0], digits[1] if len(digits) == 2 else "2001"
            if int(first) > 31:
                first, second = second, first
            day, year = int(first), _full_year(second)
            return (year, self._month, day) if 1 <= day <= 31 else None
        if not 1 <= len(digits) <= 3:
            return None
        values = [int(number) for number in digits]
        if len(values) == 1:
            # A lone small number is a month, a large one a year.
            values.append(1)
        if len(digits[0]) >= 3 or values[0] > 31:
            if len(values) != 3:
                values.append(1)
            year, month, day = _full_year(digits[0]), values[1], values[2]
        else:
            month, day = values[0], values[1]
            year = _full_year(digits[2]) if len(digits) == 3 else 2001
        return (year, month - 1, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


def _full_year(digits: str) -> int:
    year = int(digits)
    if len(digits) <= 2:
        return year + (2000 if year < 50 else 1900)
    return year
