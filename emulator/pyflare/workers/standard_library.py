"""The standard library as a worker finds it in the runtime: one event loop, no threads, UTC.

Everything here acts on worker code only (`current` is set) and can be undone, so that an embedding
host gets its process back. Source: the runtime's event loop and `time.sleep` (Pyodide 0.28).
"""

from __future__ import annotations

import asyncio
import asyncio.runners
import asyncio.threads
import contextvars
import functools
import json.encoder
import os
import sys
import threading
import time
from asyncio.selector_events import BaseSelectorEventLoop
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyflare.js.callbacks import console_sink
from pyflare.js.value import jsnull
from pyflare.workers.borrowed_loop import (
    OWN_THREADS,
    BorrowedLoop,
    complete,
    inline_run_in_executor,
    waiting_run_until_complete,
    worker_loop,
)
from pyflare.workers.current import WorkerScope, current
from pyflare.workers.environ import EnvironOverlay
from pyflare.workers.exits import contained, not_by_workers
from pyflare.workers.patches import Patches
from pyflare.workers.suspend import can_run_sync, run_sync
from pyflare.workers.third_party import ThirdPartyFinder


class StandardLibrary:
    """The adaptions of this process. `install` and `uninstall` are counted: several may ask."""

    def __init__(self) -> None:
        self._users = 0
        self._patches = Patches()
        self._environ = EnvironOverlay()
        self._third_party = _Finder(self)
        self._time_zone: str | None = None

    @classmethod
    def of_process(cls) -> StandardLibrary:
        """The instance that is installed in this process, or a fresh one when there is none."""
        for finder in sys.meta_path:
            if isinstance(finder, _Finder):
                return finder.library
        return cls()

    def install(self) -> None:
        """Adapts the process for its first worker."""
        self._users += 1
        if self._users > 1:
            return
        replace = self._patches.replace
        for module in (asyncio, asyncio.runners):
            replace(module, "run", _run)
        replace(asyncio.Runner, "__enter__", _runner_enter)
        replace(asyncio.Runner, "run", _runner_run)
        replace(asyncio.Runner, "get_loop", _runner_get_loop)
        for module in (asyncio, asyncio.events):
            replace(module, "new_event_loop", _new_event_loop)
            replace(module, "set_event_loop", _set_event_loop)
        for module in (asyncio, asyncio.threads):
            replace(module, "to_thread", _to_thread)
        replace(asyncio.BaseEventLoop, "run_until_complete", waiting_run_until_complete)
        replace(asyncio.BaseEventLoop, "run_in_executor", inline_run_in_executor)
        replace(asyncio.Handle, "_run", contained)
        for loop_class in (asyncio.BaseEventLoop, BaseSelectorEventLoop):
            for name in vars(loop_class).keys() & {"stop", "close"}:
                replace(loop_class, name, not_by_workers(name))
        replace(time, "sleep", _sleep)
        for name in ("c_make_encoder", "_make_iterencode"):
            replace(json.encoder, name, _encoder_of_null)
        replace(threading.Thread, "start", _thread_start)
        replace(ThreadPoolExecutor, "submit", _submit)
        self._third_party.install()
        self._time_zone = os.environ.get("TZ")
        _set_time_zone("UTC")
        self._environ.install()

    def uninstall(self) -> None:
        """Takes back one `install`; the last one restores the process."""
        if self._users == 0:
            return
        self._users -= 1
        if self._users > 0:
            return
        self._environ.uninstall()
        _set_time_zone(self._time_zone)
        self._third_party.uninstall()
        self._patches.undo()


def install() -> None:
    """Adapts this process; each call is paired with one of `uninstall`."""
    StandardLibrary.of_process().install()


def uninstall() -> None:
    """Takes one `install` back; nothing when none is left."""
    StandardLibrary.of_process().uninstall()


class _Finder(ThirdPartyFinder):
    def __init__(self, library: StandardLibrary) -> None:
        super().__init__()
        self.library = library


def _borrowed(loop: asyncio.AbstractEventLoop) -> BorrowedLoop:
    return BorrowedLoop(loop)  # type: ignore[abstract]


def _set_time_zone(name: str | None) -> None:
    if name is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = name
    if hasattr(time, "tzset"):
        time.tzset()


def _run(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(main: Coroutine[Any, Any, Any], **options: Any) -> Any:
        loop = worker_loop()
        if loop is None:
            return original(main, **options)
        if not asyncio.iscoroutine(main):
            raise ValueError(f"a coroutine was expected, got {main!r}")
        return complete(loop, main)

    return run


def _runner_enter(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def enter(self: asyncio.Runner) -> asyncio.Runner:
        if worker_loop() is None:
            original(self)
        return self

    return enter


def _runner_run(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(
        self: Any,
        coro: Coroutine[Any, Any, Any],
        *,
        context: contextvars.Context | None = None,
    ) -> Any:
        loop = worker_loop()
        if loop is None:
            return original(self, coro, context=context)
        if not asyncio.iscoroutine(coro):
            raise ValueError(f"a coroutine was expected, got {coro!r}")
        if self._context is None:
            self._context = contextvars.copy_context()
        return complete(loop, coro, context if context is not None else self._context)

    return run


def _runner_get_loop(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_loop(self: asyncio.Runner) -> asyncio.AbstractEventLoop:
        loop = worker_loop()
        return _borrowed(loop) if loop is not None else original(self)

    return get_loop


def _new_event_loop(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def new_event_loop() -> asyncio.AbstractEventLoop:
        loop = worker_loop()
        return _borrowed(loop) if loop is not None else original()

    return new_event_loop


def _set_event_loop(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def set_event_loop(loop: asyncio.AbstractEventLoop | None) -> None:
        if worker_loop() is None:
            original(loop)

    return set_event_loop


def _to_thread(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def to_thread(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if worker_loop() is None:
            return await original(func, *args, **kwargs)
        return contextvars.copy_context().run(func, *args, **kwargs)

    return to_thread


def _sleep(original: Callable[[float], None]) -> Callable[[float], None]:
    @functools.wraps(original)
    def sleep(seconds: float, /) -> None:
        usable = isinstance(seconds, (int, float)) and seconds >= 0
        if usable and current.get() is not None and can_run_sync():
            # A loop's timer may be up to a millisecond early, which this function never is.
            until = time.monotonic() + seconds
            run_sync(asyncio.sleep(seconds))
            while (left := until - time.monotonic()) > 0:
                run_sync(asyncio.sleep(left))
        else:
            original(seconds)

    return sleep


def _encoder_of_null(original: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """The runtime's own `json` writes `jsnull` as null, whatever `default` says."""
    if original is None:
        return None

    def make(markers: Any, default: Callable[[Any], Any], *settings: Any, **named: Any) -> Any:
        def known(value: Any) -> Any:
            return None if value is jsnull else default(value)

        return original(markers, known, *settings, **named)

    return make


def _thread_start(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def start(self: Any) -> None:
        scope = current.get()
        # A signal, whose handler starts a thread, comes at any moment.
        by_emulator = sys._getframe(1).f_globals.get("__name__", "").startswith("pyflare.")
        if scope is not None and not by_emulator:
            self.run = functools.partial(contextvars.copy_context().run, self.run)
            if not self.name.startswith(OWN_THREADS):
                _warn_of_thread(scope)
        original(self)

    return start


def _warn_of_thread(scope: WorkerScope) -> None:
    isolation = scope.space.isolation
    if isolation is None or not isolation.swapping or "told of threads" in scope.data:
        return
    scope.data["told of threads"] = True
    console_sink.get()(
        "warn",
        f"The Worker {scope.name!r} starts a thread. Production has none, and beside Workers with modules "
        "of the same names an import in a thread may find another Worker's module.",
    )


def _submit(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def submit(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kw: Any) -> Any:
        if current.get() is None:
            return original(self, fn, *args, **kw)
        # The job has the worker's context; the pool's thread outlives the event and has none.
        run = contextvars.copy_context().run
        return contextvars.Context().run(original, self, run, fn, *args, **kw)

    return submit
