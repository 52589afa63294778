"""A body that an object gives away: its chunks leave as everything else does, and it ends with the object."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pyflare.js.callbacks import supervise
from pyflare.js.rpc.errors import crossing

if TYPE_CHECKING:
    from .actor import Actor

__all__ = ["HeldBody", "let_go"]


class HeldBody:
    """A body source over another one."""

    __slots__ = ("_actor", "_source", "length", "request_source")

    def __init__(self, source: Any, actor: Actor) -> None:
        #: The body of the request that this answers, which may become a part of it: let go with this one.
        self.request_source: Any = None
        self._source = source
        self._actor = actor
        self.length: int | None = source.length

    async def read(self) -> bytes:
        """No chunk is given before what was written until then is durable.

        Raises: what the source raises, what a commit failed with, why the object is over.
        """
        actor = self._actor
        if actor.failure is not None:
            # Whatever it still had to give is gone with the object.
            self._source = None
            self._let_go_request()
            raise crossing(actor.reason())
        try:
            chunk: bytes = await actor.until_end(self._source.read())
            pending = actor.output.departure()
            if pending is not None:
                await asyncio.shield(pending)
        except BaseException:
            self._let_go_request()
            raise
        if not chunk:
            self._let_go_request()
        return chunk

    def _let_go_request(self) -> None:
        source, self.request_source = self.request_source, None
        let_go(source)

    async def cancel(self, reason: Any) -> None:
        self._let_go_request()
        cancel = getattr(self._source, "cancel", None)
        if cancel is not None:
            await cancel(reason)


def let_go(source: Any) -> None:
    """Nobody will read the rest of this body."""
    cancel = getattr(source, "cancel", None)
    if cancel is not None:
        supervise(cancel(None))
