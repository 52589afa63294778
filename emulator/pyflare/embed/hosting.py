"""The ASGI side of a Pyflare: the server's lifespan, and a loop of its own where the host's will not do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pyflare.server.contracts import ASGIApplication, Receive, Scope, Send
from pyflare.server.own_loop import OwnLoop

if TYPE_CHECKING:
    from pyflare.server.log import LogSink

__all__ = ["Hosting"]

T = TypeVar("T")

_ELSEWHERE: Final = (
    "These Workers run on an event loop of their own, since their modules have names in common or since requests began "
    "without a lifespan. Use their env there: `await flare.run(function)` runs an async function on that loop."
)
_OTHER_LOOP: Final = (
    "This Pyflare was started on another event loop, and belongs there. From a thread use "
    "asyncio.run_coroutine_threadsafe or anyio.from_thread.run; for one asyncio.run() after the other make a Pyflare "
    "for each, or close it before its loop ends."
)
_NO_LIFESPAN: Final = (
    "The server has sent no lifespan event, so that pyflare starts with this first request and does not learn of the "
    "server's end. Applications that are mounted in others get none: give the outer one `lifespan=flare.lifespan`."
)


class _Hosted(Protocol):
    """What is hosted."""

    log: LogSink

    @property
    def loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop] | None: ...

    def own_loop(self) -> OwnLoop:
        """A loop in a thread of its own."""
        ...

    loop: asyncio.AbstractEventLoop | None

    @property
    def is_closed(self) -> bool: ...

    def begin_anew(self) -> None:
        """Be as it was made."""
        ...

    def check_open(self) -> None:
        """Raise RuntimeError after it has been closed."""
        ...

    def can_run_here(self) -> bool:
        """Whether the running loop will do."""
        ...

    @property
    def is_started(self) -> bool: ...

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
        """One ASGI call. Raises RuntimeError for a request after the end."""
        is_lifespan = scope["type"] == "lifespan"
        if is_lifespan:
            self._renew()
        else:
            self._hosted.check_open()
        if not self._chosen:
            self.choose(passing=not is_lifespan and _is_passing(scope))
        own_loop = self._own_loop
        if own_loop is None:
            self._check_loop()
            await self._serve(scope, receive, send)
            return
        try:
            await own_loop.serve(self._serve, scope, receive, send)
        finally:
            if is_lifespan:
                self._leave()

    async def serve_by(
        self, application: ASGIApplication, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """One ASGI call of another application of the same workers."""
        if self._own_loop is None:
            await application(scope, receive, send)
        else:
            await self._own_loop.serve(application, scope, receive, send)

    def choose(self, *, passing: bool = False) -> None:
        """Settle for the running loop if it will do, else for one of its own. Once.

        Args: ``passing`` whether the running loop may end with one request, which nobody would tell.
        """
        if self._chosen:
            return
        self._chosen = True
        if self._hosted.is_started:
            return
        if passing or (self._hosted.loop_factory is not None and not self._hosted.can_run_here()):
            self._own_loop = self._hosted.own_loop()
            self._own_loop.take(self)

    def check_here(self) -> None:
        """Raise RuntimeError where the workers run on a loop of their own, whose objects cannot be used here."""
        if self._own_loop is not None and not self._own_loop.is_running_here():
            raise RuntimeError(_ELSEWHERE)

    async def enter(self) -> None:
        """Start on the loop that suits, as the lifespan does."""
        self._renew()
        self.choose()
        try:
            await self.run(self._start())
        except BaseException:
            # Nobody leaves what could not be entered.
            self._leave()
            raise

    async def _start(self) -> None:
        await self._hosted.started()

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run where the workers are. Raises RuntimeError after the end."""
        try:
            self._hosted.check_open()
        except RuntimeError:
            coroutine.close()
            raise
        if self._own_loop is None:
            try:
                self._check_loop()
            except RuntimeError:
                coroutine.close()
                raise
            return await coroutine
        return await self._own_loop.run(coroutine)

    async def close(self, grace: float) -> None:
        """Close everything, and the loop of its own."""
        if self._own_loop is None:
            await self._hosted.end(grace)
        else:
            await self._own_loop.run(self._hosted.end(grace))
        self._leave()

    def _renew(self) -> None:
        if self._hosted.is_closed:
            self._hosted.begin_anew()

    def _leave(self) -> None:
        own_loop, self._own_loop, self._chosen = self._own_loop, None, False
        self._application = None
        if own_loop is not None:
            own_loop.stop(self)

    def _check_loop(self) -> None:
        loop = self._hosted.loop
        if loop is not None and loop is not asyncio.get_running_loop():
            raise RuntimeError(_OTHER_LOOP)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        application = self._application
        if application is None:
            if not self._hosted.is_started and "pyflare.embedded" not in scope:
                self._hosted.log.warning(_NO_LIFESPAN)
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


def _is_passing(scope: Scope) -> bool:
    """Whether a test's client asks, without a lifespan, which has a loop for each request or each test.

    Starlette's has it in a thread. That of httpx is known by what servers say of themselves, all that there are.
    """
    if "pyflare.embedded" in scope:
        return False
    in_a_thread = threading.current_thread() is not threading.main_thread()
    return in_a_thread or "spec_version" not in scope.get("asgi", {"spec_version": ""})
