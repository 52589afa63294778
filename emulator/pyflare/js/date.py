"""``js.Date``. Local time is UTC, as it is on the platform.

Source: https://tc39.es/ecma262/#sec-date-objects
"""

from __future__ import annotations

import datetime
import math
import time as system_time
from collections.abc import Callable
from typing import Any, Final

from .clock import wall_time
from .date_text import (
    DAYS,
    MONTHS,
    MS_PER_DAY,
    civil_from_days,
    make_time,
    parse_date,
    time_clip,
)
from .error import RangeError
from .number import to_number, to_string
from .value import JsInstance, JsProxy, jsnull

__all__ = ["Date"]

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _now() -> int:
    clock = wall_time.get()
    if clock is None:
        return system_time.time_ns() // 1_000_000
    # A clock in seconds cannot hold every millisecond exactly: without this it would show the one before.
    return int(clock() * 1000 + 0.001)


def _from_parts(parts: tuple[Any, ...]) -> float:
    numbers = [to_number(part) for part in parts[:7]]
    year = numbers[0]
    if year == year and 0 <= int(year) <= 99:
        year = 1900 + int(year)
    return make_time(year, *(numbers[1:] or [0]))


class Date(JsInstance, js_name="Date"):
    """A moment in milliseconds since 1970 UTC, or NaN for an invalid date."""

    _tag = "Date"

    def __init__(self, time: float) -> None:
        self._time = time

    @classmethod
    def _construct(cls, *args: Any) -> Any:
        if not args:
            return cls._make(_now())
        if len(args) > 1:
            return cls._make(_from_parts(args))
        value = args[0]
        if isinstance(value, Date):
            return cls._make(value._time)
        if isinstance(value, datetime.datetime):
            return cls.from_datetime(value)
        if isinstance(value, JsProxy):
            value = value.valueOf()
            if isinstance(value, JsProxy):
                value = value.toString()
        return cls._make(
            parse_date(value) if isinstance(value, str) else time_clip(to_number(value))
        )

    @classmethod
    def _call(cls, *_: Any) -> Any:
        return str(cls._construct())

    @classmethod
    def from_milliseconds(cls, time: float) -> Any:
        """A Date of a time value in milliseconds since 1970 UTC."""
        return cls._make(time_clip(time))

    @classmethod
    def from_datetime(cls, moment: datetime.datetime) -> Any:
        """A Date of a Python datetime; a naive one is UTC, the platform's local time."""
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.UTC)
        return cls._make((moment - _EPOCH) // datetime.timedelta(milliseconds=1))

    def to_datetime(self) -> datetime.datetime:
        """The aware Python datetime. Raises: RangeError for an invalid date, OverflowError beyond year 9999."""
        return _EPOCH + datetime.timedelta(milliseconds=self._valid())

    @staticmethod
    def now() -> int:
        return _now()

    @staticmethod
    def parse(text: Any = None) -> float:
        return parse_date(to_string(text))

    @staticmethod
    def UTC(*parts: Any) -> float:
        return _from_parts(parts or (math.nan,))

    def getTime(self) -> float:
        return self._time

    def valueOf(self) -> Any:
        return self._time

    def setTime(self, time: Any = None) -> float:
        self._time = time_clip(to_number(time))
        return self._time

    def getTimezoneOffset(self) -> float:
        return 0 if self._time == self._time else math.nan

    def _valid(self) -> int:
        if self._time != self._time:
            raise RangeError("Invalid time value")
        return int(self._time)

    def _parts(self) -> tuple[int, int, int, int, int, int, int, int]:
        """Year, month, day, hour, minute, second, millisecond, weekday of a valid date."""
        days, rest = divmod(int(self._time), MS_PER_DAY)
        rest, milliseconds = divmod(rest, 1000)
        rest, second = divmod(rest, 60)
        hour, minute = divmod(rest, 60)
        return (*civil_from_days(days), hour, minute, second, milliseconds, (days + 4) % 7)

    # Text.

    def toISOString(self) -> str:
        """Raises: RangeError "Invalid time value"."""
        self._valid()
        year, month, day, hour, minute, second, milliseconds, _ = self._parts()
        wide = f"{'-' if year < 0 else '+'}{abs(year):06}"
        years = f"{year:04}" if 0 <= year <= 9999 else wide
        return (
            f"{years}-{month + 1:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z"
        )

    def toJSON(self, *_: Any) -> Any:
        return self.toISOString() if self._time == self._time else jsnull

    def _text(self, form: Callable[..., str]) -> str:
        return form(*self._parts()) if self._time == self._time else "Invalid Date"

    def toUTCString(self) -> str:
        return self._text(
            lambda year, month, day, hour, minute, second, _, weekday: (
                f"{DAYS[weekday]}, {day:02} {MONTHS[month]} {_year(year)} {hour:02}:{minute:02}:{second:02} GMT"
            )
        )

    toGMTString = toUTCString

    def toDateString(self) -> str:
        return self._text(
            lambda year, month, day, _hour, _minute, _second, _, weekday: (
                f"{DAYS[weekday]} {MONTHS[month]} {day:02} {_year(year)}"
            )
        )

    def toTimeString(self) -> str:
        return self._text(
            lambda _year, _month, _day, hour, minute, second, *_: (
                f"{hour:02}:{minute:02}:{second:02} GMT+0000 (Coordinated Universal Time)"
            )
        )

    def toString(self) -> str:
        if self._time != self._time:
            return "Invalid Date"
        return f"{self.toDateString()} {self.toTimeString()}"

    def toLocaleDateString(self, locales: Any = None, options: Any = None) -> str:
        """The date as in the locale en-US, the platform's default. Raises: see :mod:`pyflare.js.locale_dates`."""
        return self._in_locale("toLocaleDateString", locales, options, "date")

    def toLocaleTimeString(self, locales: Any = None, options: Any = None) -> str:
        return self._in_locale("toLocaleTimeString", locales, options, "time")

    def toLocaleString(self, locales: Any = None, options: Any = None) -> str:
        return self._in_locale("toLocaleString", locales, options, "all")

    def _in_locale(self, method: str, locales: Any, options: Any, defaults: str) -> str:
        from .locale_dates import locale_text

        if self._time != self._time:
            return "Invalid Date"
        return locale_text(int(self._time), method, locales, options, defaults)

    # Parts; each local name is its UTC twin.

    def _part(self, index: int) -> float:
        return self._parts()[index] if self._time == self._time else math.nan

    def getUTCFullYear(self) -> float:
        return self._part(0)

    def getUTCMonth(self) -> float:
        return self._part(1)

    def getUTCDate(self) -> float:
        return self._part(2)

    def getUTCHours(self) -> float:
        return self._part(3)

    def getUTCMinutes(self) -> float:
        return self._part(4)

    def getUTCSeconds(self) -> float:
        return self._part(5)

    def getUTCMilliseconds(self) -> float:
        return self._part(6)

    def getUTCDay(self) -> float:
        return self._part(7)

    def _replace(self, first: int, values: tuple[Any, ...], most: int) -> float:
        parts = list(self._parts()[:7]) if self._time == self._time else [math.nan] * 7
        if first == 0 and self._time != self._time:
            parts = [1970, 0, 1, 0, 0, 0, 0]
        numbers = [to_number(value) for value in values[:most]] or [math.nan]
        parts[first : first + len(numbers)] = numbers  # type: ignore[assignment]
        self._time = make_time(*parts)
        return self._time

    def setUTCFullYear(self, *values: Any) -> float:
        return self._replace(0, values, 3)

    def setUTCMonth(self, *values: Any) -> float:
        return self._replace(1, values, 2)

    def setUTCDate(self, *values: Any) -> float:
        return self._replace(2, values, 1)

    def setUTCHours(self, *values: Any) -> float:
        return self._replace(3, values, 4)

    def setUTCMinutes(self, *values: Any) -> float:
        return self._replace(4, values, 3)

    def setUTCSeconds(self, *values: Any) -> float:
        return self._replace(5, values, 2)

    def setUTCMilliseconds(self, *values: Any) -> float:
        return self._replace(6, values, 1)

    getFullYear, getMonth, getDate, getDay = getUTCFullYear, getUTCMonth, getUTCDate, getUTCDay
    getHours, getMinutes, getSeconds = getUTCHours, getUTCMinutes, getUTCSeconds
    getMilliseconds = getUTCMilliseconds
    setFullYear, setMonth, setDate = setUTCFullYear, setUTCMonth, setUTCDate
    setHours, setMinutes, setSeconds = setUTCHours, setUTCMinutes, setUTCSeconds
    setMilliseconds = setUTCMilliseconds

    # JavaScript's order operators compare dates by their time; equality stays identity.

    def __lt__(self, other: Any) -> bool:
        return bool(self._time < to_number(other))

    def __le__(self, other: Any) -> bool:
        return bool(self._time <= to_number(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self._time > to_number(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self._time >= to_number(other))


def _year(year: int) -> str:
    return f"{year:04}" if year >= 0 else f"-{-year:04}"
