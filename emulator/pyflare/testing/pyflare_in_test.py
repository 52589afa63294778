"""A Pyflare for one test: made with the test's settings, started on the test's loop or one of its own, and looked after
at the end."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import httpx

from pyflare.embed import MEMORY, Pyflare

from .beside import Exit, Values, of_pyflare
from .blocking import Blocking, blocking, plain
from .log import RecordingLog, UncaughtError
from .printed import keeping_prints
from .traceback_cut import without_machinery

__all__ = ["BackgroundErrors", "BlockingPyflare", "outbox_of", "running", "running_blocked"]

#: Seconds that background work gets when a test is over, after it was waited for.
_GRACE: Final = 0.2


class BackgroundErrors(ExceptionGroup[Exception]):
    """What failed in background work of a worker, where no caller could see it."""

    @classmethod
    def of(cls, errors: list[UncaughtError]) -> BackgroundErrors:
        """In: exceptions that were logged."""
        places = ", ".join(sorted({f"{each.worker}: {each.where}" for each in errors}))
        found = [each.error for each in errors if isinstance(each.error, Exception)]
        return cls(
            f"background work failed ({places}); pyflare_logs.clear() after a test has looked at it",
            found,
        )


def _make(options: Mapping[str, Any]) -> Pyflare:
    flare = Pyflare(**{"persist_to": MEMORY, "log": RecordingLog(), **options})
    flare._outbound = Exit(flare._outbound)
    flare.share_imports()
    return flare


@asynccontextmanager
async def running(options: Mapping[str, Any]) -> AsyncIterator[Pyflare]:
    """A started Pyflare on the running loop; ``options`` are its arguments.

    At the end background work is waited for. Raises BackgroundErrors for what failed in it.
    """
    flare = _make(options)
    with _prints_kept(flare):
        await flare.start()
        try:
            yield flare
        finally:
            await _end(flare)
    _check(flare)


def _prints_kept(flare: Pyflare) -> AbstractContextManager[None]:
    log = flare.log
    if not isinstance(log, RecordingLog):
        return nullcontext()
    loaded = flare._runtime.workers
    return keeping_prints(log, lambda scope: any(each.scope is scope for each in loaded))


def _check(flare: Pyflare) -> None:
    log = flare.log
    if isinstance(log, RecordingLog):
        failed = [each for each in log.errors if each.where.endswith("waitUntil")]
        if failed:
            raise without_machinery(BackgroundErrors.of(failed))


@contextmanager
def running_blocked(options: Mapping[str, Any]) -> Iterator[BlockingPyflare]:
    """The same for code without ``await``, on a loop of its own, which runs only while something is waited for."""
    flare = _make(options)
    with _prints_kept(flare), asyncio.Runner(loop_factory=flare.loop_factory) as runner:
        runner.run(flare.start())
        # All that is run there shares one context.
        runner.run(_set(of_pyflare(flare)))
        try:
            yield BlockingPyflare(flare, runner)
        finally:
            runner.run(_end(flare))
    _check(flare)


async def _set(values: Values) -> None:
    for variable, value in values.items():
        variable.set(value)


async def _end(flare: Pyflare) -> None:
    await flare.settle()
    await flare.close(grace=_GRACE)


class BlockingPyflare:
    """The methods of :class:`pyflare.Pyflare` for tests without ``await``: each waits for its result.

    What it gives of the emulator, such as ``env()``, waits in the same way. :meth:`run` takes anything awaitable.
    All of it belongs to the thread that made it: elsewhere whatever waits raises RuntimeError.
    """

    def __init__(self, flare: Pyflare, runner: asyncio.Runner) -> None:
        self.flare = flare
        self._runner = runner
        self._thread = threading.get_ident()
        # What is run so may use `run_sync`, as in a Worker.
        self._drive = flare.workers[0].drive
        self.clock = BlockingClock(self)

    def run(self, work: Awaitable[Any] | Callable[..., Any], *arguments: Any) -> Any:
        """Wait for an awaitable, or call a sync or async function on the loop and wait for its result.

        Where this object, or something of it, is an argument, the function gets what stands behind it, to be used with
        ``await``. Functions of the Workers find the Workers' caches and clock there, requests go where theirs go, and
        ``wait_until`` and ``run_sync`` work: see ``beside.py``.

        Raises RuntimeError in another thread than the test's, and in a function that is run so.
        """
        work = plain(work)
        if (why := self._why_not_here()) is not None:
            if inspect.iscoroutine(work):
                work.close()
            raise RuntimeError(why)

        async def wait() -> Any:
            result = work(*map(_with_await, arguments)) if callable(work) else work
            return await result if inspect.isawaitable(result) else result

        async def run() -> Any:
            return await self._drive(wait())

        return self._runner.run(run())

    def _why_not_here(self) -> str | None:
        # The loop stands still unless the test waits for something, so no other thread's work could be handed to it.
        if threading.get_ident() != self._thread:
            return (
                f"pyflare was called in the thread {threading.current_thread().name!r}, but without await it belongs "
                "to the thread of the test, where its event loop runs. Make the calls there; for several at a time "
                "write the test with async def, and use asyncio.gather."
            )
        if asyncio._get_running_loop() is not None:
            return (
                "pyflare without await was called in a function that runs on the event loop already. Hand it to the "
                "function, as in pyflare.run(function, pyflare): there it is the Pyflare whose methods are awaited. "
                "Or write the test with async def."
            )
        return None

    def _shown(self, work: Callable[[], Any]) -> Any:
        return blocking(self.run, self.run(work))

    @property
    def registry(self) -> Any:
        """As ``registry`` of :class:`pyflare.Pyflare`: ``flare.registry.caches().purge()`` waits."""
        return Blocking(self.run, self.flare.registry)

    @property
    def log(self) -> Any:
        """Where request lines, console output and failures were kept."""
        return self.flare.log

    def fetch(self, url: str | httpx.URL = "/", **options: Any) -> httpx.Response:
        """As :meth:`pyflare.Pyflare.fetch`.

        The whole body is read; with ``stream=True`` by ``iter_bytes()`` or ``read()``, and given up by ``close()``.
        """
        response: httpx.Response = self.run(self.flare.fetch(url, **options))
        if isinstance(response.stream, httpx.AsyncByteStream) and not response.is_closed:
            response.stream = _BlockingStream(self.run, response.stream)
        return response

    @contextmanager
    def websocket(self, url: str | httpx.URL = "/", **options: Any) -> Iterator[Any]:
        """As :meth:`pyflare.Pyflare.websocket`: ``with flare.websocket("/chat") as socket``."""
        socket = self.flare.websocket(url, **options)
        self.run(socket.__aenter__())
        try:
            yield Blocking(self.run, socket)
        finally:
            self.run(socket.close())

    def env(self, name: str | None = None) -> Any:
        """As :meth:`pyflare.Pyflare.env`: ``flare.env().KV.get("k")`` gives the value."""
        return Blocking(self.run, self.flare.env(name))

    def worker(self, name: str | None = None) -> Any:
        """As :meth:`pyflare.Pyflare.worker`."""
        return Blocking(self.run, self.flare.worker(name))

    def scheduled(self, cron: str = "", **options: Any) -> Any:
        """As :meth:`pyflare.Pyflare.scheduled`."""
        return self.run(self.flare.scheduled(cron, **options))

    def queue(self, queue: str, messages: Any, **options: Any) -> dict[str, Any]:
        """As :meth:`pyflare.Pyflare.queue`."""
        outcome: dict[str, Any] = self.run(self.flare.queue(queue, messages, **options))
        return outcome

    def email(self, raw: bytes, **options: Any) -> Any:
        """As :meth:`pyflare.Pyflare.email`."""
        return self.run(self.flare.email(raw, **options))

    def reload(self, path: str | Path) -> None:
        """As :meth:`pyflare.Pyflare.reload`."""
        self.run(self.flare.reload(path))

    def settle(self) -> None:
        """As :meth:`pyflare.Pyflare.settle`."""
        self.run(self.flare.settle())


def _with_await(value: Any) -> Any:
    return value.flare if isinstance(value, BlockingPyflare) else plain(value)


class _BlockingStream(httpx.SyncByteStream):
    """A response's body for code without ``await``: each part is waited for when it is asked for."""

    def __init__(self, run: Callable[..., Any], stream: httpx.AsyncByteStream) -> None:
        self._run = run
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        parts = aiter(self._stream)
        while (part := self._run(anext, parts, None)) is not None:
            yield part

    def close(self) -> None:
        self._run(self._stream.aclose())


def outbox_of(emulator: Pyflare | BlockingPyflare) -> Any:
    """The messages that workers have sent."""
    flare = emulator.flare if isinstance(emulator, BlockingPyflare) else emulator
    assert flare.registry is not None
    outbox = flare.registry.email()
    return Blocking(emulator.run, outbox) if isinstance(emulator, BlockingPyflare) else outbox


class BlockingClock:
    """The clock of :class:`BlockingPyflare`."""

    def __init__(self, flare: BlockingPyflare) -> None:
        self._flare = flare

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return self._flare.flare.clock.now()

    def time(self) -> float:
        """Seconds since the epoch."""
        return self._flare.flare.clock.time()

    def advance(self, seconds: float = 0, **parts: float) -> None:
        """As :meth:`pyflare.embed.turning.EmulatorClock.advance`."""
        self._run(self._flare.flare.clock.advance(seconds, **parts))

    def advance_to(self, moment: datetime) -> None:
        """As :meth:`pyflare.embed.turning.EmulatorClock.advance_to`."""
        self._run(self._flare.flare.clock.advance_to(moment))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self._flare.run(work)
