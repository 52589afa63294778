"""A write to an owner's own rows that waits for its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

import apsw

__all__ = ["Execute", "WaitingWrite"]

T = TypeVar("T")
Execute = Callable[..., apsw.Cursor]


class WaitingWrite(Generic[T]):
    """A job, whoever waits for its `answer`, and its `outcome` once it has been done.

    `atomic`: whether it is undone as a whole when it raises; `committed`: what is told of its
    result; `started`: whether it can no longer be taken back.
    """

    __slots__ = ("answer", "atomic", "committed", "job", "outcome", "started")

    def __init__(
        self,
        job: Callable[[Execute], T],
        atomic: bool,
        committed: Callable[[T], object] | None,
    ) -> None:
        self.job = job
        self.atomic = atomic
        self.committed = committed
        self.started = False
        self.answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.outcome: T | Exception | None = None

    def fail(self, error: Exception) -> None:
        self.outcome = error
        self.settle()

    def settle(self) -> None:
        outcome = self.outcome
        if isinstance(outcome, Exception):
            if not self.answer.done():
                self.answer.set_exception(outcome)
            return
        if self.committed is not None:
            self.committed(outcome)  # type: ignore[arg-type]
        if not self.answer.done():
            self.answer.set_result(outcome)  # type: ignore[arg-type]
