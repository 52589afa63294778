"""Values as messages quote them: the text that JSON.stringify gives in the platform's tools."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time

# Values of these keys are credentials: a message names the key and hides the value.
_HIDDEN_KEYS = frozenset({"localConnectionString", "secretAccessKey"})


def stringify(value: object, *, indent: int | None = None) -> str:
    """`value` as compact JSON text. Lone surrogates are escaped, credentials are hidden."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(_plain(value), ensure_ascii=False, separators=separators, indent=indent)
    return printable(text)


def printable(text: str) -> str:
    """`text` in a form that any UTF-8 terminal takes."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: object) -> object:
    match value:
        case Mapping():
            return {
                str(key): "(hidden)" if key in _HIDDEN_KEYS else _plain(each)
                for key, each in value.items()
            }
        case list() | tuple():
            return [_plain(each) for each in value]
        case float() if not math.isfinite(value):
            return None
        case float() if value.is_integer() and abs(value) < 1e21:
            return int(value)
        case date() | datetime() | time():
            return value.isoformat()
        case _:
            return value


def english_list(items: Iterable[str]) -> str:
    """`A`, `A and B`, `A, B, and C`."""
    words = list(items)
    if len(words) < 3:
        return " and ".join(words)
    return ", ".join(words[:-1]) + f", and {words[-1]}"
