"""How many calls an owner is asked to work on at once, so that a burst of them needs few connections.

Only what the owner itself brings to an end counts. A call that waits for its caller's stream gives its turn up after a
moment and takes it again without waiting, so that nobody's stream holds up others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

__all__ = ["Turn", "Turns"]

#: A stream that has its next piece sooner keeps the turn: a burst of uploads that flow needs few connections too.
_MOMENT_SECONDS: Final = 0.05


class Turns:
    """At most ``most`` begin at once; who has to wait comes in order."""

    __slots__ = ("_most", "_taken", "_waiting")

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> Turn:
        """Wait for a turn."""
        if self._taken < self._most and not self._waiting:
            self._taken += 1
            return Turn(self)
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                self._give_back()
            raise
        return Turn(self)

    def _give_back(self) -> None:
        self._taken -= 1
        while self._waiting and self._taken < self._most:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._taken += 1
                waiter.set_result(None)


class Turn:
    """One call's turn. ``with turn.waiting():`` is around what may take its caller's time."""

    __slots__ = ("_held", "_timer", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._held = True
        self._timer: asyncio.TimerHandle | None = None

    def give_up(self) -> None:
        """Let another one have it. Harmless when that is so already."""
        if self._held:
            self._held = False
            self._turns._give_back()

    def __enter__(self) -> None:
        if self._held:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_MOMENT_SECONDS, self.give_up)

    def __exit__(self, *_: object) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        if not self._held:
            self._held = True
            self._turns._taken += 1

    def waiting(self) -> Turn:
        """A context in which the caller is waited for."""
        return self
