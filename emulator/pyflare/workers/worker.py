"""A loaded worker: its modules, its entrypoints, its environment, and the way an event is run in it."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from types import CoroutineType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from pyflare.js.caches import CacheOpener, cache_opener
from pyflare.js.clock import call_later, wall_time
from pyflare.js.cloudflare_global import compatibility_flags
from pyflare.js.error import Error
from pyflare.js.fetch import Send, outbound
from pyflare.js.globals import GlobalScope, global_scope, node_compat
from pyflare.js.python_buffers import told_places
from pyflare.js.response import Response
from pyflare.js.rpc.errors import is_passing
from pyflare.js.rpc.host import StubHost, stub_host
from pyflare.js.semantics import Semantics, semantics
from pyflare.js.timers import Timers, event_timers
from pyflare.js.value import JsObject
from pyflare.js.websocket_keeping import keep_connection
from pyflare_bindings.clock import Clock

from .answers import not_a_response, response_in
from .carriers import CarrierPool
from .connections import RELOADED, STOPPING, Connections
from .current import WorkerScope, current_event
from .entrypoint_helper import GLOBAL_SCOPE_ERROR
from .entrypoints import (
    Entrypoints,
    find_entrypoints,
    handler_name,
    no_event_handler,
    no_handler,
    positional_capacity,
)
from .event import Background, ExecutionContext, FailureReport
from .isolation import Space
from .python_version import note_older_python
from .rpc.session import EventHost

if TYPE_CHECKING:
    from .tracing import Tracer

__all__ = ["Worker", "WorkerDefinition"]

T = TypeVar("T")

if sys.version_info >= (3, 12):
    _current_task = asyncio.current_task
else:

    def _current_task() -> asyncio.Task[Any] | None:
        """What `asyncio.current_task` is since Python 3.12 at C speed."""
        task: asyncio.Task[Any] | None = asyncio.tasks._current_tasks.get(  # type: ignore[attr-defined]
            asyncio._get_running_loop()
        )
        return task


_NO_FETCH = "Handler does not export a fetch() function."


@dataclass(slots=True, frozen=True)
class WorkerDefinition:
    """What a worker is made of.

    ``main_module``: name of the module that holds the handlers, imported from the root of ``space``; empty where there
    is no code, only assets;
    ``environment``: the raw ``env``; ``wrap_environment``: what the SDK's classes get of it, per event;
    ``legacy_handlers``: whether module-level ``on_fetch`` counts and classes have the same prefix; ``open_cache``: what
    ``js.caches`` opens caches with.
    """

    name: str
    main_module: str
    space: Space
    compat: object
    environment: JsObject
    wrap_environment: Callable[[JsObject], Any]
    semantics: Semantics
    legacy_handlers: bool = False
    open_cache: CacheOpener | None = None
    #: Where its `fetch` goes; None for the network.
    outbound: Send | None = None
    #: What its timers and its `Date` go by; None for the machine's own.
    clock: Clock | None = None
    #: Gives the binding to a Durable Object class of this worker, for ``ctx.exports``.
    make_namespace: Callable[[str], Any] | None = None


class Globals:
    """What a worker itself has put into ``js``, which is ``js.globalThis``."""

    def __init__(self, scope: GlobalScope) -> None:
        self.__dict__ = vars(scope)


class Worker:
    """One worker in this process. Until :meth:`load` succeeds it answers no event."""

    def __init__(
        self,
        definition: WorkerDefinition,
        scope: WorkerScope,
        carriers: CarrierPool,
        report: FailureReport,
    ) -> None:
        self.scope = scope
        self.report = report
        self.background = Background(report)
        self.connections = Connections()
        scope.context.run(keep_connection.set, self.connections.keep)
        scope.context.run(stub_host.set, self._stub_host)
        self.entrypoints = Entrypoints()
        self.failure: BaseException | None = None
        #: Told of every event, where somebody wants to know.
        self.tracer: Tracer | None = None
        self._failed_at: TracebackType | None = None
        self._carriers = carriers
        #: Advances a coroutine in one of this worker's contexts; see `CarrierPool.drive`.
        self.drive = carriers.drive
        self.define(definition)
        self._default: type | None = None
        self._has_legacy_fetch = False
        self._capacity = 1
        self._capacities: dict[type, int] = {}

    def define(self, definition: WorkerDefinition) -> None:
        """Set what the worker is made of; to be followed by :meth:`load`.

        WebSockets belong to the code that opened them: they are closed, as production does.
        """
        self.connections.close_all(*RELOADED)
        self.definition = definition
        self.name = definition.name
        self._fetch_name = handler_name("fetch", legacy=definition.legacy_handlers)
        self._environment = definition.environment
        self._wrap_environment = definition.wrap_environment
        scope = self.scope
        scope.name = definition.name
        scope.space = definition.space
        scope.space.scope = scope
        scope.compat = definition.compat
        globals_ = GlobalScope._make()
        scope.context.run(global_scope.set, globals_)
        scope.namespaces = {"js": Globals(globals_), "_cloudflare_compat_flags": definition.compat}
        flags = getattr(definition.compat, "flags", None)
        scope.context.run(compatibility_flags.set, flags)
        scope.data["env"] = definition.environment
        scope.data["exports"] = None
        if getattr(definition.compat, "enable_ctx_exports", False):
            from .rpc.loopback import Exports

            scope.data["exports"] = Exports._make(self)
        scope.context.run(told_places.set, set())
        scope.context.run(semantics.set, definition.semantics)
        node = bool(getattr(definition.compat, "nodejs_compat_v2", False))
        scope.context.run(node_compat.set, node)
        scope.context.run(cache_opener.set, definition.open_cache)
        scope.context.run(outbound.set, definition.outbound)
        clock = definition.clock
        scope.context.run(wall_time.set, None if clock is None else clock.now)
        scope.context.run(call_later.set, None if clock is None else clock.call_later)

    async def load(self) -> None:
        """Import the main module, afresh if it was imported before, and find its entrypoints.

        A failure is kept in ``failure`` and raised by every event until the worker is loaded again.
        """
        try:
            entrypoints, has_legacy_fetch = await self._carriers.drive(
                self._import(), self.scope.new_context()
            )
        except BaseException as error:
            if is_passing(error):
                raise
            note_older_python(error, getattr(self.definition.compat, "python_version", None))
            self.fail(error)
            return
        self.failure = None
        self.entrypoints = entrypoints
        self._default = entrypoints.default
        self._capacities = {}
        self._has_legacy_fetch = has_legacy_fetch
        fetch = getattr(self._default, self._fetch_name, None)
        self._capacity = 0 if fetch is None else positional_capacity(fetch, 4) - 1

    def fail(self, error: BaseException) -> None:
        """Answer every event with this failure until the worker is loaded again."""
        self.failure = error
        self._failed_at = error.__traceback__

    async def _import(self) -> tuple[Entrypoints, bool]:
        if not self.definition.main_module:
            return Entrypoints(), False
        module = self.definition.space.reload(self.definition.main_module)
        found = find_entrypoints(module, legacy=self.definition.legacy_handlers)
        return found, callable(getattr(module, "on_fetch", None))

    async def run(self, event: Coroutine[Any, Any, T], props: Any = None) -> T:
        """Run a coroutine as one event: in a context of its own, where this worker is current and its modules are seen.

        The event lasts until the coroutine has ended, what it gave to ``waitUntil`` is done and nobody has a stub or a
        stream of it. ``props`` is what ``ctx.props`` will be a copy of.
        """
        timers = Timers()
        execution: ExecutionContext = ExecutionContext._make(self.background, timers, props)
        context = self.scope.context.copy()
        context.run(_enter_event, execution, timers)
        if self.tracer is not None:
            from .tracing import EventTrace

            trace = execution._trace = EventTrace(self.name, self.tracer, execution)
            context.run(trace.listen)
        execution._task = _current_task()
        try:
            result = await self._carriers.drive(event, context)
        except BaseException as error:
            aborted = execution._abortion
            if aborted is None or aborted.told or isinstance(error, GeneratorExit):
                raise
            raise aborted.tell() from None
        finally:
            execution.end()
        if execution._abortion is not None and not execution._abortion.told:
            raise execution._abortion.tell()
        return result

    async def fetch(self, request: Any, entrypoint: str | None = None) -> Response:
        """Answer a request, by the default class or a named one; to be run by :meth:`run`.

        Raises the worker's own exception, or the platform's error when there is no handler or no response.
        """
        self.check_loaded()
        event: ExecutionContext = current_event.get()
        if event._trace is not None and event._trace.wants():
            return await event._trace.fetch(request, entrypoint, self.fetch(request, entrypoint))
        try:
            if self._default is not None or entrypoint is not None:
                from workers import Request

                instance = self.instance(entrypoint)
                handler = getattr(instance, self._fetch_name, None)
                if not callable(handler):
                    raise no_handler(instance, "fetch", legacy=self.definition.legacy_handlers)
                capacity = self._capacity if entrypoint is None else self._capacity_of(instance)
                result = handler(*(Request(request), None, None)[:capacity])
            else:
                result = self._legacy_fetch(request, event)
            if type(result) is CoroutineType or inspect.isawaitable(result):
                result = await result
        except BaseException as error:
            if event._abortion is None or isinstance(error, GeneratorExit):
                raise
        if event._abortion is not None:
            raise event._abortion.tell()
        return self.as_response(result)

    def is_legacy(self) -> bool:
        """Whether module-level functions answer, because there is no default class and they count."""
        return self._default is None and self.definition.legacy_handlers

    def has_handler(self, name: str) -> bool:
        """Whether there is a handler of this name (``scheduled``, ``queue``...) for events of its kind."""
        if self._default is not None:
            return callable(getattr(self._default, name, None))
        return f"on_{name}" in self.entrypoints.handlers

    async def handle(self, name: str, *arguments: Any) -> Any:
        """Call the handler ``name`` (``scheduled``, ``queue``, ``email``...); to be run by :meth:`run`.

        Arguments that the handler does not take are dropped. Gives what it returns, raises what it raises, and the
        platform's error where there is no such handler.
        """
        self.check_loaded()
        event: ExecutionContext = current_event.get()
        if event._trace is not None and event._trace.wants():
            first = arguments[0] if arguments else None
            return await event._trace.handle(name, first, self.handle(name, *arguments))
        if self._default is not None:
            instance = self._default(event, self.make_env())
            handler = getattr(instance, name, None)
            if not callable(handler):
                raise no_event_handler(instance, name)
            offered = (*arguments, None, None)
        else:
            handler = self.entrypoints.handlers.get(f"on_{name}")
            if handler is None and not self.definition.legacy_handlers:
                error = Error(f"Handler does not export a {name}() function")
                error.add_note(f"{self._file} has no class named Default with a method {name}.")
                raise error
            if handler is None:
                raise Error(
                    f'Python entrypoint "{self._file}" does not export a handler named "on_{name}"'
                )
            offered = (*arguments, self._environment, event)
        try:
            result = handler(*offered[: positional_capacity(handler, len(offered))])
            if inspect.isawaitable(result):
                result = await result
        except BaseException as error:
            if event._abortion is None or isinstance(error, GeneratorExit):
                raise
        if event._abortion is not None:
            raise event._abortion.tell()
        return result

    def check_loaded(self) -> None:
        """Raise the failure that this worker answers every event with, if it could not be loaded."""
        if self.failure is not None:
            # One object for every event: without this its traceback would grow with each.
            raise self.failure.with_traceback(self._failed_at)

    def instance(self, entrypoint: str | None = None) -> Any:
        """An instance of the default class or a named one, for the running event.

        Raises: what its constructor raises; Error where there is no such entrypoint.
        """
        cls = self._default if entrypoint is None else self.entrypoints.workers.get(entrypoint)
        if cls is None:
            raise self._no_entrypoint(entrypoint)
        event: ExecutionContext = current_event.get()
        extra = event._extra_env
        return cls(event, self.make_env() if extra is None else self._extended_env(extra))

    def _capacity_of(self, instance: Any) -> int:
        """How many arguments the ``fetch`` of a named entrypoint takes."""
        cls = type(instance)
        known = self._capacities.get(cls)
        if known is None:
            known = self._capacities[cls] = positional_capacity(
                getattr(instance, self._fetch_name), 3
            )
        return known

    def _no_entrypoint(self, name: str | None) -> Error:
        if name is None:
            error = Error("Worker has no default entrypoint.")
            error.add_note(self._what_is_there())
            return error
        if name in self.entrypoints.objects:
            return Error(
                f"The entrypoint name {name} refers to a Durable Object class, but the incoming request is trying to "
                "invoke it as a stateless worker."
            )
        error = Error(f"Worker has no such entrypoint: {name}")
        found = ", ".join(sorted(self.entrypoints.workers)) or "none"
        error.add_note(f'The entrypoints in {self._file} of the Worker "{self.name}": {found}.')
        return error

    def _stub_host(self) -> StubHost:
        event = current_event.get()
        if event is None:
            raise Error(GLOBAL_SCOPE_ERROR)
        return EventHost(event, self._carriers)

    def _extended_env(self, extra: Mapping[str, Any]) -> Any:
        return self._wrap_environment(JsObject.adopt({**self._environment.__dict__, **extra}))

    def make_env(self) -> Any:
        """The environment for one instance of a class."""
        return self._wrap_environment(self._environment)

    def as_response(self, result: Any, handler: str | None = None) -> Response:
        """What a ``fetch`` handler returned, as a response. Raises: TypeError, which names ``handler``."""
        response = response_in(result)
        if response is not None:
            return response
        if handler is None:
            handler = "on_fetch" if self._default is None else f"Default.{self._fetch_name}"
        raise not_a_response(result, handler, self._file, of_class="." in handler)

    async def _legacy_fetch(self, request: Any, context: ExecutionContext) -> Any:
        if not self.definition.legacy_handlers:
            error = Error(_NO_FETCH)
            error.add_note(self._what_is_there())
            raise error
        handler = self.entrypoints.handlers.get("on_fetch")
        if handler is None:
            raise Error(
                f'Python entrypoint "{self.definition.main_module}.py" does not export a handler named "on_fetch"'
            )
        arguments = (request, self._environment, context)
        result = handler(*arguments[: positional_capacity(handler, len(arguments))])
        while inspect.isawaitable(result):
            # JavaScript gets it as it is and awaits whatever can be awaited.
            result = await result
        return result

    @property
    def _file(self) -> str:
        return f"{self.definition.main_module}.py"

    def _what_is_there(self) -> str:
        """Why no class answers requests, for the person who wrote the module."""
        found = sorted(self.entrypoints.workers)
        named = f"only {', '.join(found)}" if found else "no subclass of WorkerEntrypoint"
        note = f"{self._file} has {named}; requests are answered by the subclass named Default."
        if self._has_legacy_fetch:
            note += (
                " Its on_fetch counts only with a compatibility date before 2025-08-14"
                " (or the flag disable_python_no_global_handlers)."
            )
        return note

    async def finish(self, grace: float) -> None:
        """Close the connections and end background work, each within ``grace`` seconds."""
        await self.connections.end(*STOPPING, grace=grace)
        await self.background.drain(grace)

    async def close(self, grace: float) -> None:
        """Give background work ``grace`` seconds to end, then stop it and synchronous code that still waits."""
        await self.finish(grace)
        waiting = self._carriers.waiting(self.scope)
        for task in waiting:
            task.cancel()
        if waiting:
            await asyncio.wait(waiting, timeout=1)
        self._carriers.close(self.scope)
        self.background.closed = True


def _enter_event(event: ExecutionContext, timers: Timers) -> None:
    current_event.set(event)
    event_timers.set(timers)
