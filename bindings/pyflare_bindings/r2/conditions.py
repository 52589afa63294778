"""Conditions of reads and writes: `onlyIf`, and the `If-*` headers.

Source: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#conditional-operations
and workerd `api/r2-bucket.c++`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

_BLANKS = " \t"
_UNEXPECTED = {
    '"': (
        "a double quote character '\"' instead. "
        "This would otherwise indicate the start of a new strong etag."
    ),
    "W": (
        "a weak quotation character 'W' instead. "
        "This would otherwise indicate the start of a new weak etag."
    ),
    "*": "a wildcard character '*' instead.",
}


class Etag(NamedTuple):
    """One etag of a condition; a wildcard stands for every object."""

    value: str
    kind: Literal["strong", "weak", "wildcard"] = "strong"


WILDCARD = Etag("*", "wildcard")


@dataclass(frozen=True, slots=True)
class Conditions:
    """All of these must hold. Times in milliseconds since the epoch, both bounds exclusive.

    With `seconds_granularity` times are compared as whole seconds, as HTTP headers carry them.
    """

    etag_matches: tuple[Etag, ...] | None = None
    etag_does_not_match: tuple[Etag, ...] | None = None
    uploaded_before: int | None = None
    uploaded_after: int | None = None
    seconds_granularity: bool = False

    def hold_for(self, etag: str, uploaded: int) -> bool:
        """Whether they hold for an object. A passing etag condition hides a failing date.

        As in production, and unlike RFC 9110, a date equal to the object's fails on both sides.
        """
        wanted, unwanted = self.etag_matches, self.etag_does_not_match
        if wanted is not None and not any(
            kind == "wildcard" or (kind == "strong" and value == etag) for value, kind in wanted
        ):
            return False
        if unwanted is not None and any(
            kind == "wildcard" or value == etag for value, kind in unwanted
        ):
            return False
        if unwanted is None and not self._later(uploaded, self.uploaded_after):
            return False
        return wanted is not None or self._earlier(uploaded, self.uploaded_before)

    def hold_for_nothing(self) -> bool:
        """Whether they hold where there is no object."""
        return self.etag_matches is None and self.uploaded_after is None

    def _later(self, uploaded: int, bound: int | None) -> bool:
        return bound is None or self._time(bound) < self._time(uploaded)

    def _earlier(self, uploaded: int, bound: int | None) -> bool:
        return bound is None or self._time(uploaded) < self._time(bound)

    def _time(self, milliseconds: int) -> int:
        return milliseconds // 1000 if self.seconds_granularity else milliseconds


def parse_etags(text: str, header: str) -> tuple[Etag, ...]:
    """The etags of an `If-Match` or `If-None-Match` header, whose lower-case name is `header`.

    A wildcard discards the others; an unknown character ends the list. Raises ValueError with the
    platform's text.
    """
    etags: list[Etag] = []
    at, separated = 0, True
    while at < len(text):
        start = text[at]
        if start == ",":
            separated = True
        elif start in _UNEXPECTED:
            if not separated:
                raise ValueError(
                    "Comma was expected to separate etags. Encountered " + _UNEXPECTED[start]
                )
            if start == "*":
                return (WILDCARD,)
            if start == "W":
                if text[at + 1 : at + 3] != '/"':
                    raise ValueError("Weak etags must start with W/ and their value must be quoted")
                at += 2
            end = text.find('"', at + 1)
            if end < 0:
                raise ValueError("Unclosed double quote for Etag")
            etags.append(Etag(text[at + 1 : end], "weak" if start == "W" else "strong"))
            at, separated = end, False
        elif start not in _BLANKS:
            break
        at += 1
    if not etags:
        raise ValueError(f"Invalid ETag in {header} header")
    return tuple(etags)
