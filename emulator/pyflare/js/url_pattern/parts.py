"""Reads a pattern into parts, and writes parts as a regular expression and as a pattern again.

Source: https://urlpattern.spec.whatwg.org/#pattern-strings
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from .tokens import PatternError, Token, TokenType, is_name_part, tokenize

__all__ = ["Options", "Part", "PartType", "escape_pattern", "parse", "to_pattern", "to_regexp"]

_FULL_WILDCARD: Final = ".*"
_PATTERN_SPECIAL: Final = re.compile(r"[+*?:{}()\\]")
_REGEXP_SPECIAL: Final = re.compile(r"[.+*?^${}()\[\]|/\\]")


class PartType(Enum):
    FIXED_TEXT = auto()
    REGEXP = auto()
    SEGMENT_WILDCARD = auto()
    FULL_WILDCARD = auto()


@dataclass(frozen=True, slots=True)
class Part:
    """``value`` is the text or the expression; ``modifier`` is empty, ``?``, ``+`` or ``*``."""

    type: PartType
    value: str
    modifier: str
    name: str = ""
    prefix: str = ""
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """``delimiter`` ends what a name matches; ``prefix`` in front of a group belongs to it."""

    delimiter: str = ""
    prefix: str = ""

    @property
    def segment_wildcard(self) -> str:
        return f"[^{escape_regexp(self.delimiter)}]+?" if self.delimiter else "[^]+?"


def escape_pattern(text: str) -> str:
    """Text as a pattern that matches it."""
    return _PATTERN_SPECIAL.sub(r"\\\g<0>", text)


def escape_regexp(text: str) -> str:
    """Text as an expression that matches it."""
    return _REGEXP_SPECIAL.sub(r"\\\g<0>", text)


def parse(text: str, options: Options, encode: Callable[[str], str]) -> list[Part]:
    """The parts of a pattern.

    Args: ``encode`` brings fixed texts into the form of the component. Raises: PatternError.
    """
    return _Parser(tokenize(text), options, encode).parse()


class _Parser:
    def __init__(self, tokens: list[Token], options: Options, encode: Callable[[str], str]) -> None:
        self._tokens = tokens
        self._options = options
        self._encode = encode
        self._index = 0
        self._pending = ""
        self._next_number = 0
        self._parts: list[Part] = []

    def parse(self) -> list[Part]:
        while self._index < len(self._tokens):
            char = self._take(TokenType.CHAR)
            name = self._take(TokenType.NAME)
            expression = self._take_expression(name)
            if name is not None or expression is not None:
                prefix = "" if char is None else char.value
                if prefix and prefix != self._options.prefix:
                    self._pending += prefix
                    prefix = ""
                self._flush_pending()
                self._add(prefix, name, expression, "", self._take_modifier())
                continue
            fixed = char or self._take(TokenType.ESCAPED_CHAR)
            if fixed is not None:
                self._pending += fixed.value
                continue
            if self._take(TokenType.OPEN) is not None:
                prefix = self._take_text()
                name = self._take(TokenType.NAME)
                expression = self._take_expression(name)
                suffix = self._take_text()
                self._require(TokenType.CLOSE)
                self._add(prefix, name, expression, suffix, self._take_modifier())
                continue
            self._flush_pending()
            self._require(TokenType.END)
        return self._parts

    def _take(self, kind: TokenType) -> Token | None:
        if self._index == len(self._tokens):
            return None
        token = self._tokens[self._index]
        if token.type is not kind:
            return None
        self._index += 1
        return token

    def _require(self, kind: TokenType) -> None:
        if self._take(kind) is None:
            raise PatternError(f"{kind.name} was expected in the pattern")

    def _take_expression(self, name: Token | None) -> Token | None:
        token = self._take(TokenType.REGEXP)
        if token is None and name is None:
            return self._take(TokenType.ASTERISK)
        return token

    def _take_modifier(self) -> str:
        token = self._take(TokenType.OTHER_MODIFIER) or self._take(TokenType.ASTERISK)
        return "" if token is None else token.value

    def _take_text(self) -> str:
        text = ""
        while (
            token := self._take(TokenType.CHAR) or self._take(TokenType.ESCAPED_CHAR)
        ) is not None:
            text += token.value
        return text

    def _flush_pending(self) -> None:
        if self._pending:
            self._parts.append(Part(PartType.FIXED_TEXT, self._encode(self._pending), ""))
            self._pending = ""

    def _add(
        self, prefix: str, name: Token | None, expression: Token | None, suffix: str, modifier: str
    ) -> None:
        if name is None and expression is None and not modifier:
            self._pending += prefix
            return
        self._flush_pending()
        if name is None and expression is None:
            if prefix:
                self._parts.append(Part(PartType.FIXED_TEXT, self._encode(prefix), modifier))
            return
        segment = self._options.segment_wildcard
        if expression is None:
            value = segment
        elif expression.type is TokenType.ASTERISK:
            value = _FULL_WILDCARD
        else:
            value = expression.value
        kind = PartType.REGEXP
        if value == segment:
            kind, value = PartType.SEGMENT_WILDCARD, ""
        elif value == _FULL_WILDCARD:
            kind, value = PartType.FULL_WILDCARD, ""
        if name is not None:
            label = name.value
        else:
            label = str(self._next_number)
            self._next_number += 1
        if any(part.name == label for part in self._parts):
            raise PatternError(f"the name {label} stands twice in the pattern")
        self._parts.append(
            Part(kind, value, modifier, label, self._encode(prefix), self._encode(suffix))
        )


def to_regexp(parts: list[Part], options: Options) -> tuple[str, list[str]]:
    """The source of a JavaScript expression for the parts, and the names of its groups."""
    pieces = ["^"]
    names: list[str] = []
    for part in parts:
        modifier = part.modifier
        if part.type is PartType.FIXED_TEXT:
            text = escape_regexp(part.value)
            pieces.append(f"(?:{text}){modifier}" if modifier else text)
            continue
        names.append(part.name)
        match part.type:
            case PartType.SEGMENT_WILDCARD:
                value = options.segment_wildcard
            case PartType.FULL_WILDCARD:
                value = _FULL_WILDCARD
            case _:
                value = part.value
        prefix, suffix = escape_regexp(part.prefix), escape_regexp(part.suffix)
        repeats = modifier in ("*", "+")
        if not prefix and not suffix:
            pieces.append(f"((?:{value}){modifier})" if repeats else f"({value}){modifier}")
        elif not repeats:
            pieces.append(f"(?:{prefix}({value}){suffix}){modifier}")
        else:
            optional = "?" if modifier == "*" else ""
            again = f"(?:{suffix}{prefix}(?:{value}))*"
            pieces.append(f"(?:{prefix}((?:{value}){again}){suffix}){optional}")
    pieces.append("$")
    return "".join(pieces), names


def to_pattern(parts: list[Part], options: Options) -> str:
    """The parts as a pattern, in normal form."""
    pieces: list[str] = []
    for index, part in enumerate(parts):
        if part.type is PartType.FIXED_TEXT:
            text = escape_pattern(part.value)
            pieces.append(f"{{{text}}}{part.modifier}" if part.modifier else text)
            continue
        previous = parts[index - 1] if index else None
        following = parts[index + 1] if index + 1 < len(parts) else None
        named = not part.name[0].isdigit()
        grouped = _needs_grouping(part, previous, following, named, options)
        pieces.append(("{" if grouped else "") + escape_pattern(part.prefix))
        if named:
            pieces.append(f":{part.name}")
        if part.type is PartType.REGEXP:
            pieces.append(f"({part.value})")
        elif part.type is PartType.SEGMENT_WILDCARD:
            if not named:
                pieces.append(f"({options.segment_wildcard})")
            elif part.suffix and is_name_part(part.suffix[0]):
                pieces.append("\\")
        elif not named and (
            previous is None
            or previous.type is PartType.FIXED_TEXT
            or previous.modifier
            or grouped
            or part.prefix
        ):
            pieces.append("*")
        else:
            pieces.append(f"({_FULL_WILDCARD})")
        pieces.append(escape_pattern(part.suffix) + ("}" if grouped else "") + part.modifier)
    return "".join(pieces)


def _needs_grouping(
    part: Part, previous: Part | None, following: Part | None, named: bool, options: Options
) -> bool:
    if part.suffix or (part.prefix and part.prefix != options.prefix):
        return True
    if (
        named
        and part.type is PartType.SEGMENT_WILDCARD
        and not part.modifier
        and following is not None
        and not following.prefix
        and not following.suffix
    ):
        if following.type is PartType.FIXED_TEXT:
            if following.value and is_name_part(following.value[0]):
                return True
        elif following.name[0].isdigit():
            return True
    return bool(
        not part.prefix
        and options.prefix
        and previous is not None
        and previous.type is PartType.FIXED_TEXT
        and previous.value.endswith(options.prefix)
    )
