"""The way to an object: what is behind a stub."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pyflare.js.callbacks import supervise
from pyflare.js.deferred import call_depth
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.rpc.errors import crossing

from .failures import marked

if TYPE_CHECKING:
    from pyflare_bindings.objects.ids import ObjectId

    from .actor import Actor
    from .namespace import ActorNamespace

__all__ = ["ActorChannel"]

T = TypeVar("T")


class ActorChannel:
    """A :class:`pyflare.js.fetcher.Channel` to one object. It names the object, so it outlives every instance."""

    __slots__ = ("_id", "_namespace")

    def __init__(self, namespace: ActorNamespace, id: ObjectId) -> None:
        self._namespace = namespace
        self._id = id

    async def fetch(self, request: Request) -> Response:
        """Raises: what the handler raises, or why the object is over, as it crosses."""
        namespace = self._namespace
        depth = call_depth.get() + 1
        source = request._source

        async def answer(actor: Actor) -> Response:
            call_depth.set(depth)
            return await namespace.answer(actor, request)

        try:
            return await self._deliver(answer)
        finally:
            if source is not None:
                # Nobody will read the rest of the request.
                cancel = getattr(source, "cancel", None)
                if cancel is not None:
                    supervise(cancel(None))

    async def call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> Any:
        """Raises: what the method raises, or why the object is over, as it crosses."""
        depth = call_depth.get() + 1

        async def call(actor: Actor) -> Any:
            call_depth.set(depth)
            return await actor.namespace.invoke(actor.instance, path, arguments, "object")

        return await self._deliver(call)

    async def _deliver(self, work: Callable[[Actor], Awaitable[T]]) -> T:
        try:
            return await self._namespace.actor(self._id).deliver(work)
        except Exception as error:
            failure = crossing(error)
        raise marked(failure, durableObjectId=self._id.hex)
