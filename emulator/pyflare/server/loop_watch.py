"""Names the line of a Worker that holds the event loop, on which everybody else waits."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from time import monotonic
from types import FrameType
from typing import Final

from .tracebacks import is_user_file

__all__ = ["LoopWatch"]

#: Seconds for which a Worker may hold the loop without being named.
LIMIT_SECONDS: Final = 0.25
_BEAT_SECONDS: Final = 0.05
#: The same line is named again after so many seconds at the earliest.
_QUIET_SECONDS: Final = 10.0

#: Seconds after which a Worker that still holds the loop is named while it does: it may never come back.
STUCK_SECONDS: Final = 5.0

#: What Python calls the body of a module.
_IMPORT: Final = "<module>"

#: (seconds held, file, line, function)
Report = Callable[[float, str, int, str], None]


class LoopWatch:
    """Watches the running loop from a thread, from :meth:`start` to :meth:`stop`.

    Args: ``report`` is called on the loop, once it is free again; ``stuck``, once for each time the loop is held, from
    the watching thread when it has not become free for long.
    """

    def __init__(self, report: Report, stuck: Report | None = None) -> None:
        self._report = report
        self._stuck = stuck
        self._told: dict[tuple[str, int], float] = {}
        self._beat = monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """To be called on the loop."""
        loop = asyncio.get_running_loop()
        self._heartbeat(loop)
        self._thread = threading.Thread(
            target=self._look, args=(loop, threading.get_ident()), name="pyflare-watch", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._thread is not None:
            self._thread.join()

    def _heartbeat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._beat = monotonic()
        self._timer = loop.call_later(_BEAT_SECONDS, self._heartbeat, loop)

    def _look(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        while not self._stopping.wait(_BEAT_SECONDS):
            beat = self._beat
            if monotonic() - beat < LIMIT_SECONDS + _BEAT_SECONDS:
                continue
            found = _user_frame(sys._current_frames().get(thread))
            if found is None:
                # Nobody's code: the machine is busy elsewhere, or the emulator is.
                continue
            told = self._stuck is None
            while self._beat == beat and not self._stopping.wait(_BEAT_SECONDS):
                held = monotonic() - beat
                if not told and held >= STUCK_SECONDS:
                    told = True
                    place = _user_frame(sys._current_frames().get(thread)) or found
                    assert self._stuck is not None
                    self._stuck(held, *place)
            # An import happens once, and nobody can make it shorter by `await`.
            if found[2] != _IMPORT and not self._stopping.is_set():
                loop.call_soon_threadsafe(self._tell, monotonic() - beat, *found)

    def _tell(self, seconds: float, file: str, line: int, function: str) -> None:
        now = monotonic()
        if now - self._told.get((file, line), -_QUIET_SECONDS) < _QUIET_SECONDS:
            return
        self._told[file, line] = now
        self._report(seconds, file, line, function)


def _user_frame(frame: FrameType | None) -> tuple[str, int, str] | None:
    """The innermost frame of a person's own code."""
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back
    return None
