"""The JSON files of ``kv bulk``, checked before anything is written.

Source: https://developers.cloudflare.com/kv/reference/kv-commands/#kv-bulk
"""

from __future__ import annotations

import base64
import math
from pathlib import Path
from typing import Any, Final

from .command import CommandError
from .json_text import compact, parse_json
from .output import warn

__all__ = ["read_entries", "read_names"]

_KEYS: Final = frozenset(("key", "value", "base64", "expiration", "expiration_ttl", "metadata"))
_MOST_SHOWN: Final = 10
_TO_STANDARD: Final = str.maketrans("-_", "+/")


def read_entries(path: Path, given: Path) -> list[dict[str, Any]]:
    """The entries to write, with values in base64 and metadata as JSON text. Raises CommandError that names all
    entries at fault."""
    problems: list[str] = []
    unknown: set[str] = set()
    found: list[dict[str, Any]] = []
    for index, entry in enumerate(_read_list(path, given)):
        problem = _problem(entry)
        if problem is not None:
            problems.append(f"The item at index {index} {problem}")
            continue
        unknown |= entry.keys() - _KEYS
        made = {"key": entry["key"], "value": _value(entry)}
        for name in ("expiration", "expiration_ttl"):
            if name in entry:
                made[name] = int(entry[name])
        if entry.get("metadata") is not None:
            try:
                made["metadata"] = compact(entry["metadata"])
            except ValueError as failure:
                problems.append(
                    f'The item at index {index} ("{entry["key"]}") has "metadata" that is not '
                    f"JSON: {failure}"
                )
        found.append(made)
    _refuse(problems, given)
    if unknown:
        warn(
            f"Unexpected properties in {given}, which have no effect: {', '.join(sorted(unknown))}"
        )
    return found


def read_names(path: Path, given: Path) -> list[str]:
    """The keys to read or delete: texts, or objects with a ``name``. Raises CommandError."""
    problems: list[str] = []
    found: list[str] = []
    for index, entry in enumerate(_read_list(path, given)):
        name = entry.get("name", entry.get("key")) if isinstance(entry, dict) else entry
        if isinstance(name, str):
            found.append(name)
        else:
            problems.append(
                f'The item at index {index} is neither a text nor an object with a "name".'
            )
    _refuse(problems, given)
    return found


def _read_list(path: Path, given: Path) -> list[Any]:
    try:
        value = parse_json(path.read_bytes())
    except OSError as failure:
        raise CommandError(f"{given} cannot be read: {failure.strerror}.") from failure
    except ValueError as failure:
        raise CommandError(f"{given} is not JSON: {failure}") from None
    if not isinstance(value, list):
        raise CommandError(
            f"Unexpected JSON input from {given}. Expected an array but got {type(value).__name__}."
        )
    return value


def _problem(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return "is not an object."
    if not isinstance(entry.get("key"), str):
        return 'has no text as its "key".'
    if not isinstance(entry.get("value"), str):
        return f'("{entry["key"]}") has no text as its "value".'
    for name in ("expiration", "expiration_ttl"):
        if not _is_number(entry.get(name, 0)):
            return f'("{entry["key"]}") has a "{name}" that is not a number of seconds.'
    if not isinstance(entry.get("metadata"), dict | list | None):
        return f'("{entry["key"]}") has "metadata" that is not an object.'
    if not isinstance(entry.get("base64", False), bool):
        return f'("{entry["key"]}") has a "base64" that is neither true nor false.'
    if entry.get("base64"):
        try:
            _decoded(entry["value"])
        except ValueError:
            return f'("{entry["key"]}") has a "value" that is not base64.'
    return None


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _decoded(text: str) -> bytes:
    """The bytes of base64: in both alphabets, with or without padding and spaces, as Node.js takes it.

    Raises ValueError for other characters, which Node.js passes over.
    """
    digits = "".join(text.split()).translate(_TO_STANDARD)
    if not digits.endswith("="):
        digits += "=" * (-len(digits) % 4)
    return base64.b64decode(digits, validate=True)


def _value(entry: dict[str, Any]) -> str:
    """The value in standard base64."""
    value: str = entry["value"]
    data = _decoded(value) if entry.get("base64") else value.encode("utf-8", "replace")
    return base64.b64encode(data).decode()


def _refuse(problems: list[str], given: Path) -> None:
    if problems:
        shown = problems[:_MOST_SHOWN]
        if len(problems) > _MOST_SHOWN:
            shown.append(f"… and {len(problems) - _MOST_SHOWN} more")
        raise CommandError(f"Unexpected JSON input from {given}.\n" + "\n".join(shown))
