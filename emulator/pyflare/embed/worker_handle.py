"""One worker as an embedding program sees it: its requests, its triggers, its methods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import httpx

    from pyflare.cron.event import ScheduledResult
    from pyflare.env.email.incoming import EmailOutcome
    from pyflare.queues.direct import DirectMessage
    from pyflare.server.application import Application
    from pyflare.workers.worker import Worker

__all__ = ["WorkerHandle"]


class _Emulator(Protocol):
    """The part of a Pyflare that a handle needs."""

    def loaded(self, name: str | None = None) -> Worker: ...

    def env(self, name: str | None = None) -> Any: ...

    def application_of(self, worker: str) -> Application: ...

    async def run(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any: ...

    @property
    def fetch(self) -> Callable[..., Coroutine[Any, Any, httpx.Response]]: ...

    def scheduled(
        self, cron: str = "", *, worker: str | None = None, time: float | None = None
    ) -> Coroutine[Any, Any, ScheduledResult]: ...

    def queue(
        self,
        queue: str,
        messages: Sequence[DirectMessage | Mapping[str, Any]],
        *,
        worker: str | None = None,
    ) -> Coroutine[Any, Any, dict[str, Any]]: ...

    def email(
        self, raw: bytes, *, sender: str, recipient: str, worker: str | None = None
    ) -> Coroutine[Any, Any, EmailOutcome]: ...


class WorkerHandle:
    """A worker, looked up by its name whenever it is used, so that a handle outlives a reload.

    Any other attribute is a method of its entrypoint: ``await flare.worker("api").add(1, 2)`` calls it as another
    worker would over a service binding, arguments and result copied. A failure has the worker's own exception as its
    cause. For a method whose name is taken here, and for properties: :attr:`rpc`.
    """

    __slots__ = ("_emulator", "_entrypoint", "name")

    def __init__(self, emulator: _Emulator, name: str, entrypoint: str | None = None) -> None:
        self._emulator = emulator
        self._entrypoint = entrypoint
        self.name = name

    def __repr__(self) -> str:
        return f"<worker {self.name}{f'#{self._entrypoint}' if self._entrypoint else ''}>"

    def entrypoint(self, name: str) -> WorkerHandle:
        """Another class of the same worker, for RPC."""
        return WorkerHandle(self._emulator, self.name, name)

    @property
    def env(self) -> Any:
        """Its environment, as its own code sees it."""
        return self._emulator.env(self.name)

    async def fetch(self, url: str | httpx.URL = "/", **options: Any) -> httpx.Response:
        """A request to this worker, whatever its routes are; arguments as for :meth:`pyflare.embed.Pyflare.fetch`."""
        return await self._emulator.fetch(url, worker=self.name, **options)

    async def scheduled(self, cron: str = "", *, time: float | None = None) -> ScheduledResult:
        """Run its ``scheduled`` handler; see :meth:`pyflare.embed.Pyflare.scheduled`."""
        return await self._emulator.scheduled(cron, worker=self.name, time=time)

    async def queue(
        self, queue: str, messages: Sequence[DirectMessage | Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Run its ``queue`` handler; see :meth:`pyflare.embed.Pyflare.queue`."""
        return await self._emulator.queue(queue, messages, worker=self.name)

    async def email(self, raw: bytes, *, sender: str, recipient: str) -> EmailOutcome:
        """Run its ``email`` handler; see :meth:`pyflare.embed.Pyflare.email`."""
        return await self._emulator.email(raw, sender=sender, recipient=recipient, worker=self.name)

    @property
    def rpc(self) -> Any:
        """The binding itself, as another worker has it, to be used on the loop of the workers."""
        from pyflare.env.service import ServiceFetcher
        from pyflare.workers.rpc.channel import CallerChannel

        # One that is not there is an error here, not a message of the platform to another worker.
        name = self._emulator.loaded(self.name).name
        channel = CallerChannel(lambda: self._emulator.loaded(name), name, self._entrypoint)
        return ServiceFetcher._make(channel)._direct_wrapper()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        if name.startswith("__"):
            raise AttributeError(name)

        async def call(*arguments: Any, **named: Any) -> Any:
            async def work() -> Any:
                return await getattr(self.rpc, name)(*arguments, **named)

            return await self._emulator.run(work)

        return call
