"""What of an event outlives its answer: functions and streams that others still hold."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Sequence
from contextvars import Context, copy_context
from typing import Any, TypeVar

from pyflare.js.error import Error
from pyflare.js.rpc.errors import HOST_GONE, crossing, is_passing

from ..carriers import CarrierPool
from ..event import ExecutionContext

__all__ = ["EventHost"]

T = TypeVar("T")


class EventHost:
    """A :class:`pyflare.js.rpc.host.StubHost`: calls run in the event's context, and it lasts as long as it is held."""

    __slots__ = ("_carriers", "_context", "_event")

    def __init__(self, event: ExecutionContext, carriers: CarrierPool) -> None:
        self._event = event
        self._carriers = carriers
        self._context: Context = copy_context()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Raises: Error when the worker has ended or the event was aborted; what the work raises."""
        if self._event.is_gone():
            work.close()
            raise Error(HOST_GONE)
        try:
            result = await self._carriers.drive(work, self._context.copy())
        except BaseException as error:
            if self._event._abortion is None or is_passing(error):
                raise
        if self._event._abortion is not None:
            raise crossing(self._event._abortion.reason)
        return result

    def hold(self) -> None:
        self._event.hold()

    def release(self) -> None:
        self._event.release()

    def lend(self, source: Any) -> Any:
        return source

    def receive(self, copies: Sequence[Any]) -> None:
        """The event lasts as long as its code needs them, unless it is aborted."""
        self._event.opened(copies)

    async def until_end(self, work: Awaitable[T]) -> T:
        return await work
