"""The body that requests and responses have in common: what it may be made of and how it is read.

A body is known content (text or bytes), a native source that is read on demand, or a stream. A stream object is only
made when somebody asks for ``.body``.

Source: https://fetch.spec.whatwg.org/#body-mixin and workerd ``api/http.c++``.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeAlias

from . import semantics
from .buffer import ArrayBuffer, Uint8Array, as_bytes
from .byte_sources import ContentSource
from .error import TypeError_
from .headers import Headers
from .mime import MediaType
from .promise import JsPromise, resolved, start
from .python_buffers import is_python_buffer, warn_of_buffer
from .readable import ReadableStream
from .readable_controller import SourceController
from .readers import ReadableStreamDefaultReader, collect
from .value import JsInstance, JsProxy, is_nullish, js_class_name
from .webidl import encode_text, null, text

__all__ = ["BODY_LIMIT", "BODY_USED", "Body", "BodySource", "Content", "decode_text", "extract"]

BODY_USED: Final = "Body has already been used. It can only be used once. Use tee() first if you need to read it twice."

#: The most bytes that a body reader collects in memory: a worker has no more.
BODY_LIMIT: Final = 128 * 1024 * 1024

_TEXT_TYPE: Final = "text/plain;charset=UTF-8"
_FORM_TYPE: Final = "application/x-www-form-urlencoded;charset=UTF-8"

Content: TypeAlias = str | bytes | memoryview
Octets: TypeAlias = bytes | memoryview


class BodySource(Protocol):
    """Body bytes that come from elsewhere, such as a connection.

    ``read`` gives the next chunk and ``b""`` at the end, and raises when the other side went away; ``length`` is the
    number of bytes in all, None when unknown. A source may also have ``async def cancel(reason)``.
    """

    length: int | None

    async def read(self) -> bytes: ...


def decode_text(data: bytes | memoryview) -> str:
    """UTF-8 as bodies are decoded: bad sequences become U+FFFD.

    A leading byte order mark is dropped, at the newer compatibility dates.
    """
    string = str(data, "utf-8", "replace")
    if string[:1] == "\ufeff" and not semantics.current().keeps_byte_order_mark:
        return string[1:]
    return string


def extract(init: Any) -> tuple[Content | ReadableStream, str | None]:
    """The body and its default content type for a value given as a body.

    Buffers are copied, unless they are immutable. Raises: TypeError for a stream that was read before.
    """
    if type(init) is str:
        return init, _TEXT_TYPE
    if isinstance(init, bytes):
        return init, None
    data = as_bytes(init)
    if data is not None:
        return data if type(data) is bytes else bytes(data), None
    if isinstance(init, ReadableStream):
        if init._disturbed:
            raise TypeError_(
                "This ReadableStream is disturbed (has already been read from), and cannot be used as a body."
            )
        if init._reader is not None:
            raise TypeError_("This ReadableStream is currently locked to a reader.")
        return init, None
    if isinstance(init, JsProxy):
        given: Any = init
        match js_class_name(init):
            case "Blob" | "File":
                return given._data, given.type or None
            case "FormData":
                return given._encode()  # type: ignore[no-any-return]
            case "URLSearchParams":
                return given.toString(), _FORM_TYPE
    if hasattr(init, "__aiter__"):
        return ReadableStream.from_(init), None
    return text(init), _TEXT_TYPE


class Body(JsInstance, js_name="Body"):
    """What ``Request`` and ``Response`` share."""

    _content: Content | None = None
    _source: BodySource | None = None
    _stream: ReadableStream | None = None
    _used: bool = False

    headers: Headers

    def _set_body(self, init: Any) -> str | None:
        """Take a value as the body; gives the content type that goes with it."""
        if is_python_buffer(init):
            warn_of_buffer(init, f"the body of a {js_class_name(self)}")
            init = text(init)
        body, content_type = extract(init)
        if isinstance(body, ReadableStream):
            self._stream = body
        else:
            self._content = body
        return content_type

    def _has_body(self) -> bool:
        return self._content is not None or self._source is not None or self._stream is not None

    def _move_body(self, other: Body) -> None:
        """Take over another one's body, which is used up by that. Raises: TypeError when it was used before."""
        if not other._has_body():
            return
        if other.bodyUsed:
            raise TypeError_(BODY_USED)
        self._content, self._source, self._stream = other._content, other._source, other._stream
        other._used = True

    @property
    def body(self) -> Any:
        """The content as a ReadableStream, null when there is none. Nothing is read before the stream is."""
        stream = self._stream
        if stream is None:
            if self._content is not None:
                stream = ReadableStream.from_bytes(_encoded(self._content))
            elif self._source is not None:
                stream = ReadableStream.from_source(self._source)
            else:
                return null()
            if self._used:
                stream._disturbed = True
                stream._state = "closed"
                _lock(stream)
            else:
                self._content = self._source = None
            self._stream = stream
        return stream

    @property
    def bodyUsed(self) -> bool:
        """Whether anything of the body was read or cancelled."""
        if self._used:
            return True
        return self._stream is not None and self._stream._disturbed

    def _known_length(self) -> int | None:
        """The number of bytes in the body, None when it is not known beforehand."""
        if self._content is not None:
            return len(_encoded(self._content))
        if self._source is not None:
            return self._source.length
        return 0 if self._stream is None else self._stream.known_length

    def _check_unused(self) -> None:
        if self._used or (self._stream is not None and self._stream._disturbed):
            raise TypeError_(BODY_USED)

    async def read_all(self) -> Octets:
        """The whole body, which is used up by that.

        Raises: TypeError when it was used before, holds no bytes or passes 128 MiB; what the source failed with.
        """
        self._check_unused()
        content = self._content
        if content is not None:
            self._used = True
            return _encoded(content)
        if self._source is not None:
            self._used = True
            return await _drain(self._source)
        stream = self._stream
        if stream is None:
            return b""
        controller = stream._controller
        if (
            isinstance(controller, SourceController)
            and stream._reader is None
            and not controller._reading
        ):
            stream._disturbed = True
            _lock(stream)
            data = await _drain(controller.source)
            stream._close()
            return data
        return await collect(stream)

    def text(self, *_: Any, **__: Any) -> JsPromise:
        """A promise of the body as text."""
        content = self._content
        if type(content) is str and not self._used and content.isascii():
            self._used = True
            return resolved(content)
        return start(self._text())

    async def _text(self) -> str:
        return decode_text(await self.read_all())

    def json(self, *_: Any, **__: Any) -> JsPromise:
        """A promise of the body parsed as JSON. Rejects: SyntaxError."""
        return start(self._json())

    async def _json(self) -> Any:
        from .json import JSON

        return JSON.parse(decode_text(await self.read_all()))

    def arrayBuffer(self, *_: Any, **__: Any) -> JsPromise:
        """A promise of the body as an ArrayBuffer."""
        return start(self._array_buffer())

    async def _array_buffer(self) -> Any:
        data = await self.read_all()
        return ArrayBuffer.adopt(data if type(data) is bytes else bytes(data))

    def bytes(self, *_: Any, **__: Any) -> JsPromise:
        """A promise of the body as a Uint8Array."""
        return start(self._bytes())

    async def _bytes(self) -> Any:
        return Uint8Array.from_bytes(await self.read_all())

    def blob(self) -> JsPromise:
        """A promise of the body as a Blob whose type is the content type."""
        return start(self._blob())

    async def _blob(self) -> Any:
        from .blob import Blob

        data = await self.read_all()
        media = MediaType.of_header(self.headers.lookup("content-type") or "")
        return Blob.of(data, "" if media is None else str(media))

    def formData(self) -> JsPromise:
        """A promise of the body parsed as a form. Rejects: TypeError for another content type or a broken body."""
        return start(self._form_data())

    async def _form_data(self) -> Any:
        from .formdata import FormData

        self._check_unused()
        content_type = self.headers.lookup("content-type")
        if content_type is None:
            raise TypeError_("Parsing a Body as FormData requires a Content-Type header.")
        return FormData.parse(await self.read_all(), content_type)

    def _clone_body_into(self, copy: Body) -> None:
        """Give another one the same body: known content is shared, anything else is split."""
        if self.bodyUsed:
            # Cut off in production, too.
            raise TypeError_("This ReadableStream is currently locked to a reader,")
        if self._content is not None:
            copy._content = self._content
            return
        if self._source is None and self._stream is None:
            return
        from .tee import tee

        self._stream, copy._stream = tee(self.body)


def _lock(stream: ReadableStream) -> None:
    """Leave a stream to the body reader that takes it all, which never lets go of it."""
    ReadableStreamDefaultReader._make(stream)


def _encoded(content: Content) -> bytes | memoryview:
    return encode_text(content) if isinstance(content, str) else content


async def _drain(source: BodySource) -> bytes | memoryview:
    if isinstance(source, ContentSource):
        return await source.read()  # type: ignore[no-any-return]
    length = source.length
    if length is not None and length > BODY_LIMIT:
        raise TypeError_("Memory limit would be exceeded before EOF.")
    chunks: list[bytes] = []
    size = 0
    while size != length:
        chunk = await source.read()
        if not chunk:
            break
        size += len(chunk)
        if size > BODY_LIMIT:
            raise TypeError_("Memory limit exceeded before EOF.")
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def is_absent(body: Any) -> bool:
    """Whether a body argument stands for "no body"."""
    return body is None or is_nullish(body)
