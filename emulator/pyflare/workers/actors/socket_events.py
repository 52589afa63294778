"""One hibernatable WebSocket: what arrives over it becomes events of the object, in order.

Events begin one after the other; where a handler waits for something, the next may begin meanwhile, as between any two
events of an object. What is not begun yet stays in the connection, which then takes no more from its network.

Source: https://developers.cloudflare.com/durable-objects/best-practices/websockets/ and workerd
``io/hibernation-manager.c++``, ``api/hibernatable-web-socket.c++``.
"""

from __future__ import annotations

import asyncio
import inspect
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final

from pyflare.js.array_buffer import ArrayBuffer
from pyflare.js.promise import rest_of
from pyflare.js.websocket import NO_CLOSE_FRAME, WebSocket
from pyflare.js.websocket_channel import Close, ConnectionLost
from pyflare.js.websocket_hibernation import closed_by_peer, cut, failed, hand_over, over

from ..entrypoints import find_handler
from .failures import reset_error

if TYPE_CHECKING:
    from pyflare_bindings.clock import Timer

    from .actor import Actor
    from .sleeping_sockets import SleepingSockets

__all__ = ["HibernatableSocket"]

_TOO_LONG: Final = "Actor exceeded event execution time and was disconnected."
#: How many events of one socket may be under way at once.
_MOST_EVENTS: Final = 128
#: How long events are delivered one after the other before everybody else gets a turn.
_BURST_SECONDS: Final = 0.002

_NO_CONTEXT: Final = Context()


class HibernatableSocket:
    """``socket`` is what the present life of the object sees;
    ``answered_at`` when a message was answered without it.
    """

    __slots__ = (
        "_begun",
        "_dispatching",
        "_end",
        "_news",
        "_owner",
        "_under_way",
        "answered_at",
        "socket",
        "tags",
    )

    def __init__(self, owner: SleepingSockets, socket: WebSocket, tags: tuple[str, ...]) -> None:
        self._owner = owner
        self.socket = socket
        self.tags = tags
        self.answered_at: float | None = None
        self._end = hand_over(socket, self, self._arrived)
        self._begun = False
        self._dispatching: asyncio.Task[None] | None = None
        self._news: asyncio.Future[None] | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin with what has arrived before."""
        if self._end.waiting:
            self._arrived()

    def drop(self, close: Close | None) -> None:
        """Cut the connection, with a close frame if one is given; what has arrived is not delivered any more."""
        cut(self.socket, close)
        self._tell()

    def _arrived(self) -> None:
        # A task only while there is something to deliver: an idle socket costs none.
        if self._dispatching is None:
            self._dispatching = asyncio.get_running_loop().create_task(
                self._dispatch(), context=_NO_CONTEXT.copy()
            )

    async def _dispatch(self) -> None:
        end, owner = self._end, self._owner
        host = owner.namespace.host
        now = asyncio.get_running_loop().time
        until = now() + _BURST_SECONDS
        try:
            while not host.closing and (item := end.take()) is not None:
                match item:
                    case str() if item == owner.request:
                        self._answer()
                    case str():
                        await self._event("webSocketMessage", item)
                    case bytes():
                        await self._event("webSocketMessage", ArrayBuffer.adopt(item))
                    case _:
                        await self._end_with(item)
                if now() > until:
                    await asyncio.sleep(0)
                    until = now() + _BURST_SECONDS
        finally:
            self._dispatching = None

    def _answer(self) -> None:
        owner, socket = self._owner, self.socket
        self.answered_at = owner.namespace.host.clock.now()
        if not socket._closed_here:
            socket._give(owner.response)

    async def _end_with(self, item: Close | BaseException) -> None:
        match item:
            case Close(code, reason):
                closed_by_peer(self.socket, item)
                await self._last_event("webSocketClose", code, reason, True)
            case ConnectionLost():
                closed_by_peer(self.socket, None)
                await self._last_event("webSocketClose", 1006, NO_CLOSE_FRAME, False)
            case failure:
                await self._last_event("webSocketError", failed(self.socket, failure))

    async def _last_event(self, name: str, *arguments: Any) -> None:
        try:
            task = await self._event(name, *arguments)
            if task is not None:
                await asyncio.wait({task})
        finally:
            over(self.socket)
            self._owner.forget(self)

    async def _event(self, name: str, *arguments: Any) -> asyncio.Task[None] | None:
        """Begin an event, as soon as the object gets to it; gives what it runs in, None when it is over already."""
        self._begun = False
        delivery = self._deliver(name, arguments)
        try:
            waiting = delivery.send(None)
        except StopIteration:
            return None
        loop = asyncio.get_running_loop()
        task = loop.create_task(rest_of(delivery, waiting), context=_NO_CONTEXT.copy())
        under_way = self._under_way
        under_way.add(task)
        task.add_done_callback(self._ended)
        while not (task.done() or (self._begun and len(under_way) < _MOST_EVENTS)):
            self._news = loop.create_future()
            await self._news
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def _deliver(self, name: str, arguments: tuple[Any, ...]) -> None:
        owner = self._owner

        async def work(actor: Actor) -> None:
            self._begun = True
            self._tell()
            legacy = actor.namespace.worker.definition.legacy_handlers
            handler = find_handler(actor.instance, name, legacy=legacy)
            if handler is None:
                return
            timer = self._timer(actor)
            try:
                offered = (self.socket, *arguments)
                result = handler(*offered[: owner.capacity(name, handler, len(offered))])
                if inspect.isawaitable(result):
                    await result
            finally:
                if timer is not None:
                    timer.cancel()

        try:
            await owner.namespace.actor(owner.id).deliver(work)
        except Exception as error:
            if not owner.dropped:
                owner.namespace.report(name, error)
            elif not owner.told:
                # All its events end with the same reason.
                owner.told = True
                owner.namespace.report(name, error)

    def _timer(self, actor: Actor) -> Timer | None:
        limit = self._owner.event_limit
        if not limit:
            return None
        clock = actor.namespace.host.clock
        return clock.call_later(limit / 1000, lambda: actor.reset(reset_error(_TOO_LONG)))
