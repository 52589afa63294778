"""The body of a request from this process: whatever was given, part by part as it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextvars import copy_context
from typing import Any, Protocol

import httpx

__all__ = ["SentBody", "sent_body"]


class SentBody(Protocol):
    """``ended`` says that there is no further part, and ``failure`` what the iterable has raised."""

    ended: bool
    failure: BaseException | None

    async def next(self) -> bytes | None:
        """The next part; None at the end, after a failure and once it was left."""
        ...

    def leave(self) -> None:
        """Nobody asks any more: whoever waits for a part is woken, and the iterable is ended."""
        ...

    async def close(self) -> None:
        """Leave it, and wait until the iterable has ended."""
        ...


def sent_body(stream: httpx.AsyncByteStream | httpx.SyncByteStream) -> SentBody:
    """The body that ``stream`` gives."""
    return _AtOnce(stream) if isinstance(stream, httpx.SyncByteStream) else _Awaited(stream)


class _AtOnce:
    """Bytes, files, plain iterables: nobody waits for a part."""

    __slots__ = ("_parts", "ended", "failure")

    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._parts = iter(stream)
        self.ended = False
        self.failure: BaseException | None = None

    async def next(self) -> bytes | None:
        try:
            part = next(self._parts, None)
            self.ended = part is None
            return None if part is None else _as_bytes(part)
        except BaseException as error:
            self.ended, self.failure = True, error
            return None

    def leave(self) -> None:
        self.ended = True

    async def close(self) -> None:
        self.leave()


class _Awaited:
    """An async iterable. It runs in one task, in the context of whoever gave it, whoever asks for its parts.

    So a generator can have a timeout or a task group around them.
    """

    __slots__ = (
        "_asker",
        "_context",
        "_left",
        "_part",
        "_stream",
        "_task",
        "_wanted",
        "ended",
        "failure",
    )

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream
        self._context = copy_context()
        self._task: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        self._asker: asyncio.Future[None] | None = None
        self._part: bytes | None = None
        self._left = False
        self.ended = False
        self.failure: BaseException | None = None

    async def next(self) -> bytes | None:
        if self._task is None:
            loop = asyncio.get_running_loop()
            self._task = self._context.run(loop.create_task, self._iterate())
            self._task.add_done_callback(self._wake)
        while self._part is None and not self._left and not self._task.done():
            self._wanted.set()
            self._asker = asyncio.get_running_loop().create_future()
            await self._asker
        part, self._part = self._part, None
        self.ended = part is None
        return part

    async def _iterate(self) -> None:
        parts = aiter(self._stream)
        try:
            async for part in parts:
                self._part = _as_bytes(part)
                self._wanted.clear()
                self._wake()
                await self._wanted.wait()
        except BaseException as error:
            # What it raises when it is made to end reaches nobody but the event loop's log.
            if self._left:
                raise
            self.failure = error
        finally:
            await _closed(parts)

    def _wake(self, _: object = None) -> None:
        if self._asker is not None and not self._asker.done():
            self._asker.set_result(None)

    def leave(self) -> None:
        self._left = True
        if self._task is not None:
            self._task.cancel()
        self._wake()

    async def close(self) -> None:
        self.leave()
        if self._task is not None:
            await asyncio.wait([self._task])


async def _closed(parts: AsyncIterator[bytes]) -> None:
    close = getattr(parts, "aclose", None)
    if close is not None:
        await close()


def _as_bytes(part: Any) -> bytes:
    if isinstance(part, bytes | bytearray | memoryview):
        return bytes(part)
    raise TypeError(f"the parts of a body are bytes, not {type(part).__name__}")
