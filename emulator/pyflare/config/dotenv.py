"""The format of `.dev.vars` and `.env` files.

The rules are those of the npm packages dotenv and dotenv-expand, which the platform's tools use:
a line that is no assignment is passed over there in silence, here with a note of its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_KEY = re.compile(r"[ \t]*(?:export[ \t]+)?([\w.-]+)(?:\s*=|:(?=[ \t]))[ \t]*", re.ASCII)
_BEFORE = re.compile(r"\s*", re.ASCII)
_REST = re.compile(r"[^#\n]*")
#: A value in quotes, which a comment or the end of the line follows. A quote behind a backslash may still be the last.
_QUOTED = {
    quote: re.compile(rf"{quote}((?:\\{quote}|[^{quote}])*){quote}(?=[ \t]*(?:#[^\n]*)?(?:\n|\Z))")
    for quote in "'\"`"
}
_REFERENCE = re.compile(r"(?<!\\)\$(?:\{([^{}]+)\}|([A-Za-z_][A-Za-z0-9_]*))")
_DEFAULT = re.compile(r"(.*?)(:-|-|:\+|\+)(.*)", re.DOTALL)


class Variables(NamedTuple):
    """`values` in the order of the file, the last assignment to a name counting; `unread` the
    numbers of lines that are neither assignment, comment nor blank; `unclosed` those of lines
    with a quote that is never closed."""

    values: dict[str, str]
    lines: dict[str, int]
    unread: tuple[int, ...] = ()
    unclosed: tuple[int, ...] = ()


def parse(text: str) -> Variables:
    """Read `text`, whose lines end with `\\n`. Never fails."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    unread: list[int] = []
    unclosed: list[int] = []
    pos, line = 0, 1
    while pos < len(text):
        start = pos
        match = _KEY.match(text, pos)
        if match is None:
            end = text.find("\n", pos)
            end = len(text) if end < 0 else end
            content = text[pos:end].strip()
            if content and not content.startswith("#"):
                unread.append(line)
            pos = end
        else:
            name, pos = match.group(1), match.end()
            value, pos, closed = _value(text, pos)
            if not closed:
                unclosed.append(line)
            values.pop(name, None)
            values[name] = value
            lines[name] = line
        end = text.find("\n", pos)
        pos = len(text) if end < 0 else end + 1
        line += text.count("\n", start, pos)
    return Variables(values, lines, tuple(unread), tuple(unclosed))


def _value(text: str, pos: int) -> tuple[str, int, bool]:
    """The value at `pos`, the place after it, and whether its quote was closed."""
    before = _BEFORE.match(text, pos)
    assert before is not None
    quote = text[before.end() : before.end() + 1]
    if quote in _QUOTED and (match := _QUOTED[quote].match(text, before.end())) is not None:
        return _unescaped(match.group(1), quote), match.end(), True
    rest = _REST.match(text, pos)
    assert rest is not None
    value = rest.group().strip()
    quote = value[:1]
    if quote not in _QUOTED:
        return value, rest.end(), True
    closed = len(value) > 1 and value.endswith(quote)
    return _unescaped(value[1:-1] if closed else value, quote), rest.end(), closed


def _unescaped(value: str, quote: str) -> str:
    return value.replace("\\n", "\n").replace("\\r", "\r") if quote == '"' else value


def expand(values: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Replace `$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+other}` in `values`.

    A name means the process variable in `environ`, else a value above it; unknown names are
    empty. A name that `environ` holds keeps the process's value. `\\$` is a plain `$`.
    """
    done: dict[str, str] = {}
    for name, value in values.items():
        if environ.get(name):
            done[name] = environ[name]
            continue
        # Nested defaults resolve from the inside; the bound keeps self-references finite.
        for _ in range(10):
            replaced = _REFERENCE.sub(lambda found: _lookup(found, done, environ), value)
            if replaced == value:
                break
            value = replaced
        done[name] = value.replace("\\$", "$")
    return done


def _lookup(found: re.Match[str], done: Mapping[str, str], environ: Mapping[str, str]) -> str:
    expression = found.group(1) or found.group(2)
    operator, other = "", ""
    if (parts := _DEFAULT.fullmatch(expression)) is not None:
        expression, operator, other = parts.groups()
    value = environ[expression] if expression in environ else done.get(expression)
    match operator:
        case ":-":
            return value or other
        case "-":
            return other if value is None else value
        case ":+":
            return other if value else ""
        case "+":
            return "" if value is None else other
        case _:
            return value or ""
