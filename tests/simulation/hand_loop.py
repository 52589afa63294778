"""An event loop without time or input, whose callbacks are run one at a time, by hand."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any


class HandLoop(asyncio.AbstractEventLoop):
    """What futures and tasks need of a loop: a queue of callbacks.

    `step` runs the first of them. Between two steps anything else may happen, which is how the
    simulation puts a worker's call, a crash or a completion between any two callbacks.
    """

    def __init__(self) -> None:
        self.ready: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._tasks: list[asyncio.Task[Any]] = []

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> None:
        self.ready.append((callback, args))

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, Any], **_options: Any
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self)
        self._tasks.append(task)
        return task

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        # Worlds are dropped in the middle of what they do; that a task or an error of theirs was
        # never looked at is what Python reports here.
        return

    def step(self) -> None:
        callback, args = self.ready.popleft()
        callback(*args)

    def drop_tasks(self) -> None:
        """End what is suspended, as the end of a process does."""
        for task in self._tasks:
            if not task.done():
                coroutine: Any = task.get_coro()
                coroutine.close()
        self._tasks.clear()
        self.ready.clear()


@contextmanager
def running(loop: HandLoop) -> Iterator[None]:
    """What is called within finds `loop` as the running one."""
    asyncio._set_running_loop(loop)
    try:
        yield
    finally:
        asyncio._set_running_loop(None)
