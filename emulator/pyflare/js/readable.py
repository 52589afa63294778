"""``ReadableStream`` and its default reader.

Source: https://streams.spec.whatwg.org/#rs-class and https://developers.cloudflare.com/workers/runtime-apis/streams/
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any

from .array import JsArray
from .byte_sources import ContentSource, IteratorSource, close_iterator
from .callbacks import FAILURES, CallbackScope, call
from .error import TypeError_
from .promise import JsPromise, rejected, settle, start
from .readable_controller import (
    DONE,
    BytesSource,
    Controller,
    QueueController,
    SourceController,
    raise_error,
)
from .readers import (
    LOCKED,
    ByteIterator,
    ReadableStreamAsyncIterator,
    ReadableStreamDefaultReader,
)
from .strategies import Size, read_strategy
from .value import JsInstance, JsObject, get_property, is_nullish
from .webidl import function

__all__ = ["ReadableStream", "ReadableStreamDefaultReader"]


class ReadableStream(JsInstance, js_name="ReadableStream"):
    """``ReadableStream.new(source, strategy)``: ``source`` has ``start``, ``pull``, ``cancel``, sync or async.

    ``known_length`` is the number of bytes the stream will give in all, None when it is not known beforehand.
    """

    known_length: int | None = None
    _state: str = "readable"
    _error: Any = None
    _reader: ReadableStreamDefaultReader | None = None
    _disturbed: bool = False
    #: Whether a body reader takes it all, which accepts no text where sending it on does.
    _collected: bool = False
    _controller: Controller

    @classmethod
    def _construct(cls, source: Any = None, strategy: Any = None, *_: Any) -> Any:
        stream: ReadableStream = object.__new__(cls)
        if is_nullish(source):
            source = JsObject.adopt({})
        kind = get_property(source, "type")
        stream.known_length = get_property(source, "expectedLength")
        begin = function(source, "start", "the underlying source")
        pull = function(source, "pull", "the underlying source")
        cancel = function(source, "cancel", "the underlying source")
        scope = CallbackScope()
        controller: QueueController
        if kind == "bytes":
            from .byte_controller import ReadableByteStreamController

            mark, _size = read_strategy(strategy, 0)
            controller = ReadableByteStreamController._make(
                stream,
                pull=pull,
                cancel=cancel,
                scope=scope,
                high_water_mark=mark,
                chunk_size=get_property(source, "autoAllocateChunkSize"),
            )
        elif kind is None or kind == "":
            mark, size = read_strategy(strategy, 1)
            controller = QueueController._make(
                stream, pull=pull, cancel=cancel, scope=scope, high_water_mark=mark, size=size
            )
        else:
            raise TypeError_(f'"{kind}" is not a valid type of ReadableStream.')
        stream._controller = controller
        stream._begin(begin, scope)
        return stream

    @classmethod
    def of(
        cls, controller: Callable[[ReadableStream], Controller], length: int | None = None
    ) -> ReadableStream:
        """A stream fed by the controller that the function makes for it."""
        stream: ReadableStream = object.__new__(cls)
        stream._controller = controller(stream)
        if length is not None:
            stream.known_length = length
        return stream

    @classmethod
    def queued(
        cls,
        *,
        pull: Callable[[Any], Awaitable[Any]] | None = None,
        cancel: Callable[[Any], Awaitable[Any]] | None = None,
        high_water_mark: float = 1,
        size: Size = None,
    ) -> ReadableStream:
        """A queueing stream over callbacks of this package; not pulled before ``controller.begin()``."""
        return cls.of(
            lambda stream: QueueController._make(
                stream, pull=pull, cancel=cancel, high_water_mark=high_water_mark, size=size
            )
        )

    @classmethod
    def from_source(cls, source: BytesSource) -> ReadableStream:
        """A byte stream that reads a native source on demand, nothing ahead."""
        return cls.of(lambda stream: SourceController(stream, source), source.length)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> ReadableStream:
        """A byte stream of one chunk of known content."""
        return cls.from_source(ContentSource(data))

    @classmethod
    def from_async_iterator(
        cls,
        chunks: AsyncIterator[bytes | memoryview],
        *,
        length: int | None = None,
        cancel: Callable[[Any], Any] | None = None,
    ) -> ReadableStream:
        """A byte stream over an asynchronous iterator, which is closed (``aclose``) when the stream is cancelled.

        Args: ``length`` in bytes when known; ``cancel(reason)`` is called in place of ``aclose``.
        """
        return cls.from_source(IteratorSource(chunks, length, cancel))

    @staticmethod
    def from_(items: Any) -> ReadableStream:
        """``ReadableStream.from``: over any iterable or asynchronous iterable."""
        iterator: Any = None
        if hasattr(items, "__aiter__"):
            iterator = items.__aiter__()

            async def pull(controller: QueueController) -> None:
                try:
                    controller.enqueue(await anext(iterator))
                except StopAsyncIteration:
                    controller.close()
        elif hasattr(items, "__iter__") and not isinstance(items, str):
            plain = iter(items)

            async def pull(controller: QueueController) -> None:
                item = next(plain, DONE)
                if item is DONE:
                    controller.close()
                else:
                    controller.enqueue(await settle(item))
        else:
            raise TypeError_("ReadableStream.from() needs an iterable or asynchronous iterable.")

        async def cancel(_reason: Any) -> None:
            if isinstance(items, Generator):
                items.close()
            await close_iterator(iterator, stream._queue_controller().pulling)

        scope = CallbackScope()
        stream = ReadableStream.of(
            lambda made: QueueController._make(
                made, pull=pull, cancel=cancel, scope=scope, high_water_mark=0
            )
        )
        stream._queue_controller().begin()
        return stream

    def _queue_controller(self) -> QueueController:
        controller = self._controller
        assert isinstance(controller, QueueController)
        return controller

    def _begin(self, begin: Callable[[Any], Any] | None, scope: CallbackScope) -> None:
        controller = self._queue_controller()
        started = begin(controller) if begin is not None else None
        if not hasattr(started, "__await__"):
            controller.begin()
            return

        async def wait() -> None:
            try:
                await call(lambda: started)
            except FAILURES as error:
                controller.error(error)
            else:
                controller.begin()

        controller._starting = scope.spawn(wait())

    # Called by controllers.
    def _close(self) -> None:
        """Nothing comes any more."""
        if self._state == "readable":
            self._state = "closed"
            if self._reader is not None:
                self._reader._stream_closed()

    def _fail(self, reason: Any) -> None:
        """The source failed with this value."""
        if self._state == "readable":
            self._state = "errored"
            self._error = reason
            if self._reader is not None:
                self._reader._stream_failed(reason)

    @property
    def locked(self) -> bool:
        return self._reader is not None

    @property
    def disturbed(self) -> bool:
        """Whether anything was ever read or cancelled."""
        return self._disturbed

    def getReader(self, options: Any = None, **members: Any) -> Any:
        """A reader that locks the stream. ``mode="byob"`` reads into the caller's buffers."""
        mode = members.get("mode") if is_nullish(options) else get_property(options, "mode")
        if self._reader is not None:
            raise TypeError_(LOCKED)
        if mode is None:
            return ReadableStreamDefaultReader._make(self)
        if mode != "byob":
            raise TypeError_("mode must be undefined or 'byob' in call to getReader().")
        from .byte_controller import ReadableStreamBYOBReader

        return ReadableStreamBYOBReader._make(self)

    def cancel(self, reason: Any = None) -> JsPromise:
        """Tell the source that nobody wants more. Rejects: TypeError while a reader holds the stream."""
        if self._reader is not None:
            return rejected(TypeError_(LOCKED))
        return start(self._cancel_source(reason))

    async def _cancel_source(self, reason: Any) -> None:
        """``cancel`` for whoever holds the lock."""
        self._disturbed = True
        if self._state == "closed":
            return
        if self._state == "errored":
            raise_error(self._error)
        self._close()
        await self._controller.cancel(reason)

    def tee(self) -> Any:
        """Two streams with the same chunks; the source is pulled at the pace of the faster one."""
        from .tee import tee

        return JsArray.adopt(list(tee(self)))

    def pipeTo(self, destination: Any, options: Any = None, **members: Any) -> JsPromise:
        from .pipe import PipeOptions, pipe
        from .writable import WritableStream

        if not isinstance(destination, WritableStream):
            raise TypeError_("pipeTo() needs a WritableStream.")
        if self._reader is not None:
            return rejected(TypeError_(LOCKED))
        if destination._writer is not None:
            return rejected(TypeError_("This WritableStream is currently locked to a writer"))
        return start(pipe(self, destination, PipeOptions.read(options, members)))

    def pipeThrough(self, transform: Any, options: Any = None, **members: Any) -> Any:
        """Pipe into ``transform.writable`` and give ``transform.readable``."""
        from .pipe import PipeOptions, pipe
        from .writable import WritableStream

        readable, writable = (
            get_property(transform, "readable"),
            get_property(transform, "writable"),
        )
        if not isinstance(readable, ReadableStream) or not isinstance(writable, WritableStream):
            raise TypeError_("pipeThrough() needs an object with a readable and a writable stream.")
        if self._reader is not None:
            raise TypeError_(LOCKED)
        if writable._writer is not None:
            raise TypeError_("This WritableStream is currently locked to a writer.")
        piping = start(pipe(self, writable, PipeOptions.read(options, members)))
        # Its failure is seen through the readable side.
        piping.add_done_callback(lambda done: done.cancelled() or done.exception())
        return readable

    def values(self, options: Any = None, **members: Any) -> ReadableStreamAsyncIterator:
        """The asynchronous iterator; with ``preventCancel`` it leaves the stream usable when closed early."""
        prevent = (
            members.get("preventCancel")
            if is_nullish(options)
            else get_property(options, "preventCancel")
        )
        iterator: ReadableStreamAsyncIterator = ReadableStreamAsyncIterator._make(
            self, bool(prevent)
        )
        return iterator

    def __aiter__(self) -> ReadableStreamAsyncIterator:
        return self.values()

    def iterate_bytes(self) -> ByteIterator:
        """For owners and faces: the rest of the stream as ``bytes`` or ``memoryview`` chunks; locks the stream.

        Raises: TypeError when the stream is locked, and while iterating when a chunk is neither buffer nor text.
        """
        return ByteIterator(self)

    def unread_content(self) -> bytes | memoryview | None:
        """The whole content when it is known and untouched, else None."""
        controller = self._controller
        if self._disturbed or not isinstance(controller, SourceController):
            return None
        source = controller.source
        return source.content if isinstance(source, ContentSource) else None
