"""Futures of steps, and of those who wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable


def failure_of(step: asyncio.Future[None]) -> BaseException | None:
    if step.cancelled():
        return asyncio.CancelledError()
    return step.exception()


def resolve(waiting: Iterable[asyncio.Future[None]]) -> None:
    for each in waiting:
        if not each.done():
            each.set_result(None)


def reject(waiting: Iterable[asyncio.Future[None]], failure: BaseException) -> None:
    for each in waiting:
        if not each.done():
            each.set_exception(failure)
