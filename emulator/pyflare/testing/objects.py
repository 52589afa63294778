"""Looks into Durable Objects from a test: run code inside one, run its alarm, evict it, list those that have stored.

Counterparts of the helpers of the JavaScript test pool:
https://developers.cloudflare.com/workers/testing/vitest-integration/test-apis/#durable-objects
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from pyflare.env.objects.id import DurableObjectId
from pyflare.env.objects.namespace import DurableObjectNamespace
from pyflare.env.objects.stub import DurableObjectStub
from pyflare.js.error import TypeError_
from pyflare.workers.actors.channel import ActorChannel
from pyflare.workers.actors.failures import reset_error
from pyflare.workers.entrypoints import positional_capacity

if TYPE_CHECKING:
    from pyflare.embed import Pyflare
    from pyflare.workers.actors import Actor

__all__ = [
    "abort_all_objects",
    "evict_object",
    "list_object_ids",
    "run_in_object",
    "run_object_alarm",
]

T = TypeVar("T")

_WRONG_TYPE: Final = "Failed to execute '{}': parameter 1 is not of type '{}'."
_ABORTED: Final = "Application called abortAllDurableObjects()."


@overload
async def run_in_object(stub: Any, function: Callable[[Any, Any], Awaitable[T]]) -> T: ...
@overload
async def run_in_object(stub: Any, function: Callable[[Any, Any], T]) -> T: ...
async def run_in_object(stub: Any, function: Callable[[Any, Any], Any]) -> Any:
    """Call a sync or async function of ``(instance, ctx)`` as an event of the object, which is started for it.

    Gives what it returns, as it is; raises what it raises. Raises TypeError for what is no stub of an object.
    """
    channel = _channel(stub, "runInDurableObject")

    async def work(actor: Actor) -> Any:
        result = function(actor.instance, actor.namespace.wrap_state(actor.state))
        return await result if inspect.isawaitable(result) else result

    return await channel._namespace.actor(channel._id).deliver(work)


async def run_object_alarm(stub: Any) -> bool:
    """Run the alarm that is set now, whatever its time. False when none is set.

    It is deleted first, and ``alarm()`` gets no information. What the handler raises is raised here; it is not tried
    again.
    """

    async def run(instance: Any, ctx: Any) -> bool:
        if await ctx.storage.getAlarm() is None:
            return False
        await ctx.storage.deleteAlarm()
        handler = instance.alarm
        result = handler(*(None,)[: positional_capacity(handler, 1)])
        if inspect.isawaitable(result):
            await result
        return True

    _channel(stub, "runDurableObjectAlarm")
    return await run_in_object(stub, run)


async def list_object_ids(namespace: Any) -> list[DurableObjectId]:
    """The ids of the objects that have stored something. Raises TypeError for what is no namespace."""
    binding = getattr(namespace, "_binding", namespace)
    if not isinstance(binding, DurableObjectNamespace):
        raise TypeError_(_WRONG_TYPE.format("listDurableObjectIds", "DurableObjectNamespace"))
    stored: Any = binding._objects
    return [DurableObjectId._make(id, id.name) for id in stored.storages.stored_ids()]


async def evict_object(stub: Any) -> bool:
    """Take an object out of memory as if it had idled; its storage and hibernating WebSockets stay.

    False when it was not in memory. Raises RuntimeError while it is at work.
    """
    channel = _channel(stub, "evictDurableObject")
    actor = channel._namespace.live(channel._id)
    if actor is None:
        return False
    if actor.is_busy():
        raise RuntimeError("The object is at work; wait for what it does before it is evicted.")
    actor.evict()
    if actor.ended is not None:
        await actor.ended
    return True


async def abort_all_objects(flare: Pyflare) -> None:
    """Reset every live object: what it had in memory is lost, callers under way fail."""
    for namespace in flare._objects.namespaces:
        ended = [actor for actor in namespace.actors if actor.instance is not None]
        namespace.reset_all(lambda: reset_error(_ABORTED))
        for actor in ended:
            if actor.ended is not None:
                await actor.ended


def _channel(stub: Any, helper: str) -> ActorChannel:
    binding = getattr(stub, "_binding", stub)
    channel = binding._channel if isinstance(binding, DurableObjectStub) else None
    if not isinstance(channel, ActorChannel):
        raise TypeError_(_WRONG_TYPE.format(helper, "DurableObjectStub"))
    return channel
