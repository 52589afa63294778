"""What a data command prints: data on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from .json_text import with_numbers_of_javascript

__all__ = [
    "OutputLost",
    "ask",
    "confirm",
    "error",
    "flush",
    "is_terminal",
    "notice",
    "print_json",
    "print_table",
    "progress",
    "say",
    "warn",
    "write",
]

#: A table in a pipe is not broken at the width of somebody's terminal.
_PIPE_COLUMNS: Final = 4096


class OutputLost(Exception):
    """Standard output cannot be written; ``str()`` says why. One whose reader is gone raises BrokenPipeError."""


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as failure:
        raise OutputLost(
            f"Standard output cannot be written: {failure.strerror or failure}."
        ) from failure


def say(text: str) -> None:
    """A line on standard output, half characters as ``?``. This and whatever writes there raises OutputLost."""
    with _writing():
        print(text.encode("utf-8", "replace").decode())


def write(data: bytes) -> None:
    """Bytes on standard output, as they are."""
    if sys.stdout is not None:
        with _writing():
            sys.stdout.buffer.write(data)


def flush() -> None:
    """See to it that what was written has arrived."""
    if sys.stdout is None:
        raise OutputLost("Standard output is closed.")
    with _writing():
        sys.stdout.flush()


def notice(text: str) -> None:
    """A line for the person, beside the data."""
    print(text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Something that may not be meant."""
    notice(f"▲ [WARNING] {text}")


def error(text: str, *, as_json: bool = False) -> None:
    """Why the command failed; as wrangler writes it."""
    if as_json:
        print_json({"error": {"text": text}})
    else:
        notice(f"✘ [ERROR] {text}")


def is_terminal() -> bool:
    """Whether somebody looks at standard output."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_json(value: Any) -> None:
    """A value as JSON, two spaces deep, whole numbers as JavaScript writes them."""
    text = json.dumps(with_numbers_of_javascript(value), indent=2, ensure_ascii=False)
    say(text)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table with lines around it."""
    from rich.box import SQUARE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SQUARE, show_lines=True)
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(value)) for value in row))
    with _writing():
        Console(width=None if is_terminal() else _PIPE_COLUMNS, highlight=False).print(table)


def ask(question: str) -> str | None:
    """What is typed on the terminal; None without one."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    print(f"? {question} ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def confirm(question: str, *, yes: bool) -> bool:
    """Ask; without a terminal, or with ``yes``, the answer is yes."""
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    print(f"? {question} (Y/n) ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    return bool(answer) and answer.strip().lower() in ("", "y", "yes")


@contextmanager
def progress(
    what: str, total: float | None, *, in_bytes: bool = False
) -> Iterator[Callable[[float], None]]:
    """Show on a terminal how far long work is. Gives the function that is told of each further step."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda step: bar.advance(task, step)
