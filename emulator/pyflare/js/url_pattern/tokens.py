"""Splits the text of a pattern into tokens.

Source: https://urlpattern.spec.whatwg.org/#tokenizing
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

__all__ = ["PatternError", "Token", "TokenType", "is_name_part", "is_name_start", "tokenize"]


class PatternError(ValueError):
    """The text is no pattern, or no part of an address."""


class TokenType(Enum):
    OPEN = auto()
    CLOSE = auto()
    REGEXP = auto()
    NAME = auto()
    CHAR = auto()
    ESCAPED_CHAR = auto()
    OTHER_MODIFIER = auto()
    ASTERISK = auto()
    END = auto()
    INVALID_CHAR = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """``index`` is where it starts in the text; ``value`` is without what marks it."""

    type: TokenType
    index: int
    value: str


_SINGLE = {
    "*": TokenType.ASTERISK,
    "+": TokenType.OTHER_MODIFIER,
    "?": TokenType.OTHER_MODIFIER,
    "{": TokenType.OPEN,
    "}": TokenType.CLOSE,
}


def is_name_start(character: str) -> bool:
    """Whether a name may begin with it, as JavaScript's identifiers do."""
    return character == "$" or character.isidentifier()


def is_name_part(character: str) -> bool:
    """Whether a name may go on with it."""
    return character in ("$", "\u200c", "\u200d") or f"a{character}".isidentifier()


def tokenize(text: str, *, lenient: bool = False) -> list[Token]:
    """The tokens, an END last.

    Raises: PatternError for a part that is no token; a ``lenient`` reading makes an INVALID_CHAR of it.
    """
    tokens: list[Token] = []
    index = 0
    while index < len(text):
        character = text[index]
        single = _SINGLE.get(character)
        if single is not None:
            tokens.append(Token(single, index, character))
            index += 1
            continue
        match character:
            case "\\":
                end = index + 2 if index + 1 < len(text) else None
                token = Token(TokenType.ESCAPED_CHAR, index, text[index + 1 : index + 2])
                value_start = index + 1
            case ":":
                end = _name_end(text, index + 1)
                token = Token(TokenType.NAME, index, text[index + 1 : end])
                value_start = index + 1
            case "(":
                end = _regexp_end(text, index + 1)
                token = Token(TokenType.REGEXP, index, text[index + 1 : end])
                end = None if end is None else end + 1
                value_start = index + 1
            case _:
                end = index + 1
                token = Token(TokenType.CHAR, index, character)
                value_start = index
        if end is None:
            if not lenient:
                raise PatternError(f"{text!r} has something unfinished at {index}")
            token = Token(TokenType.INVALID_CHAR, index, text[index:value_start])
            end = value_start
        tokens.append(token)
        index = end
    tokens.append(Token(TokenType.END, len(text), ""))
    return tokens


def _name_end(text: str, start: int) -> int | None:
    end = start
    while end < len(text) and (is_name_start if end == start else is_name_part)(text[end]):
        end += 1
    return end if end > start else None


def _regexp_end(text: str, start: int) -> int | None:
    """The place of the bracket that closes an expression; only ASCII, and no capturing groups."""
    depth = 1
    position = start
    while position < len(text):
        character = text[position]
        if not character.isascii() or (position == start and character == "?"):
            return None
        if character == "\\":
            following = text[position + 1 : position + 2]
            if not following or not following.isascii():
                return None
            position += 2
            continue
        if character == ")":
            depth -= 1
            if depth == 0:
                return position if position > start else None
        elif character == "(":
            depth += 1
            if text[position + 1 : position + 2] != "?":
                return None
        position += 1
    return None
