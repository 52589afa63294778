"""The way to an object: what is behind a stub."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pyflare.js.deferred import call_depth
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.rpc.errors import crossing

from .failures import marked
from .held_body import HeldBody, let_go

if TYPE_CHECKING:
    from pyflare_bindings.objects.ids import ObjectId

    from .actor import Actor
    from .namespace import ActorNamespace

__all__ = ["ActorChannel"]


class ActorChannel:
    """A :class:`pyflare.js.fetcher.Channel` to one object. It names the object, so it outlives every instance."""

    __slots__ = ("_id", "_namespace")

    def __init__(self, namespace: ActorNamespace, id: ObjectId) -> None:
        self._namespace = namespace
        self._id = id

    async def fetch(self, request: Request) -> Response:
        """Raises: what the handler raises, or why the object is over, as it crosses."""
        source = request._source
        work = partial(_answer, request, call_depth.get() + 1)
        try:
            response: Response = await self._namespace.actor(self._id).deliver(work)
            if source is not None and isinstance(response._source, HeldBody):
                # The answer may be made of the request, or go on reading it.
                response._source.request_source, source = source, None
            return response
        except Exception as error:
            failure = crossing(error)
        finally:
            if source is not None:
                let_go(source)
        raise marked(failure, durableObjectId=self._id.hex)

    async def call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> Any:
        """Raises: what the method raises, or why the object is over, as it crosses."""
        work = partial(_call, path, arguments, call_depth.get() + 1)
        try:
            return await self._namespace.actor(self._id).deliver(work)
        except Exception as error:
            failure = crossing(error)
        raise marked(failure, durableObjectId=self._id.hex)


async def _answer(request: Request, depth: int, actor: Actor) -> Response:
    call_depth.set(depth)
    return await actor.namespace.answer(actor, request)


async def _call(
    path: tuple[str, ...], arguments: Sequence[Any] | None, depth: int, actor: Actor
) -> Any:
    call_depth.set(depth)
    return await actor.namespace.invoke(actor.instance, path, arguments, "object")
