"""Noticing that a client has gone while its request is still being worked on.

ASGI tells of it only to whoever waits in ``receive``, which takes a task. Most requests are answered long before such
a task would pay for itself, so it is made for those that still wait after a moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from .body import RequestBody

__all__ = ["Disconnects"]

#: Seconds after which a request that still waits is watched; between one and two of them pass.
PATIENCE: Final = 0.05


class Disconnects:
    """The requests of one server that wait, and the tasks that watch their clients.

    ``report`` is told when a host's ``receive`` fails.
    """

    __slots__ = ("_new", "_report", "_timer", "_watchers")

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._new: dict[RequestBody, asyncio.Task[Any]] = {}
        self._watchers: dict[RequestBody, asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, body: RequestBody, task: asyncio.Task[Any], *, at_once: bool) -> None:
        """Cancel ``task`` when the client of this request goes, until :meth:`forget`.

        ``at_once``: somebody who reads the body depends on the watcher.
        """
        if at_once:
            self._start(body, task)
            return
        self._new[body] = task
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._start_new)

    def forget(self, body: RequestBody) -> None:
        """The request is answered, or has failed."""
        if self._new.pop(body, None) is None and (watcher := self._watchers.pop(body, None)):
            watcher.cancel()

    def _start_new(self) -> None:
        self._timer = None
        waiting, self._new = self._new, {}
        for body, task in waiting.items():
            self._start(body, task)

    def _start(self, body: RequestBody, task: asyncio.Task[Any]) -> None:
        watcher = asyncio.get_running_loop().create_task(_cancel_on_disconnect(body, task))
        self._watchers[body] = watcher
        watcher.add_done_callback(self._ended)

    def _ended(self, watcher: asyncio.Task[None]) -> None:
        if not watcher.cancelled() and (error := watcher.exception()) is not None:
            self._report(f"The host's receive() failed: {error!r}")


async def _cancel_on_disconnect(body: RequestBody, task: asyncio.Task[Any]) -> None:
    await body.watch()
    if not body.finished:
        body.cancelled = True
        if body.request is not None:
            body.request.client_disconnected()
        task.cancel()
