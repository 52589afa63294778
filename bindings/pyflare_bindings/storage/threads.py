"""Pools of threads that do every job they take on, and never one that they refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

__all__ = ["NoThreadError", "Threads"]


class NoThreadError(RuntimeError):
    """The system allows no further thread, and the pool has none."""


class Threads(ThreadPoolExecutor):
    """A pool that makes do with the threads it has when the system allows no further ones.

    `submit` raises NoThreadError when it has none at all; the job is not done then, nor ever after.
    The pool that this one is built on raises also when another thread is there for the job, and
    leaves it in its queue, so that some thread does it later although its caller was refused.
    """

    def _adjust_thread_count(self) -> None:
        # Called by `submit`, under its lock, when the job is in the queue.
        try:
            super()._adjust_thread_count()
        except RuntimeError as error:
            if self._threads:
                return
            # Without a thread the queue has held nothing else.
            self._work_queue.get_nowait()
            raise NoThreadError("no thread can be started") from error
