r"""``\p{...}`` in regular expressions: sets of code points by Unicode property.

Python's own table of characters has the general categories and a few properties of text; scripts and emoji are not in
it and are refused.

Source: https://tc39.es/ecma262/#table-nonbinary-unicode-properties and #table-binary-unicode-properties
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final, TypeAlias

__all__ = ["Ranges", "complement", "property_ranges", "ranges_of"]

#: A set of code points: first and last of each run, in order and apart.
Ranges: TypeAlias = tuple[tuple[int, int], ...]

_LONG_NAMES: Final = {
    "Cased_Letter": "LC", "Close_Punctuation": "Pe", "Connector_Punctuation": "Pc", "Control": "Cc",
    "Currency_Symbol": "Sc", "Dash_Punctuation": "Pd", "Decimal_Number": "Nd", "Enclosing_Mark": "Me",
    "Final_Punctuation": "Pf", "Format": "Cf", "Initial_Punctuation": "Pi", "Letter": "L",
    "Letter_Number": "Nl", "Line_Separator": "Zl", "Lowercase_Letter": "Ll", "Mark": "M",
    "Combining_Mark": "M", "Math_Symbol": "Sm", "Modifier_Letter": "Lm", "Modifier_Symbol": "Sk",
    "Nonspacing_Mark": "Mn", "Number": "N", "Open_Punctuation": "Ps", "Other": "C",
    "Other_Letter": "Lo", "Other_Number": "No", "Other_Punctuation": "Po", "Other_Symbol": "So",
    "Paragraph_Separator": "Zp", "Private_Use": "Co", "Punctuation": "P", "Separator": "Z",
    "Space_Separator": "Zs", "Spacing_Mark": "Mc", "Surrogate": "Cs", "Symbol": "S",
    "Titlecase_Letter": "Lt", "Unassigned": "Cn", "Uppercase_Letter": "Lu", "cntrl": "Cc",
    "digit": "Nd", "punct": "P",
}  # fmt: skip
_BINARY: Final[dict[str, Callable[[str], bool]]] = {
    "Any": lambda character: True,
    "ASCII": str.isascii,
    "Assigned": lambda character: unicodedata.category(character) != "Cn",
    "ASCII_Hex_Digit": lambda character: character in "0123456789ABCDEFabcdef",
    "AHex": lambda character: character in "0123456789ABCDEFabcdef",
    "ID_Start": str.isidentifier,
    "IDS": str.isidentifier,
    "White_Space": lambda character: character.isspace() and not "\x1c" <= character <= "\x1f",
    "space": lambda character: character.isspace() and not "\x1c" <= character <= "\x1f",
    "Uppercase": str.isupper,
    "Upper": str.isupper,
    "Lowercase": str.islower,
    "Lower": str.islower,
}


def ranges_of(members: Iterable[tuple[int, int]]) -> Ranges:
    """Runs of code points, put in order and joined."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(members):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


def complement(ranges: Ranges) -> Ranges:
    """Every other code point."""
    gaps, start = [], 0
    for first, last in ranges:
        if start < first:
            gaps.append((start, first - 1))
        start = last + 1
    if start <= sys.maxunicode:
        gaps.append((start, sys.maxunicode))
    return tuple(gaps)


def property_ranges(text: str) -> Ranges | None:
    """The code points of what stands in the braces, None for a property that is not known here."""
    name, equals, value = text.partition("=")
    if equals:
        return _category(value) if name in ("General_Category", "gc") else None
    found = _category(name)
    if found is not None:
        return found
    return _by_test(name) if name in _BINARY else None


def _category(name: str) -> Ranges | None:
    short = _LONG_NAMES.get(name, name)
    table = _categories()
    if short == "LC":
        kinds = ["Lu", "Ll", "Lt"]
    else:
        kinds = [kind for kind in table if kind == short or (len(short) == 1 and kind[0] == short)]
    return ranges_of(run for kind in kinds for run in table[kind]) if kinds else None


@cache
def _categories() -> dict[str, list[tuple[int, int]]]:
    table: dict[str, list[tuple[int, int]]] = {}
    category, start = unicodedata.category("\0"), 0
    for point in range(1, sys.maxunicode + 2):
        kind = unicodedata.category(chr(point)) if point <= sys.maxunicode else ""
        if kind != category:
            table.setdefault(category, []).append((start, point - 1))
            category, start = kind, point
    return table


@cache
def _by_test(name: str) -> Ranges:
    test = _BINARY[name]
    return ranges_of((point, point) for point in range(sys.maxunicode + 1) if test(chr(point)))
