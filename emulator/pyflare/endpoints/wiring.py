"""The local endpoints of one Pyflare, by name. Their code is loaded when they are first asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from pyflare.server.contracts import ASGIApplication, Receive, Scope, Send
from pyflare.server.log import LogSink
from pyflare.server.outbound import send_text

if TYPE_CHECKING:
    from pyflare.cron.event import ScheduledResult
    from pyflare_bindings.registry import BindingRegistry

__all__ = ["Emulator", "local_endpoints"]


class Emulator(Protocol):
    """What the endpoints need of a Pyflare."""

    log: LogSink
    registry: BindingRegistry | None

    @property
    def queues(self) -> Any: ...

    def worker_of(self, scope: Scope) -> Any:
        """The worker that a request belongs to, by its host and path."""
        ...

    async def fire(self, worker: Any, cron: str, time: float | None) -> ScheduledResult:
        """Run a ``scheduled`` handler; ``time`` in milliseconds, None for now."""
        ...

    async def deliver_email(self, worker: Any, sender: str, recipient: str, raw: bytes) -> Any:
        """Give a message to an ``email`` handler: what it did."""
        ...


def local_endpoints(flare: Emulator, *, test_scheduled: bool = False) -> dict[str, ASGIApplication]:
    """By the name after ``/cdn-cgi/local/``; ``test_scheduled`` adds ``/__scheduled``."""

    async def fire(scope: Scope, cron: str, time: float | None) -> ScheduledResult:
        return await flare.fire(flare.worker_of(scope), cron, time)

    async def scheduled(scope: Scope, receive: Receive, send: Send) -> None:
        from .scheduled import scheduled_endpoint

        await scheduled_endpoint(fire)(scope, receive, send)

    async def run_scheduled(scope: Scope, receive: Receive, send: Send) -> None:
        from .scheduled import test_scheduled_endpoint

        await test_scheduled_endpoint(fire)(scope, receive, send)

    async def email(scope: Scope, receive: Receive, send: Send) -> None:
        from .email import email_endpoint

        async def hand_over(scope: Scope, sender: str, recipient: str, raw: bytes) -> Any:
            return await flare.deliver_email(flare.worker_of(scope), sender, recipient, raw)

        await email_endpoint(hand_over)(scope, receive, send)

    async def queue(scope: Scope, receive: Receive, send: Send) -> None:
        from .queue import queue_endpoint

        dispatcher = flare.queues
        if dispatcher is None:
            await send_text(send, 404, "No Worker that runs here names a queue.")
            return
        await queue_endpoint(dispatcher.deliver)(scope, receive, send)

    endpoints: dict[str, ASGIApplication] = {
        "scheduled": scheduled,
        "email": email,
        "queue": queue,
    }
    if test_scheduled:
        endpoints["/__scheduled"] = run_scheduled
    return endpoints
