"""One run of ``pyflare dev``: from the sockets to the line that says it is ready, and to a clean end."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyflare.embed import Pyflare
from pyflare.server.application import Application
from pyflare.server.banner import bindings_table, reach, secrets_line
from pyflare.server.log import LogSink
from pyflare.server.loop_watch import LoopWatch
from pyflare_bindings.lease import LeaseHeld
from pyflare_bindings.storage.errors import StateError

from .ports import Listening
from .serving import HttpServer, StopSignals, fastest_loop, settle_memory

__all__ = ["Session"]


class Session:
    """Serves a :class:`Pyflare` on sockets that already listen, until a signal comes.

    Args: ``host`` what the primary worker sees as its host, default ``dev.host`` or its first route's;
    ``upstream_protocol`` default ``dev.upstream_protocol``; ``ready_file`` written when requests are answered and
    removed at the end; ``watch`` whether changed files are loaded again; ``test_scheduled`` whether ``/__scheduled``
    runs the ``scheduled`` handler.
    """

    def __init__(
        self,
        flare: Pyflare,
        log: LogSink,
        listening: Listening,
        *,
        host: str | None = None,
        upstream_protocol: str | None = None,
        ready_file: Path | None = None,
        watch: bool = True,
        test_scheduled: bool = False,
    ) -> None:
        self._flare = flare
        self._log = log
        self._listening = listening
        self._host = host
        self._upstream_protocol = upstream_protocol
        self._ready_file = ready_file
        self._watch = watch
        self._test_scheduled = test_scheduled
        self._loaded_ns = 0
        self._application: Application | None = None
        self._exit_code = 0

    def run(self) -> int:
        """Returns the exit code: 0 after a stop by a signal, 1 when the start failed."""
        self._log.named = len(self._flare.configurations) > 1
        self._announce()
        with asyncio.Runner(loop_factory=self._loop_factory()) as runner:
            return runner.run(self._serve())

    def _loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop] | None:
        return self._flare.loop_factory or fastest_loop()

    def _announce(self) -> None:
        log, loaded = self._log, self._flare.configurations
        for each in loaded:
            log.prepared("warning", each.render_warnings())
        secrets = secrets_line(loaded, Path.cwd())
        if secrets is not None:
            log.say(secrets)
        for each in loaded:
            log.say(f"{bindings_table(each.worker, named=log.named)}\n")
        if self._listening.busy:
            ports = ", ".join(map(str, self._listening.busy))
            log.say(f"Port {ports} is in use; using {self._listening.port} instead.")
        log.say(f"State is kept in {_shown(self._flare.state_directory)}")
        log.say("⎔ Starting local server...")

    async def _serve(self) -> int:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._unhandled)
        with StopSignals(loop) as signals:
            self._loaded_ns = time.time_ns()
            try:
                await self._flare.start()
            except LeaseHeld as error:
                return self._give_up(str(error))
            except OSError as error:
                where = self._flare.state_directory
                return self._give_up(
                    f"The state directory {where} cannot be used: {error.strerror or error}. "
                    "Choose another with --persist-to."
                )
            self._application = Application(log=self._log, direct=True, **self._rules())
            server = HttpServer(self._application, self._log, self._listening.sockets)
            await server.start()
            self._ready()
            settle_memory()
            watcher = self._start_watching()
            held = LoopWatch(self._name_holder)
            held.start()
            try:
                await signals.stopping.wait()
                self._log.say("⎔ Shutting down local server...")
                self._log.flush()
            finally:
                held.stop()
                await self._stop(server, watcher)
        return self._exit_code

    def _give_up(self, text: str) -> int:
        self._log.error(text)
        self._listening.close()
        return 1

    def _name_holder(self, seconds: float, file: str, line: int, function: str) -> None:
        self._log.warning(
            f"{_shown(Path(file))}:{line} in {function}() held the event loop for {seconds:.1f} s; "
            "nothing else could run meanwhile."
        )

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What asyncio would print: a failure that nobody waited for, such as a promise's."""
        error = context.get("exception")
        if isinstance(error, Exception):
            self._log.uncaught("pyflare", error, where=context.get("message", "a task"))
        else:
            loop.default_exception_handler(context)

    async def _stop(self, server: HttpServer, watcher: asyncio.Task[None] | None) -> None:
        if self._ready_file is not None:
            self._ready_file.unlink(missing_ok=True)
        if watcher is not None:
            watcher.cancel()
            await asyncio.wait([watcher])
        await server.stop()
        try:
            await self._flare.close()
        except* (StateError, OSError) as failures:
            for failure in failures.exceptions:
                self._log.error(str(failure))
            self._exit_code = 1

    def _rules(self) -> dict[str, Any]:
        return self._flare.rules(
            ip=self._listening.ip,
            host=self._host,
            protocol=self._upstream_protocol,
            test_scheduled=self._test_scheduled,
        )

    def _ready(self) -> None:
        log, url = self._log, self._listening.url
        if log.named:
            patterns = {
                each.worker.name: [route.pattern for route in each.worker.routes]
                for each in self._flare.configurations
            }
            log.say(reach([worker.name for worker in self._flare.workers], patterns, url))
        log.info(f"Ready on {url}")
        for further in self._listening.further_urls:
            log.info(f"- {further}")
        log.flush()
        if self._ready_file is not None:
            _write_whole(self._ready_file, self._ready_text())

    def _ready_text(self) -> str:
        where = self._listening
        told = {"url": where.url, "ip": where.ip, "port": where.port, "pid": os.getpid()}
        return json.dumps(told) + "\n"

    def _start_watching(self) -> asyncio.Task[None] | None:
        if not self._watch:
            return None
        from .reload import reload_on_change

        watcher = asyncio.get_running_loop().create_task(
            reload_on_change(self._flare, self._log, self._loaded_ns, self._reloaded)
        )
        watcher.add_done_callback(self._watching_ended)
        return watcher

    def _watching_ended(self, watcher: asyncio.Task[None]) -> None:
        if not watcher.cancelled() and (error := watcher.exception()) is not None:
            self._log.warning(
                f"Files are no longer watched ({error}). Restart to run what you save from now on."
            )

    def _reloaded(self) -> None:
        """A reload may have replaced workers or changed their routes."""
        if self._application is not None:
            self._application.route(**self._rules())


def _shown(path: Path) -> Path:
    """Relative to the working directory where that is shorter."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def _write_whole(path: Path, text: str) -> None:
    """Whoever waits for the file never sees half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
