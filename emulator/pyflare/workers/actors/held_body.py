"""A body that an object gives away: its chunks leave as everything else does, and it ends with the object."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pyflare.js.rpc.errors import crossing

if TYPE_CHECKING:
    from .actor import Actor

__all__ = ["HeldBody"]


class HeldBody:
    """A body source over another one."""

    __slots__ = ("_actor", "_source", "length")

    def __init__(self, source: Any, actor: Actor) -> None:
        self._source = source
        self._actor = actor
        self.length: int | None = source.length

    async def read(self) -> bytes:
        """No chunk is given before what was written until then is durable.

        Raises: what the source raises, what a commit failed with, why the object is over.
        """
        actor = self._actor
        if actor.failure is None:
            chunk: bytes = await actor.until_end(self._source.read(), crossed=True)
            pending = actor.output.departure()
            if pending is None:
                return chunk
            await asyncio.shield(pending)
            return chunk
        # Whatever it still had to give is gone with the object.
        self._source = None
        raise crossing(actor.reason())

    async def cancel(self, reason: Any) -> None:
        cancel = getattr(self._source, "cancel", None)
        if cancel is not None:
            await cancel(reason)
