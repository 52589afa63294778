"""What a worker gets when it makes an event loop of its own: the running one, behind a front."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Awaitable, Callable
from typing import Any, Final

from pyflare.workers.current import current
from pyflare.workers.suspend import can_run_sync, run_sync

#: How the names of the emulator's own threads begin.
OWN_THREADS: Final = "pyflare-"


def worker_loop() -> asyncio.AbstractEventLoop | None:
    """The running loop of this thread if a worker's code is running on it, else None."""
    return asyncio._get_running_loop() if current.get() is not None else None


def complete(
    loop: asyncio.AbstractEventLoop,
    awaitable: Awaitable[Any],
    context: contextvars.Context | None = None,
) -> Any:
    """Runs `awaitable` to its end on the running loop, blocking only the calling worker code.

    Raises what `run_sync` and the awaitable raise. Source: the runtime's event loop, where
    `run_until_complete` inside a handler blocks instead of failing.
    """
    if asyncio.iscoroutine(awaitable):
        if not can_run_sync():
            return run_sync(awaitable)
        return run_sync(loop.create_task(awaitable, context=context))
    return run_sync(asyncio.ensure_future(awaitable, loop=loop))


def run_inline(
    loop: asyncio.AbstractEventLoop, function: Callable[..., Any], *arguments: Any
) -> asyncio.Future[Any]:
    """Calls `function` now and gives a future that is done: there are no threads to run it on."""
    future = loop.create_future()
    try:
        result = contextvars.copy_context().run(function, *arguments)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
    return future


def waiting_run_until_complete(original: Callable[..., Any]) -> Callable[..., Any]:
    """A loop class's `run_until_complete` that inside a worker waits on the running loop."""

    @functools.wraps(original)
    def run_until_complete(self: Any, future: Awaitable[Any]) -> Any:
        loop = worker_loop()
        if loop is None:
            return original(self, future)
        return complete(loop, future)

    return run_until_complete


def inline_run_in_executor(original: Callable[..., Any]) -> Callable[..., Any]:
    """A loop class's `run_in_executor` that runs a worker's functions at once, whatever executor is named.

    The emulator's own executors are used. Source: the runtime's event loop, which ignores the executor.
    """

    @functools.wraps(original)
    def run_in_executor(self: Any, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        # Name resolution belongs to the loop's own sockets and must not hold it.
        resolving = getattr(func, "__module__", None) == "socket"
        loop = worker_loop()
        if resolving or loop is None or loop is not self or _is_own(executor):
            return original(self, executor, func, *args)
        return run_inline(loop, func, *args)

    return run_in_executor


def _is_own(executor: Any) -> bool:
    return getattr(executor, "_thread_name_prefix", "").startswith(OWN_THREADS)


class BorrowedLoop(asyncio.AbstractEventLoop):
    """Forwards everything to the running loop; closing it closes nothing."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._closed = False

    def run_until_complete(self, future: Any) -> Any:
        return complete(self._loop, future)

    def close(self) -> None:
        self._closed = True

    def is_closed(self) -> bool:
        return self._closed

    async def shutdown_asyncgens(self) -> None:
        """The generators of other code on the running loop are not this worker's to end."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """There is no executor."""

    def set_task_factory(self, factory: Any) -> None:
        raise RuntimeError(
            "a worker cannot set the task factory: it shares the event loop with other workers"
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


def _forward(name: str) -> Callable[..., Any]:
    @functools.wraps(getattr(asyncio.AbstractEventLoop, name))
    def method(self: BorrowedLoop, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._loop, name)(*args, **kwargs)

    return method


for _name, _value in vars(asyncio.AbstractEventLoop).items():
    if callable(_value) and not _name.startswith("__") and _name not in vars(BorrowedLoop):
        setattr(BorrowedLoop, _name, _forward(_name))
