"""The objects of one class: which are live, how one is built, where its storage is."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Protocol

from pyflare.js.error import Error
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare_bindings.objects.ids import ObjectId, ObjectIds

from ..connections import RELOADED
from ..entrypoints import handler_name, no_handler, positional_capacity
from ..rpc.answer import lend
from . import failures
from .actor import Actor
from .channel import ActorChannel
from .failures import reset_error
from .held_body import HeldBody

if TYPE_CHECKING:
    from pyflare.js.websocket_channel import Close
    from pyflare_bindings.objects.storage import ObjectStorage

    from ..worker import Worker
    from .host import ActorHost
    from .sleeping_sockets import SleepingSockets

__all__ = ["ActorNamespace", "Storages"]


class Storages(Protocol):
    """Where the storage of objects comes from: the owner of the namespace."""

    @property
    def ids(self) -> ObjectIds: ...

    def open(self, id: ObjectId) -> ObjectStorage: ...


class ActorNamespace:
    """The objects of one class.

    In: ``host``; ``storages``, the owner; ``unique_key``, its identity; ``script`` and ``class_name``, where the class
    is; ``make_state``, what makes the object's ``ctx`` as JavaScript sees it, and ``wrap_state`` what the class gets of
    it; ``uses_sql`` tells whether the class may use SQL; ``platform_error`` makes the platform's error of an owner's.
    """

    __slots__ = (
        "_actors",
        "_capacity",
        "_class",
        "_ending",
        "_fetch_name",
        "_sockets",
        "_uses_sql",
        "_wrap_request",
        "class_name",
        "host",
        "invoke",
        "leaving",
        "make_state",
        "platform_error",
        "script",
        "storages",
        "unique_key",
        "worker",
        "wrap_state",
    )

    def __init__(
        self,
        host: ActorHost,
        storages: Storages,
        *,
        unique_key: str,
        script: str,
        class_name: str,
        uses_sql: Callable[[], bool],
        make_state: Callable[[Actor], Any],
        wrap_state: Callable[[Any], Any],
        platform_error: Callable[[BaseException], BaseException],
    ) -> None:
        self.host = host
        self.storages = storages
        self.unique_key = unique_key
        self.script = script
        self.class_name = class_name
        self._uses_sql = uses_sql
        self.platform_error = platform_error
        self.make_state = make_state
        self.wrap_state = wrap_state
        self.worker: Worker = None  # type: ignore[assignment]
        self._class: Any = None
        self._capacity = 1
        self._fetch_name = "fetch"
        self._wrap_request: Any = None
        #: Calls a method of an instance (see ``pyflare.workers.rpc.invoke``).
        self.invoke: Any = None
        self._actors: dict[bytes, Actor] = {}
        self._ending: dict[bytes, asyncio.Future[None]] = {}
        #: Those that are having their last event.
        self.leaving: set[Actor] = set()
        self._sockets: dict[bytes, SleepingSockets] = {}

    def __len__(self) -> int:
        return len(self._actors)

    @property
    def ids(self) -> ObjectIds:
        """Makes and checks the ids of this namespace."""
        return self.storages.ids

    def channel(self, id: ObjectId) -> ActorChannel:
        """The way to an object."""
        return ActorChannel(self, id)

    @property
    def uses_sql(self) -> bool:
        """Whether the class is backed by SQLite, as far as its code can see."""
        return self._uses_sql()

    @property
    def label(self) -> str:
        """What a log calls it."""
        return f"{self.script}.{self.class_name}"

    @property
    def actors(self) -> list[Actor]:
        """The live ones."""
        return list(self._actors.values())

    def live(self, id: ObjectId) -> Actor | None:
        """The live instance of an id, if there is one."""
        return self._actors.get(id.raw)

    def actor(self, id: ObjectId) -> Actor:
        """The one live instance of an id; made, but not yet built, where there is none.

        Raises: the worker's failure when it is not loaded, Error when it has no such class or is not here.
        """
        actor = self._actors.get(id.raw)
        if actor is None:
            self.check()
            actor = Actor(self, id, self._ending.get(id.raw))
            self._actors[id.raw] = actor
        return actor

    def check(self) -> None:
        """Raises: what keeps every object of this class from starting; see :meth:`actor`."""
        if self.host.closing:
            raise reset_error(failures.SHUTTING_DOWN)
        if self._class is not None:
            return
        worker = self.host.worker(self.script)
        if worker is not None:
            worker.check_loaded()
        problem = self.problem()
        if problem is not None:
            raise Error._make(problem)
        assert worker is not None
        # Only where workers run are the SDK's modules there.
        import workers

        from ..rpc.invoke import invoke

        self.invoke = invoke
        self._wrap_request = workers.Request
        found = worker.entrypoints.objects[self.class_name]
        self.worker = worker
        self._class = found
        self._fetch_name = handler_name("fetch", legacy=worker.definition.legacy_handlers)
        fetch = getattr(found, self._fetch_name, None)
        self._capacity = 0 if fetch is None else positional_capacity(fetch, 4) - 1

    def construct(self, actor: Actor) -> Any:
        """An instance of the class. Raises: what its constructor raises."""
        return self._class(self.wrap_state(actor.state), self.worker.make_env())

    async def answer(self, actor: Actor, request: Request) -> Response:
        """Answer a request by the ``fetch`` handler; part of an event. The response is the caller's own."""
        response = await lend(self._fetch(actor.instance, request), request, from_object=True)
        if response._source is not None:
            response._source = HeldBody(response._source, actor)
        return response

    async def _fetch(self, instance: Any, request: Request) -> Response:
        handler = getattr(instance, self._fetch_name, None)
        if not callable(handler):
            raise no_handler(instance, "fetch", legacy=self.worker.definition.legacy_handlers)
        result = handler(*(self._wrap_request(request), None, None)[: self._capacity])
        if type(result) is CoroutineType or inspect.isawaitable(result):
            result = await result
        return self.worker.as_response(result, f"{self.class_name}.{self._fetch_name}")

    def report(self, where: str, error: BaseException) -> None:
        """A failure that no caller sees."""
        self.worker.report(f"{self.class_name}, {where}", error)

    def open_storage(self, actor: Actor) -> ObjectStorage:
        """The storage of one life of an object."""
        storage = self.storages.open(actor.id)
        storage.on_write = actor.output.wrote
        storage.on_broken = actor.reset
        storage.on_crowded = actor.output.settle
        return storage

    def close_storage(self, id: ObjectId, storage: ObjectStorage) -> asyncio.Future[None] | None:
        """End it, with what has not been committed; gives what the next life has to wait for."""
        ended: asyncio.Future[None] = storage.close()
        if ended.done():
            return None
        raw = id.raw
        self._ends(raw, ended)
        return ended

    def leave(self, actor: Actor, over: asyncio.Future[None]) -> None:
        """The life has its last event, and is over when the future is done: the next event begins another."""
        self.leaving.add(actor)
        over.add_done_callback(lambda _: self.leaving.discard(actor))
        self._ends(actor.id.raw, over)
        self.forget(actor)

    def _ends(self, raw: bytes, ended: asyncio.Future[None]) -> None:
        self._ending[raw] = ended

        def forget(_: object) -> None:
            if self._ending.get(raw) is ended:
                del self._ending[raw]

        ended.add_done_callback(forget)

    async def has_ended(self, id: ObjectId) -> None:
        """Wait until the life before, if it is just ending, is over."""
        while (ending := self._ending.get(id.raw)) is not None:
            await asyncio.wait([ending])

    def forget(self, actor: Actor) -> None:
        """The life is over: the next event begins another."""
        if self._actors.get(actor.id.raw) is actor:
            del self._actors[actor.id.raw]

    # WebSockets that outlive their object in memory.

    def sockets(self, id: ObjectId) -> SleepingSockets:
        """The hibernatable WebSockets of an object."""
        sockets = self._sockets.get(id.raw)
        if sockets is None:
            from .sleeping_sockets import SleepingSockets

            sockets = self._sockets[id.raw] = SleepingSockets(self, id)
        return sockets

    def forget_sockets(self, sockets: SleepingSockets) -> None:
        """The last one is closed; while the object is in memory, what it has set for them stays."""
        raw = sockets.id.raw
        if raw not in self._actors and self._sockets.get(raw) is sockets:
            del self._sockets[raw]

    def hibernate_sockets(self, id: ObjectId) -> None:
        """The object leaves memory, its sockets stay."""
        sockets = self._sockets.get(id.raw)
        if sockets is not None:
            if sockets:
                sockets.sleep()
            else:
                del self._sockets[id.raw]

    def drop_sockets(self, id: ObjectId, close: Close | None = None) -> None:
        """Cut off the sockets of an object that is over."""
        sockets = self._sockets.pop(id.raw, None)
        if sockets is not None:
            sockets.drop(close)

    def close_sockets(self, code: int, reason: str) -> None:
        """Close the sockets of all objects, live or not."""
        from pyflare.js.websocket_channel import Close

        for sockets in list(self._sockets.values()):
            self.drop_sockets(sockets.id, Close(code, reason))

    def reset_all(self, reason: Callable[[], BaseException]) -> None:
        """End all that are live."""
        for actor in self.actors:
            actor.reset(reason())

    def renew(self) -> None:
        """The class is to be looked up again: its worker has been loaded anew."""
        self._class = None
        self.close_sockets(*RELOADED)
        for actor in self.actors:
            if not actor.is_busy():
                actor.evict("codeUpdated")
        self.reset_all(lambda: reset_error(failures.CODE_UPDATED))

    def exported_class(self) -> type | None:
        """The class, as its worker exports it now; None while it exports none, is not here or cannot be loaded."""
        worker = self.host.worker(self.script)
        if worker is None or worker.failure is not None:
            return None
        return worker.entrypoints.objects.get(self.class_name)

    def problem(self) -> str | None:
        """What keeps every object of this class from starting; None while its worker has a failure of its own.

        Production calls this an internal error; whoever develops a worker is told more.
        """
        worker = self.host.worker(self.script)
        if worker is None:
            return (
                f'The Durable Object class {self.class_name} is defined in the Worker "{self.script}", which is not '
                "running here. Start it in the same pyflare: give its configuration too."
            )
        if worker.failure is not None or self.class_name in worker.entrypoints.objects:
            return None
        found = sorted(worker.entrypoints.objects)
        exports = f"it exports {', '.join(found)}" if found else "it exports none"
        return (
            f'The Worker "{worker.name}" has no Durable Object class {self.class_name} in '
            f"{worker.definition.main_module}.py: {exports}."
        )
