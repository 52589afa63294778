"""One dynamic Worker: loaded when it is first called, and again after it was put away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from pyflare.js.callbacks import FAILURES
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.rpc.errors import crossing
from pyflare.workers.rpc.channel import EntrypointChannel

if TYPE_CHECKING:
    from pyflare.workers.worker import Worker

    from .code import DynamicCode

__all__ = ["DynamicChannel", "DynamicWorker", "Loader"]

#: Gives the code; called as the Worker that asked for the dynamic one.
GetCode = Callable[[], Awaitable["DynamicCode"]]


class Loader(Protocol):
    """Whoever keeps the loaded ones."""

    async def load(self, name: str, parent: Worker, code: DynamicCode) -> Worker: ...
    def used(self, dynamic: DynamicWorker) -> None: ...
    def failed(self, dynamic: DynamicWorker) -> None: ...


class DynamicWorker:
    """In: `name`, for the log; `parent`, the Worker that loads it; `get_code`."""

    __slots__ = ("_get_code", "_loader", "_loading", "_name", "_parent", "users", "worker")

    def __init__(self, loader: Loader, name: str, parent: Worker, get_code: GetCode) -> None:
        self._loader = loader
        self._name = name
        self._parent = parent
        self._get_code = get_code
        self._loading: asyncio.Task[Worker] | None = None
        self.worker: Worker | None = None
        #: Calls under way; it is not put away while there are some.
        self.users = 0

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Worker]:
        """The loaded Worker, which stays inside. Raises: what giving or loading the code raises, each time anew."""
        self.users += 1
        try:
            self._loader.used(self)
            yield self.worker or await self._loaded()
        finally:
            self.users -= 1

    async def _loaded(self) -> Worker:
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load())
            # A caller who is cancelled leaves its failure to nobody.
            self._loading.add_done_callback(_seen)
        # It serves everybody who waits, so a caller that is cancelled does not end it.
        return await asyncio.shield(self._loading)

    async def _load(self) -> Worker:
        try:
            code = await self._get_code()
            self.worker = await self._loader.load(self._name, self._parent, code)
            self._loader.used(self)
            return self.worker
        except FAILURES as error:
            raise crossing(error) from None
        finally:
            self._loading = None
            if self.worker is None:
                self._loader.failed(self)


def _seen(loading: asyncio.Task[Worker]) -> None:
    if not loading.cancelled():
        loading.exception()


class DynamicChannel:
    """The way to an entrypoint of a dynamic Worker: a :class:`pyflare.js.fetcher.Channel`."""

    __slots__ = ("_dynamic", "_entrypoint", "_props")

    def __init__(self, dynamic: DynamicWorker, entrypoint: str | None, props: Any) -> None:
        self._dynamic = dynamic
        self._entrypoint = entrypoint
        self._props = props

    async def fetch(self, request: Request) -> Response:
        async with self._dynamic.use() as worker:
            return await self._to(worker).fetch(request)

    async def call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> Any:
        async with self._dynamic.use() as worker:
            return await self._to(worker).call(path, arguments)

    def _to(self, worker: Worker) -> EntrypointChannel:
        return EntrypointChannel(lambda: worker, worker.name, self._entrypoint, self._props)
