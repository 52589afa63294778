"""What is said about a configuration: positions, messages, and the error that stops a start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

Level = Literal["error", "warning", "info"]

_MARKERS: dict[Level, str] = {
    "error": "✘ [ERROR]",
    "warning": "▲ [WARNING]",
    "info": "[INFO]",
}


class Position(NamedTuple):
    """A place in a file. `line` and `column` count from 1; `file` is as shown to a person."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Diagnostic(NamedTuple):
    """One message. `section` holds the headings it stands under, outermost first; a message
    without headings stands alone. `source_line` is the text of the line at `position`."""

    level: Level
    message: str
    position: Position | None = None
    section: tuple[str, ...] = ()
    hint: str | None = None
    source_line: str | None = None


class ConfigError(Exception):
    """The configuration cannot be used.

    `str()` is every error in the shape that wrangler prints (a heading, a blank line, nested
    bullets), each with its place. `diagnostics` holds the warnings too, and `files` what a
    watcher should watch for the mistake to be mended.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], files: Iterable[Path] = ()) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        self.files: tuple[Path, ...] = tuple(files)
        super().__init__(self.diagnostics, self.files)

    def __str__(self) -> str:
        return "\n\n".join(_blocks(self.diagnostics, "error"))

    def render(self) -> str:
        """The errors as the terminal shows them, each block behind the mark of its level."""
        return render(self.diagnostics, "error")


def render(diagnostics: Iterable[Diagnostic], level: Level) -> str:
    """All messages of `level`, or an empty text: blocks such as
    `▲ [WARNING] Processing wrangler.jsonc configuration:`, blank line, `    - bullet`."""
    mark = _MARKERS[level]
    return "\n\n".join(f"{mark} {block}" for block in _blocks(diagnostics, level))


def _blocks(diagnostics: Iterable[Diagnostic], level: Level) -> Iterator[str]:
    chosen = [each for each in diagnostics if each.level == level]
    headings = dict.fromkeys(each.section[0] for each in chosen if each.section)
    for heading in headings:
        group = [each for each in chosen if each.section and each.section[0] == heading]
        yield f"{heading}\n\n" + "\n".join(_bullets(group, depth=1, indent="    "))
    for each in chosen:
        if not each.section:
            yield _alone(each)


def _bullets(group: Sequence[Diagnostic], depth: int, indent: str) -> Iterator[str]:
    for each in group:
        if len(each.section) == depth:
            lines = _lines(each)
            yield f"{indent}- {lines[0]}"
            yield from (f"{indent}  {line}".rstrip() for line in lines[1:])
    nested = dict.fromkeys(each.section[depth] for each in group if len(each.section) > depth)
    for heading in nested:
        inner = [e for e in group if len(e.section) > depth and e.section[depth] == heading]
        yield f"{indent}- {heading}"
        yield from _bullets(inner, depth + 1, indent + "  ")


def _lines(diagnostic: Diagnostic) -> list[str]:
    lines = diagnostic.message.split("\n")
    if diagnostic.hint is not None:
        lines += diagnostic.hint.split("\n")
    if diagnostic.position is not None:
        lines.append(f"at {diagnostic.position}")
    return lines


def _alone(diagnostic: Diagnostic) -> str:
    position, line = diagnostic.position, diagnostic.source_line
    if position is None or line is None:
        return "\n".join(line.rstrip() for line in _lines(diagnostic))
    number = str(position.line)
    caret = "".join("\t" if ch == "\t" else " " for ch in line[: position.column - 1]) + "^"
    excerpt = (
        f"    {position}:\n      {number} │ {line}\n      {' ' * len(number)} ╵ {caret}".rstrip()
    )
    hint = f"\n\n{diagnostic.hint}" if diagnostic.hint is not None else ""
    return f"{diagnostic.message}\n\n{excerpt}{hint}"
