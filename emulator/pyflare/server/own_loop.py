"""An ASGI application on an event loop of its own, in a thread, behind a callable for any other loop.

Workers whose module names collide need a loop that swaps their modules. Mounted in somebody else's server, whose loop
cannot do that, they run here.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from .contracts import ASGIApplication, Receive, Scope, Send

__all__ = ["OwnLoop"]

T = TypeVar("T")


class OwnLoop:
    """A thread that runs a loop made by ``factory``; from the first use until everyone who took it has stopped it."""

    def __init__(self, factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self._factory = factory
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._users: set[object] = set()

    def take(self, user: object) -> None:
        """Let it run until this user, too, stops it."""
        self._users.add(user)

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it; a caller that is cancelled cancels it."""
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(coroutine, self._started())
        )

    async def serve(self, app: ASGIApplication, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI call of ``app`` on the loop; ``receive`` and ``send`` stay on the caller's."""
        host = asyncio.get_running_loop()

        async def call(function: Callable[..., Awaitable[T]], *arguments: Any) -> T:
            async def there() -> T:
                return await function(*arguments)

            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(there(), host))

        async def receive_there() -> Any:
            return await call(receive)

        async def send_there(message: Any) -> None:
            await call(send, message)

        async def on_loop() -> None:
            await app(scope, receive_there, send_there)

        await self.run(on_loop())

    def is_running_here(self) -> bool:
        """Whether the calling code runs on this loop."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def stop(self, user: object = None) -> None:
        """End the loop and the thread, unless others have taken it. Harmless when it never ran."""
        self._users.discard(user)
        if self._users or self._loop is None or self._thread is None:
            return
        self._stopping = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop = self._thread = None
        self._stopping = False

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = self._factory()
            # A daemon: a host that forwards no lifespan never stops it, and must still be able to end.
            self._thread = threading.Thread(
                target=self._run, args=(self._loop,), name="pyflare-loop", daemon=True
            )
            self._thread.start()
        return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            while not self._stopping:
                try:
                    loop.run_forever()
                except (SystemExit, KeyboardInterrupt) as error:
                    # No signal arrives in this thread: somebody's callback wants to end a process that is not its own.
                    told = {"message": "Exception in a callback", "exception": error}
                    loop.call_exception_handler(told)
        finally:
            _end(loop)


def _end(loop: asyncio.AbstractEventLoop) -> None:
    try:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=1))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
