"""The way to an entrypoint of a worker in this process: what is behind a service binding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pyflare.js.callbacks import supervise
from pyflare.js.deferred import call_depth
from pyflare.js.error import Error, JsException
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.rpc.errors import crossing, is_passing, no_method

from ..current import current_event
from .answer import lend
from .invoke import invoke

if TYPE_CHECKING:
    from ..worker import Worker

__all__ = ["CallerChannel", "EntrypointChannel"]


class EntrypointChannel:
    """A :class:`pyflare.js.fetcher.Channel`. Every request and every call is an event of its own in the worker.

    In: ``find`` gives the worker when it is needed, None where it is not in this process: workers refer to each other
    in circles and come and go. ``worker_name`` is for the message then. ``props`` is what ``ctx.props`` is a copy of.
    """

    __slots__ = ("_entrypoint", "_find", "_name", "_props")

    def __init__(
        self,
        find: Callable[[], Worker | None],
        worker_name: str,
        entrypoint: str | None = None,
        props: Any = None,
    ) -> None:
        self._find = find
        self._name = worker_name
        self._entrypoint = None if entrypoint in (None, "default", "Default") else entrypoint
        self._props = props

    async def fetch(self, request: Request) -> Response:
        """Raises: what the handler raises, as it crosses. Without the worker the answer is a 503, as wrangler's is."""
        worker = self._find()
        if worker is None:
            return Response.new(missing_worker(self._name), status=503)
        failure: JsException
        try:
            return await worker.run(self._answer(worker, request, call_depth.get()), self._props)
        except BaseException as error:
            if is_passing(error):
                raise
            failure = self._crossing(error)
        raise failure

    def _crossing(self, error: BaseException) -> JsException:
        """What the caller gets of a failure."""
        return crossing(error)

    async def _answer(self, worker: Worker, request: Request, depth: int) -> Response:
        call_depth.set(depth + 1)
        source = request._source
        if source is not None:
            current_event.get().at_end(partial(_let_go, source))
        return await lend(worker.fetch(request, self._entrypoint), request)

    async def call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> Any:
        """Raises: what the method raises, as it crosses, and Error without the worker."""
        worker = self._find()
        if worker is None:
            raise Error(missing_worker(self._name))
        failure: JsException
        try:
            return await worker.run(
                self._call(worker, path, arguments, call_depth.get()), self._props
            )
        except BaseException as error:
            if is_passing(error):
                raise
            failure = self._crossing(error)
        raise failure

    async def _call(
        self,
        worker: Worker,
        path: tuple[str, ...],
        arguments: Sequence[Any] | None,
        depth: int,
    ) -> Any:
        call_depth.set(depth + 1)
        worker.check_loaded()
        trace = current_event.get()._trace
        if trace is not None and trace.wants():
            work = self._call(worker, path, arguments, depth)
            return await trace.call(path, self._entrypoint, work)
        if self._entrypoint is None and worker.is_legacy():
            return await _call_legacy(worker, path, arguments)
        return await invoke(worker.instance(self._entrypoint), path, arguments, "entrypoint")


class CallerChannel(EntrypointChannel):
    """The way for a program that embeds the workers: failures have what was raised as their cause."""

    __slots__ = ()

    def _crossing(self, error: BaseException) -> JsException:
        failure = crossing(error)
        if failure is not error:
            failure.__cause__ = error
        return failure


async def _call_legacy(worker: Worker, path: tuple[str, ...], arguments: Any) -> Any:
    """A call to module-level handlers, which are functions of (argument, env, ctx)."""
    from pyflare.js.error import TypeError_
    from pyflare.js.rpc.errors import RESERVED, reserved
    from pyflare.js.rpc.values import clone_result

    name = path[0] if path else ""
    if name in RESERVED:
        raise reserved(name)
    if len(path) > 1 or not worker.has_handler(name):
        raise no_method(path[-1] if path else "")
    if arguments is None or len(arguments) != 1:
        raise TypeError_(
            f'Attempted to call RPC function "{name}" with the wrong number of arguments. When calling a top-level '
            "handler function that is not declared as part of a class, you must always send exactly one argument. In "
            "order to support variable numbers of arguments, the server must use class-based syntax (extending "
            "WorkerEntrypoint) instead."
        )
    return clone_result(await worker.handle(name, *arguments))


def missing_worker(name: str) -> str:
    """What callers of a worker that is not here are told."""
    return (
        f'Worker "{name}" not found. Make sure it is running locally. '
        "Start it in the same pyflare: give its configuration too (pyflare dev -c <this> -c <that>)."
    )


def _let_go(source: Any) -> None:
    """The event is over: nobody will read the rest of its request."""
    cancel = getattr(source, "cancel", None)
    if cancel is not None:
        supervise(cancel(None))
