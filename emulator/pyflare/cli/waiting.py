"""Waiting for whoever keeps a state directory at the moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from pyflare.owner.pace import next_step
from pyflare_bindings.lease import LeaseHeld

__all__ = ["Waiting", "first_of"]

_NOTICE_SECONDS: Final = 1.0
_LAST_SECONDS: Final = 60.0
#: How long an owner that starts anew has the directory to itself.
_OWNER_SECONDS: Final = 15.0


class Waiting:
    """How long this process has waited, and for what."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._noticed = False
        self._owner_until = 0.0
        self._held: LeaseHeld | None = None

    def expect_owner(self) -> None:
        """The owner starts anew: do not take its place meanwhile."""
        self._owner_until = time.monotonic() + _OWNER_SECONDS

    @property
    def for_owner(self) -> LeaseHeld | None:
        """Why this process should not try to own the directory now."""
        return self._held if time.monotonic() < self._owner_until else None

    @property
    def step(self) -> float:
        """Seconds until the next look."""
        return next_step(time.monotonic() - self._begun)

    def is_over(self, held: LeaseHeld, notice: Callable[[str], None]) -> bool:
        """Whether it takes too long. ``notice`` is told once when it takes long."""
        self._held = held
        waited = time.monotonic() - self._begun
        if waited > _NOTICE_SECONDS and not self._noticed:
            self._noticed = True
            who = f"process {held.holder['pid']}" if "pid" in held.holder else "another process"
            notice(f"Waiting for {who}, which uses {held.root} at the moment.")
        return waited > _LAST_SECONDS


async def first_of(*coroutines: Coroutine[Any, Any, object]) -> None:
    """Wait until one of them is done; the others are cancelled. Raises what that one raises."""
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.wait(tasks)
