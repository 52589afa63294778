"""``class Pyflare``: one or several workers as an ASGI application, with their bindings.

app = Pyflare("wrangler.jsonc")              # uvicorn module:app

async with Pyflare(["api/wrangler.jsonc", "jobs/wrangler.toml"], persist_to=None) as flare:
    env = flare.env("api")
    await env.DB.prepare("SELECT 1").first()
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias

from pyflare_bindings.clock import Clock, SystemClock
from pyflare_bindings.registry import BindingRegistry

from .config import ConfigError, Diagnostic, LoadedConfig, Overrides, load
from .config.worker import WorkerConfig
from .env.bindings import make_cache_opener, make_environment
from .env.host import Host
from .env.support import refuse_unsupported, without_effect
from .js.semantics import Semantics
from .server.application import Application
from .server.contracts import Receive, Scope, Send
from .server.inbound import Upstream
from .server.local import Guard
from .server.log import LogSink
from .server.own_loop import OwnLoop
from .server.routes import Route, read_routes, router
from .server.sdk_log import SdkLog
from .services import Service, Services
from .state_directory import StateDirectory
from .workers.current import current
from .workers.isolation import Space
from .workers.loop import new_event_loop
from .workers.runtime import Runtime
from .workers.worker import Worker, WorkerDefinition

__all__ = ["DEFAULT", "Pyflare"]

Configs: TypeAlias = str | Path | Sequence[str | Path] | None


class _Default:
    def __repr__(self) -> str:
        return "DEFAULT"


#: State in ``.pyflare/state`` beside the first configuration.
DEFAULT: Final = _Default()

#: Seconds that background work gets when the emulator is closed.
GRACE: Final = 2.0


class Pyflare:
    """Workers, their owners and the server, in this process.

    Args:
        configs: configuration files, or None to search as wrangler does; the first is the primary worker.
        env: name of the environment in the configurations; else ``CLOUDFLARE_ENV``.
        env_files: files with variables instead of ``.dev.vars`` and ``.env``.
        vars: variables that win over all others; for the primary worker.
        cwd: where relative paths start and the search begins.
        persist_to: the state directory; None for a private temporary one that is removed on close.
        durability: ``"process"`` (survives ``kill -9``) or ``"machine"`` (survives a power cut too).
        clock: where every time comes from.
        log: where request lines, console output and failures go.
        overrides: settings that win over the first configuration's: ``main``, ``name``, ``compatibility_date``,
            ``compatibility_flags``.

    Raises :class:`pyflare.config.ConfigError` for a configuration that cannot be used. It starts on the lifespan
    event, on entering ``async with``, or on the first request, and closes on the lifespan's end, on leaving, or by
    :meth:`close`.
    """

    def __init__(
        self,
        configs: Configs = None,
        *,
        env: str | None = None,
        env_files: Sequence[str | Path] = (),
        vars: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        persist_to: str | Path | _Default | None = DEFAULT,
        durability: Literal["process", "machine"] = "process",
        clock: Clock | None = None,
        log: LogSink | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        paths = [configs] if isinstance(configs, str | Path) else configs
        self._cwd = Path.cwd() if cwd is None else Path(cwd)
        self._load_options: dict[str, Any] = {
            "env": env,
            "cwd": self._cwd,
            "env_files": tuple(map(Path, env_files)),
        }
        self._vars = dict(vars or {})
        self._overrides = _overrides(overrides or {})
        self.configurations: list[LoadedConfig] = [
            self._load(None if path is None else Path(path), primary=index == 0)
            for index, path in enumerate(paths or [None])
        ]
        _refuse_equal_names(self.configurations)
        self.log = LogSink() if log is None else log
        self._sdk_log = SdkLog(self.log, _running_worker)
        self._clock = SystemClock() if clock is None else clock
        self._durability = durability
        self._state = self._state_for(persist_to)
        self._watch: asyncio.Task[None] | None = None
        self.registry: BindingRegistry | None = None
        self._runtime = Runtime()
        self._spaces = [Space(each.worker.base_dir) for each in self.configurations]
        self.workers: list[Worker] = []
        self._services = Services(())
        self._application: Application | None = None
        self._own_loop: OwnLoop | None = None
        self._starting: asyncio.Lock | None = None
        self._closed = False

    def _load(self, path: Path | None, *, primary: bool) -> LoadedConfig:
        options = dict(self._load_options)
        if primary:
            options["vars"] = self._vars
            options["overrides"] = self._overrides
        loaded = load(path, **options)
        refuse_unsupported(loaded.worker)
        return loaded

    @property
    def loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop] | None:
        """What makes the event loop that these workers need; None where any loop will do.

        Workers whose module names collide need a loop that swaps their modules.
        """
        isolation = self._runtime.isolation
        return (
            partial(new_event_loop, isolation) if isolation.needs_swapping(self._spaces) else None
        )

    @property
    def state_directory(self) -> Path:
        """Where the owners keep their files."""
        return self._state.path

    def _state_for(self, persist_to: str | Path | _Default | None) -> StateDirectory:
        match persist_to:
            case _Default():
                path = self.configurations[0].project / ".pyflare" / "state"
                return StateDirectory(path, private_parent=True)
            case None:
                return StateDirectory(None)
            case given:
                return StateDirectory(self._cwd / given)

    async def start(self) -> None:
        """Open the state, load the workers. Once; a second call returns at once.

        A worker whose module fails to import does not stop the others: it answers every event with that failure.
        Raises :class:`pyflare_bindings.lease.LeaseHeld` when another process owns the state directory.
        """
        if self._closed:
            raise RuntimeError("This Pyflare was closed; make a new one.")
        if self._starting is None:
            self._starting = asyncio.Lock()
        async with self._starting:
            if self._application is None:
                await self._start()

    async def _start(self) -> None:
        self._state.open()
        try:
            self.registry = BindingRegistry(
                self._state.path, clock=self._clock, durability=self._durability
            )
            self._runtime.install()
            self._sdk_log.install()
            self.workers = await self._runtime.add(
                [
                    self._definition(loaded.worker, space)
                    for loaded, space in zip(self.configurations, self._spaces, strict=True)
                ],
                report=self._failure_report,
                console=self._console,
            )
            self._services = Services(self._background())
            await self._services.start()
        except BaseException:
            self._sdk_log.uninstall()
            await self._runtime.close(0)
            self._state.close()
            raise
        self._watch = asyncio.create_task(self._state.watch(self._state_renewed, self._state_lost))
        for loaded, space in zip(self.configurations, self._spaces, strict=True):
            for warning in (*without_effect(loaded.worker), *space.warnings()):
                self.log.warning(warning)
        for worker in self.workers:
            if worker.failure is not None:
                self.log.uncaught(worker.name, worker.failure, where="the main module")
        self._application = Application(log=self.log, **self.rules())

    def _state_renewed(self) -> None:
        self.log.error(
            f"The state directory {self._state.path} was deleted while in use. Databases begin anew; "
            "KV, R2 and caches refuse everything until pyflare is started again."
        )
        if self.registry is not None:
            self.registry.check_files()

    def _state_lost(self, error: Exception) -> None:
        self.log.error(f"The state directory was deleted while in use, and: {error}")
        for worker in self.workers:
            worker.fail(error)

    def rules(
        self, *, ip: str | None = None, host: str | None = None, protocol: str | None = None
    ) -> dict[str, Any]:
        """Which worker answers what, and as which host it sees itself: what :class:`Application` is given.

        Args: ``ip`` the address listened on; ``host`` and ``protocol`` what the primary worker and all workers see in
        ``request.url``, by default those of ``dev`` or of the first route, else the client's own.
        """
        routes = [read_routes(each.worker.routes, self.log.warning) for each in self.configurations]
        upstreams: dict[str, Upstream] = {}
        for index, (each, own) in enumerate(zip(self.configurations, routes, strict=True)):
            dev = each.worker.dev
            seen = (host if index == 0 else None) or dev.host or _first_host(own)
            if seen:
                upstreams[each.worker.name] = Upstream(seen, protocol or dev.upstream_protocol)
        hosts = [upstream.host for upstream in upstreams.values()]
        return {
            "route": router(list(zip(self.workers, routes, strict=True))),
            "upstreams": upstreams,
            "guard": Guard(
                hosts if ip is None else [ip, *hosts], [route for own in routes for route in own]
            ),
        }

    def _definition(self, config: WorkerConfig, space: Space) -> WorkerDefinition:
        from .env.sdk import wrap_environment

        assert self.registry is not None
        if config.main is None:
            raise RuntimeError(f'Worker "{config.name}" has no main module.')
        flags = config.compatibility
        return WorkerDefinition(
            name=config.name,
            main_module=config.main.stem,
            space=space,
            compat=flags,
            environment=make_environment(config.bindings(), self._host(config.name)),
            wrap_environment=wrap_environment,
            semantics=Semantics(
                flags.pyodide_version,
                null_is_none=flags.null_is_none,
                dict_to_object=flags.dict_to_object,
                body_used_error=flags.pyodide_version.startswith("314"),
                blob_messages=flags.websocket_standard_binary_type,
                close_is_answered=flags.web_socket_auto_reply_to_close,
                close_reason_is_limited=flags.websocket_close_reason_byte_limit,
                pedantic_close_codes=flags.pedantic_wpt,
            ),
            legacy_handlers=not flags.python_no_global_handlers,
            open_cache=make_cache_opener(self.registry),
        )

    def _host(self, name: str) -> Host:
        assert self.registry is not None
        return Host(registry=self.registry, worker_name=name)

    def _background(self) -> list[Service]:
        """What works in the background, in the order in which it is started."""
        return []

    def _failure_report(self, name: str) -> Callable[[str, BaseException], None]:
        return lambda where, error: self.log.uncaught(name, error, where=where)

    def _console(self, name: str) -> Callable[[str, str], None]:
        return lambda level, text: self.log.console(name, level, text)

    async def reload(self, path: str | Path) -> None:
        """Read the worker that ``path`` belongs to again: its configuration and its modules. Others stay as they are.

        Requests under way finish on the old code. Raises :class:`pyflare.config.ConfigError` for a configuration that
        cannot be used and KeyError for a file of no worker. A module that fails to import is reported. In both cases
        the worker answers every event with its failure until it is mended.
        """
        changed = Path(path)
        concerned = [
            (index, each)
            for index, each in enumerate(self.configurations)
            if changed in each.files or changed.is_relative_to(each.worker.base_dir)
        ]
        if not concerned:
            raise KeyError(f"{path} belongs to no worker")
        for index, each in concerned:
            if self._own_loop is None:
                await self._reload(index, each)
            else:
                await self._own_loop.run(self._reload(index, each))

    async def _reload(self, index: int, each: LoadedConfig) -> None:
        worker = self.workers[index]
        try:
            loaded = self._load(each.user_path or each.path, primary=index == 0)
        except ConfigError as error:
            # Answers of the old code would look as if the new one worked.
            worker.fail(error)
            raise
        self.log.prepared("warning", loaded.render_warnings())
        for warning in without_effect(loaded.worker):
            self.log.warning(warning)
        if loaded.worker.base_dir != each.worker.base_dir:
            self._spaces[index] = Space(loaded.worker.base_dir)
        await self._runtime.redefine(worker, self._definition(loaded.worker, self._spaces[index]))
        self.configurations[index] = loaded
        await self._services.reload()
        if self._application is not None:
            self._application.route(**self.rules())
        if worker.failure is not None:
            self.log.uncaught(worker.name, worker.failure, where="the main module")

    def worker(self, name: str | None = None) -> Worker:
        """A loaded worker by name; without a name the primary one. Raises KeyError."""
        if name is None:
            return self.workers[0]
        for worker in self.workers:
            if worker.name == name:
                return worker
        known = ", ".join(worker.name for worker in self.workers) or "none is loaded"
        raise KeyError(f"there is no worker {name!r}; known: {known}")

    def env(self, name: str | None = None) -> Any:
        """The environment of a worker, as its own code sees it."""
        from .env.sdk import wrap_environment

        return wrap_environment(self.worker(name).definition.environment)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI 3. Workers whose module names collide get a loop of their own where the host's cannot swap modules."""
        if self._own_loop is None and self._application is None:
            factory = self.loop_factory
            if factory is not None and not self._runtime.can_swap_here():
                self._own_loop = OwnLoop(factory)
        if self._own_loop is None:
            await self._serve(scope, receive, send)
        else:
            await self._own_loop.serve(self._serve, scope, receive, send)
            if self._closed:
                self._own_loop.stop()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if self._application is None:
            await self.start()
        assert self._application is not None
        await self._application(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.start()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._close(GRACE)
        await send({"type": "lifespan.shutdown.complete"})

    async def close(self, *, grace: float = GRACE) -> None:
        """End background work within ``grace`` seconds, close every owner, free the state directory. Idempotent."""
        if self._own_loop is None:
            await self._close(grace)
        else:
            await self._own_loop.run(self._close(grace))
            self._own_loop.stop()

    async def _close(self, grace: float) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self._sdk_log.uninstall()
            if self._watch is not None:
                self._watch.cancel()
                await asyncio.wait([self._watch])
            await self._services.close(grace)
            if self._application is not None:
                await self._runtime.close(grace)
            if self.registry is not None:
                await self.registry.close()
        finally:
            self._state.close()
            self.log.flush()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _overrides(given: Mapping[str, Any]) -> Overrides:
    main, flags = given.get("main"), given.get("compatibility_flags")
    return Overrides(
        script=None if main is None else Path(main),
        name=given.get("name"),
        compatibility_date=given.get("compatibility_date"),
        compatibility_flags=None if flags is None else tuple(flags),
    )


def _refuse_equal_names(configurations: Sequence[LoadedConfig]) -> None:
    first: dict[str, LoadedConfig] = {}
    for each in configurations:
        name = each.worker.name
        other = first.setdefault(name, each)
        if other is not each:
            raise ConfigError(
                [
                    Diagnostic(
                        "error",
                        f'Two Workers are named "{name}": {other.path} and {each.path}.',
                        hint='Give each its own "name" in its configuration.',
                    )
                ]
            )


def _running_worker() -> str:
    scope = current.get()
    return "pyflare" if scope is None else scope.name


def _first_host(routes: Sequence[Route]) -> str:
    return next((route.host for route in routes if route.host), "")
