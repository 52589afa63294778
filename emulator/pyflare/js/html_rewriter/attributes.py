"""Reads the attributes of a tag, as bytes and as they are written: character references stay what they are.

Source: https://html.spec.whatwg.org/multipage/parsing.html#before-attribute-name-state
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["attribute_values", "read_attributes"]

_S: Final = rb"\t\n\f\r "
#: Groups: the name, and the value in double quotes, in single quotes or without.
_ATTRIBUTE: Final = re.compile(
    rb"([^" + _S + rb"/>][^" + _S + rb"/>=]*+)"
    rb"(?:[" + _S + rb"]*+=[" + _S + rb"]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^" + _S + rb">]*+)))?+"
)


def read_attributes(raw: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """The attributes in what stands between a tag's name and its end: name, value, and both as written."""
    return [
        (found[1], found[2] or found[3] or found[4] or b"", found.group())
        for found in _ATTRIBUTE.finditer(raw)
    ]


def attribute_values(raw: bytes) -> dict[bytes, bytes]:
    """The values by name in lower case; of two attributes with one name the first counts."""
    values: dict[bytes, bytes] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(raw):
        lower = name.lower()
        if lower not in values:
            values[lower] = double or single or bare
    return values
