"""The thread on which an owner does what may take long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVar

from .threads import NoThreadError, Threads

T = TypeVar("T")


class OwnerThread:
    """One thread, started at first use, that does one job after the other.

    In: `name`, as the thread is called in a debugger.
    """

    __slots__ = ("_executor", "_here", "_jobs", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._executor: Threads | None = None
        self._jobs: set[asyncio.Future[Any]] = set()
        # How many of them the event loop does itself.
        self._here = 0

    def run(self, job: Callable[[], T], done: Callable[[T], None]) -> None:
        """Do `job` on the thread, then call `done` with what it returned on the event loop.

        `job` must not raise; `done` is called even when nobody waits for it. Where the system
        allows no thread for it, the event loop does it itself.
        """

        def finish(future: asyncio.Future[T]) -> None:
            self._jobs.discard(work)
            done(future.result())

        if self._executor is None:
            self._executor = Threads(1, thread_name_prefix=f"pyflare-{self._name}")
        work: asyncio.Future[T] = self._run_here(job) if self._here else self._begin(job)
        self._jobs.add(work)
        work.add_done_callback(finish)

    def _begin(self, job: Callable[[], T]) -> asyncio.Future[T]:
        try:
            return asyncio.get_running_loop().run_in_executor(self._executor, job)
        except NoThreadError:
            return self._run_here(job)

    def _run_here(self, job: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        work: asyncio.Future[T] = loop.create_future()

        def do() -> None:
            self._here -= 1
            try:
                work.set_result(job())
            except Exception as error:
                work.set_exception(error)

        # Not at once: whoever asks may be in the midst of a statement.
        self._here += 1
        loop.call_soon(do, context=Context())
        return work

    async def drain(self, grace: float, interrupt: Callable[[], None]) -> None:
        """Wait for the jobs at hand; after `grace` seconds call `interrupt` and wait on."""
        if self._jobs:
            _, pending = await asyncio.wait(set(self._jobs), timeout=grace)
            if pending:
                interrupt()
        while self._jobs:
            await asyncio.wait(set(self._jobs))

    async def finish(self, last_job: Callable[[], None]) -> None:
        """Do one last job and end the thread. Raises what the job raises."""
        if self._executor is None:
            last_job()
            return
        executor, self._executor = self._executor, None
        try:
            await asyncio.get_running_loop().run_in_executor(executor, last_job)
        except NoThreadError:
            last_job()
        finally:
            executor.shutdown()
