"""What works in the background of one Pyflare: cron, queue consumers, alarms, objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, Protocol, TypeVar

__all__ = ["Service", "Services", "WhenNeeded"]


class Service(Protocol):
    """Something that is started once the workers are loaded and ends before they do.

    One whose work can be waited for also has ``under_way()``, which gives what is not done yet.
    """

    async def start(self) -> None:
        """Begin. What takes time goes on in a task that the service owns."""
        ...

    async def reload(self) -> None:
        """A worker has been loaded again, perhaps with another configuration or a failure."""
        ...

    async def close(self, grace: float) -> None:
        """Take in no more work and give what is under way ``grace`` seconds."""
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
        return _under_way(self.service)

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

    async def add(self, service: Service) -> None:
        """Start one more; it is closed with the others."""
        self._started.append(service)
        await service.start()

    async def reload(self) -> None:
        """Tell all that a worker has been loaded again."""
        for service in self._started:
            await service.reload()

    def under_way(self) -> list[Awaitable[object]]:
        """What the services do that is not done yet."""
        return [work for service in self._started for work in _under_way(service)]

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


def _under_way(service: object) -> Iterable[Awaitable[object]]:
    """What a service does, if it is one whose work can be waited for: it has a method ``under_way``."""
    under_way = getattr(service, "under_way", None)
    return () if under_way is None else under_way()
