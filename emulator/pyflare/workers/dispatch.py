"""The way to the Workers of a dispatch namespace, and from them to the network through an outbound Worker.

Source: https://developers.cloudflare.com/cloudflare-for-platforms/workers-for-platforms/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyflare.js.error import Error
from pyflare.js.fetch import outbound
from pyflare.js.fetch_through import fetch_through
from pyflare.js.request import Request
from pyflare.js.response import Response

from .current import current_event
from .rpc.channel import EntrypointChannel

if TYPE_CHECKING:
    from .worker import Worker

__all__ = ["DispatchChannel", "OutboundChannel"]

_NOT_FOUND: Final = "Worker not found."


class DispatchChannel(EntrypointChannel):
    """To the default entrypoint of a user Worker. In: `through`, the channel that its own requests take."""

    __slots__ = ("_through",)

    def __init__(
        self,
        find: Callable[[], Worker | None],
        worker_name: str,
        through: EntrypointChannel | None = None,
    ) -> None:
        super().__init__(find, worker_name)
        self._through = through

    async def fetch(self, request: Request) -> Response:
        """Raises: Error where there is no such Worker, and what the handler raises."""
        self._check()
        return await super().fetch(request)

    async def call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> Any:
        """Raises: Error where there is no such Worker, and what the method raises."""
        self._check()
        return await super().call(path, arguments)

    def _check(self) -> None:
        if self._find() is None:
            raise Error(_NOT_FOUND)

    async def _answer(self, worker: Worker, request: Request, depth: int) -> Response:
        self._redirect()
        return await super()._answer(worker, request, depth)

    async def _call(
        self, worker: Worker, path: tuple[str, ...], arguments: Sequence[Any] | None, depth: int
    ) -> Any:
        self._redirect()
        return await super()._call(worker, path, arguments, depth)

    def _redirect(self) -> None:
        """From here on the requests of this event take another way."""
        through = self._through
        if through is None:
            return

        async def send(request: Request) -> Response:
            request.redirect = "manual"
            return await fetch_through(through, request)

        outbound.set(send)


class OutboundChannel(EntrypointChannel):
    """To an outbound Worker. In: `parameters`, which its `env` has in these events."""

    __slots__ = ("_parameters",)

    def __init__(
        self,
        find: Callable[[], Worker | None],
        worker_name: str,
        parameters: Mapping[str, Any],
    ) -> None:
        super().__init__(find, worker_name)
        self._parameters = parameters

    async def _answer(self, worker: Worker, request: Request, depth: int) -> Response:
        current_event.get()._extra_env = self._parameters
        return await super()._answer(worker, request, depth)
