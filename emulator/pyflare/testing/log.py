"""A log that keeps what it is told, beside writing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from pyflare.server.log import LogSink

__all__ = ["ConsoleLine", "RecordingLog", "RequestLine", "UncaughtError"]


class ConsoleLine(NamedTuple):
    """What a worker gave to ``console.log`` and its kin, or printed."""

    worker: str
    level: str
    text: str


class RequestLine(NamedTuple):
    """One answered request."""

    worker: str
    method: str
    path: str
    status: int


@dataclass(frozen=True, slots=True)
class UncaughtError:
    """An exception that left a worker. ``where`` is empty for a request, else the kind of event or of work."""

    worker: str
    error: BaseException
    where: str


class RecordingLog(LogSink):
    """Keeps console lines, requests, warnings and uncaught exceptions, oldest first."""

    __slots__ = ("console_lines", "errors", "requests", "warnings")

    def __init__(self) -> None:
        super().__init__(colour=False)
        self.console_lines: list[ConsoleLine] = []
        self.requests: list[RequestLine] = []
        self.errors: list[UncaughtError] = []
        self.warnings: list[str] = []

    @property
    def texts(self) -> list[str]:
        """The texts of the console lines."""
        return [line.text for line in self.console_lines]

    def clear(self) -> None:
        """Forget everything; errors in background work that a test has looked at do not fail it then."""
        for kept in (self.console_lines, self.requests, self.errors, self.warnings):
            kept.clear()

    def console(self, worker: str, level: str, text: str) -> None:
        self.console_lines.append(ConsoleLine(worker, level, text))
        super().console(worker, level, text)

    def request(
        self, worker: str, method: str, path: str, status: int, reason: str, milliseconds: float
    ) -> None:
        self.requests.append(RequestLine(worker, method, path, status))
        super().request(worker, method, path, status, reason, milliseconds)

    def uncaught(self, worker: str, error: BaseException, *, where: str = "") -> None:
        self.errors.append(UncaughtError(worker, error, where))
        super().uncaught(worker, error, where=where)

    def prepared(self, level: Literal["error", "warning"], text: str) -> None:
        if text and level == "warning":
            self.warnings.append(text)
        super().prepared(level, text)

    def warning(self, text: str) -> None:
        self.warnings.append(text)
        super().warning(text)
