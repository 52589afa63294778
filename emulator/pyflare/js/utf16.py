"""Text as UTF-16 code units and back. A Python string may hold either; joined surrogates are one character."""

from __future__ import annotations

__all__ = ["split_units", "whole_characters"]


def split_units(text: str) -> str:
    """The text with each character beyond U+FFFF as its two surrogates."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    raw = text.encode("utf-16-be", "surrogatepass")
    return "".join([chr(raw[at] << 8 | raw[at + 1]) for at in range(0, len(raw), 2)])


def whole_characters(text: str) -> str:
    """The text with surrogates joined to the character that they are a pair for."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
