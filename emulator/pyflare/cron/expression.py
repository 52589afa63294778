"""Cron expressions as production reads them: five fields, UTC, Sunday is day 1.

Sources: https://developers.cloudflare.com/workers/configuration/cron-triggers/#supported-cron-expressions for the
fields, ``cloudflare/saffron`` for what is refused.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

__all__ = ["CronError", "CronExpression"]

_MONTHS: Final = (
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
)  # fmt: skip
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_SATURDAY: Final = 7

#: The rarest day there is, a fifth Monday of February, can be 40 years away: 2100 is no leap year.
_MONTHS_AHEAD: Final = 41 * 12

_LAST: Final = re.compile(r"L(?:-(?P<before>\d{1,2}))?(?P<weekday>W)?")
_NEAREST: Final = re.compile(r"(?P<day>\d{1,2})W")
_LAST_WEEKDAY: Final = re.compile(r"(?P<weekday>[0-9A-Za-z]+)L")
_NTH_WEEKDAY: Final = re.compile(r"(?P<weekday>[0-9A-Za-z]+)#(?P<nth>\d)")


class CronError(ValueError):
    """An expression that production refuses; the text says which field is wrong, and why."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()

    def value(self, text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) <= 2:
            number = int(text)
            if self.first <= number <= self.last:
                return number
        elif text.upper() in self.names:
            return self.names.index(text.upper()) + self.first
        raise self.error(f"{text!r} is not {self._accepted()}")

    def _accepted(self) -> str:
        numbers = f"a number from {self.first} to {self.last}"
        return (
            f"{numbers} or a name from {self.names[0]} to {self.names[-1]}"
            if self.names
            else numbers
        )

    def error(self, problem: str) -> CronError:
        hint = ""
        if self is _WEEKDAY and re.search(r"(?<!\d)0(?!\d)", problem):
            hint = " (Sunday is 1, Saturday 7)"
        return CronError(f"the {self.name}: {problem}{hint}")


_MINUTE: Final = _Field("minute", 0, 59)
_HOUR: Final = _Field("hour", 0, 23)
_DAY: Final = _Field("day of the month", 1, 31)
_MONTH: Final = _Field("month", 1, 12, _MONTHS)
_WEEKDAY: Final = _Field("day of the week", 1, 7, _WEEKDAYS)


@dataclass(frozen=True, slots=True)
class _LastDay:
    """The last day of a month, or some days before it, or the weekday nearest to that."""

    before: int
    weekday: bool

    def days(self, year: int, month: int) -> Iterator[int]:
        last = monthrange(year, month)[1]
        day = last - self.before
        if day >= 1:
            yield _nearest_weekday(year, month, day) if self.weekday else day


@dataclass(frozen=True, slots=True)
class _NearestWeekday:
    """The weekday nearest to a day, in the same month."""

    day: int

    def days(self, year: int, month: int) -> Iterator[int]:
        if self.day <= monthrange(year, month)[1]:
            yield _nearest_weekday(year, month, self.day)


@dataclass(frozen=True, slots=True)
class _NthOfWeekday:
    """The nth, or the last (``nth`` is 0), of a day of the week in a month."""

    weekday: int
    nth: int

    def days(self, year: int, month: int) -> Iterator[int]:
        last = monthrange(year, month)[1]
        first = 1 + (self.weekday - _weekday(year, month, 1)) % 7
        if self.nth == 0:
            yield first + (last - first) // 7 * 7
        elif (day := first + (self.nth - 1) * 7) <= last:
            yield day


def _weekday(year: int, month: int, day: int) -> int:
    return date(year, month, day).isoweekday() % 7 + 1


def _nearest_weekday(year: int, month: int, day: int) -> int:
    weekday = _weekday(year, month, day)
    if weekday == _SATURDAY:
        return day - 1 if day > 1 else 3
    if weekday == 1:
        return day + 1 if day < monthrange(year, month)[1] else day - 2
    return day


@dataclass(frozen=True, slots=True)
class CronExpression:
    """A parsed expression. ``text`` is what was written, character for character.

    The days are a set of numbers, or a rule that gives the days of a month, or ``None`` for every day.
    """

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int] | _LastDay | _NearestWeekday | None
    months: frozenset[int]
    weekdays: frozenset[int] | _NthOfWeekday | None

    @classmethod
    def parse(cls, text: str) -> CronExpression:
        """Read an expression. Raises :class:`CronError`."""
        if text != text.strip():
            raise CronError("blanks before or after the five fields are not allowed")
        fields = re.split(r"[ \t]+", text)
        if len(fields) != 5:
            raise CronError(
                "five fields are needed, parted by blanks (minute, hour, day of the month, month, "
                f"day of the week), but there are {len(fields) if text else 0}"
            )
        minute, hour, day, month, weekday = fields
        return cls(
            text,
            tuple(sorted(_values(_MINUTE, minute))),
            tuple(sorted(_values(_HOUR, hour))),
            _days(day),
            frozenset(_values(_MONTH, month)),
            _weekdays(weekday),
        )

    def next_after(self, moment: float) -> float | None:
        """The first time after ``moment``, both in seconds since the epoch; ``None`` when there is none."""
        start = datetime.fromtimestamp(moment // 60 * 60 + 60, UTC)
        year, month, day = start.year, start.month, start.day
        hour, minute = start.hour, start.minute
        for _ in range(_MONTHS_AHEAD):
            if month in self.months:
                for candidate in self._days_of(year, month):
                    if candidate < day:
                        continue
                    at = (
                        self._time_from(hour, minute) if candidate == day else self._time_from(0, 0)
                    )
                    if at is not None:
                        return datetime(year, month, candidate, *at, tzinfo=UTC).timestamp()
            year, month, day = (year + 1, 1, 0) if month == 12 else (year, month + 1, 0)
            if year > 9999:
                break
        return None

    def _time_from(self, hour: int, minute: int) -> tuple[int, int] | None:
        for each in self.hours:
            if each > hour:
                return each, self.minutes[0]
            if each == hour:
                later = next((one for one in self.minutes if one >= minute), None)
                if later is not None:
                    return each, later
        return None

    def _days_of(self, year: int, month: int) -> list[int]:
        last = monthrange(year, month)[1]
        if self.days is None and self.weekdays is None:
            return list(range(1, last + 1))
        found: set[int] = set()
        match self.days:
            case None:
                pass
            case frozenset() as numbers:
                found.update(day for day in numbers if day <= last)
            case rule:
                found.update(rule.days(year, month))
        match self.weekdays:
            case None:
                pass
            case frozenset() as numbers:
                first = _weekday(year, month, 1)
                found.update(
                    day for day in range(1, last + 1) if (first + day - 2) % 7 + 1 in numbers
                )
            case nth:
                found.update(nth.days(year, month))
        return sorted(found)


def _days(text: str) -> frozenset[int] | _LastDay | _NearestWeekday | None:
    if text == "*":
        return None
    if match := _LAST.fullmatch(text):
        before = match["before"]
        if before is not None and not 1 <= int(before) <= 30:
            raise _DAY.error(f"{text!r} needs a number from 1 to 30 after L-")
        return _LastDay(int(before or 0), match["weekday"] is not None)
    if match := _NEAREST.fullmatch(text):
        return _NearestWeekday(_DAY.value(match["day"]))
    return frozenset(_values(_DAY, text))


def _weekdays(text: str) -> frozenset[int] | _NthOfWeekday | None:
    if text == "*":
        return None
    if text == "L":
        return frozenset((_SATURDAY,))
    if match := _LAST_WEEKDAY.fullmatch(text):
        return _NthOfWeekday(_WEEKDAY.value(match["weekday"]), 0)
    if match := _NTH_WEEKDAY.fullmatch(text):
        nth = int(match["nth"])
        if not 1 <= nth <= 5:
            raise _WEEKDAY.error(f"{text!r} needs a number from 1 to 5 after #")
        return _NthOfWeekday(_WEEKDAY.value(match["weekday"]), nth)
    return frozenset(_values(_WEEKDAY, text))


def _values(field: _Field, text: str) -> set[int]:
    if text == "*":
        return set(range(field.first, field.last + 1))
    found: set[int] = set()
    for index, item in enumerate(text.split(",")):
        if not item:
            raise field.error(f"{text!r} has an empty part")
        if item == "*" and index == 0:
            raise field.error(f"{text!r} begins a list with *")
        found.update(_item(field, item, text))
    return found


def _item(field: _Field, item: str, text: str) -> Iterator[int]:
    span, slash, step_text = item.partition("/")
    step = 1
    if slash:
        largest = field.last - field.first
        if not (step_text.isascii() and step_text.isdigit() and len(step_text) <= 2):
            raise field.error(f"{item!r} needs a number after /")
        step = int(step_text)
        if not 1 <= step <= largest:
            raise field.error(f"the step of {item!r} is not from 1 to {largest}")
    if span == "*":
        return iter(range(field.first, field.last + 1, step))
    begin_text, dash, end_text = span.partition("-")
    if any(mark in span for mark in ("L", "W", "#")) and span.upper() not in field.names:
        _refuse_special(field, span, text)
    begin = field.value(begin_text)
    if not dash:
        return iter(range(begin, field.last + 1 if slash else begin + 1, step))
    end = field.value(end_text)
    if begin <= end:
        return iter(range(begin, end + 1, step))
    size = field.last - field.first + 1
    around = range(begin, end + size + 1, step)
    return iter([(each - field.first) % size + field.first for each in around])


def _refuse_special(field: _Field, span: str, text: str) -> None:
    """L, W and # where they may not stand; names of months and days hold such letters too."""
    parts = span.split("-")
    if all(part.upper() in field.names for part in parts):
        return
    if field in (_DAY, _WEEKDAY) and ("," in text or "/" in text):
        raise field.error(f"{span!r} must stand alone, without a list, a range or a step")
