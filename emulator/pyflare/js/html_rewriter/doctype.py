"""The parts of a doctype.

Source: https://html.spec.whatwg.org/multipage/parsing.html#doctype-state
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .document_encoding import DocumentEncoding

__all__ = ["Doctype", "parse_doctype"]

_S: Final = rb"[\t\n\f\r ]*"
_QUOTED: Final = rb"(?:\"([^\">]*)\"?|'([^'>]*)'?)"
_PARTS: Final = re.compile(
    rb"<!DOCTYPE"
    + _S
    + rb"([^\t\n\f\r >]*)"
    + _S
    + rb"(?:PUBLIC"
    + _S
    + _QUOTED
    + rb"(?:"
    + _S
    + _QUOTED
    + rb")?|SYSTEM"
    + _S
    + _QUOTED
    + rb")?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Doctype:
    """``name`` is in lower case. What is left out is None."""

    name: str | None
    public_id: str | None
    system_id: str | None


def parse_doctype(source: bytes, encoding: DocumentEncoding) -> Doctype:
    """The parts of ``<!DOCTYPE ...>``."""
    found = _PARTS.match(source)
    assert found is not None
    name, *quoted = found.groups()

    def first(*values: bytes | None) -> str | None:
        return next((encoding.decode(value) for value in values if value is not None), None)

    return Doctype(
        encoding.decode(name.lower()) if name else None,
        first(quoted[0], quoted[1]),
        first(*quoted[2:]),
    )
