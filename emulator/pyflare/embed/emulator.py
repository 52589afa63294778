"""The life of one emulator: from its configurations over its start and reloads to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from pyflare.config import ConfigError, Diagnostic, LoadedConfig
from pyflare.env.supplied import SuppliedBindings
from pyflare.env.support import missing_services
from pyflare.server.application import Application
from pyflare.server.contracts import ASGIApplication, Receive, Scope, Send
from pyflare.server.log import LogSink
from pyflare.server.own_loop import OwnLoop
from pyflare.server.sdk_log import SdkLog
from pyflare.workers.current import current
from pyflare.workers.isolation import Space
from pyflare.workers.loop import new_event_loop
from pyflare.workers.runtime import Runtime
from pyflare.workers.shared_modules import other_names, share
from pyflare.workers.worker import Worker
from pyflare_bindings.adjustable_clock import AdjustableClock
from pyflare_bindings.clock import Clock
from pyflare_bindings.registry import BindingRegistry

from .background import BackgroundServices, uses_dynamic
from .configurations import Configs, ConfigurationReader, refuse_equal_names
from .definitions import Definitions
from .hosting import Hosting
from .loaded import LoadedWorkers
from .own_imports import import_own
from .ownership import Ownership, needs_to_own
from .places import DEFAULT, PersistTo, state_in
from .serving import Sites, traffic_rules
from .triggers import Triggers

if TYPE_CHECKING:
    from pyflare.js.http_transport import HttpTransport
    from pyflare.owner.server import Joining
    from pyflare.queues.dispatcher import QueueDispatcher

    from .guests import Guests
    from .outbound import Outbound

__all__ = ["Emulator"]


#: Seconds that background work gets when the emulator is closed.
GRACE: Final = 2.0


class Emulator:
    """Workers, their owners and the server, in this process; what :class:`pyflare.embed.Pyflare` stands on."""

    def __init__(
        self,
        configs: Configs = None,
        *,
        env: str | None = None,
        env_files: Sequence[str | Path] = (),
        vars: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        persist_to: PersistTo = DEFAULT,
        durability: Literal["process", "machine"] = "process",
        clock: Clock | None = None,
        log: LogSink | None = None,
        overrides: Mapping[str, Any] | None = None,
        bindings: Mapping[str | tuple[str, str], Any] | None = None,
        outbound: Outbound | None = None,
        cron: bool = True,
        with_code: bool = True,
    ) -> None:
        self.log = LogSink() if log is None else log
        self._again = partial(
            Emulator.__init__,
            self,
            configs,
            env=env,
            env_files=env_files,
            vars=vars,
            cwd=cwd,
            persist_to=persist_to,
            durability=durability,
            clock=clock,
            log=self.log,
            overrides=overrides,
            bindings=bindings,
            outbound=outbound,
            cron=cron,
            with_code=with_code,
        )
        self._cwd = Path.cwd() if cwd is None else Path(cwd)
        supplied = SuppliedBindings(bindings or {})
        self._reader = ConfigurationReader(
            cwd=self._cwd,
            env=env,
            env_files=env_files,
            vars=vars or {},
            overrides=overrides or {},
            supplied=supplied,
            with_code=with_code,
        )
        self._with_code = with_code
        self._outbound = _outbound_transport(outbound)
        self._loaded = LoadedWorkers(self._reader.read_all(configs))
        self._sdk_log = SdkLog(self.log, _running_worker)
        self._clock = AdjustableClock() if clock is None else clock
        self._cron = cron
        self._supplied = supplied
        self._state = state_in(persist_to, project=self.configurations[0].project, cwd=self._cwd)
        self._watch: asyncio.Task[None] | None = None
        self.registry: BindingRegistry | None = None
        self._runtime = Runtime()
        self._spaces = [
            Space.in_project(each.base_dir, each.directory) for each in self._loaded.configs()
        ]
        if with_code:
            import_own(self._spaces)
            self._runtime.isolation.expect(*self._spaces)
        self._sites = Sites(self.log)
        self._background: BackgroundServices | None = None
        self._ownership = Ownership(self._state, self._clock, durability, self.log)
        self._guests: Guests | None = None
        #: What was said about the routes, which are read again and again.
        self._told: list[str] = []
        #: Called when the workers, or the rules for their requests, are others than before.
        self.on_change: list[Callable[[], None]] = []
        #: Held while workers come, go or are loaded again.
        self.changing = asyncio.Lock()
        self._application: Application | None = None
        self._hosting = Hosting(self, GRACE)
        #: Where it was started.
        self.loop: asyncio.AbstractEventLoop | None = None
        self._starting: asyncio.Lock | None = None
        self._closed = False
        self._rules: dict[str, Any] = {}
        #: Whether what is doubtful in the configurations has been said.
        self.has_warned = False

    @property
    def configurations(self) -> list[LoadedConfig]:
        """The configurations, the primary worker's first."""
        return self._loaded.configurations

    @property
    def workers(self) -> list[Worker]:
        """The loaded workers, in the order of their configurations."""
        return self._loaded.workers

    @property
    def loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop] | None:
        """What makes the event loop that these workers need; None where any loop will do.

        Workers whose module names collide need a loop that swaps their modules, and so do those that load Workers.
        """
        isolation = self._runtime.isolation
        # The names of Workers that are loaded at run time are not known yet.
        spaces = self._spaces if self._with_code else ()
        if uses_dynamic(self._loaded) or isolation.needs_swapping(spaces):
            return self.switching_loop
        return None

    def switching_loop(self) -> asyncio.AbstractEventLoop:
        """A loop that keeps the modules of any workers apart."""
        return new_event_loop(self._runtime.isolation)

    def own_loop(self) -> OwnLoop:
        """The loop in a thread of its own that all emulators of this process share where they need one."""
        isolation = self._runtime.isolation
        if not isinstance(isolation.home, OwnLoop):
            isolation.home = OwnLoop(self.switching_loop)
        return isolation.home

    def share_imports(self) -> None:
        """Let the workers run the modules of theirs that this process has imported by now, not copies of their own.

        For programs that reach into their code, as tests do; to be called before the start.
        """
        for config, space in zip(self._loaded.configs(), self._spaces, strict=True):
            share(self._runtime.isolation, space, config.main.stem if config.main else "")
            for copy, name in other_names(space).items():
                self.log.warning(
                    f"The module {copy} was imported, which to Python is another module than the Worker's {name}: "
                    f"what is changed in it the Worker does not see. Write `import {name}`, as the Worker does."
                )

    def can_run_here(self) -> bool:
        """Whether the running loop will do for these workers, or they are there already."""
        return self._application is not None or self._runtime.can_swap_here()

    @property
    def state_directory(self) -> Path:
        """Where the owners keep their files."""
        return self._state.path

    @property
    def is_started(self) -> bool:
        """Whether the workers are loaded."""
        return self._application is not None

    async def start(self) -> None:
        """Open the state, load the workers. Once; a second call returns at once.

        A worker whose module fails to import does not stop the others: it answers every event with that failure.
        Raises :class:`pyflare_bindings.lease.LeaseHeld` when another process owns the state directory.
        """
        await self.started()

    async def started(self) -> ASGIApplication:
        """The same as :meth:`start`; gives the application."""
        self.check_open()
        if self._starting is None:
            self._starting = asyncio.Lock()
        async with self._starting:
            # It may have been closed while this waited.
            self.check_open()
            if self._application is None:
                self._application = await self._start()
                self.loop = asyncio.get_running_loop()
            return self._application

    @property
    def is_closed(self) -> bool:
        """Whether it has ended."""
        return self._closed

    def begin_anew(self) -> None:
        """After its end: be as it was made. For servers' tests, which start one application several times.

        Raises ConfigError for configurations that cannot be used any more.
        """
        hosting, has_warned = self._hosting, self.has_warned
        self._again()
        self._hosting, self.has_warned = hosting, has_warned

    def check_open(self) -> None:
        """Raise RuntimeError after it has been closed."""
        if self._closed:
            raise RuntimeError("This Pyflare was closed; make a new one.")

    async def _start(self) -> Application:
        try:
            await self._load()
        except BaseException:
            self._sdk_log.uninstall()
            await self._ownership.stop_serving(0)
            await self._runtime.close(0)
            if self.registry is not None:
                await self.registry.close()
            self._state.close()
            raise
        self._watch = asyncio.create_task(self._state.watch(self._state_renewed, self._state_lost))
        self.warn_of_configurations()
        for loaded, space in zip(self.configurations, self._spaces, strict=True):
            self._reader.warn(loaded, self.log.warning)
            for warning in space.warnings() if self._with_code else ():
                self.log.warning(warning)
        for warning in missing_services(self._loaded.configs()):
            self.log.warning(warning)
        for worker in self.workers:
            if worker.failure is not None:
                self.log.uncaught(worker.name, worker.failure, where="the main module")
        return Application(log=self.log, **self.rules())

    async def _load(self) -> None:
        # Without their code, workers have nothing that runs in one process alone.
        owning = self._loaded.configs() if self._with_code else ()
        registry = self.registry = await self._ownership.open(owning)
        definitions = self._definitions = Definitions(
            self._loaded,
            registry,
            self._supplied,
            self._sites.by_worker,
            self.log,
            outbound=self._outbound.send,
            with_code=self._with_code,
        )
        background = BackgroundServices(
            self._loaded,
            registry,
            self._runtime,
            self.log,
            definitions.define,
            cron=self._cron,
            shared=self._ownership.is_shared,
            with_code=self._with_code,
        )
        definitions.background = background
        self._objects = background.objects
        self._triggers = Triggers(
            self._loaded, background, registry, self.log, lambda: self._rules["route"]
        )
        self._runtime.install()
        self._sdk_log.install()
        for loaded in self.configurations:
            await self._sites.renew(loaded, self.state_directory)
        self._loaded.workers = await self._runtime.add(
            [
                definitions.of(config, space)
                for config, space in zip(self._loaded.configs(), self._spaces, strict=True)
            ],
            report=background.report,
            console=background.console,
        )
        self._background = background
        await background.start()
        await self._ownership.serve(registry)

    def warn_of_configurations(self) -> None:
        """Log what is doubtful in the configurations. Once; the start does it where nobody else has."""
        if not self.has_warned:
            self.has_warned = True
            for each in self.configurations:
                self.log.prepared("warning", each.render_warnings())

    def _state_renewed(self) -> None:
        self.log.error(
            f"The state directory {self._state.path} was deleted while in use. Databases begin anew; "
            "KV, R2 and caches refuse everything until pyflare is started again."
        )
        if self.registry is not None:
            self.registry.check_files()
        self._ownership.renewed()

    def _state_lost(self, error: Exception) -> None:
        self.log.error(f"The state directory was deleted while in use, and: {error}")
        for worker in self.workers:
            worker.fail(error)

    def rules(
        self,
        *,
        ip: str | None = None,
        host: str | None = None,
        protocol: str | None = None,
        test_scheduled: bool = False,
    ) -> dict[str, Any]:
        """Which worker answers what, and as which host it sees itself: what :class:`Application` is given.

        Args: ``ip`` the address listened on; ``host`` and ``protocol`` what the primary worker and all workers see in
        ``request.url``, by default those of ``dev`` or of the first route, else the client's own; ``test_scheduled``
        whether ``/__scheduled`` runs the ``scheduled`` handler.
        """
        from pyflare.endpoints.wiring import local_endpoints

        found: list[str] = []
        rules = traffic_rules(self._loaded, found.append, ip=ip, host=host, protocol=protocol)
        for text in found:
            if text not in self._told:
                self.log.warning(text)
        self._told = found
        self._rules = {**rules, "sites": self._sites.by_worker}
        endpoints = local_endpoints(self._triggers, test_scheduled=test_scheduled)
        return {**self._rules, "endpoints": endpoints}

    @property
    def queues(self) -> QueueDispatcher | None:
        """What brings messages to their consumers; None while no configuration names a queue."""
        return None if self._background is None else self._background.queues.service

    @property
    def joining(self) -> Joining | None:
        """Runs a session that brings its own workers; None where none are taken in."""
        return self._ownership.joining

    @joining.setter
    def joining(self, joining: Joining) -> None:
        self._ownership.joining = joining

    @property
    def guests(self) -> Guests:
        """The workers of other sessions that run here too."""
        if self._guests is None:
            from .guests import Guests

            self._guests = Guests(self)
        return self._guests

    def tell_changed(self) -> None:
        """There are other workers, or workers with other rules: whoever serves them has to know."""
        if self._application is not None:
            self._application.route(**self.rules())
        for each in list(self.on_change):
            each()

    def under_way(self) -> Iterator[Awaitable[object]]:
        """What workers, objects, services and owners are doing that is not done yet."""
        for worker in self.workers:
            yield from worker.background.under_way()
        if self._background is not None:
            yield from self._background.under_way()
        if self.registry is not None:
            yield from self.registry.under_way()

    async def reload(self, path: str | Path) -> None:
        """Read the worker that ``path`` belongs to again: its configuration and its modules. Others stay as they are.

        A relative path starts at ``cwd`` or, where no worker has such a file, at the working directory.
        Requests under way finish on the old code. Raises :class:`pyflare.config.ConfigError` for a configuration that
        cannot be used and KeyError for a file of no worker. A module that fails to import is reported. In both cases
        the worker answers every event with its failure until it is mended.
        """
        for each in self._loaded.concerned(Path(path), self._cwd):
            await self._hosting.run(self._reload(each))

    async def _reload(self, each: LoadedConfig) -> None:
        async with self.changing:
            # It may have left while others were loaded.
            if each in self.configurations:
                await self._reload_at(self.configurations.index(each), each)

    async def _reload_at(self, index: int, each: LoadedConfig) -> None:
        assert self._background is not None
        worker = self.workers[index]
        log = self.log.of(worker.name)
        reader, place = self._reader, index
        if self._guests is not None:
            reader, place = self._guests.reader_of(worker.name) or (reader, place)
        try:
            loaded = reader.again(place, each)
            others = self.configurations
            refuse_equal_names([*others[:index], loaded, *others[index + 1 :]])
            await self._own_if_needed(loaded)
        except ConfigError as error:
            # Answers of the old code would look as if the new one worked.
            worker.fail(error)
            self._sites.forget(worker.name)
            self._objects.renew(worker.name)
            raise
        log.prepared("warning", loaded.render_warnings())
        reader.warn(loaded, log.warning)
        if loaded.worker.base_dir != each.worker.base_dir:
            self._spaces[index] = Space.in_project(loaded.worker.base_dir, loaded.worker.directory)
            import_own([self._spaces[index]])
        if loaded.worker.name != worker.name:
            self._sites.forget(worker.name)
        await self._sites.renew(loaded, self.state_directory)
        self._objects.renew(worker.name)
        definition = self._definitions.of(loaded.worker, self._spaces[index])
        await self._runtime.redefine(worker, definition)
        self.configurations[index] = loaded
        await self._background.reload()
        self.tell_changed()
        if worker.failure is not None:
            self.log.uncaught(worker.name, worker.failure, where="the main module")

    async def _own_if_needed(self, loaded: LoadedConfig) -> None:
        if not self._with_code or not self._ownership.is_shared:
            return
        why = needs_to_own(loaded.worker)
        if why is None:
            return
        if not self._ownership.keep():
            raise ConfigError(
                [
                    Diagnostic(
                        "error",
                        f"The state directory {self.state_directory} is another process's: {why}.",
                        hint="Stop that process and start this one again.",
                    )
                ]
            )
        assert self._background is not None
        await self._background.own()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI 3. Workers whose module names collide get a loop of their own where the host's cannot swap modules."""
        await self._hosting.serve(scope, receive, send)

    async def close(self, *, grace: float = GRACE) -> None:
        """End background work within ``grace`` seconds, close every owner, free the state directory. Idempotent."""
        await self._hosting.close(grace)

    async def end(self, grace: float) -> None:
        """The same as :meth:`close`, on the loop of the workers."""
        if self._closed:
            return
        self._closed = True
        if self._starting is not None:
            # A start that is under way comes to its end first.
            await self._starting.acquire()
        try:
            self._sdk_log.uninstall()
            if self._watch is not None:
                self._watch.cancel()
                await asyncio.wait([self._watch])
            await self._ownership.stop_serving(grace)
            if self._background is not None:
                await self._background.close(grace)
            if self._application is not None:
                await self._runtime.close(grace)
            if self.registry is not None:
                await self.registry.close()
            await self._outbound.aclose()
        finally:
            self._state.close()
            self.log.flush()
            if self._starting is not None:
                self._starting.release()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _outbound_transport(outbound: Outbound | None) -> HttpTransport:
    from pyflare.js.http_transport import HttpTransport

    if outbound is None:
        return HttpTransport()
    from .outbound import transport_of

    return HttpTransport(transport_of(outbound))


def _running_worker() -> str:
    scope = current.get()
    return "pyflare" if scope is None else scope.name
