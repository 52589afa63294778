"""What is between the two ends of a WebSocketPair: messages on their way, in memory.

An end is used by a ``WebSocket`` that dispatches them as events, or by a bridge that carries them to a network
connection and back. Sending never waits, as ``send()`` of the platform never does; a bridge asks for :meth:`room`
before it takes more from its network, so that what waits at a reader that does not read stays small.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from .error import Error

__all__ = [
    "NO_STATUS",
    "ChannelEnd",
    "Close",
    "ConnectionLost",
    "Item",
    "Message",
    "WorkerFailed",
    "channel",
]

Message: TypeAlias = str | bytes

#: The code that stands for a close frame without one.
NO_STATUS: Final = 1005

#: What may wait at an end before whoever fills it from a network has to pause.
_HIGH_MESSAGES: Final = 64
_HIGH_SIZE: Final = 256 * 1024
#: What may wait in all: as much as the memory of a worker in production.
_LIMIT: Final = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Close:
    """A close frame. ``code`` is 1005 when it carries none."""

    code: int = NO_STATUS
    reason: str = ""


class ConnectionLost(Exception):
    """The other side is gone without a close frame."""


class WorkerFailed(ConnectionLost):
    """A listener of the other side's worker has raised."""


#: What an end receives: messages, then one Close or one exception, which is the end.
Item: TypeAlias = Message | Close | BaseException


class ChannelEnd:
    """One end. Made by :func:`channel`; used on one event loop."""

    __slots__ = (
        "_changed",
        "_finished",
        "_handling",
        "_inbox",
        "_interrupted",
        "_peer",
        "_size",
        "free",
        "hibernates",
        "on_arrival",
    )

    _peer: ChannelEnd

    def __init__(self) -> None:
        self._inbox: deque[Item] = deque()
        self._size = 0
        self._handling = False
        # Nothing more is taken in: this end's owner has left, or the last item has arrived.
        self._finished = False
        self._interrupted = False
        self._changed: list[asyncio.Future[None]] = []
        self.on_arrival: Callable[[], None] | None = None
        #: Whether it is an end of a pair that nobody has accepted or given away.
        self.free = False
        #: Whether a Durable Object has it that need not be in memory.
        self.hibernates = False

    @property
    def peer_is_free(self) -> bool:
        """Whether the other end could still be put into a response."""
        return self._peer.free

    @property
    def peer_hibernates(self) -> bool:
        """Whether the other end belongs to a Durable Object that need not be in memory."""
        return self._peer.hibernates

    @property
    def cut(self) -> bool:
        """Whether what is sent from here reaches nobody any more."""
        return self._peer._finished

    @property
    def waiting(self) -> int:
        """How many items have arrived and were not taken."""
        return len(self._inbox)

    def send(self, message: Message) -> None:
        """Hand a message to the other end; nothing happens when nobody takes it any more.

        Raises: Error when more waits there than a worker's memory holds.
        """
        peer = self._peer
        if peer._finished:
            return
        self.check_room_for(message)
        peer._size += len(message)
        peer._put(message)

    def check_room_for(self, message: Message, held: int = 0) -> None:
        """Raises: Error when a message, after ``held`` bytes that were not handed over yet, is too much."""
        waiting, size = self._peer._size + held, len(message)
        if waiting + size > _LIMIT:
            raise Error._make(
                f"The other side of the WebSocket does not read: {waiting} bytes wait for it, and {size} more "
                f"would exceed the {_LIMIT} bytes of memory that a Worker has."
            )

    def close(self, close: Close) -> None:
        """Hand over a close frame, the last item from this end."""
        self._peer._end_with(close)

    def leave(self, failure: BaseException | None = None) -> None:
        """This end's owner is gone: the other end gets the failure, by default :class:`ConnectionLost`."""
        self._finished = True
        self._inbox.clear()
        self._size = 0
        self._handling = False
        self._wake()
        self._peer._end_with(ConnectionLost() if failure is None else failure)

    def interrupt(self, code: int, reason: str) -> None:
        """Make this end receive a close frame that the other end did not send; from now on nothing waits for room."""
        self._interrupted = True
        self._peer._wake()
        self._end_with(Close(code, reason))

    def take(self) -> Item | None:
        """The next item, None when there is none now. It counts as handled when the next one is asked for."""
        if not self._inbox:
            self._handling = False
            self._wake()
            return None
        item = self._inbox.popleft()
        if isinstance(item, str | bytes):
            self._size -= len(item)
        self._handling = True
        self._wake()
        return item

    async def receive(self) -> Message | Close:
        """Wait for the next message or close frame. Raises what the other end left with."""
        while (item := self.take()) is None:
            await self._change()
        if isinstance(item, BaseException):
            raise item
        return item

    async def room(self) -> None:
        """Wait until the other end holds little enough for one more message."""
        peer = self._peer
        while not self._interrupted and (
            len(peer._inbox) >= _HIGH_MESSAGES or peer._size >= _HIGH_SIZE
        ):
            await peer._change()

    async def settled(self) -> None:
        """Wait until a WebSocket at the other end has dispatched all that was sent. Not for one that never listened."""
        peer = self._peer
        while peer.on_arrival is not None and (peer._inbox or peer._handling):
            await peer._change()

    async def until_cut(self) -> None:
        """Wait until what is sent from here reaches nobody any more."""
        while not self.cut:
            await self._peer._change()

    def _put(self, item: Item) -> None:
        self._inbox.append(item)
        if self.on_arrival is not None:
            self.on_arrival()
        elif self._changed:
            self._wake()

    def _end_with(self, item: Item) -> None:
        if not self._finished:
            self._finished = True
            self._put(item)

    async def _change(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._changed.append(waiter)
        await waiter

    def _wake(self) -> None:
        if self._changed:
            changed, self._changed = self._changed, []
            for waiter in changed:
                if not waiter.done():
                    waiter.set_result(None)


def channel() -> tuple[ChannelEnd, ChannelEnd]:
    """Two ends that belong together."""
    one, two = ChannelEnd(), ChannelEnd()
    one._peer, two._peer = two, one
    return one, two
