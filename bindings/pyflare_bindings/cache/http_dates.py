"""HTTP dates."""

from __future__ import annotations

import re
from calendar import timegm
from datetime import date
from email.utils import formatdate
from functools import lru_cache
from typing import Final

__all__ = ["http_date", "parse_http_date"]

_MONTHS: Final = [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
]
_DAYS: Final = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
_FORM: Final = re.compile(
    rf"({'|'.join(_DAYS)}), (\d\d) ({'|'.join(_MONTHS)}) (\d{{4}}) (\d\d):(\d\d):(\d\d) GMT",
    re.ASCII,
)


@lru_cache(maxsize=256)
def parse_http_date(text: str) -> int | None:
    """Seconds since the epoch, None for any form but `Sun, 06 Nov 1994 08:49:37 GMT`."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    day_name, day, month, year, hour, minute, second = found.groups()
    try:
        when = date(int(year), _MONTHS.index(month) + 1, int(day))
    except ValueError:
        return None
    if when.weekday() != _DAYS.index(day_name) or hour > "23" or minute > "59" or second > "60":
        return None
    return timegm((when.year, when.month, when.day, int(hour), int(minute), int(second)))


def http_date(seconds: float) -> str:
    """A time since the epoch as HTTP writes it."""
    return _written(int(seconds))


# Times come in order and several a second.
@lru_cache(maxsize=4)
def _written(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)
