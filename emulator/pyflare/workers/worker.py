"""A loaded worker: its modules, its entrypoints, its environment, and the way an event is run in it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from types import CoroutineType, TracebackType
from typing import Any, TypeVar

from pyflare.js.caches import CacheOpener, cache_opener
from pyflare.js.error import Error, TypeError_
from pyflare.js.response import Response
from pyflare.js.semantics import Semantics, semantics
from pyflare.js.timers import Timers, event_timers
from pyflare.js.value import JsObject
from pyflare.js.websocket_keeping import keep_connection

from .carriers import CarrierPool
from .connections import RELOADED, STOPPING, Connections
from .current import WorkerScope, current_event
from .entrypoints import Entrypoints, find_entrypoints, positional_capacity
from .event import Background, ExecutionContext, FailureReport
from .isolation import Space

__all__ = ["Worker", "WorkerDefinition"]

T = TypeVar("T")

_NO_FETCH = "Handler does not export a fetch() function."
_NOT_A_RESPONSE = "Incorrect type for Promise: the Promise did not resolve to 'Response'."


@dataclass(slots=True, frozen=True)
class WorkerDefinition:
    """What a worker is made of.

    ``main_module``: name of the module that holds the handlers, imported from the root of ``space``;
    ``environment``: the raw ``env``; ``wrap_environment``: what the SDK's classes get of it, per event;
    ``legacy_handlers``: whether module-level ``on_fetch`` counts; ``open_cache``: what ``js.caches`` opens caches with.
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


class Globals:
    """What a worker itself has put into ``js``."""


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
        self.background = Background(report)
        self.connections = Connections()
        scope.context.run(keep_connection.set, self.connections.keep)
        self.entrypoints = Entrypoints()
        self.failure: BaseException | None = None
        self._failed_at: TracebackType | None = None
        self._carriers = carriers
        self.define(definition)
        self._default: type | None = None
        self._has_legacy_fetch = False
        self._capacity = 1

    def define(self, definition: WorkerDefinition) -> None:
        """Set what the worker is made of; to be followed by :meth:`load`.

        WebSockets belong to the code that opened them: they are closed, as production does.
        """
        self.connections.close_all(*RELOADED)
        self.definition = definition
        self.name = definition.name
        self._environment = definition.environment
        self._wrap_environment = definition.wrap_environment
        scope = self.scope
        scope.name = definition.name
        scope.space = definition.space
        scope.space.scope = scope
        scope.compat = definition.compat
        scope.namespaces = {"js": Globals(), "_cloudflare_compat_flags": definition.compat}
        scope.data["env"] = definition.environment
        scope.context.run(semantics.set, definition.semantics)
        scope.context.run(cache_opener.set, definition.open_cache)

    async def load(self) -> None:
        """Import the main module, afresh if it was imported before, and find its entrypoints.

        A failure is kept in ``failure`` and raised by every event until the worker is loaded again.
        """
        try:
            entrypoints, has_legacy_fetch = await self._carriers.drive(
                self._import(), self.scope.new_context()
            )
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            self.fail(error)
            return
        self.failure = None
        self.entrypoints = entrypoints
        self._default = entrypoints.default
        self._has_legacy_fetch = has_legacy_fetch
        fetch = getattr(self._default, "fetch", None)
        self._capacity = 0 if fetch is None else positional_capacity(fetch, 4) - 1

    def fail(self, error: BaseException) -> None:
        """Answer every event with this failure until the worker is loaded again."""
        self.failure = error
        self._failed_at = error.__traceback__

    async def _import(self) -> tuple[Entrypoints, bool]:
        module = self.definition.space.reload(self.definition.main_module)
        found = find_entrypoints(module, legacy=self.definition.legacy_handlers)
        return found, callable(getattr(module, "on_fetch", None))

    async def run(self, event: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine as one event: in a context of its own, where this worker is current and its modules are seen.

        The event lasts until the coroutine has ended and what it gave to ``waitUntil`` is done.
        """
        timers = Timers()
        execution: ExecutionContext = ExecutionContext._make(self.background, timers)
        context = self.scope.context.copy()
        context.run(_enter_event, execution, timers)
        try:
            return await self._carriers.drive(event, context)
        finally:
            execution.end()

    async def fetch(self, request: Any) -> Response:
        """Answer a request; to be run by :meth:`run`.

        Raises the worker's own exception, or the platform's error when there is no handler or no response.
        """
        if self.failure is not None:
            # One object for every event: without this its traceback would grow with each.
            raise self.failure.with_traceback(self._failed_at)
        event: ExecutionContext = current_event.get()
        if self._default is not None:
            from workers import Request

            instance = self._default(event, self._wrap_environment(self._environment))
            try:
                handler = instance.fetch
            except AttributeError:
                raise TypeError_("Method fetch does not exist") from None
            result = handler(*(Request(request), None, None)[: self._capacity])
        else:
            result = self._legacy_fetch(request, event)
        if type(result) is CoroutineType or inspect.isawaitable(result):
            result = await result
        return self._as_response(result)

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
        if self.failure is not None:
            raise self.failure.with_traceback(self._failed_at)
        event: ExecutionContext = current_event.get()
        if self._default is not None:
            instance = self._default(event, self._wrap_environment(self._environment))
            handler = getattr(instance, name, None)
            if not callable(handler):
                raise TypeError_(f"Method {name} does not exist")
            offered = (*arguments, None, None)
        else:
            handler = self.entrypoints.handlers.get(f"on_{name}")
            if handler is None:
                raise Error(
                    f'Python entrypoint "{self._file}" does not export a handler named "on_{name}"'
                )
            offered = (*arguments, self._environment, event)
        result = handler(*offered[: positional_capacity(handler, len(offered))])
        return await result if inspect.isawaitable(result) else result

    def _as_response(self, result: Any) -> Response:
        if isinstance(result, Response):
            return result
        # The SDK's Response and FetchResponse; `js_response` is also what older code returns by hand.
        wrapped = getattr(result, "js_response", None)
        if isinstance(wrapped, Response):
            return wrapped
        error = TypeError_(_NOT_A_RESPONSE)
        handler = "on_fetch" if self._default is None else "Default.fetch"
        shown = "None" if result is None else f"a value of type {type(result).__name__}"
        error.add_note(f"{handler} in {self._file} returned {shown}; return a Response.")
        raise error

    def _legacy_fetch(self, request: Any, context: ExecutionContext) -> Any:
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
        return handler(*arguments[: positional_capacity(handler, len(arguments))])

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

    async def close(self, grace: float) -> None:
        """Give background work ``grace`` seconds to end, then stop it and synchronous code that still waits."""
        await self.connections.end(*STOPPING, grace=grace)
        await self.background.drain(grace)
        waiting = self._carriers.waiting(self.scope)
        for task in waiting:
            task.cancel()
        if waiting:
            await asyncio.wait(waiting, timeout=1)
        self._carriers.close(self.scope)


def _enter_event(event: ExecutionContext, timers: Timers) -> None:
    current_event.set(event)
    event_timers.set(timers)
