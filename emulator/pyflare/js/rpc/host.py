"""Where functions and objects live that were given to others as stubs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import ContextVar, copy_context
from typing import Any, Protocol, TypeVar

__all__ = ["StubHost", "current_host", "stub_host"]

T = TypeVar("T")


class StubHost(Protocol):
    """The event, or the object, in whose code a stub's calls run."""

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a call there. Raises: what the call raises, Error when the code is gone."""
        ...

    def hold(self) -> None:
        """Somebody has a stub of something here: it must not end yet."""

    def release(self) -> None:
        """Undo one :meth:`hold`."""

    def lend(self, source: Any) -> Any:
        """A body source that others will read, or one in its place that fails when the code is over before its end."""
        ...

    def receive(self, copies: Sequence[Any]) -> None:
        """These open streams and bodies of others are here now: they end with the code."""

    async def until_end(self, work: Awaitable[T]) -> T:
        """Wait for something that is for the code here to do. Raises: why the code is over, when that comes first."""
        ...


class _HostOfNobody:
    """Code outside any worker: calls run in the context of whoever gave the stub away."""

    __slots__ = ("_context",)

    def __init__(self) -> None:
        self._context = copy_context()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.get_running_loop().create_task(work, context=self._context.copy())

    def hold(self) -> None:
        """Nothing ends here."""

    def release(self) -> None:
        """Nothing ends here."""

    def lend(self, source: Any) -> Any:
        return source

    def receive(self, copies: Sequence[Any]) -> None:
        """Nothing ends here."""

    async def until_end(self, work: Awaitable[T]) -> T:
        return await work


#: Gives the host of the running code. Whoever runs a worker sets it for that worker's context.
stub_host: ContextVar[Callable[[], StubHost] | None] = ContextVar("stub_host", default=None)


def current_host() -> StubHost:
    """The host for what the running code gives away."""
    make = stub_host.get()
    return _HostOfNobody() if make is None else make()
