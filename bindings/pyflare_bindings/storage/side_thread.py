"""One thread that works while its caller works too, each on a processor of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from .threads import Threads

T = TypeVar("T")


class SideThread:
    """A thread, started at first use, for jobs during which the caller computes on.

    In: `name`, as the thread is called in a debugger. To be used by one thread at a time.

    A job is kept off the processor on which the caller runs, where the system can do that (Linux):
    a virtual machine's kernel takes a processor that has nothing to do for one that its host has
    taken away, and wakes the thread on the caller's, where it waits until the caller is done.
    """

    __slots__ = ("_executor", "_last", "_thread_id")

    def __init__(self, name: str) -> None:
        self._executor = Threads(1, thread_name_prefix=name, initializer=self._note_thread)
        self._thread_id = 0
        self._last: Future[Any] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether a job would begin at once."""
        return self._last is None or self._last.done()

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Begin a job; the caller should go on computing, not wait for it.

        Raises NoThreadError when the system allows no further thread.
        """
        if self._thread_id:
            _keep_off_this_processor(self._thread_id)
        future = self._executor.submit(job)
        self._last = future
        return future

    def may_run_anywhere(self) -> None:
        """The caller computes no more: the job that is under way may have its processor too."""
        if self._thread_id and not self.is_idle:
            _let_run_anywhere(self._thread_id)

    def close(self) -> None:
        """Wait for the jobs and end the thread. Idempotent."""
        self._executor.shutdown()

    def _note_thread(self) -> None:
        self._thread_id = threading.get_native_id()


@cache
def _current_processor() -> Callable[[], int] | None:
    if not hasattr(os, "sched_setaffinity"):
        return None
    # Here, for most processes never come to it.
    import ctypes

    try:
        library = ctypes.PyDLL(None)
    except OSError:
        return None
    function: Callable[[], int] | None = getattr(library, "sched_getcpu", None)
    return function


def _keep_off_this_processor(thread_id: int) -> None:
    current = _current_processor()
    if current is None:
        return
    # The process may be confined to other processors at any time, hence looked up each time; what
    # is refused, as some containers do, costs speed and nothing else.
    with suppress(OSError):
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(thread_id, allowed - {current()} or allowed)


def _let_run_anywhere(thread_id: int) -> None:
    if _current_processor() is not None:
        with suppress(OSError):
            os.sched_setaffinity(thread_id, os.sched_getaffinity(0))
