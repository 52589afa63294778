"""Driving an exchange whose worker cancels the very task that it runs in."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

__all__ = ["rest_of"]


@types.coroutine
def rest_of(
    handling: Coroutine[Any, Any, None], waiting: Any, task: asyncio.Task[Any]
) -> Generator[Any, Any, None]:
    """Await the rest of an exchange that has run to its first wait.

    A worker that cancels the task it runs in ends its event, not the exchange: that request is taken back, and only
    the CancelledError arrives. Whoever cancels an exchange from outside does so between two steps.
    """
    _take_back(task, 0)
    while True:
        step: Callable[[Any], Any] = handling.send
        try:
            argument = yield waiting
        except GeneratorExit:
            handling.close()
            raise
        except BaseException as error:
            step, argument = handling.throw, error
        before = task.cancelling()
        try:
            waiting = step(argument)
        except StopIteration:
            return
        finally:
            argument = None
        if task.cancelling() > before:
            _take_back(task, before)


def _take_back(task: asyncio.Task[Any], cancels: int) -> None:
    while task.cancelling() > cancels:
        task.uncancel()
