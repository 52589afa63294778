"""The owner's side of a joined ``pyflare dev``: its worker runs here, its terminal shows what it says."""

from __future__ import annotations

import io
import os
import socket
import sys
from collections.abc import Callable
from typing import Any, Final, TextIO, cast

from pyflare.config.diagnostics import ConfigError
from pyflare.embed import Pyflare
from pyflare.owner.frames import Connection, Gone
from pyflare.owner.protocol import OUT, frame, json_frame
from pyflare.server.application import Application
from pyflare.server.log import LogSink
from pyflare.workers.current import current
from pyflare.workers.isolation import IsolationError

from .serving import GRACE_SECONDS, RESTARTED, STOPPED, HttpServer

__all__ = ["GuestHost"]

#: Bytes of output that wait for a terminal that does not read; what comes then is dropped.
_MOST_WAITING: Final = 1 << 20


class GuestHost:
    """Runs the sessions that join ``flare``. To be given to it as ``joining``.

    Args: ``log`` of the owner; ``need_switching`` is called when a worker cannot join since this event loop cannot keep
    its modules apart from those of others; None where no other loop would help.
    """

    def __init__(
        self, flare: Pyflare, log: LogSink, need_switching: Callable[[], None] | None
    ) -> None:
        self._flare = flare
        self._log = log
        self._need_switching = need_switching
        self._printing = _Printing()

    async def serve(
        self, hello: dict[str, Any], sockets: list[socket.socket], connection: Connection
    ) -> None:
        """Run the workers of a session, and answer on its sockets, until one of the processes ends."""
        log = LogSink(
            level=hello["level"],
            stdout=cast(TextIO, _Remote(connection, b"o")),
            stderr=cast(TextIO, _Remote(connection, b"e")),
            colour=hello["colour"],
            named=len(hello["configs"]) > 1,
        )
        guests = self._flare.guests
        try:
            names = await guests.take_in(hello["configs"], hello["options"], log)
        except ConfigError as error:
            log.flush()
            await connection.send(json_frame({"event": "refused", "text": error.render()}))
            return
        except IsolationError as error:
            if self._need_switching is None:
                await connection.send(
                    json_frame({"event": "refused", "text": f"✘ [ERROR] {error}"})
                )
            else:
                await connection.send(json_frame({"event": "again"}))
                self._need_switching()
            return
        except Exception as error:
            # Whatever it is, asking again would not help.
            self._log.uncaught("pyflare", error, where="a session that joins")
            text = f"✘ [ERROR] Process {os.getpid()} could not load these Workers: {error}"
            await connection.send(json_frame({"event": "refused", "text": text}))
            return
        server: HttpServer | None = None
        # The session goes on elsewhere when the owner ends.
        notice = RESTARTED
        shown = ", ".join(names)
        self._printing.add(names, log)
        self._log.info(f"{shown} has joined (process {hello['pid']}).")

        def rules() -> dict[str, Any]:
            return guests.rules(
                names,
                log,
                ip=hello["ip"],
                host=hello["host"],
                protocol=hello["upstream_protocol"],
                test_scheduled=hello["test_scheduled"],
            )

        def changed() -> None:
            application.route(**rules())

        application = Application(log=log, direct=True, **rules())
        try:
            server = HttpServer(application, None, [each.dup() for each in sockets])
            await server.start()
            self._flare.on_change.append(changed)
            await connection.send(json_frame({"event": "ready", "pid": os.getpid()}))
            await self._obey(connection, log)
            notice = STOPPED
        finally:
            if changed in self._flare.on_change:
                self._flare.on_change.remove(changed)
            if server is not None:
                cut = await server.stop(notice)
                if cut:
                    log.info(f"Cut while under way: {', '.join(cut)}.")
                    log.flush()
            await guests.let_go(names, GRACE_SECONDS)
            self._printing.remove(names)
            self._log.info(f"{shown} has left.")

    async def _obey(self, connection: Connection, log: LogSink) -> None:
        while True:
            try:
                request = await connection.receive_json()
            except Gone:
                return
            if "reload" not in request:
                return
            good = await self._reload(request["reload"], log)
            await connection.send(json_frame({"event": "reloaded", "good": good}))

    async def _reload(self, path: str, log: LogSink) -> bool:
        try:
            await self._flare.reload(path)
        except ConfigError as error:
            log.prepared("error", error.render())
        except Exception as error:
            # Whatever a half-saved file does to loading, the next save gets its chance.
            log.uncaught("pyflare", error, where="a reload")
        else:
            return all(worker.failure is None for worker in self._flare.workers)
        return False


class _Remote(io.TextIOBase):
    """One stream of a session's terminal."""

    def __init__(self, connection: Connection, stream: bytes) -> None:
        self._connection = connection
        self._stream = stream

    def write(self, text: str) -> int:
        data = self._stream + text.encode("utf-8", "backslashreplace")
        self._connection.send_soon(frame(OUT, data), _MOST_WAITING)
        return len(text)

    def fileno(self) -> int:
        raise OSError("this stream is another process's")


class _Printing:
    """While there are guests, what a guest's worker prints goes to its own session."""

    def __init__(self) -> None:
        self._sinks: dict[str, LogSink] = {}
        self._before: tuple[TextIO, TextIO] | None = None

    def add(self, names: list[str], log: LogSink) -> None:
        self._sinks.update(dict.fromkeys(names, log))
        if self._before is None:
            self._before = sys.stdout, sys.stderr
            sys.stdout = _ByWorker(sys.stdout, self._sinks, error=False)
            sys.stderr = _ByWorker(sys.stderr, self._sinks, error=True)

    def remove(self, names: list[str]) -> None:
        for name in names:
            self._sinks.pop(name, None)
        if not self._sinks and self._before is not None:
            sys.stdout, sys.stderr = self._before
            self._before = None


class _ByWorker(io.TextIOBase):
    """A standard stream that looks who prints."""

    def __init__(self, stream: TextIO, sinks: dict[str, LogSink], *, error: bool) -> None:
        self._underlying = stream
        self._sinks = sinks
        self._error = error

    def write(self, text: str) -> int:
        scope = current.get()
        sink = None if scope is None else self._sinks.get(scope.name)
        if sink is None:
            return self._underlying.write(text)
        sink.printed(text, error=self._error)
        return len(text)

    def flush(self) -> None:
        self._underlying.flush()

    def isatty(self) -> bool:
        return self._underlying.isatty()

    def fileno(self) -> int:
        return self._underlying.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._underlying.encoding

    def __getattr__(self, name: str) -> Any:
        return getattr(self._underlying, name)
