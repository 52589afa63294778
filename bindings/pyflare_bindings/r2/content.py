"""Taking in content: small content into memory for its row, large content into a blob."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType

from ..storage.blobs import BlobStore, BlobWriter
from .checksums import digests_of
from .errors import incomplete_body, too_large
from .limits import Limits
from .values import Content


@dataclass(frozen=True, slots=True)
class Received:
    """Content that has been taken in; either `in_row` or `blob` has it."""

    size: int
    digests: Mapping[str, bytes]
    in_row: bytes | memoryview | None
    blob: str | None


class Intake(AbstractAsyncContextManager["Intake"]):
    """Takes in one content, which is removed again unless it is kept.

    async with Intake(store, limits) as intake:
        received = await intake.take(content, length, ["md5"])
        intake.keep()
    """

    __slots__ = ("_kept", "_limits", "_store", "_writer")

    def __init__(self, store: BlobStore, limits: Limits) -> None:
        self._store = store
        self._limits = limits
        self._writer: BlobWriter | None = None
        self._kept = False

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer is None or self._kept:
            return
        if kind is GeneratorExit:
            self._writer.discard_soon()
            return
        removal = self._writer.discard()
        if removal is not None and not isinstance(error, asyncio.CancelledError):
            # So that the space is free again when the caller hears of the failure.
            await asyncio.shield(asyncio.wrap_future(removal))

    async def take(
        self, content: Content, length: int | None, hashes: Iterable[str], *, in_row: bool
    ) -> Received:
        """Take all of it in; durable on return when it is in a blob.

        In: `length` in bytes, as declared, None when nobody knows; `in_row`, whether small content
        may stay in memory. Raises R2Error 10013 when the stream has another length and 100100 when
        it passes the limit, StateError, and what the stream raises.
        """
        if isinstance(content, bytes | memoryview):
            length = len(content)
        if in_row and length is not None and length <= self._limits.in_row:
            if not isinstance(content, bytes | memoryview):
                content = await self._gather(content, length)
            return Received(length, digests_of(content, hashes), content, None)
        self._writer = writer = self._store.writer(hashes)
        if isinstance(content, bytes | memoryview):
            blob = await writer.commit(content)
        else:
            await self._receive(content, length, writer)
            blob = await writer.commit()
        return Received(blob.size, blob.digests, None, blob.id)

    def keep(self) -> None:
        """A committed row refers to it now."""
        self._kept = True

    async def _receive(
        self, chunks: AsyncIterable[bytes | memoryview], length: int | None, writer: BlobWriter
    ) -> None:
        most = self._limits.upload if length is None else length
        async for chunk in chunks:
            if writer.size + len(chunk) > most:
                if length is None:
                    raise too_large()
                raise incomplete_body(length, writer.size + len(chunk))
            await writer.write(chunk)
        if length is not None and writer.size != length:
            raise incomplete_body(length, writer.size)

    async def _gather(self, chunks: AsyncIterable[bytes | memoryview], length: int) -> bytes:
        parts = []
        size = 0
        async for chunk in chunks:
            size += len(chunk)
            if size > length:
                raise incomplete_body(length, size)
            parts.append(bytes(chunk))
        if size != length:
            raise incomplete_body(length, size)
        return parts[0] if len(parts) == 1 else b"".join(parts)
