"""Runs an ASGI application on uvicorn: event loop, sockets, signals, and an end within seconds."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Sequence
from types import FrameType
from typing import Any, Final

from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from pyflare.server.contracts import ASGIApplication
from pyflare.server.log import LogSink
from pyflare.server.outbound import ResponseAborted, send_text

from .one_write import OneWriteProtocol

__all__ = ["RESTARTED", "STOPPED", "HttpServer", "StopSignals", "fastest_loop", "settle_memory"]

#: Seconds that open responses get to end when the server stops.
GRACE_SECONDS: Final = 2
#: Seconds that requests get which have no answer yet, where nobody waits for the server's end.
PATIENCE_SECONDS: Final = 10
#: What is said to requests that are cut before their answer. Source of the first: wrangler's answer in this case.
RESTARTED: Final = "Your worker restarted mid-request. Please try sending the request again."
STOPPED: Final = "The server was stopped before this request was answered."
#: Seconds after the first signal at which the process ends whatever a worker is doing.
LAST_SECONDS: Final = 10.0


class StopSignals:
    """Turns SIGINT, SIGTERM and SIGHUP into a request to stop; a second SIGINT ends the process at once.

    Use as a context manager around the running loop. Plain signal handlers are used, not the loop's, since those would
    not run while a worker holds the loop.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, last_seconds: float = LAST_SECONDS
    ) -> None:
        self._loop = loop
        self._last_seconds = last_seconds
        self._before: dict[int, Any] = {}
        self.stopping = asyncio.Event()
        self._count = 0

    def __enter__(self) -> StopSignals:
        names = [signal.SIGINT, signal.SIGTERM]
        if hasattr(signal, "SIGHUP"):
            names.append(signal.SIGHUP)
        if hasattr(signal, "SIGBREAK"):
            names.append(signal.SIGBREAK)
        for name in names:
            self._before[name] = signal.signal(name, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for name, handler in self._before.items():
            signal.signal(name, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._count == 1:
            self._loop.call_soon_threadsafe(self.stopping.set)
            # Last resort for a worker that never gives the loop back.
            timer = threading.Timer(self._last_seconds, os._exit, (1,))
            timer.daemon = True
            timer.start()
        elif number == signal.SIGINT:
            os._exit(128 + number)


class HttpServer:
    """One uvicorn server on sockets that are already listening.

    Args: ``app``; ``log`` for what uvicorn has to say, None for a server beside the one that has said where;
    ``sockets``, which the server closes in the end.
    """

    def __init__(
        self, app: ASGIApplication, log: LogSink | None, sockets: Sequence[socket.socket]
    ) -> None:
        self._sockets = list(sockets)
        if log is not None:
            logger = logging.getLogger("uvicorn.error")
            logger.handlers = [_Forward(log)]
            logger.propagate = False
            logger.setLevel(logging.WARNING)
        config = Config(
            app,
            http=OneWriteProtocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
        )
        self._server = _Server(config)

    async def start(self) -> None:
        """Begin to accept connections."""
        await self._server.begin(self._sockets)

    async def stop(
        self, notice: str = STOPPED, hurry: Callable[[], bool] = lambda: True
    ) -> list[str]:
        """Accept no more, give open requests their grace, then cut them.

        Args: ``notice`` what those are told that have no answer yet; ``hurry`` whether somebody waits for the end,
        else those have :data:`PATIENCE_SECONDS`. Gives the requests that were cut, as ``GET /path``.
        """
        self._server.notice, self._server.hurry = notice, hurry
        await self._server.shutdown(self._sockets)
        state = self._server.server_state
        if state.tasks:
            await asyncio.wait(set(state.tasks), timeout=1)
        for connection in list(state.connections):
            # A client that does not read would keep its transport, and the loop, for ever.
            connection.transport.abort()
        return self._server.cut


class _Server(Server):
    """uvicorn's server, started and stopped from outside and without signal handlers of its own."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.notice = STOPPED
        self.hurry: Callable[[], bool] = lambda: True
        self.cut: list[str] = []

    async def begin(self, sockets: list[socket.socket]) -> None:
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def _wait_tasks_to_complete(self) -> None:
        begun = time.monotonic()
        while self.server_state.connections or self.server_state.tasks:
            waited = time.monotonic() - begun
            if waited > GRACE_SECONDS and (
                self.hurry() or waited > PATIENCE_SECONDS or not self._unanswered()
            ):
                await self._cut()
                return
            await asyncio.sleep(0.1)

    def _unanswered(self) -> list[RequestResponseCycle]:
        return [cycle for cycle in self._open() if not cycle.response_started]

    def _open(self) -> list[RequestResponseCycle]:
        """What is under way; WebSockets end by themselves."""
        cycles = [getattr(each, "cycle", None) for each in self.server_state.connections]
        return [each for each in cycles if each is not None and not each.response_complete]

    async def _cut(self) -> None:
        for cycle in self._open():
            self.cut.append(f"{cycle.scope['method']} {cycle.scope['path']}")
            if not cycle.response_started and not cycle.flow.write_paused:
                send: Any = cycle.send
                await send_text(send, 503, self.notice, further=[(b"retry-after", b"0")])
                # What the worker still says is not for this client any more.
                cycle.disconnected = True
        for task in self.server_state.tasks:
            task.cancel("the server stops")


_INVALID: Final = "Invalid HTTP request received."
_TOLD_OF_INVALID: Final = (
    "A client sent what is no HTTP/1.1 request and was answered with 400 before any Worker saw it: a URL with "
    "characters that are not percent-encoded, a header that cannot be read, or HTTPS to a port that speaks HTTP."
)


class _Forward(logging.Handler):
    """What uvicorn logs, in the terms of our own log; what the application has logged already is left out."""

    def __init__(self, log: LogSink) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, ResponseAborted | asyncio.CancelledError):
            return
        if error is not None:
            self._log.uncaught("pyflare", error, where="the server")
        elif record.getMessage() == _INVALID:
            self._log.warning(_TOLD_OF_INVALID)
        else:
            self._log.debug(f"uvicorn: {record.getMessage()}")


def fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's loop where it is installed, else asyncio's own (``None``)."""
    try:
        import uvloop  # noqa: F401
    except ImportError:
        return None
    from pyflare.workers.loop import new_uvloop

    return new_uvloop


def settle_memory() -> None:
    """Keep what start-up made out of every later garbage collection, and collect less often than the default.

    A request makes several hundred objects and hardly a cycle; the default threshold would collect every few requests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
