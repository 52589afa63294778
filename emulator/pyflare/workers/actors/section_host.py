"""Where the functions and streams live that an object gives away, and those that it was given."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pyflare.js.error import Error
from pyflare.js.promise import settle
from pyflare.js.rpc.errors import HOST_GONE

from ..input_gate import Section
from ..rpc.answer import LentBody
from .held_body import HeldBody

if TYPE_CHECKING:
    from .actor import Actor

__all__ = ["SectionHost"]

T = TypeVar("T")


class SectionHost:
    """Where the functions live that an object gives away: callbacks may come back into the section they are from."""

    __slots__ = ("_actor", "_section")

    def __init__(self, actor: Actor, section: Section) -> None:
        self._actor = actor
        self._section = section

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Raises: Error when the instance is over; what the work raises."""
        actor = self._actor
        if actor.failure is not None:
            work.close()
            raise Error(HOST_GONE)

        async def call(_: Actor) -> T:
            return await work

        try:
            return await actor.deliver(call, self._section)
        finally:
            work.close()

    def hold(self) -> None:
        self._actor.hold()

    def release(self) -> None:
        self._actor.release()

    def receive(self, copies: Sequence[Any]) -> None:
        self._actor.receive(copies)

    def lend(self, source: Any) -> Any:
        return HeldBody(LentBody(source, self), self._actor)

    async def until_end(self, work: Awaitable[T]) -> T:
        return await self._actor.until_end(settle(work))
