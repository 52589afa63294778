"""``console``: text with a level for the worker's log.

Where it goes is :data:`pyflare.js.callbacks.console_sink`.

Source: https://console.spec.whatwg.org/
"""

from __future__ import annotations

import time
import traceback
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from .array import JsArray
from .callbacks import console_sink
from .inspect_value import format_arguments, inspect
from .value import JsInstance, JsObject, own_items
from .webidl import text

__all__ = ["Console", "ConsoleState", "console", "console_sink", "console_state"]


@dataclass(slots=True)
class ConsoleState:
    """What ``count``, ``time`` and ``group`` remember."""

    counts: dict[str, int] = field(default_factory=dict)
    timers: dict[str, float] = field(default_factory=dict)
    indent: int = 0


#: The state of the running worker's console. Whoever runs a worker sets one for its context; else nothing is kept.
console_state: ContextVar[ConsoleState | None] = ContextVar("console_state", default=None)


class Console(JsInstance, js_name="console"):
    """The methods of ``console``. ``assert`` is reached as ``assert_``."""

    _own_state: ConsoleState

    def __init__(self) -> None:
        self._own_state = ConsoleState()

    @property
    def _state(self) -> ConsoleState:
        return console_state.get() or self._own_state

    def _emit(self, level: str, line: str, args: tuple[Any, ...] = ()) -> None:
        indent = self._state.indent
        if indent:
            line = "\n".join("  " * indent + each for each in line.split("\n"))
        sink = console_sink.get()
        # A sink may want to see what was written, beside the text that it became.
        note = getattr(sink, "note", None)
        if note is None:
            sink(level, line)
        else:
            note(level, line, args or (line,))

    def log(self, *args: Any) -> None:
        self._emit("log", format_arguments(args), args)

    def info(self, *args: Any) -> None:
        self._emit("info", format_arguments(args), args)

    def debug(self, *args: Any) -> None:
        self._emit("debug", format_arguments(args), args)

    def warn(self, *args: Any) -> None:
        self._emit("warn", format_arguments(args), args)

    def error(self, *args: Any) -> None:
        self._emit("error", format_arguments(args), args)

    def trace(self, *args: Any) -> None:
        """Like ``log``, with the stack of the caller."""
        label = format_arguments(args)
        stack = "".join(traceback.format_stack()[:-1]).rstrip()
        self._emit("log", f"Trace: {label}\n{stack}" if label else f"Trace\n{stack}")

    def assert_(self, condition: Any = False, *args: Any) -> None:
        """Log an error unless the condition holds."""
        if condition:
            return
        detail = format_arguments(args)
        self._emit("error", f"Assertion failed: {detail}" if detail else "Assertion failed")

    def dir(self, value: Any = None, *_: Any, **__: Any) -> None:
        self._emit("log", inspect(value))

    def dirxml(self, *args: Any) -> None:
        self.log(*args)

    def count(self, label: Any = "default") -> None:
        name, counts = text(label), self._state.counts
        counts[name] = counts.get(name, 0) + 1
        self._emit("log", f"{name}: {counts[name]}")

    def countReset(self, label: Any = "default") -> None:
        name = text(label)
        if self._state.counts.pop(name, None) is None:
            self._emit("warn", f"Count for '{name}' does not exist")

    def time(self, label: Any = "default") -> None:
        name, timers = text(label), self._state.timers
        if name in timers:
            self._emit("warn", f"Label '{name}' already exists for console.time()")
            return
        timers[name] = time.perf_counter()

    def timeLog(self, label: Any = "default", *args: Any) -> None:
        name = text(label)
        started = self._state.timers.get(name)
        if started is None:
            self._emit("warn", f"No such label '{name}' for console.timeLog()")
            return
        self._emit("log", f"{name}: {_elapsed(started)} {format_arguments(args)}".rstrip())

    def timeEnd(self, label: Any = "default") -> None:
        name = text(label)
        started = self._state.timers.pop(name, None)
        if started is None:
            self._emit("warn", f"No such label '{name}' for console.timeEnd()")
            return
        self._emit("log", f"{name}: {_elapsed(started)}")

    def group(self, *args: Any) -> None:
        """Indent what follows."""
        if args:
            self.log(*args)
        self._state.indent += 1

    groupCollapsed = group

    def groupEnd(self) -> None:
        self._state.indent = max(self._state.indent - 1, 0)

    def clear(self) -> None:
        self._state.indent = 0

    def table(self, rows: Any = None, columns: Any = None) -> None:
        """Rows of objects or arrays as a table; anything else as ``log`` shows it."""
        table = _table(rows, columns)
        self._emit("log", inspect(rows) if table is None else table)


def _elapsed(started: float) -> str:
    return f"{(time.perf_counter() - started) * 1000:.3f}ms"


def _fields(row: Any) -> dict[str, Any] | None:
    if isinstance(row, JsArray):
        return {str(index): item for index, item in enumerate(row)}
    if isinstance(row, JsObject | dict | list | tuple):
        return dict(own_items(row))
    return None


def _table(rows: Any, columns: Any) -> str | None:
    outer = _fields(rows)
    if outer is None:
        return None
    names: list[str] = [] if columns is None else [text(column) for column in columns]
    lines: list[tuple[str, dict[str, str], str]] = []
    with_values = False
    for key, row in outer.items():
        fields = _fields(row)
        if fields is None:
            with_values = True
            lines.append((key, {}, inspect(row)))
            continue
        lines.append((key, {name: inspect(value, 1) for name, value in fields.items()}, ""))
        if columns is None:
            names += [name for name in fields if name not in names]
    heads = ["(index)", *names, *(["Values"] if with_values else [])]
    cells = [
        [key, *(fields.get(name, "") for name in names), *([value] if with_values else [])]
        for key, fields, value in lines
    ]
    return _drawn(heads, cells)


def _drawn(heads: list[str], cells: list[list[str]]) -> str:
    widths = [max(map(len, column)) + 2 for column in zip(heads, *cells, strict=True)]

    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * width for width in widths) + right

    def line(items: list[str]) -> str:
        padded = (f" {item}".ljust(width) for item, width in zip(items, widths, strict=True))
        return "│" + "│".join(padded) + "│"

    body = [line(row) for row in cells]
    return "\n".join(
        [rule("┌", "┬", "┐"), line(heads), rule("├", "┼", "┤"), *body, rule("└", "┴", "┘")]
    )


console: Console = Console._make()
