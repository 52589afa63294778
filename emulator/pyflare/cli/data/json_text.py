"""JSON that people write, in options, messages and files; and values as JavaScript writes them."""

from __future__ import annotations

import json
import math
from typing import Any, Final

__all__ = ["compact", "parse_json", "with_numbers_of_javascript"]

#: From here on a float has no fraction, and JavaScript shows the shortest digits that mean it, then zeros.
_WHOLE: Final = 2**53
_TOO_DEEP: Final = "it is nested too deep"


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError, also for ``NaN`` and ``Infinity``, which only Python reads."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def compact(value: Any) -> str:
    """A value as JSON without spaces, as ``JSON.stringify`` writes it; half characters are escaped.

    Raises ValueError for one that is nested too deep.
    """
    try:
        value = with_numbers_of_javascript(value)
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    return text.encode("utf-8", "backslashreplace").decode()


def with_numbers_of_javascript(value: Any) -> Any:
    """A value of JSON with its numbers as JavaScript has them: whole ones as int, None for those out of its range."""
    match value:
        case dict():
            return {key: with_numbers_of_javascript(each) for key, each in value.items()}
        case list() | tuple():
            return [with_numbers_of_javascript(each) for each in value]
        case int() | float() if not isinstance(value, bool):
            return _number_of_javascript(value)
        case _:
            return value


def _number_of_javascript(value: int | float) -> int | float | None:
    if isinstance(value, int) and abs(value) < _WHOLE:
        return value
    try:
        number = float(value)
    except OverflowError:
        return None
    if not math.isfinite(number):
        return None
    if abs(number) < _WHOLE:
        return int(number) if number.is_integer() else number
    if abs(number) >= 1e21:
        return number
    from pyflare.js.number import format_number

    return int(format_number(number))
