"""The request log, the console of the workers, and everything else a person reads in the terminal.

The forms of the lines are those of ``wrangler dev``, since scripts match them:
https://developers.cloudflare.com/workers/wrangler/commands/#dev
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal, TextIO, get_args

from .output import Output

__all__ = ["LEVELS", "LogLevel", "LogSink", "wants_colour"]

LogLevel = Literal["none", "error", "warn", "info", "log", "debug"]

#: The accepted values of ``--log-level``, from silent to talkative.
LEVELS: Final[tuple[LogLevel, ...]] = get_args(LogLevel)

_NONE, _ERROR, _WARN, _INFO, _LOG, _DEBUG = range(6)

#: The level at which each console method speaks. ``debug`` is shown at info level on purpose, as wrangler does.
_CONSOLE_LEVELS: Final = {
    "error": _ERROR,
    "assert": _ERROR,
    "warn": _WARN,
    "info": _INFO,
    "debug": _INFO,
    "log": _LOG,
}

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_RED = "\x1b[31m"
_GREEN = "\x1b[32m"
_YELLOW = "\x1b[33m"
_BLUE = "\x1b[34m"
_GREY = "\x1b[90m"
_STATUS_COLOURS = (_BLUE, _BLUE, _GREEN, _BLUE, _YELLOW, _RED)


def wants_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether colour codes belong in this stream: on a terminal, unless ``NO_COLOR`` or ``FORCE_COLOR`` decide."""
    forced = environ.get("FORCE_COLOR")
    if forced is not None:
        return forced.lower() not in ("0", "false", "")
    if environ.get("NO_COLOR"):
        return False
    try:
        return stream.isatty()
    except ValueError:
        return False


class LogSink:
    """Where every line goes. Lines are buffered and written once per turn of the event loop.

    What a worker says is written at once, with the lines before it, and so keeps its place among what it prints.

    Args: ``level`` one of :data:`LEVELS` (``ValueError`` otherwise); ``stdout`` and ``stderr`` default to the
    process's own; ``colour`` defaults to :func:`wants_colour`. :attr:`named` is set when several workers run, so
    that each line says whose it is.
    """

    __slots__ = ("_colour", "_colour_error", "_level", "_output", "_routes", "level", "named")

    def __init__(
        self,
        *,
        level: str = "log",
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        colour: bool | None = None,
        named: bool = False,
    ) -> None:
        if level not in LEVELS:
            raise ValueError(f"unknown log level {level!r}: choose one of {', '.join(LEVELS)}")
        out, err = stdout or sys.stdout, stderr or sys.stderr
        self.level: str = level
        self.named = named
        self._level = LEVELS.index(level)
        self._routes: dict[str, LogSink] = {}
        self._output = Output(out, err)
        self._colour = wants_colour(out) if colour is None else colour
        self._colour_error = wants_colour(err) if colour is None else colour

    def route(self, worker: str, sink: LogSink | None) -> None:
        """Send what is about one worker elsewhere; with None no longer."""
        if sink is None:
            self._routes.pop(worker, None)
        else:
            self._routes[worker] = sink

    def of(self, worker: str) -> LogSink:
        """Where what is about this worker goes."""
        return self._routes.get(worker, self)

    @property
    def debugging(self) -> bool:
        """Whether debug lines are wanted; then tracebacks show the runtime's own frames too."""
        return self._level >= _DEBUG

    def request(
        self, worker: str, method: str, path: str, status: int, reason: str, milliseconds: float
    ) -> None:
        """One answered request; ``path`` without its query."""
        if worker in self._routes:
            self._routes[worker].request(worker, method, path, status, reason, milliseconds)
            return
        if self._level < _INFO:
            return
        self._output.write(
            _request_line(
                worker if self.named else None,
                method,
                path,
                status,
                reason,
                round(milliseconds),
                self._colour,
            )
        )

    def queue(
        self, worker: str, name: str, acknowledged: int, total: int, milliseconds: float
    ) -> None:
        """One delivered batch: how many of its messages are done."""
        if worker in self._routes:
            self._routes[worker].queue(worker, name, acknowledged, total, milliseconds)
            return
        if self._level < _INFO:
            return
        prefix = f"[{worker}] " if self.named else ""
        answer = f"{acknowledged}/{total}"
        time = f"({milliseconds:.0f}ms)"
        if self._colour:
            shade = _GREEN if acknowledged == total else _YELLOW if acknowledged else _RED
            name, answer = f"{_BOLD}{name}{_RESET}", f"{shade}{answer}{_RESET}"
            time = f"{_GREY}{time}{_RESET}"
        self._output.write(f"[wrangler:info] {prefix}QUEUE {name} {answer} {time}\n")

    def scheduled(self, worker: str, cron: str, outcome: str, milliseconds: float) -> None:
        """One scheduled event; ``cron`` is the expression, or empty."""
        if worker in self._routes:
            self._routes[worker].scheduled(worker, cron, outcome, milliseconds)
            return
        if self._level < _INFO:
            return
        prefix = f"[{worker}] " if self.named else ""
        shown = f'CRON "{cron}"' if cron else "CRON"
        time = f"({milliseconds:.0f}ms)"
        if self._colour:
            outcome = f"{_GREEN if outcome == 'ok' else _RED}{outcome}{_RESET}"
            time = f"{_GREY}{time}{_RESET}"
        self._output.write(f"[wrangler:info] {prefix}{shown} {outcome} {time}\n")

    def alarm(
        self, worker: str, object: str, outcome: str, late: float, milliseconds: float
    ) -> None:
        """One run of an alarm. ``late`` is by how many milliseconds it began too late, ``object`` class and name."""
        if self._level < _INFO:
            return
        prefix = f"[{worker}] " if self.named else ""
        time = f"({late:.0f}ms late, {milliseconds:.0f}ms)"
        if self._colour:
            outcome = f"{_GREEN if outcome.startswith('ok') else _RED}{outcome}{_RESET}"
            object, time = f"{_BOLD}{object}{_RESET}", f"{_GREY}{time}{_RESET}"
        self._output.write(f"[wrangler:info] {prefix}ALARM {object} {outcome} {time}\n")

    def console(self, worker: str, level: str, text: str) -> None:
        """What a worker gave to ``console.log`` and its kin; ``level`` is the method's name."""
        if worker in self._routes:
            self._routes[worker].console(worker, level, text)
            return
        if self._level < _CONSOLE_LEVELS.get(level, _LOG):
            return
        if self.named:
            text = f"[{worker}] {text}"
        match level:
            case "error" | "assert":
                self._output.write(self._headline(_RED, "✘ [ERROR]", text), error=True)
            case "warn":
                self._output.write(self._headline(_YELLOW, "▲ [WARNING]", text), error=True)
            case _:
                self._output.write(f"{text}\n")
        self._output.flush()

    def uncaught(self, worker: str, error: BaseException, *, where: str = "") -> None:
        """An exception that left a worker. ``where`` names the event if it was not a request: ``alarm``, ``queue``."""
        if worker in self._routes:
            self._routes[worker].uncaught(worker, error, where=where)
            return
        if self._level < _ERROR:
            return
        from .tracebacks import client_has_gone, describe, format_traceback

        if client_has_gone(error):
            # A closed tab is no failure of the worker, whatever was still being written to it.
            self.debug(f"[{worker}] The client disconnected before its answer was complete.")
            return
        name, message = describe(error)
        headline = f"Uncaught {name}: {message}" if message else f"Uncaught {name}"
        if where:
            headline = f"{headline} (in {where})"
        trace = format_traceback(error, full=self.debugging).rstrip()
        indented = "\n".join(f"  {line}" if line else "" for line in trace.split("\n"))
        if self.named:
            headline = f"[{worker}] {headline}"
        self._output.write(
            f"{self._headline(_RED, '✘ [ERROR]', headline)}\n{indented}\n\n", error=True
        )
        self._output.flush()

    def error(self, text: str) -> None:
        """A failure of the server or of the configuration, in wrangler's form."""
        if self._level >= _ERROR:
            self._output.write(self._headline(_RED, "✘ [ERROR]", text), error=True)

    def warning(self, text: str) -> None:
        if self._level >= _WARN:
            self._output.write(self._headline(_YELLOW, "▲ [WARNING]", text), error=True)

    def info(self, text: str) -> None:
        """A line ``[wrangler:info] text``."""
        if self._level >= _INFO:
            self._output.write(f"[wrangler:info] {text}\n")

    def say(self, text: str) -> None:
        """A plain line of the start-up output or of a reload."""
        if self._level >= _LOG:
            self._output.write(f"{text}\n")

    def printed(self, text: str, *, error: bool = False) -> None:
        """What a worker printed itself, as it is: it may be a part of a line."""
        self._output.write(text, error=error)

    def debug(self, text: str) -> None:
        if self._level >= _DEBUG:
            self._output.write(f"{self._grey(text)}\n")

    def prepared(self, level: Literal["error", "warning"], text: str) -> None:
        """A diagnostic that is already in its final form, with its own mark at the front."""
        if text and self._level >= (_ERROR if level == "error" else _WARN):
            self._output.write(f"{text}\n\n", error=True)

    def flush(self) -> None:
        self._output.flush()

    def close(self) -> None:
        """Write what is left. The sink stays usable and writes directly from here on."""
        self._output.close()

    def _headline(self, shade: str, label: str, text: str) -> str:
        if self._colour_error:
            return f"{shade}{label}{_RESET} {_BOLD}{text}{_RESET}\n"
        return f"{label} {text}\n"

    def _grey(self, text: str) -> str:
        return f"{_GREY}{text}{_RESET}" if self._colour else text


@lru_cache(maxsize=256)
def _request_line(
    worker: str | None,
    method: str,
    path: str,
    status: int,
    reason: str,
    milliseconds: int,
    colour: bool,
) -> str:
    prefix = "" if worker is None else f"[{worker}] "
    if colour:
        shade = _STATUS_COLOURS[status // 100] if status < 600 else _BLUE
        answer = f"{shade}{status} {reason}{_RESET} {_GREY}({milliseconds}ms){_RESET}"
        path = f"{_BOLD}{path}{_RESET}"
    else:
        answer = f"{status} {reason} ({milliseconds}ms)"
    return f"[wrangler:info] {prefix}{method} {path} {answer}\n"
