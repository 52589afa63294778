"""Writing to the terminal without ever holding up the event loop.

Lines are collected and written once per turn of the loop, under load every few milliseconds. A pipe that its reader has
stopped reading (a test runner that waits for the ready line and then forgets the process) takes no more than it can
hold: what does not fit is kept up to a bound, later lines are counted and dropped.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
import time
from typing import TextIO

__all__ = ["Output"]

_PIPE_CHUNK = 4096
_RETRY_SECONDS = 0.05
#: Writes of a busy server are at least this far apart: one system call for many requests.
_PACE_SECONDS = 0.005


class Output:
    """Two text streams, standard output and standard error, behind one ordered queue of lines.

    ``limit`` bounds, in bytes, what is kept for a stream whose reader does not read.
    """

    __slots__ = ("_closed", "_flushed", "_lines", "_scheduled", "_sinks")

    def __init__(self, stdout: TextIO, stderr: TextIO, *, limit: int = 1 << 20) -> None:
        self._sinks = (_Sink(stdout, limit), _Sink(stderr, limit))
        self._lines: list[tuple[int, str]] = []
        self._scheduled: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._flushed = 0.0

    def write(self, text: str, *, error: bool = False) -> None:
        """Queue text, line end included. Outside a running loop it is written at once."""
        self._lines.append((error, text))
        loop = asyncio._get_running_loop()
        if loop is None or self._closed:
            self.flush()
        elif self._scheduled is not loop:
            # A loop that ended with lines still queued does not hold up the next one's.
            self._scheduled = loop
            if time.monotonic() - self._flushed < _PACE_SECONDS:
                loop.call_later(_PACE_SECONDS, self.flush)
            else:
                loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write what is queued, in order, as far as the streams take it without blocking."""
        self._scheduled = None
        self._flushed = time.monotonic()
        lines, self._lines = self._lines, []
        start = 0
        for index in range(1, len(lines) + 1):
            if index == len(lines) or lines[index][0] != lines[start][0]:
                self._sinks[lines[start][0]].write("".join(text for _, text in lines[start:index]))
                start = index
        for sink in self._sinks:
            sink.retry()
        if any(sink.kept for sink in self._sinks) and not self._closed:
            loop = asyncio._get_running_loop()
            if loop is not None and self._scheduled is None:
                self._scheduled = loop
                loop.call_later(_RETRY_SECONDS, self.flush)

    def close(self, *, grace: float = 1.0) -> None:
        """Flush, giving a reader that is behind up to ``grace`` seconds; later lines are written directly."""
        self._closed = True
        self.flush()
        deadline = time.monotonic() + grace
        while any(sink.kept for sink in self._sinks) and time.monotonic() < deadline:
            time.sleep(0.01)
            self.flush()


class _Sink:
    """One stream. Pipes are written in pieces that are known to fit, everything else as usual."""

    __slots__ = (
        "_descriptor",
        "_dropped",
        "_encoding",
        "_gone",
        "_limit",
        "_pipe",
        "_stream",
        "kept",
    )

    def __init__(self, stream: TextIO, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._dropped = 0
        self._gone = False
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self._descriptor = -1
        self._pipe = False
        self.kept = bytearray()
        try:
            self._descriptor = stream.fileno()
            mode = os.fstat(self._descriptor).st_mode
            self._pipe = os.name == "posix" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
        except (OSError, ValueError, AttributeError):
            self._descriptor = -1

    def write(self, text: str) -> None:
        if self._gone:
            return
        try:
            if self._descriptor < 0:
                self._stream.write(text)
                return
            # A worker's own print() sits in the stream's buffer and came first.
            if not self.kept:
                self._stream.flush()
            self._add(text.encode(self._encoding, "backslashreplace"))
            self._drain()
        except (OSError, ValueError):
            # The reader is gone (a closed pipe, a closed terminal). The server goes on without a log.
            self._gone = True
            self.kept.clear()

    def retry(self) -> None:
        """Give a reader that was behind what has been kept for it."""
        if self.kept:
            self.write("")

    def _add(self, data: bytes) -> None:
        # Once lines are lost, all are until the reader has caught up: one gap with one note, not many.
        if self.kept and (self._dropped or len(self.kept) + len(data) > self._limit):
            self._dropped += data.count(b"\n")
            return
        if self._dropped:
            self.kept += f"({self._dropped} log lines dropped: nobody reads this pipe)\n".encode()
            self._dropped = 0
        self.kept += data

    def _drain(self) -> None:
        kept = self.kept
        if not self._pipe:
            while kept:
                del kept[: os.write(self._descriptor, kept)]
            return
        while kept and select.select((), (self._descriptor,), (), 0)[1]:
            # A pipe that polls as writable has room for at least PIPE_BUF bytes.
            del kept[: os.write(self._descriptor, kept[:_PIPE_CHUNK])]
