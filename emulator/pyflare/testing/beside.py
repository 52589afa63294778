"""What code of a test finds that runs beside the Workers, such as a function of theirs that the test calls itself.

Outside, caches, clock and ``wait_until`` are the Workers' own. ``env`` is not among it: that is handed to a function.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyflare.env.cache import Cache, open_cache
from pyflare.js.caches import cache_opener
from pyflare.js.clock import call_later, wall_time
from pyflare.js.error import Error
from pyflare.js.fetch import outbound
from pyflare.js.http_transport import HttpTransport, send_once
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.timers import Timers
from pyflare.workers.current import current_event
from pyflare.workers.event import Background, ExecutionContext
from pyflare_bindings.clock import SystemClock

from .outside import Outside

if TYPE_CHECKING:
    from pyflare.embed import Pyflare

__all__ = ["Exit", "Values", "of_outside", "of_pyflare", "within"]

#: Context variables, and what they are for the code of a test.
Values: TypeAlias = Mapping[ContextVar[Any], Any]

_ELSEWHERE: Final = (
    "{} belongs to the event loop of the Workers, where this code does not run. Call the function by "
    "pyflare.run(function, *arguments), or write the test with async def."
)


@contextmanager
def within(values: Values) -> Iterator[None]:
    """Set the variables meanwhile in the running context."""
    before = [(variable, variable.get()) for variable in values]
    for variable, value in values.items():
        variable.set(value)
    try:
        yield
    finally:
        # Not by tokens: a test runner may end a fixture in another context than it began in.
        for variable, value in before:
            variable.set(value)


def of_outside(outside: Outside) -> Values:
    """For tests without Workers too: requests get the prepared answers."""
    return {outbound: HttpTransport(_transport(outside)).send}


def of_pyflare(flare: Pyflare) -> Values:
    """For tests with these Workers, which are started."""
    beside = _Beside(flare)
    clock = flare._clock
    own = None if isinstance(clock, SystemClock) else clock
    return {
        outbound: beside.send,
        cache_opener: beside.open_cache,
        wall_time: None if own is None else own.now,
        call_later: None if own is None else own.call_later,
        current_event: ExecutionContext._make(_WorkersBackground(beside), Timers()),
    }


class _Beside:
    """One Pyflare, for code that may run on its loop or elsewhere."""

    def __init__(self, flare: Pyflare) -> None:
        self.flare = flare

    def check_loop(self, what: str) -> None:
        """Raise Error outside the Workers' event loop."""
        if asyncio._get_running_loop() is not self.flare.loop:
            raise Error(_ELSEWHERE.format(what))

    async def send(self, request: Request) -> Response:
        way = self.flare._outbound
        # Connections belong to one loop; answers that a test has prepared do not.
        if way._transport is None and asyncio.get_running_loop() is not self.flare.loop:
            return await send_once(request)
        return await way.send(request)

    def open_cache(self, name: str | None) -> Cache:
        self.check_loop("A cache")
        assert self.flare.registry is not None
        return open_cache(self.flare.registry, name)


class _WorkersBackground(Background):
    """Hands on to the first Worker's, so that it is waited for, and a failure told, as with that."""

    __slots__ = ("_beside",)

    def __init__(self, beside: _Beside) -> None:
        super().__init__(lambda where, error: beside.flare.workers[0].report(where, error))
        self._beside = beside

    def add(self, awaitable: Any) -> asyncio.Future[Any]:
        try:
            self._beside.check_loop("What wait_until() is given")
        except Error:
            if inspect.iscoroutine(awaitable):
                # Else Python warns that nobody has awaited it.
                awaitable.close()
            raise
        return self._beside.flare.workers[0].background.add(awaitable)


class Exit(HttpTransport):
    """Where requests of Workers go that live longer than a test: as theirs usually do, or to what a test has prepared.

    To be put in the place of ``usual`` before their start.
    """

    def __init__(self, usual: HttpTransport) -> None:
        super().__init__(usual._transport)
        self._usual = usual
        self._current = usual

    async def send(self, request: Request) -> Response:
        return await self._current.send(request)

    async def aclose(self) -> None:
        await self._usual.aclose()

    @contextmanager
    def answered_by(self, outside: Outside) -> Iterator[None]:
        """Give requests the prepared answers meanwhile."""
        transport = _transport(outside)
        self._transport, self._current = transport, HttpTransport(transport)
        try:
            yield
        finally:
            self._transport, self._current = self._usual._transport, self._usual


def _transport(outside: Outside) -> Any:
    from pyflare.embed.outbound import transport_of

    return transport_of(outside)
