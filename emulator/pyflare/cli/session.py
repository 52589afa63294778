"""One run of ``pyflare dev``: from the sockets to the line that says it is ready, and to a clean end."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyflare.config.diagnostics import ConfigError
from pyflare.embed import Pyflare
from pyflare.owner.frames import Gone
from pyflare.owner.protocol import ProtocolError
from pyflare.server.application import Application
from pyflare.server.banner import bindings_table, reach, secrets_line
from pyflare.server.log import LogSink
from pyflare.server.loop_watch import LoopWatch
from pyflare_bindings.lease import LeaseHeld
from pyflare_bindings.storage.errors import StateError

from .file_shortage import FileShortage
from .guest import Again, Guest, OwnerRefused, about_session, reach_owner
from .guest_host import GuestHost
from .kept_memory import keep_freed_memory
from .ports import Listening
from .serving import (
    RESTARTED,
    STOPPED,
    HttpServer,
    StopSignals,
    fastest_loop,
    settle_memory,
)
from .waiting import Waiting, first_of
from .watched_workers import OwnWorkers, RemoteWorkers

if TYPE_CHECKING:
    from .custom_build import CustomBuilds
    from .reload import Reloadable

__all__ = ["Session", "ready_file_problem"]


class Session:
    """Serves workers on sockets that already listen, until a signal comes.

    They run in this process where it can own the state directory, else in the one that does; when that one ends, this
    one may become the owner.

    Args: ``make`` makes the :class:`Pyflare` to serve, once more after each owner's end; ``flare`` the first one;
    ``options`` what it was made with; ``builds`` run before reloads;
    ``host`` what the primary worker sees as its host, default ``dev.host`` or its
    first route's; ``upstream_protocol`` default ``dev.upstream_protocol``; ``ready_file`` written when requests are
    answered and removed at the end; ``watch`` whether changed files are loaded again; ``test_scheduled`` whether
    ``/__scheduled`` runs the ``scheduled`` handler.
    """

    def __init__(
        self,
        make: Callable[[], Pyflare],
        flare: Pyflare,
        options: dict[str, Any],
        log: LogSink,
        listening: Listening,
        builds: CustomBuilds,
        *,
        host: str | None = None,
        upstream_protocol: str | None = None,
        ready_file: Path | None = None,
        watch: bool = True,
        test_scheduled: bool = False,
    ) -> None:
        self._make = make
        self._flare = flare
        self._options = options
        self._log = log
        self._listening = listening
        self._builds = builds
        self._host = host
        self._upstream_protocol = upstream_protocol
        self._ready_file = ready_file
        self._watch = watch
        self._test_scheduled = test_scheduled
        self._loaded_ns = 0
        self._application: Application | None = None
        self._exit_code = 0
        self._switching = False
        self._shortage = FileShortage(log.error)

    def run(self) -> int:
        """Returns the exit code: 0 after a stop by a signal, 1 when the start failed."""
        self._log.named = len(self._flare.configurations) > 1
        self._announce()
        try:
            while self._run_once():
                self._flare = self._make()
                self._flare.has_warned = True
        except ConfigError as error:
            self._log.prepared("error", error.render())
            return 1
        finally:
            # Another owner's end is no reason to remove it: the sockets listen all the time.
            self._remove_ready_file()
            self._listening.close()
        return self._exit_code

    def _run_once(self) -> bool:
        with asyncio.Runner(loop_factory=self._loop_factory()) as runner:
            return runner.run(self._serve())

    def _loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop] | None:
        if self._switching:
            return self._flare.switching_loop
        return self._flare.loop_factory or fastest_loop()

    def _announce(self) -> None:
        log, loaded = self._log, self._flare.configurations
        self._flare.warn_of_configurations()
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

    async def _serve(self) -> bool:
        """Own or join. Gives whether to begin anew: another process's end, or this one's need, makes it necessary."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._unhandled)
        switch = asyncio.Event()
        self._flare.joining = GuestHost(
            self._flare, self._log, None if self._switching else switch.set
        ).serve
        waiting = Waiting()
        with StopSignals(loop) as signals:
            while not signals.stopping.is_set():
                self._loaded_ns = time.time_ns()
                held = await self._try_to_own(waiting)
                if held is None:
                    return self._exit_code == 0 and await self._own(signals, switch)
                ended = await self._try_to_join(signals, waiting)
                if ended is not None:
                    return ended
                if waiting.is_over(held, self._log.info):
                    return self._give_up(str(held))
                await asyncio.sleep(waiting.step)
        return False

    async def _try_to_own(self, waiting: Waiting) -> LeaseHeld | None:
        """Start here. Gives what is in the way when another process owns the directory; else None."""
        if waiting.for_owner:
            return waiting.for_owner
        try:
            await self._flare.start()
        except LeaseHeld as error:
            return error
        except OSError as error:
            where = self._flare.state_directory
            self._give_up(
                f"The state directory {where} cannot be used: {error.strerror or error}. "
                "Choose another with --persist-to."
            )
        return None

    async def _own(self, signals: StopSignals, switch: asyncio.Event) -> bool:
        self._application = Application(log=self._log, direct=True, **self._rules())
        self._flare.on_change.append(self._reloaded)
        # The server closes what it is given, and these may be needed once more.
        sockets = [each.dup() for each in self._listening.sockets]
        server = HttpServer(self._application, self._log, sockets)
        await server.start()
        self._ready()
        settle_memory()
        keep_freed_memory()
        watcher = self._start_watching(OwnWorkers(self._flare))
        held = LoopWatch(self._name_holder, self._name_stuck)
        held.start()
        self._shortage.start()
        try:
            await first_of(signals.stopping.wait(), switch.wait())
            self._switching = self._switching or switch.is_set()
            if signals.stopping.is_set():
                self._remove_ready_file()
                self._log.say("⎔ Shutting down local server...")
            else:
                self._log.say("⎔ Starting again, to keep the modules of several Workers apart...")
            self._log.flush()
        finally:
            held.stop()
            self._shortage.stop()
            await self._stop(server, watcher, signals)
        return self._exit_code == 0 and not signals.stopping.is_set()

    async def _try_to_join(self, signals: StopSignals, waiting: Waiting) -> bool | None:
        """Have this session's workers run by the owner.

        Gives what :meth:`_serve` does once that has ended, None when nobody could be asked.
        """
        try:
            guest = await reach_owner(
                self._flare.state_directory, self._about(), self._listening.sockets, self._log
            )
            if guest is None:
                return None
            try:
                await guest.until_ready()
            except (Gone, ProtocolError):
                await guest.close()
                return None
            except Again:
                await guest.close()
                waiting.expect_owner()
                return None
        except OwnerRefused as refused:
            if self._switching and not refused.prepared:
                # The one that has taken over takes nobody in; its end is waited for.
                return None
            if refused.prepared:
                self._log.prepared("error", str(refused))
                return self._give_up(None)
            return self._give_up(str(refused))
        return await self._stay(guest, signals)

    async def _stay(self, guest: Guest, signals: StopSignals) -> bool:
        self._log.info(f"The state directory is shared with process {guest.owner}.")
        self._ready()
        watcher = self._start_watching(RemoteWorkers(self._flare.configurations, guest))
        try:
            await first_of(signals.stopping.wait(), guest.until_lost())
            if signals.stopping.is_set():
                self._remove_ready_file()
                self._log.say("⎔ Shutting down local server...")
                await guest.leave()
                return False
            self._log.info(f"Process {guest.owner}, which ran the Workers here, has ended.")
            # Whoever was there beside this one comes again.
            self._switching = True
            return True
        finally:
            await guest.close()
            await self._end_watching(watcher)

    def _about(self) -> dict[str, Any]:
        loaded = self._flare.configurations
        # A file that is named is not redirected, so the owner has to find a redirect itself.
        redirected = any(each.path != each.user_path for each in loaded)
        return about_session(
            [] if redirected else [each.path for each in loaded if each.path is not None],
            self._options,
            ip=self._listening.ip,
            host=self._host,
            protocol=self._upstream_protocol,
            test_scheduled=self._test_scheduled,
        )

    def _give_up(self, text: str | None) -> bool:
        """The session cannot go on. Gives what :meth:`_serve` does."""
        if text is not None:
            self._log.error(text)
        self._exit_code = 1
        return False

    def _name_holder(self, seconds: float, file: str, line: int, function: str) -> None:
        self._log.warning(
            f"{_shown(Path(file))}:{line} in {function}() held the event loop for {seconds:.1f} s; "
            "nothing else could run meanwhile."
        )

    def _name_stuck(self, seconds: float, file: str, line: int, function: str) -> None:
        # Called by the thread that watches: the loop, which writes the log, is what does not come back.
        self._log.warning(
            f"{_shown(Path(file))}:{line} in {function}() has held the event loop for {seconds:.1f} s and has not "
            "given it back; nothing else can run. It may wait, without await, for an answer of this very server."
        )
        self._log.flush()

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What asyncio would print: a failure that nobody waited for, such as a promise's."""
        error = context.get("exception")
        if "socket" in context and self._shortage.explains(error):
            return
        if isinstance(error, BaseException):
            self._log.uncaught("pyflare", error, where=context.get("message", "a task"))
        else:
            loop.default_exception_handler(context)

    async def _stop(
        self, server: HttpServer, watcher: asyncio.Task[None] | None, signals: StopSignals
    ) -> None:
        await self._end_watching(watcher)
        stopping = signals.stopping.is_set
        cut = await server.stop(STOPPED if stopping() else RESTARTED, stopping)
        if cut:
            say = self._log.info if stopping() else self._log.warning
            say(f"Cut while under way: {', '.join(cut)}.")
        try:
            await self._flare.close()
        except* (StateError, OSError) as failures:
            for failure in failures.exceptions:
                self._log.error(str(failure))
            self._exit_code = 1

    def _remove_ready_file(self) -> None:
        if self._ready_file is not None:
            self._ready_file.unlink(missing_ok=True)

    async def _end_watching(self, watcher: asyncio.Task[None] | None) -> None:
        if watcher is not None:
            watcher.cancel()
            await asyncio.wait([watcher])

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
            log.say(reach(list(patterns), patterns, url))
        log.info(f"Ready on {url}")
        for further in self._listening.further_urls:
            log.info(f"- {further}")
        log.flush()
        if self._ready_file is not None:
            try:
                _write_whole(self._ready_file, self._ready_text())
            except OSError as error:
                log.error(_not_written(self._ready_file, error))

    def _ready_text(self) -> str:
        where = self._listening
        told = {"url": where.url, "ip": where.ip, "port": where.port, "pid": os.getpid()}
        return json.dumps(told) + "\n"

    def _start_watching(self, workers: Reloadable) -> asyncio.Task[None] | None:
        if not self._watch:
            return None
        from .reload import reload_on_change

        watcher = asyncio.get_running_loop().create_task(
            reload_on_change(workers, self._builds, self._log, self._loaded_ns)
        )
        watcher.add_done_callback(self._watching_ended)
        return watcher

    def _watching_ended(self, watcher: asyncio.Task[None]) -> None:
        if not watcher.cancelled() and (error := watcher.exception()) is not None:
            self._log.warning(
                f"Files are no longer watched ({error}). Restart to run what you save from now on."
            )

    def _reloaded(self) -> None:
        """Workers have come or gone, or their routes have changed."""
        if self._application is not None:
            self._application.route(**self._rules())


def _shown(path: Path) -> Path:
    """Relative to the working directory where that is shorter."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def ready_file_problem(path: Path) -> str | None:
    """Why the ready file could not be written, before anybody waits for it; None when it can be."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        trial = _beside(path)
        trial.touch()
        trial.unlink()
    except OSError as error:
        return _not_written(path, error)
    return None


def _not_written(path: Path, error: OSError) -> str:
    return f"--ready-file {path} cannot be written: {error.strerror or error}. Name another file."


def _write_whole(path: Path, text: str) -> None:
    """Whoever waits for the file never sees half of it."""
    temporary = _beside(path)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")
