"""Sets of characters in the notation of Python's :mod:`re`."""

from __future__ import annotations

from typing import Final

from .regexp_properties import Ranges, ranges_of

__all__ = ["brackets", "by_upper_case", "escaped"]

#: Python's IGNORECASE takes these for ASCII letters. JavaScript does so with `u` only.
_FOLDED_TO_ASCII: Final = ((0x130, 0x131), (0x17F, 0x17F), (0x212A, 0x212A))
#: What JavaScript's letter case without `u` has in common with Python's.
_FOLDED_ALIKE: Final = ((0x80, 0x12F), (0x132, 0x17E), (0x180, 0x2129), (0x212B, 0xFFFF))


def escaped(point: int) -> str:
    """One character that stands for itself."""
    if point < 0x80 and chr(point).isalnum():
        return chr(point)
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def brackets(ranges: Ranges, negated: bool, highest: int) -> str:
    """A set up to the highest code point that a text can have."""
    inside = [(first, min(last, highest)) for first, last in ranges if first <= highest]
    if not inside:
        return r"[\s\S]" if negated else "(?!)"
    return f"[{'^' if negated else ''}{_listed(tuple(inside))}]"


def by_upper_case(ranges: Ranges, negated: bool) -> str:
    """A set without regard to case as JavaScript has it without ``u``, inside of an IGNORECASE of Python's."""
    exact = [*_common(ranges, ((0, 0x7F),)), *_common(ranges, _FOLDED_TO_ASCII)]
    letters = [*_common(ranges, ((0x41, 0x5A),)), *_common(ranges, ((0x61, 0x7A),))]
    exact += [(first ^ 0x20, last ^ 0x20) for first, last in letters]
    folded = _common(ranges, _FOLDED_ALIKE)
    either = "|".join(
        f"(?{'-i' if part is exact else ''}:[{_listed(ranges_of(part))}])"
        for part in (exact, folded)
        if part
    )
    if negated:
        return f"(?!{either})[\\s\\S]" if either else r"[\s\S]"
    return f"(?:{either})" if either else "(?!)"


def _common(ranges: Ranges, others: Ranges) -> list[tuple[int, int]]:
    return [
        (max(first, low), min(last, high))
        for first, last in ranges
        for low, high in others
        if max(first, low) <= min(last, high)
    ]


def _listed(ranges: Ranges) -> str:
    """The inside of brackets."""
    return "".join(
        escaped(first) if first == last else f"{escaped(first)}-{escaped(last)}"
        for first, last in ranges
    )
