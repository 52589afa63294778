"""Handing each written chunk straight to one read: transform streams that change nothing.

A write is over when a read has taken its chunk, so the producer runs at the consumer's pace and nothing is held.

Source: https://developers.cloudflare.com/workers/runtime-apis/streams/transformstream/
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from .buffer import Uint8Array
from .error import TypeError_
from .python_buffers import javascript_bytes
from .readable_controller import DONE, chunk_bytes, raise_error

if TYPE_CHECKING:
    from .readable import ReadableStream
    from .writable import WritableStream

__all__ = ["ByteRendezvous", "FixedLengthRendezvous", "Rendezvous"]


class Rendezvous:
    """The controller of the readable side and the sink of the writable side in one."""

    byte_stream = False
    writable: WritableStream

    def __init__(self, stream: ReadableStream) -> None:
        self._stream = stream
        self._offers: deque[tuple[Any, asyncio.Future[None]]] = deque()
        self._wanted: deque[asyncio.Future[Any]] = deque()

    async def write(self, chunk: Any, _controller: Any) -> None:
        """Wait until a read takes the chunk."""
        while self._wanted:
            wanted = self._wanted.popleft()
            if not wanted.done():
                wanted.set_result(chunk)
                return
        if self._stream._state != "readable":
            self._refuse()
        taken = asyncio.get_running_loop().create_future()
        self._offers.append((chunk, taken))
        await taken

    def _refuse(self) -> None:
        if self._stream._state == "errored":
            raise_error(self._stream._error)
        raise TypeError_("The readable side of this TransformStream is no longer readable.")

    async def close(self) -> None:
        self._stream._close()
        while self._wanted:
            wanted = self._wanted.popleft()
            if not wanted.done():
                wanted.set_result(DONE)

    async def abort(self, reason: Any) -> None:
        """The producer gave up: the reader sees its reason."""
        self.fail(reason)

    def fail(self, reason: Any) -> None:
        """Fail the readable side."""
        from .promise import as_error

        self._stream._fail(reason)
        error = as_error(reason)
        while self._wanted:
            wanted = self._wanted.popleft()
            if not wanted.done():
                wanted.set_exception(error)
        self._drop_offers(error)

    def _drop_offers(self, error: BaseException) -> None:
        while self._offers:
            _, taken = self._offers.popleft()
            if not taken.done():
                taken.set_exception(error)

    async def read(self) -> Any:
        while self._offers:
            chunk, taken = self._offers.popleft()
            if not taken.done():
                taken.set_result(None)
                return chunk
        state = self._stream._state
        if state != "readable":
            return DONE if state == "closed" else raise_error(self._stream._error)
        wanted = asyncio.get_running_loop().create_future()
        self._wanted.append(wanted)
        try:
            return await wanted
        except asyncio.CancelledError:
            # The chunk came in the same turn in which the reader gave up waiting: it goes to the next one.
            if wanted.done() and not wanted.cancelled() and wanted.exception() is None:
                chunk = wanted.result()
                if chunk is not DONE:
                    self._offers.appendleft((chunk, asyncio.get_running_loop().create_future()))
            raise

    async def read_bytes(self) -> Any:
        chunk = await self.read()
        if chunk is DONE:
            return DONE
        try:
            return chunk_bytes(chunk, strict=self._stream._collected)
        except TypeError_ as error:
            self.fail(error)
            self.writable._error_if_writable(error)
            raise

    async def cancel(self, reason: Any) -> None:
        """The consumer gave up: the producer sees its reason."""
        while self._wanted:
            wanted = self._wanted.popleft()
            if not wanted.done():
                wanted.set_result(DONE)
        from .promise import as_error

        self.writable._error_if_writable(reason)
        self._drop_offers(as_error(reason))

    def release(self, error: BaseException) -> None:
        while self._wanted:
            wanted = self._wanted.popleft()
            if not wanted.done():
                wanted.set_exception(error)


class ByteRendezvous(Rendezvous):
    """Carries bytes only: chunks are read as Uint8Array whatever buffer was written."""

    byte_stream = True

    async def write(self, chunk: Any, controller: Any) -> None:
        data = self._data(chunk)
        if data:
            await super().write(data, controller)

    def _data(self, chunk: Any) -> bytes:
        if isinstance(chunk, str):
            # Text is taken as UTF-8, an extension of the runtime.
            from .webidl import encode_text

            return encode_text(chunk)
        data = javascript_bytes(chunk, "a byte stream")
        if data is None:
            raise TypeError_(
                "This TransformStream is being used as a byte stream, but received an object of "
                "non-ArrayBuffer/ArrayBufferView type on its writable side."
            )
        return data if type(data) is bytes else bytes(data)

    async def read(self) -> Any:
        data = await super().read()
        if data is DONE:
            return DONE
        return Uint8Array.from_bytes(data)

    async def read_bytes(self) -> Any:
        return await Rendezvous.read(self)


class FixedLengthRendezvous(ByteRendezvous):
    """Bytes of a length promised beforehand; more fail both sides, fewer the reader."""

    def __init__(self, stream: ReadableStream, length: int) -> None:
        super().__init__(stream)
        self._left = length

    async def write(self, chunk: Any, controller: Any) -> None:
        data = self._data(chunk)
        if len(data) > self._left:
            error = TypeError_("Attempt to write too many bytes through a FixedLengthStream.")
            self.fail(error)
            raise error
        self._left -= len(data)
        if data:
            await Rendezvous.write(self, data, controller)

    async def close(self) -> None:
        if self._left:
            # The reader is told, and not who closes it.
            self.fail(
                TypeError_("FixedLengthStream did not see all expected bytes before close().")
            )
            return
        await super().close()
