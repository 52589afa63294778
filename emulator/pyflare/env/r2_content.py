"""Values that workers give to ``put`` and ``uploadPart``, and contents on their way back as bodies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from pyflare.js.body import Body
from pyflare.js.buffer import as_bytes
from pyflare.js.error import TypeError_
from pyflare.js.headers import Headers
from pyflare.js.readable import ReadableStream
from pyflare.js.readers import ByteIterator
from pyflare.js.value import JsProxy, is_nullish, js_class_name
from pyflare.js.webidl import encode_text
from pyflare_bindings.r2.bodies import Body as OwnerBody
from pyflare_bindings.storage.errors import ClosedError, StateError

from .conversion import MISMATCH, Type
from .r2_errors import storage_failure
from .streams import check_unread

__all__ = ["CONTENT", "PART_CONTENT", "GivenContent", "ObjectContent"]

_UNKNOWN_LENGTH = (
    "Provided readable stream must have a known length (request/response body or readable half of "
    "FixedLengthStream)"
)
# Up to here a content that is read as a whole is read at once rather than in chunks.
_WHOLE_BYTES = 1024 * 1024


def _content_kind(value: Any) -> Any:
    if isinstance(value, str | ReadableStream) or is_nullish(value):
        return value
    # Python's own buffers are proxies to JavaScript, and no content, unless `to_js` has converted them.
    if isinstance(value, JsProxy) and (
        as_bytes(value) is not None or js_class_name(value) in ("Blob", "File")
    ):
        return value
    return MISMATCH


_KINDS: Final = "JsReadableStream or ArrayBuffer or ArrayBufferView or string or Blob"

#: The value of ``put``: content, or null and undefined for no bytes.
CONTENT: Final = Type(_KINDS, _content_kind)
#: The value of ``uploadPart``, which has to be content.
PART_CONTENT: Final = Type(
    _KINDS, lambda value: MISMATCH if is_nullish(value) else _content_kind(value)
)


class GivenContent:
    """A worker's value of a right type: ``content`` for the owner and its ``length`` in bytes.

    Raises: TypeError for a stream of unknown length, for one that is in use, and for a body that has been read.
    """

    __slots__ = ("_stream", "content", "length")

    content: bytes | _Chunks

    def __init__(self, value: Any) -> None:
        self._stream: ByteIterator | None = None
        if isinstance(value, ReadableStream):
            if value.known_length is None:
                raise TypeError_(_UNKNOWN_LENGTH)
            check_unread(value)
            self.length = value.known_length
            self._stream = value.iterate_bytes()
            self.content = _Chunks(self._stream)
            return
        self.content = _bytes_of(value)
        self.length = len(self.content)

    async def close(self) -> None:
        """Cancel the stream, if it has not been read to its end."""
        if self._stream is not None:
            await self._stream.aclose()


def _bytes_of(value: Any) -> bytes:
    if is_nullish(value):
        return b""
    if isinstance(value, str):
        return encode_text(value)
    data = as_bytes(value)
    if data is None:
        data = value._data
    # A copy, for the worker may change its buffer while the content is being stored.
    return data if type(data) is bytes else bytes(data)


class _Chunks:
    """A worker's stream as immutable chunks."""

    __slots__ = ("_stream",)

    def __init__(self, stream: ByteIterator) -> None:
        self._stream = stream

    def __aiter__(self) -> _Chunks:
        return self

    async def __anext__(self) -> bytes:
        chunk = await anext(self._stream)
        return chunk if type(chunk) is bytes else bytes(chunk)


class _Source:
    """The content of an object as a native source of a stream."""

    __slots__ = ("_body", "_chunks", "length")

    def __init__(self, body: OwnerBody) -> None:
        self._body: OwnerBody | None = body
        self._chunks: AsyncIterator[bytes | memoryview] | None = None
        self.length: int | None = body.size

    async def read(self) -> Any:
        try:
            return await self._read()
        except (StateError, ClosedError) as error:
            raise storage_failure("get", error) from None

    async def _read(self) -> Any:
        body = self._body
        if body is not None:
            self._body = None
            if body.size <= _WHOLE_BYTES:
                return await body.read()
            self._chunks = body.chunks()
        if self._chunks is None:
            return b""
        async for chunk in self._chunks:
            return chunk
        self._chunks = None
        return b""

    async def cancel(self, _reason: Any) -> None:
        body, self._body = self._body, None
        if body is not None:
            body.close()
        chunks, self._chunks = self._chunks, None
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


class ObjectContent(Body, js_name="Body"):
    """The content of an object, to be read once, in whichever form."""

    def __init__(self, body: OwnerBody, content_type: str | None) -> None:
        content = body.content
        if content is not None:
            self._content = content
        else:
            self._source = _Source(body)
        self._content_type = content_type

    @property
    def headers(self) -> Headers:  # type: ignore[override]
        """What ``blob`` takes its type from."""
        headers = Headers.empty()
        if self._content_type is not None:
            headers.set("content-type", self._content_type)
        return headers
