"""``crypto.DigestStream``: a writable stream whose ``digest`` is that of everything written.

Source: https://developers.cloudflare.com/workers/runtime-apis/web-crypto/#constructors and workerd
``api/crypto/crypto.c++``.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from .array_buffer import ArrayBuffer, as_bytes
from .crc import Crc, crc_of
from .crypto.hashing import find_hash, milliseconds
from .crypto.off_loop import LONG, off_loop
from .crypto.parameters import HASH, read
from .error import TypeError_
from .promise import JsPromise, as_error
from .readers import reject_quietly
from .webidl import encode_text
from .writable import Sink, WritableStream

__all__ = ["DigestStream"]

_NO_BYTES: Final = (
    "DigestStream is a byte stream but received an object of "
    "non-ArrayBuffer/ArrayBufferView/string type on its writable side."
)


class DigestStream(WritableStream, js_name="DigestStream"):
    """``DigestStream.new("SHA-256")``. Takes buffers and text; ``digest`` is a promise of an ArrayBuffer.

    Besides the digests of ``crypto.subtle`` it knows ``crc32``, ``crc32c`` and ``crc64nvme``.
    """

    def __init__(self, hash: Any) -> None:
        super().__init__(Sink(self._absorb, self._finish, self._give_up))
        self._hash = hash
        self._digest = JsPromise(loop=asyncio.get_running_loop())
        self._bytes_written = 0
        self._start()

    @classmethod
    def _construct(cls, algorithm: Any = None, *_: Any) -> Any:
        """Raises: NotSupportedError for an unknown algorithm."""
        name = read(algorithm, HASH).name
        return cls._make(crc_of(name) or find_hash(name).new())

    @property
    def digest(self) -> JsPromise:
        """Fulfilled when the stream is closed, rejected when it is aborted; always the same promise."""
        return self._digest

    @property
    def bytesWritten(self) -> int:
        return self._bytes_written

    async def _absorb(self, chunk: Any, _controller: Any) -> None:
        data = encode_text(chunk) if isinstance(chunk, str) else as_bytes(chunk)
        if data is None:
            raise TypeError_(_NO_BYTES)
        state = self._hash
        update = state.update
        estimate = state.milliseconds if isinstance(state, Crc) else milliseconds
        if estimate(len(data)) < LONG:
            update(data)
        else:
            kept = bytes(data)
            await off_loop(lambda: update(kept))
        self._bytes_written += len(data)

    async def _finish(self) -> None:
        if not self._digest.done():
            self._digest.set_result(ArrayBuffer.adopt(self._hash.digest()))

    async def _give_up(self, reason: Any) -> None:
        if not self._digest.done():
            reject_quietly(self._digest, as_error(reason))
