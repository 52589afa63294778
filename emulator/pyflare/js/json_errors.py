"""The words in which ``JSON.parse`` refuses a text: V8's, with position, line and column.

Runs only after the fast parser has refused, so it walks the text once more, slowly.
"""

from __future__ import annotations

import re
from typing import Final

from .error import SyntaxError_

__all__ = ["syntax_error"]

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_LITERALS: Final = ("true", "false", "null")
#: How many characters the message shows on each side of the fault.
_CONTEXT: Final = 10


class _Fault(Exception):
    def __init__(self, text: str | None, position: int) -> None:
        super().__init__(text, position)
        self.text = text
        self.position = position


def syntax_error(source: str) -> SyntaxError_:
    """The error of a text that is no JSON."""
    if source == "[object Object]" or source == "undefined":
        return SyntaxError_._make(f'"{source}" is not valid JSON')  # type: ignore[no-any-return]
    try:
        end = _value(source, _skip(source, 0))
        end = _skip(source, end)
        raise _Fault("Unexpected non-whitespace character after", end)
    except RecursionError:
        return SyntaxError_._make("JSON text is nested too deeply")  # type: ignore[no-any-return]
    except _Fault as fault:
        return SyntaxError_._make(_message(source, fault))  # type: ignore[no-any-return]


def _message(source: str, fault: _Fault) -> str:
    position = fault.position
    if fault.text is not None:
        before = source[:position]
        line = before.count("\n") + 1
        column = position - (before.rfind("\n") + 1) + 1
        return f"{fault.text} JSON at position {position} (line {line} column {column})"
    if position >= len(source):
        return "Unexpected end of JSON input"
    token = source[position]
    if len(source) <= 2 * _CONTEXT:
        shown = f'"{source}"'
    elif position < _CONTEXT:
        shown = f'"{source[: position + _CONTEXT]}"...'
    elif position >= len(source) - _CONTEXT:
        shown = f'..."{source[position - _CONTEXT :]}"'
    else:
        shown = f'..."{source[position - _CONTEXT : position + _CONTEXT]}"...'
    return f"Unexpected token '{token}', {shown} is not valid JSON"


def _skip(source: str, position: int) -> int:
    found = _SPACE.match(source, position)
    return found.end() if found else position


def _at(source: str, position: int) -> str:
    if position >= len(source):
        raise _Fault(None, position)
    return source[position]


def _value(source: str, position: int) -> int:
    """The end of the value that starts here."""
    character = _at(source, position)
    if character == "{":
        return _object(source, position + 1)
    if character == "[":
        return _array(source, position + 1)
    if character == '"':
        return _string(source, position + 1)
    if character == "-" or (character.isascii() and character.isdigit()):
        return _number(source, position)
    for literal in _LITERALS:
        if character == literal[0]:
            for offset, expected in enumerate(literal):
                if _at(source, position + offset) != expected:
                    raise _unexpected(source, position + offset)
            return position + len(literal)
    raise _Fault(None, position)


def _is(source: str, position: int, expected: str) -> bool:
    return source[position : position + 1] == expected


def _unexpected(source: str, position: int) -> _Fault:
    character = source[position]
    if character == '"':
        return _Fault("Unexpected string in", position)
    if character == "-" or (character.isascii() and character.isdigit()):
        return _Fault("Unexpected number in", position)
    return _Fault(None, position)


def _object(source: str, position: int) -> int:
    position = _skip(source, position)
    if _is(source, position, "}"):
        return position + 1
    first = True
    while True:
        if not _is(source, position, '"'):
            wanted = "property name or '}'" if first else "double-quoted property name"
            raise _Fault(f"Expected {wanted} in", position)
        position = _skip(source, _string(source, position + 1))
        if not _is(source, position, ":"):
            # The engine has words of its own for the first property only.
            if first:
                raise _Fault("Expected ':' after property name in", position)
            _at(source, position)
            raise _unexpected(source, position)
        position = _skip(source, _value(source, _skip(source, position + 1)))
        if _is(source, position, "}"):
            return position + 1
        if not _is(source, position, ","):
            raise _Fault("Expected ',' or '}' after property value in", position)
        position = _skip(source, position + 1)
        first = False


def _array(source: str, position: int) -> int:
    position = _skip(source, position)
    if _is(source, position, "]"):
        return position + 1
    while True:
        position = _skip(source, _value(source, position))
        if _is(source, position, "]"):
            return position + 1
        if not _is(source, position, ","):
            raise _Fault("Expected ',' or ']' after array element in", position)
        position = _skip(source, position + 1)


def _string(source: str, position: int) -> int:
    while True:
        if position >= len(source):
            raise _Fault("Unterminated string in", position)
        character = source[position]
        if character == '"':
            return position + 1
        if character < " ":
            raise _Fault("Bad control character in string literal in", position)
        if character == "\\":
            position += 1
            if _at(source, position) == "u":
                for offset in range(1, 5):
                    digit = source[position + offset : position + offset + 1]
                    if not re.fullmatch("[0-9A-Fa-f]", digit):
                        raise _Fault("Bad Unicode escape in", position + offset)
                position += 4
            elif source[position] not in '"\\/bfnrt':
                raise _Fault("Bad escaped character in", position)
        position += 1


def _number(source: str, position: int) -> int:
    if source[position] == "-":
        position += 1
        if not _is_digit(source, position):
            raise _Fault("No number after minus sign in", position)
    if source[position] == "0":
        position += 1
        if _is_digit(source, position):
            raise _Fault("Unexpected number in", position)
    else:
        position = _digits(source, position)
    if source[position : position + 1] == ".":
        position += 1
        if not _is_digit(source, position):
            raise _Fault("Unterminated fractional number in", position)
        position = _digits(source, position)
    if source[position : position + 1] in ("e", "E"):
        position += 1
        if source[position : position + 1] in ("+", "-"):
            position += 1
        if not _is_digit(source, position):
            raise _Fault("Exponent part is missing a number in", position)
        position = _digits(source, position)
    return position


def _is_digit(source: str, position: int) -> bool:
    digit = source[position : position + 1]
    return digit.isascii() and digit.isdigit()


def _digits(source: str, position: int) -> int:
    while _is_digit(source, position):
        position += 1
    return position
