"""The last event of an object that is taken out of memory as planned: its ``preShutdown`` handler.

From then on events go to the object's next life, which waits for the end of this one.

Source of the behaviour: https://developers.cloudflare.com/durable-objects/api/base/#preshutdown
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from .steps import as_exception

if TYPE_CHECKING:
    from .actor import Actor

__all__ = ["Cause", "shut_down", "shutdown_handler"]

#: Why an object is taken out of memory, as its handler is told.
Cause: TypeAlias = Literal["inactive", "codeUpdated"]

#: Seconds that the handler may take.
BUDGET: Final = 10.0
_TOO_LONG: Final = f"preShutdown() took longer than {BUDGET:g} seconds."
_NO_CONTEXT: Final = Context()


def shutdown_handler(actor: Actor) -> Callable[..., Any] | None:
    """The handler of the object, None without one."""
    handler = getattr(actor.instance, "preShutdown", None)
    return handler if callable(handler) else None


def shut_down(actor: Actor, handler: Callable[..., Any], cause: Cause) -> asyncio.Future[None]:
    """Call the handler and end the object; a failure is reported. The future is done when the next life may begin."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    work = loop.create_task(_last_event(actor, handler, cause), context=_NO_CONTEXT.copy())

    def finish(done: asyncio.Task[None]) -> None:
        if not done.cancelled():
            done.exception()
        if not over.done():
            over.set_result(None)

    work.add_done_callback(finish)
    return over


async def _last_event(actor: Actor, handler: Callable[..., Any], cause: Cause) -> None:
    from workers.rpc import JsDict

    async def handle(_: Actor) -> None:
        result = handler(JsDict(reason=cause))
        if inspect.isawaitable(result):
            await result

    async def event() -> None:
        await actor.deliver(handle)

    loop = asyncio.get_running_loop()
    late: asyncio.Future[None] = loop.create_future()
    timer = actor.namespace.host.clock.call_later(BUDGET, lambda: late.set_result(None))
    running = loop.create_task(event(), context=_NO_CONTEXT.copy())
    try:
        await asyncio.wait({running, late}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            actor.namespace.report("preShutdown", TimeoutError(_TOO_LONG))
        elif actor.failure is None and (error := running.exception()) is not None:
            actor.namespace.report("preShutdown", as_exception(error))
    finally:
        timer.cancel()
        running.cancel()
        actor.end_as_planned()
        ended = actor.ended
        await asyncio.wait({running, *(() if ended is None else (ended,))})
