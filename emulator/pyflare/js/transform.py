"""``TransformStream``, ``IdentityTransformStream`` and ``FixedLengthStream``.

Source: https://streams.spec.whatwg.org/#ts-class and
https://developers.cloudflare.com/workers/runtime-apis/streams/transformstream/
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

from .callbacks import FAILURES, CallbackScope, call
from .error import TypeError_
from .number import to_number
from .promise import as_error
from .readable import ReadableStream
from .rendezvous import ByteRendezvous, FixedLengthRendezvous, Rendezvous
from .strategies import read_strategy
from .value import JsInstance, get_property, is_nullish
from .webidl import function
from .writable import WritableStream, writable_of

__all__ = [
    "FixedLengthStream",
    "IdentityTransformStream",
    "PairedStreams",
    "TransformStream",
    "TransformStreamDefaultController",
]

R = TypeVar("R", bound=Rendezvous)

_LARGEST_LENGTH: Final = 2**53 - 1


def _connect(
    make: Callable[[ReadableStream], R], length: int | None = None
) -> tuple[ReadableStream, WritableStream]:
    readable = ReadableStream.of(make, length)
    meeting = readable._controller
    assert isinstance(meeting, Rendezvous)
    writable = writable_of(meeting.write, meeting.close, meeting.abort)
    meeting.writable = writable
    return readable, writable


class TransformStream(JsInstance, js_name="TransformStream"):
    """``TransformStream.new(transformer, writableStrategy, readableStrategy)``: ``readable`` and ``writable``.

    ``transformer`` has ``start``, ``transform``, ``flush``, ``cancel``, sync or async; without one chunks pass as they
    are. A write is over when the readable side has room for what it produced.
    """

    readable: ReadableStream
    writable: WritableStream

    def __init__(self, readable: ReadableStream, writable: WritableStream) -> None:
        self.readable = readable
        self.writable = writable

    @classmethod
    def _construct(
        cls,
        transformer: Any = None,
        writable_strategy: Any = None,
        readable_strategy: Any = None,
        *_: Any,
    ) -> Any:
        if (
            is_nullish(transformer)
            and is_nullish(writable_strategy)
            and is_nullish(readable_strategy)
        ):
            return cls._make(*_connect(Rendezvous))
        for member in ("readableType", "writableType"):
            if get_property(transformer, member) is not None:
                raise TypeError_(f"transformer.{member} must be undefined.")
        work = _Transformation(transformer, writable_strategy, readable_strategy)
        made = cls._make(work.readable, work.writable)
        work.begin()
        return made


class IdentityTransformStream(TransformStream, js_name="IdentityTransformStream"):
    """Passes bytes on; each write waits for the read that takes it."""

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        return cls._make(*_connect(ByteRendezvous))


class FixedLengthStream(IdentityTransformStream, js_name="FixedLengthStream"):
    """``FixedLengthStream.new(n)``: exactly ``n`` bytes, which becomes the body's Content-Length."""

    @classmethod
    def _construct(cls, length: Any = None, *_: Any) -> Any:
        count = _expected_length(length)
        return cls._make(*_connect(lambda stream: FixedLengthRendezvous(stream, count), count))


def _expected_length(given: Any) -> int:
    """Raises: TypeError."""
    if given is None:
        raise TypeError_(
            "Failed to construct 'FixedLengthStream': constructor parameter 1 is not of type 'bigint'."
        )
    number = to_number(given)
    if number != number or number in (float("inf"), float("-inf")) or number != int(number):
        raise TypeError_("The value cannot be converted because it is not an integer.")
    if number < 0:
        raise TypeError_(
            "The value cannot be converted because it is negative and this API expects a positive bigint."
        )
    if number > _LARGEST_LENGTH:
        raise TypeError_("FixedLengthStream requires an integer expected length less than 2^53.")
    return int(number)


class TransformStreamDefaultController(JsInstance, js_name="TransformStreamDefaultController"):
    """What the transformer's callbacks receive."""

    def __init__(self, work: _Transformation) -> None:
        self._work = work

    @property
    def desiredSize(self) -> Any:
        return self._work.readable._queue_controller().desiredSize

    def enqueue(self, chunk: Any = None) -> None:
        """Give a chunk to the readable side. Raises: TypeError once that side is closed or failed."""
        self._work.enqueue(chunk)

    def error(self, reason: Any = None) -> None:
        """Fail both sides."""
        self._work.error(reason)

    def terminate(self) -> None:
        """Close the readable side and fail the writable one."""
        self._work.terminate()


class _Transformation:
    """A transformer between two queues. ``_backpressure`` holds while the readable side wants nothing."""

    def __init__(self, transformer: Any, writable_strategy: Any, readable_strategy: Any) -> None:
        what = "the transformer"
        self._start = function(transformer, "start", what)
        self._transform = function(transformer, "transform", what)
        self._flush = function(transformer, "flush", what)
        self._cancel = function(transformer, "cancel", what)
        self._scope = CallbackScope()
        self._backpressure = True
        self._change: asyncio.Future[None] | None = None
        self.controller: TransformStreamDefaultController = TransformStreamDefaultController._make(
            self
        )
        mark, size = read_strategy(readable_strategy, 0)
        self.readable = ReadableStream.queued(
            pull=self._pull, cancel=self._readable_cancelled, high_water_mark=mark, size=size
        )
        expected = get_property(transformer, "expectedLength")
        if expected is not None:
            self.readable.known_length = expected
        mark, size = read_strategy(writable_strategy, 1)
        self.writable = writable_of(
            self._write, self._close, self._abort, high_water_mark=mark, size=size
        )
        self.writable._started = False

    def begin(self) -> None:
        started = self._start(self.controller) if self._start is not None else None
        if not hasattr(started, "__await__"):
            self._began()
            return

        async def wait() -> None:
            try:
                await call(lambda: started)
            except FAILURES as error:
                self.writable._started = True
                self.error(error)
            else:
                self._began()

        self._starting = self._scope.spawn(wait())

    def _began(self) -> None:
        self.readable._queue_controller().begin()
        self.writable._start()

    def _set_backpressure(self, value: bool) -> None:
        self._backpressure = value
        change, self._change = self._change, None
        if change is not None and not change.done():
            change.set_result(None)

    async def _wait_for_change(self) -> None:
        if self._change is None:
            self._change = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._change)

    async def _pull(self, _controller: Any) -> None:
        self._set_backpressure(False)
        while not self._backpressure and self.readable._state == "readable":
            await self._wait_for_change()

    async def _write(self, chunk: Any, _controller: Any) -> None:
        while self._backpressure:
            await self._wait_for_change()
            if self.writable._state == "erroring":
                raise as_error(self.writable._error)
        try:
            if self._transform is None:
                self.enqueue(chunk)
            else:
                await self._scope.spawn(call(self._transform, chunk, self.controller))
        except FAILURES as error:
            self.error(error)
            raise

    async def _close(self) -> None:
        flush, self._flush = self._flush, None
        self._transform = self._cancel = None
        try:
            if flush is not None:
                await self._scope.spawn(call(flush, self.controller))
        except FAILURES as error:
            self.error(error)
            raise
        if self.readable._state == "errored":
            raise as_error(self.readable._error)
        queue = self.readable._queue_controller()
        if queue._accepts():
            queue.close()
        self._set_backpressure(self._backpressure)

    async def _abort(self, reason: Any) -> None:
        await self._cancelled(reason)
        self.readable._queue_controller().error(reason)
        self._set_backpressure(self._backpressure)

    async def _readable_cancelled(self, reason: Any) -> None:
        try:
            await self._cancelled(reason)
        finally:
            self.writable._error_if_writable(reason)
            self._set_backpressure(False)

    async def _cancelled(self, reason: Any) -> None:
        cancel, self._cancel = self._cancel, None
        self._flush = None
        if cancel is not None:
            await self._scope.spawn(call(cancel, reason))

    def enqueue(self, chunk: Any) -> None:
        queue = self.readable._queue_controller()
        if not queue._accepts():
            raise TypeError_("The readable side of this TransformStream is no longer readable.")
        try:
            queue.enqueue(chunk)
        except FAILURES as error:
            self.writable._error_if_writable(error)
            raise
        backpressure = not queue._should_pull()
        if backpressure != self._backpressure:
            self._set_backpressure(backpressure)

    def error(self, reason: Any) -> None:
        self.readable._queue_controller().error(reason)
        self.writable._error_if_writable(reason)
        self._set_backpressure(False)

    def terminate(self) -> None:
        queue = self.readable._queue_controller()
        if queue._accepts():
            queue.close()
        self.writable._error_if_writable(TypeError_("The transform stream has been terminated"))
        self._set_backpressure(False)


class PairedStreams(JsInstance, js_name="TransformStream"):
    """A readable and a writable stream over functions of this package: what text and compression streams are.

    Args: ``transform(chunk)`` gives what to pass on, None for nothing; ``flush()`` gives the rest.
    """

    def __init__(self, transform: Callable[[Any], Any], flush: Callable[[], Any]) -> None:
        work = _Transformation({}, None, None)

        def step(chunk: Any, _controller: Any) -> None:
            made = transform(chunk)
            if made is not None:
                work.enqueue(made)

        def end(_controller: Any) -> None:
            made = flush()
            if made is not None:
                work.enqueue(made)

        work._transform = step
        work._flush = end
        work.begin()
        self.readable = work.readable
        self.writable = work.writable
