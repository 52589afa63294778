"""Requests, responses and streams on their way to other code: copies, whose bodies are moved.

Bodies move as bytes that the receiver draws from the sender, at the receiver's pace; the sender's body is used up.
"""

from __future__ import annotations

from typing import Any

from .. import semantics
from ..abort import AbortSignal
from ..blob import Blob, File
from ..body import Body
from ..callbacks import supervise
from ..error import TypeError_
from ..headers import Headers
from ..readable import ReadableStream
from ..readers import ByteIterator
from ..request import Request
from ..response import Response
from ..structured_clone import refusal
from ..writable import Sink, WritableStream
from .host import current_host

__all__ = [
    "copy_platform_object",
    "copy_request",
    "copy_response",
    "cut",
    "detach_body",
    "is_open",
    "lend_body",
    "move_body",
]

_LOCKED_READABLE = "The ReadableStream has been locked to a reader."
_LOCKED_WRITABLE = "The WritableStream has been locked to a writer."


def copy_platform_object(value: Any) -> Any:
    """What a Web API object arrives as; None for one that cannot be sent.

    Raises: TypeError for a locked stream or a used body, DataCloneError for something in it that cannot be sent.
    """
    match value:
        case Headers():
            return value.copy(immutable=value._immutable)
        case Request():
            return copy_request(value)
        case Response():
            return copy_response(value)
        case File():
            # Being a blob does not make it one that can be sent.
            return None
        case Blob():
            return Blob.of(value._data, value.type)
        case ReadableStream():
            return _moved_stream(value)
        case WritableStream():
            return _moved_writable(value)
        case AbortSignal():
            return _following(value) if semantics.current().sends_abort_signals else None
    return None


def is_open(copy: Any) -> bool:
    """Whether a copy leaves its sender waiting for the receiver."""
    if isinstance(copy, Body):
        return copy._source is not None
    return isinstance(copy, ReadableStream | WritableStream)


def cut(copy: Any, reason: Any) -> None:
    """The receiver of such a copy is over: the sender, who still writes or reads, is told by ``reason``."""
    if isinstance(copy, WritableStream):
        supervise(copy._abort(reason))
        return
    stream = copy._stream if isinstance(copy, Body) else copy
    source = copy._source if stream is None else getattr(stream._controller, "source", None)
    cancel = getattr(source, "cancel", None)
    if cancel is not None:
        supervise(cancel(reason))


def copy_request(request: Request) -> Request:
    """Raises: TypeError when the body was used before, DataCloneError when the request was made with a signal."""
    copy: Request = object.__new__(Request)
    copy._copy_properties(request)
    signal = request._signal
    if signal is not None:
        if signal.is_the_clients:
            copy._signal = None
        elif semantics.current().sends_abort_signals:
            copy._signal = _following(signal)
        else:
            raise refusal(signal)
    _lend_body(request, copy)
    return copy


def copy_response(response: Response) -> Response:
    """Raises: TypeError when the body was used before, DataCloneError when the response has a WebSocket."""
    if response._web_socket is not None:
        raise refusal(response._web_socket)
    copy: Response = object.__new__(Response)
    copy._copy_properties(response)
    _lend_body(response, copy)
    return copy


def _lend_body(sender: Body, receiver: Body) -> None:
    move_body(sender, receiver)
    if receiver._source is not None:
        receiver._source = current_host().lend(receiver._source)


def lend_body(body: Body) -> None:
    """Turn a body of the running code into one for others. Raises: as :func:`detach_body`."""
    if body._stream is not None:
        detach_body(body)
    if body._source is not None:
        body._source = current_host().lend(body._source)


def move_body(sender: Body, receiver: Body) -> None:
    """Give the receiver the body, which the sender has no more. Raises: TypeError when it was used before."""
    content = sender._content
    if content is not None:
        sender._check_unused()
        receiver._content = content
        sender._used = True
        return
    if sender._source is None and sender._stream is None:
        return
    sender._check_unused()
    if sender._source is not None:
        receiver._source = sender._source
    else:
        _take_stream(sender, receiver)
    sender._used = True


def detach_body(body: Body) -> None:
    """Turn a stream, which is somebody's code, into a source that anybody may read.

    Raises: TypeError for a stream that was read before or is locked.
    """
    body._check_unused()
    _take_stream(body, body)
    body._stream = None


def _take_stream(sender: Body, receiver: Body) -> None:
    stream = sender._stream
    assert stream is not None
    if stream._reader is not None:
        raise TypeError_(_LOCKED_READABLE)
    known = stream.unread_content()
    if known is not None:
        stream._disturbed = True
        stream._state = "closed"
        receiver._content = known
    else:
        receiver._source = MovedStream(stream)


def _moved_stream(stream: ReadableStream) -> ReadableStream:
    if stream._reader is not None:
        raise TypeError_(_LOCKED_READABLE)
    return ReadableStream.from_source(current_host().lend(MovedStream(stream)))


class MovedStream:
    """The rest of a stream as a source of bytes. What the sender's code does for it runs as the sender's."""

    __slots__ = ("_chunks", "length")

    def __init__(self, stream: ReadableStream) -> None:
        self._chunks = ByteIterator(stream)
        self.length = self._chunks.length

    async def read(self) -> bytes:
        """The next chunk, ``b""`` at the end. Raises: what the stream fails with, as it crosses."""
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            return b""
        except Exception as error:
            from .errors import crossing

            failure = crossing(error)
        else:
            return chunk if type(chunk) is bytes else bytes(chunk)
        raise failure

    async def cancel(self, reason: Any) -> None:
        """The receiver wants no more."""
        await self._chunks.aclose(reason)


def _moved_writable(stream: WritableStream) -> WritableStream:
    if stream._writer is not None:
        raise TypeError_(_LOCKED_WRITABLE)
    writer = stream.getWriter()
    until_end = current_host().until_end

    async def write(chunk: Any, _controller: Any) -> None:
        from ..structured_clone import structured_clone

        await until_end(writer.write(structured_clone(chunk)))

    async def close() -> None:
        await until_end(writer.close())

    async def abort(reason: Any) -> None:
        await until_end(writer.abort(reason))

    moved: WritableStream = WritableStream._make(Sink(write, close, abort))
    moved._start()
    return moved


def _following(signal: AbortSignal) -> AbortSignal:
    """A signal that is aborted when another one is, with a copy of its reason."""
    from ..structured_clone import structured_clone

    made = AbortSignal.fresh()
    signal.on_abort(lambda: made.signal_abort(structured_clone(signal.reason)))
    return made
