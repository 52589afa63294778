"""Texts that V8 takes for dates, beyond the standard's form.

The text is cut into numbers, words, signs and spaces. Up to three numbers are the day, numbers before a colon are the
time, a sign after a time begins an offset; words are month names, time zones, AM and PM, and any other word may only
stand before the first number. Parentheses are comments, other signs are passed over.

Source: how Node reads such texts; the standard leaves it to the engine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["DateParts", "read_leniently"]

_TOKEN: Final = re.compile(
    r"(?P<number>[0-9]+)|(?P<space>\s+)|(?P<word>[^\s\x00-@]+)|(?P<sign>[:+.)-])|(?P<other>.)",
    re.DOTALL,
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")  # fmt: skip
_HALVES: Final = {"am": 0, "pm": 12}
#: Hours from UTC.
_ZONES: Final = {
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8,
    "pdt": -7,
}  # fmt: skip


@dataclass(slots=True)
class DateParts:
    """A date; ``month`` is 0..11, ``offset`` minutes from UTC."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    milliseconds: int
    offset: int


class _NoDate(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str

    @property
    def number(self) -> int:
        # Only the first digits count, as the engine reads them.
        return int(self.text.lstrip("0")[:9] or "0")


_END: Final = _Token("end", "")


def read_leniently(text: str) -> DateParts | None:
    """The parts of a date, None when the text is none. Begins where an ISO date leaves off."""
    reader = _Reader(_tokens(text))
    try:
        reader.read()
        return reader.parts()
    except _NoDate:
        return None


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    while at < len(text):
        if text[at] == "(":
            at = _after_parentheses(text, at)
            tokens.append(_Token("other", "("))
            continue
        found = _TOKEN.match(text, at)
        assert found is not None  # The last alternative takes any character.
        tokens.append(_Token(found.lastgroup or "other", found[0]))
        at = found.end()
    return tokens


def _after_parentheses(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            break
    return at


class _Reader:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._numbers: list[int] = []
        self._month: int | None = None
        self._time: list[int] = []
        self._half: int | None = None
        self._sign: int | None = None
        self._zone_hour: int | None = None
        self._zone_minute: int | None = None
        self._has_number = False

    def _peek(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _next(self) -> _Token:
        token = self._peek()
        self._at += 1
        return token

    def _skip(self, sign: str) -> bool:
        if self._peek() == _Token("sign", sign):
            self._at += 1
            return True
        return False

    def read(self) -> None:
        self._iso_date()
        self._has_number = bool(self._numbers)
        while (token := self._next()) is not _END:
            match token.kind:
                case "number":
                    self._has_number = True
                    self._number(token)
                case "word":
                    self._word(token.text.lower())
                case "sign" if token.text in "+-" and (self._is_utc() or self._time):
                    self._offset(token.text)
                case "sign" if token.text in "+-)" and self._has_number:
                    raise _NoDate

    def _iso_date(self) -> None:
        """The numbers of a date in the standard's form, as far as it goes."""
        sign = 1
        first = self._peek()
        if first.kind == "sign" and first.text in "+-":
            following = self._tokens[1] if len(self._tokens) > 1 else _END
            if following.kind != "number" or len(following.text) != 6:
                return
            sign = -1 if first.text == "-" else 1
            if sign < 0 and following.number == 0:
                raise _NoDate
            self._at = 1
        elif first.kind != "number" or len(first.text) != 4:
            return
        self._numbers.append(sign * self._next().number)
        for most in (12, 31):
            if not self._skip("-"):
                return
            part = self._peek()
            if part.kind != "number" or len(part.text) != 2 or not 1 <= part.number <= most:
                return
            self._numbers.append(self._next().number)

    def _number(self, token: _Token) -> None:
        number = token.number
        if self._skip(":"):
            if self._skip(":"):
                if self._time:
                    raise _NoDate
                self._time = [number, 0]
                return
            self._add_to_time(number)
            self._skip(".")
        elif self._skip(".") and self._expects_in_time(number):
            self._add_to_time(number)
            if self._peek().kind != "number":
                raise _NoDate
            self._finish_time(int(self._next().text[:3].ljust(3, "0")))
        elif self._zone_hour is not None and self._zone_minute is None and number < 60:
            self._zone_minute = number
        elif self._expects_in_time(number):
            self._finish_time(number)
            after = self._peek()
            if after.kind not in ("end", "space") and after.text.lower() not in ("z", "+", "-"):
                raise _NoDate
        else:
            if len(self._numbers) == 3:
                raise _NoDate
            self._numbers.append(number)
            self._skip("-")

    def _add_to_time(self, number: int) -> None:
        if len(self._time) == 4:
            raise _NoDate
        self._time.append(number)

    def _expects_in_time(self, number: int) -> bool:
        limit = {1: 60, 2: 60, 3: 1000}.get(len(self._time))
        return limit is not None and number < limit

    def _finish_time(self, number: int) -> None:
        self._add_to_time(number)
        self._time += [0] * (4 - len(self._time))

    def _word(self, word: str) -> None:
        if word in _HALVES and self._time:
            self._half = _HALVES[word]
        elif word[:3] in _MONTHS:
            self._month = _MONTHS.index(word[:3])
            self._skip("-")
        elif word in _ZONES and self._has_number:
            hours = _ZONES[word]
            self._sign = -1 if hours < 0 else 1
            self._zone_hour, self._zone_minute = abs(hours), 0
        elif self._has_number or self._peek().kind == "number":
            raise _NoDate

    def _is_utc(self) -> bool:
        return self._zone_hour == 0 and self._zone_minute == 0

    def _offset(self, sign: str) -> None:
        self._sign = -1 if sign == "-" else 1
        token = self._next() if self._peek().kind == "number" else _Token("number", "")
        self._has_number = True
        if self._peek() == _Token("sign", ":"):
            self._zone_hour, self._zone_minute = token.number, None
        elif len(token.text) in (1, 2):
            self._zone_hour, self._zone_minute = token.number, 0
        elif len(token.text) in (3, 4):
            self._zone_hour, self._zone_minute = divmod(token.number, 100)
        else:
            raise _NoDate

    def parts(self) -> DateParts:
        year, month, day = self._date()
        hour, minute, second, milliseconds = (*self._time, 0, 0, 0, 0)[:4]
        if self._half is not None:
            if not 0 <= hour <= 12:
                raise _NoDate
            hour = hour % 12 + self._half
        past_midnight = hour == 24 and (minute or second or milliseconds)
        if hour > 24 or minute > 59 or second > 59 or milliseconds > 999 or past_midnight:
            raise _NoDate
        offset = (self._sign or 0) * ((self._zone_hour or 0) * 60 + (self._zone_minute or 0))
        return DateParts(year, month, day, hour, minute, second, milliseconds, offset)

    def _date(self) -> tuple[int, int, int]:
        if not self._numbers:
            raise _NoDate
        # Missing numbers are 1, and so is the year 2001.
        first, second, third = (*self._numbers, 1, 1)[:3]
        if self._month is not None:
            day, year = (first, second) if 1 <= first <= 31 else (second, first)
            month = self._month + 1
        elif not 1 <= first <= 31:
            year, month, day = first, second, third
        else:
            month, day, year = first, second, third
        if 0 <= year <= 49:
            year += 2000
        elif 50 <= year <= 99:
            year += 1900
        if not (1 <= month <= 12 and 1 <= day <= 31):
            raise _NoDate
        return year, month - 1, day
