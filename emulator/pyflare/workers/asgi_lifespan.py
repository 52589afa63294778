"""One cycle of an ASGI application's lifespan, as the SDK runs it around every request.

Source: https://asgi.readthedocs.io/en/latest/specs/lifespan.html and the package ``workers-runtime-sdk``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from pyflare.js.callbacks import FAILURES

__all__ = ["Lifespan"]

Told: TypeAlias = Callable[[BaseException | None], None]

_logger: Final = logging.getLogger("asgi")


class Lifespan:
    """``on_start`` is told once, with the failure or None, when the application has started or has no lifespan.

    ``state`` is what the application keeps for its requests.
    """

    __slots__ = (
        "_app",
        "_asgi",
        "_begun",
        "_end",
        "_failure",
        "_on_start",
        "_on_stop",
        "_stopped",
        "_supported",
        "_told",
        "state",
    )

    def __init__(self, app: Callable[..., Awaitable[None]], asgi: Any, on_start: Told) -> None:
        self._app = app
        self._asgi = asgi
        self._on_start: Told | None = on_start
        self._on_stop: Told | None = None
        self._begun = False
        self._supported = True
        self._end: asyncio.Future[None] | None = None
        self._told = False
        self._stopped = False
        self._failure: BaseException | None = None
        self.state: dict[str, Any] = {}

    async def run(self) -> None:
        """Drive the application through the cycle."""
        scope = {"asgi": self._asgi, "state": self.state, "type": "lifespan"}
        try:
            await self._app(scope, self._receive, self._send)
        except FAILURES as error:
            if self._on_start is not None:
                # Raising before it is asked is how an application says that it has no lifespan.
                _logger.debug("The ASGI application has no lifespan.", exc_info=error)
            else:
                _logger.exception("Exception in ASGI lifespan application", exc_info=error)
        if self._on_start is not None:
            self._supported = False
            self._started(None)
        else:
            self._over(None)

    def stop(self, on_stop: Told) -> None:
        """End the cycle; ``on_stop`` is told once, with the failure or None, when that is done."""
        if not self._supported:
            on_stop(None)
        elif self._stopped:
            on_stop(self._failure)
        else:
            self._on_stop = on_stop
            self._ending().set_result(None)

    def _ending(self) -> asyncio.Future[None]:
        # An application may have given up waiting, which cancels the future that it waited for.
        if self._end is None or self._end.cancelled():
            self._end = asyncio.get_running_loop().create_future()
        return self._end

    def _started(self, failure: BaseException | None) -> None:
        if self._on_start is not None:
            on_start, self._on_start = self._on_start, None
            on_start(failure)

    def _over(self, failure: BaseException | None) -> None:
        if self._stopped:
            return
        self._stopped = True
        self._failure = failure
        if self._on_stop is not None:
            # Let go of it: whoever is told holds this object.
            on_stop, self._on_stop = self._on_stop, None
            on_stop(failure)

    async def _receive(self) -> dict[str, Any]:
        if not self._begun:
            self._begun = True
            return {"type": "lifespan.startup"}
        if self._told:
            # Nothing follows.
            await asyncio.get_running_loop().create_future()
        await self._ending()
        self._told = True
        return {"type": "lifespan.shutdown"}

    async def _send(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "lifespan.startup.complete":
                self._started(None)
            case "lifespan.startup.failed":
                self._started(
                    RuntimeError(message.get("message") or "ASGI lifespan startup failed")
                )
            case "lifespan.shutdown.complete":
                self._over(None)
            case "lifespan.shutdown.failed":
                self._over(RuntimeError(message.get("message") or "ASGI lifespan shutdown failed"))
            case unexpected:
                raise RuntimeError(f"Unexpected lifespan event {unexpected}")
