"""Carries messages between one end of a channel and a network connection, both ways, until it is over."""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import Any, Protocol

from .websocket_channel import ChannelEnd, Close, ConnectionLost, Message, WorkerFailed
from .websocket_keeping import keep_going

__all__ = ["Wire", "begin_bridge", "bridge", "start_bridge"]

#: What a client gets when the worker's own code has failed.
_INTERNAL_ERROR = Close(1011)


class Wire(Protocol):
    """A connection over which messages travel. Sending waits for a receiver that is slow.

    ``half_open``: whether messages and a close frame can still be sent after one has been received.
    """

    @property
    def half_open(self) -> bool: ...

    async def send(self, message: Message) -> None:
        """Raises ConnectionLost when nobody takes it any more."""
        ...

    async def close(self, close: Close) -> None:
        """Send the close frame. Harmless on a connection that is closed or lost."""
        ...

    async def receive(self) -> Message | Close:
        """The next message, or the close frame, which is the last. Raises ConnectionLost, or what went wrong."""
        ...

    async def gone(self) -> None:
        """Wait until there is no connection any more."""
        ...

    def abort(self) -> None:
        """Cut the connection, if it is still there."""
        ...


def start_bridge(end: ChannelEnd, wire: Wire) -> asyncio.Task[None]:
    """:func:`bridge` on its own, as a part of the running event."""
    work = begin_bridge(end, wire)
    keep_going(work, end.interrupt)
    return work


def begin_bridge(end: ChannelEnd, wire: Wire) -> asyncio.Task[None]:
    """A task that does :func:`bridge`, and ends the connection also when it is cancelled before it has begun."""

    def ended(_: asyncio.Task[None]) -> None:
        end.leave()
        wire.abort()

    # An empty context: this is the emulator's own work, in which nothing of the worker runs.
    work = asyncio.get_running_loop().create_task(bridge(end, wire), context=Context())
    work.add_done_callback(ended)
    return work


async def bridge(end: ChannelEnd, wire: Wire) -> None:
    """Carry messages until both sides have closed or one is gone, and what has arrived has been dispatched."""
    loop = asyncio.get_running_loop()
    inward, outward = loop.create_task(_inward(wire, end)), loop.create_task(_outward(end, wire))
    tasks: set[asyncio.Task[Any]] = {inward, outward}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not (outward.done() and outward.result()):
            await asyncio.wait({inward})
        if inward.done() and wire.half_open and not outward.done():
            # The answer to the close frame is the worker's business.
            gone = loop.create_task(wire.gone())
            tasks.add(gone)
            await asyncio.wait({outward, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        end.leave()
        wire.abort()
        await asyncio.wait(tasks)
    if not inward.cancelled():
        inward.result()
    await end.settled()


async def _inward(wire: Wire, end: ChannelEnd) -> None:
    while True:
        try:
            message = await wire.receive()
        except Exception as failure:
            end.leave(failure)
            return
        if isinstance(message, Close):
            end.close(message)
            return
        end.send(message)
        await end.room()


async def _outward(end: ChannelEnd, wire: Wire) -> bool:
    """Whether there is nobody left to receive for."""
    try:
        while True:
            message = await end.receive()
            if isinstance(message, Close):
                await wire.close(message)
                return False
            await wire.send(message)
    except WorkerFailed:
        await wire.close(_INTERNAL_ERROR)
        return False
    except ConnectionLost:
        return True
