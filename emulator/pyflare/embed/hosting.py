"""The ASGI side of a Pyflare: the server's lifespan, and a loop of its own where the host's will not do."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pyflare.server.contracts import ASGIApplication, Receive, Scope, Send
from pyflare.server.own_loop import OwnLoop

if TYPE_CHECKING:
    import asyncio

__all__ = ["Hosting"]

T = TypeVar("T")


class _Hosted(Protocol):
    """What is hosted."""

    @property
    def loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop] | None: ...

    def can_run_here(self) -> bool:
        """Whether the running loop will do."""
        ...

    async def started(self) -> ASGIApplication:
        """The application, started where it was not."""
        ...

    async def end(self, grace: float) -> None:
        """Close everything within ``grace`` seconds. Idempotent."""
        ...


class Hosting:
    """Where one Pyflare runs. The loop is chosen by the first call."""

    def __init__(self, hosted: _Hosted, grace: float) -> None:
        self._hosted = hosted
        self._grace = grace
        self._application: ASGIApplication | None = None
        self._own_loop: OwnLoop | None = None
        self._chosen = False

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI call."""
        if not self._chosen:
            self._choose()
        if self._own_loop is None:
            await self._serve(scope, receive, send)
            return
        try:
            await self._own_loop.serve(self._serve, scope, receive, send)
        finally:
            if scope["type"] == "lifespan":
                self._own_loop.stop()

    def _choose(self) -> None:
        self._chosen = True
        factory = self._hosted.loop_factory
        if factory is not None and not self._hosted.can_run_here():
            self._own_loop = OwnLoop(factory)

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run where the workers are."""
        if self._own_loop is None:
            return await coroutine
        return await self._own_loop.run(coroutine)

    async def close(self, grace: float) -> None:
        """Close everything, and the loop of its own."""
        if self._own_loop is None:
            await self._hosted.end(grace)
        else:
            await self._own_loop.run(self._hosted.end(grace))
            self._own_loop.stop()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        application = self._application
        if application is None:
            application = self._application = await self._hosted.started()
        await application(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._hosted.started()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._hosted.end(self._grace)
        await send({"type": "lifespan.shutdown.complete"})
