"""What works in the background of one Pyflare: cron, queue consumers, alarms, objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, Protocol, TypeVar, runtime_checkable

__all__ = ["Busy", "Service", "Services", "WhenNeeded"]


class Service(Protocol):
    """Something that is started once the workers are loaded and ends before they do."""

    async def start(self) -> None:
        """Begin. What takes time goes on in a task that the service owns."""
        ...

    async def reload(self) -> None:
        """A worker has been loaded again, perhaps with another configuration or a failure."""
        ...

    async def close(self, grace: float) -> None:
        """Take in no more work and give what is under way ``grace`` seconds."""
        ...


@runtime_checkable
class Busy(Protocol):
    """A service whose work can be waited for."""

    def under_way(self) -> Iterable[Awaitable[object]]:
        """What is not done yet."""
        ...


ServiceT = TypeVar("ServiceT", bound=Service)


class WhenNeeded(Generic[ServiceT]):
    """A service that is made when the configurations first ask for it, so that others do not pay for its code.

    Args: ``needed`` says whether they do, and is asked again after a reload; ``make`` makes it. :attr:`service` is
    the service, None until it was made.
    """

    def __init__(self, needed: Callable[[], bool], make: Callable[[], ServiceT]) -> None:
        self._needed = needed
        self._make = make
        self.service: ServiceT | None = None

    async def start(self) -> None:
        """Make and start it if it is needed."""
        if self.service is None and self._needed():
            self.service = self._make()
            await self.service.start()

    async def reload(self) -> None:
        """Tell it of a reload, or make and start it if it is needed now."""
        if self.service is None:
            await self.start()
        else:
            await self.service.reload()

    def under_way(self) -> Iterable[Awaitable[object]]:
        """What is not done yet."""
        return self.service.under_way() if isinstance(self.service, Busy) else ()

    async def close(self, grace: float) -> None:
        """Close it if it was made."""
        if self.service is not None:
            await self.service.close(grace)


class Services:
    """The services of one Pyflare, started in order and closed in reverse."""

    def __init__(self, services: Iterable[Service]) -> None:
        self._all = list(services)
        self._started: list[Service] = []

    async def start(self) -> None:
        """Start all. When one fails, those before it are closed again and its failure is raised."""
        try:
            for service in self._all:
                self._started.append(service)
                await service.start()
        except BaseException:
            await self.close(0)
            raise

    async def reload(self) -> None:
        """Tell all that a worker has been loaded again."""
        for service in self._started:
            await service.reload()

    def under_way(self) -> list[Awaitable[object]]:
        """What the services do that is not done yet."""
        busy = [service for service in self._started if isinstance(service, Busy)]
        return [work for service in busy for work in service.under_way()]

    async def close(self, grace: float) -> None:
        """Close all that were started, the youngest first, also when some fail; the failures are raised together."""
        failures: list[Exception] = []
        while self._started:
            try:
                await self._started.pop().close(grace)
            except Exception as error:
                failures.append(error)
        if failures:
            raise ExceptionGroup("some background services could not be closed", failures)
