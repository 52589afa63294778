"""The writer of a ``WritableStream``.

Source: https://streams.spec.whatwg.org/#default-writer-class
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .error import TypeError_
from .promise import JsPromise, as_error, rejected
from .readers import reject_quietly
from .value import JsInstance, js_class_name

if TYPE_CHECKING:
    from .writable import WritableStream

__all__ = ["LOCKED", "WritableStreamDefaultWriter"]

LOCKED = "This WritableStream is currently locked to a writer."
_RELEASED = "This WritableStream writer has been released."


class WritableStreamDefaultWriter(JsInstance, js_name="WritableStreamDefaultWriter"):
    """``stream.getWriter()``. Awaiting ``write`` or ``ready`` is how a producer keeps the reader's pace."""

    def __init__(self, stream: WritableStream) -> None:
        if stream._writer is not None:
            raise TypeError_(LOCKED)
        self._stream: WritableStream | None = stream
        self._ready: JsPromise | None = None
        self._closed: JsPromise | None = None
        stream._writer = self

    @classmethod
    def _construct(cls, stream: Any = None, *_: Any) -> Any:
        if js_class_name(stream) != "WritableStream":
            raise TypeError_("WritableStreamDefaultWriter needs a WritableStream.")
        return cls._make(stream)

    @property
    def ready(self) -> JsPromise:
        """Fulfilled while the stream has room; a new promise each time it fills up."""
        if self._ready is None:
            self._ready = JsPromise(loop=asyncio.get_running_loop())
            stream = self._stream
            if stream is None:
                reject_quietly(self._ready, TypeError_(_RELEASED))
            elif stream._state in ("erroring", "errored"):
                reject_quietly(self._ready, as_error(stream._error))
            elif stream._state == "closed" or stream._is_closing() or stream._has_room():
                self._ready.set_result(None)
        return self._ready

    @property
    def closed(self) -> JsPromise:
        """Fulfilled when the stream is closed, rejected when it fails or the lock is released."""
        if self._closed is None:
            self._closed = JsPromise(loop=asyncio.get_running_loop())
            stream = self._stream
            if stream is None:
                reject_quietly(self._closed, TypeError_(_RELEASED))
            elif stream._state == "closed":
                self._closed.set_result(None)
            elif stream._state == "errored":
                reject_quietly(self._closed, as_error(stream._error))
        return self._closed

    @property
    def desiredSize(self) -> Any:
        if self._stream is None:
            raise TypeError_(_RELEASED)
        return self._stream._desired_size()

    def write(self, chunk: Any = None) -> JsPromise:
        """Queue a chunk; the promise is fulfilled when the sink has taken it."""
        if self._stream is None:
            return rejected(TypeError_(_RELEASED))
        return self._stream._write(chunk)

    def close(self) -> JsPromise:
        if self._stream is None:
            return rejected(TypeError_(_RELEASED))
        return self._stream._close()

    def abort(self, reason: Any = None) -> JsPromise:
        if self._stream is None:
            return rejected(TypeError_(_RELEASED))
        return self._stream._abort(reason)

    def releaseLock(self) -> None:
        """Let go of the stream; what was written stays queued."""
        stream = self._stream
        if stream is None:
            return
        error = TypeError_(_RELEASED)
        self._stream = None
        stream._writer = None
        for name in ("_ready", "_closed"):
            promise = getattr(self, name)
            if promise is None or promise.done():
                setattr(self, name, None)
            else:
                reject_quietly(promise, error)

    def _update_ready(self) -> None:
        ready, stream = self._ready, self._stream
        if ready is None or stream is None:
            return
        if stream._has_room() or stream._is_closing():
            if not ready.done():
                ready.set_result(None)
        elif ready.done():
            self._ready = None

    def _reject_ready(self, error: BaseException) -> None:
        if self._ready is None:
            return
        if self._ready.done():
            self._ready = None
        else:
            reject_quietly(self._ready, error)

    def _stream_closed(self) -> None:
        for promise in (self._closed, self._ready):
            if promise is not None and not promise.done():
                promise.set_result(None)

    def _stream_failed(self, error: BaseException) -> None:
        if self._closed is not None and not self._closed.done():
            reject_quietly(self._closed, error)
        self._reject_ready(error)
