"""The output gate of an object: nothing leaves before what it may tell of is durable.

The first write opens a transaction. It is committed in the next turn of the event loop, or as soon as an event is
answered, whichever comes first. Whatever leaves the object while a commit is outstanding waits for it: only for those
that existed when it began to wait.

Source of the behaviour: workerd ``src/workerd/io/io-gate.*`` and ``actor-sqlite.c++``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, Final, Protocol

from pyflare_bindings.clock import Clock, Timer

from .failures import OUTPUT_TOO_LONG, reset_error

__all__ = ["Committing", "OutputGate"]

#: Seconds that a commit may take.
TIME_LIMIT: Final = 30.0

_NO_CONTEXT: Final = Context()


class Committing(Protocol):
    """The part of an object's storage that ends transactions."""

    @property
    def depth(self) -> int:
        """How many explicit transactions are open inside the implicit one."""
        ...

    def commit(self) -> asyncio.Future[None]: ...


class OutputGate:
    """In: ``broken``, called once with what a commit failed with."""

    __slots__ = (
        "_booked",
        "_broken",
        "_clock",
        "_confirmed",
        "_dropped",
        "_next",
        "_open",
        "_storage",
        "_under_way",
    )

    def __init__(self, clock: Clock, broken: Callable[[BaseException], None]) -> None:
        self._clock = clock
        self._broken = broken
        self._storage: Committing | None = None
        self._open = False
        self._confirmed = False
        self._booked = False
        self._next: asyncio.Future[None] | None = None
        self._under_way: asyncio.Future[None] | None = None
        #: Set, with the reason, when the object is over.
        self._dropped: asyncio.Future[None] | None = None

    def attach(self, storage: Committing) -> None:
        """From now on this is what is committed."""
        self._storage = storage

    def wrote(self, confirmed: bool = True) -> None:
        """There is something to commit. ``confirmed``: whether what leaves has to wait for it."""
        if confirmed:
            self._confirmed = True
        if not self._open:
            self._open = True
            if not self._booked:
                self._booked = True
                asyncio.get_running_loop().call_soon(self._turn_is_over, context=_NO_CONTEXT)

    def _turn_is_over(self) -> None:
        self._booked = False
        if self._open:
            self.commit()

    def commit(self) -> asyncio.Future[None] | None:
        """Commit now. Gives what to wait for until it is durable, None when it is.

        An explicit transaction is not committed before it has ended: its end does this again.
        """
        storage = self._storage
        if self._open and storage is not None and storage.depth == 0:
            confirmed, self._open, self._confirmed = self._confirmed, False, False
            waiting, self._next = self._next, None
            try:
                durable = storage.commit()
            except Exception as error:
                durable = asyncio.get_running_loop().create_future()
                durable.set_exception(error)
            if durable.done():
                self._committed(durable, waiting)
            else:
                self._wait_for(durable, waiting, confirmed)
        under_way = self._under_way
        return None if under_way is None or under_way.done() else under_way

    #: At the end of an event there is no more code that could belong to the same transaction.
    settle = commit

    def departure(self) -> asyncio.Future[None] | None:
        """What must be awaited before something leaves now; None when nothing is outstanding.

        What the running code writes after this call still belongs to the transaction that is waited for. For what an
        explicit transaction has written nobody waits before it has ended. Of an object that is over nothing leaves.
        """
        if self._dropped is not None:
            return self._dropped
        if self._open and self._confirmed and self._storage.depth == 0:  # type: ignore[union-attr]
            if self._next is None:
                self._next = asyncio.get_running_loop().create_future()
            return self._next
        under_way = self._under_way
        return None if under_way is None or under_way.done() else under_way

    def drop(self, reason: BaseException) -> None:
        """The object is over because of ``reason``, and what is open is rolled back: nothing leaves any more."""
        self._open = False
        waiting, self._next = self._next, None
        if waiting is None:
            waiting = asyncio.get_running_loop().create_future()
        self._dropped = waiting
        if not waiting.done():
            waiting.set_exception(reason)
            waiting.exception()

    def _committed(
        self, durable: asyncio.Future[None], waiting: asyncio.Future[None] | None
    ) -> None:
        error = asyncio.CancelledError() if durable.cancelled() else durable.exception()
        if error is not None:
            self._broken(error)
        if waiting is not None and not waiting.done():
            if error is None:
                waiting.set_result(None)
            else:
                waiting.set_exception(error)
                waiting.exception()

    def _wait_for(
        self,
        durable: asyncio.Future[None],
        waiting: asyncio.Future[None] | None,
        confirmed: bool,
    ) -> None:
        # Whoever comes now is told after those that came before the commit.
        under_way = durable if waiting is None else waiting
        if confirmed:
            self._under_way = under_way
        timer: Timer = self._clock.call_later(TIME_LIMIT, self._too_long)

        def done(durable: asyncio.Future[Any]) -> None:
            timer.cancel()
            if self._under_way is under_way:
                self._under_way = None
            self._committed(durable, waiting)

        durable.add_done_callback(done)

    def _too_long(self) -> None:
        self._broken(reset_error(OUTPUT_TOO_LONG, overloaded=True))
