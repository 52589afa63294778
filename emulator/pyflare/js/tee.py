"""Splitting one stream in two.

Source: https://streams.spec.whatwg.org/#abstract-opdef-readablestreamdefaulttee
"""

from __future__ import annotations

from typing import Any, Final

from .array import JsArray
from .callbacks import FAILURES
from .error import TypeError_
from .readable import ReadableStream
from .readable_controller import DONE, QueueController
from .readers import ReadableStreamDefaultReader

__all__ = ["tee"]

#: What the slower branch may hold back, in bytes: a worker's memory is no larger.
BUFFER_LIMIT: Final = 128 * 1024 * 1024


def tee(stream: ReadableStream) -> tuple[ReadableStream, ReadableStream]:
    """Two streams with the chunks of one, which stays locked.

    Chunks are read at the pace of the faster branch. Raises: TypeError for a locked stream. A branch that falls more
    than 128 MiB behind fails, and the other with it.
    """
    if stream._reader is not None:
        raise TypeError_("This ReadableStream is currently locked to a reader.")
    content = stream.unread_content()
    if content is not None:
        ReadableStreamDefaultReader._make(stream)
        stream._disturbed = True
        return ReadableStream.from_bytes(content), ReadableStream.from_bytes(content)
    return _Tee(stream).branches()


class _Tee:
    def __init__(self, stream: ReadableStream) -> None:
        self._stream = stream
        self._length = stream.known_length
        self._reader: ReadableStreamDefaultReader = ReadableStreamDefaultReader._make(stream)
        stream._disturbed = True
        self._reading = False
        self._again = False
        self._cancelled: list[bool] = [False, False]
        self._reasons: list[Any] = [None, None]
        self._branches: list[ReadableStream] = []

    def branches(self) -> tuple[ReadableStream, ReadableStream]:
        for index in (0, 1):

            async def cancel(reason: Any, index: int = index) -> None:
                await self._cancel(index, reason)

            branch = ReadableStream.queued(
                pull=self._pull, cancel=cancel, high_water_mark=0, size=_weight
            )
            branch.known_length = self._length
            self._branches.append(branch)
        for branch in self._branches:
            branch._queue_controller().begin()
        return self._branches[0], self._branches[1]

    def _open(self) -> list[QueueController]:
        return [
            branch._queue_controller()
            for branch, cancelled in zip(self._branches, self._cancelled, strict=True)
            if not cancelled
        ]

    async def _pull(self, _controller: Any) -> None:
        if self._reading:
            self._again = True
            return
        self._reading = True
        try:
            while True:
                self._again = False
                try:
                    chunk = await self._stream._controller.read()
                except FAILURES as error:
                    for controller in self._open():
                        controller.error(error)
                    return
                for controller in self._open():
                    if chunk is DONE:
                        if controller._accepts():
                            controller.close()
                    else:
                        self._pass(controller, chunk)
                if chunk is DONE or not self._again:
                    return
        finally:
            self._reading = False

    def _pass(self, controller: QueueController, chunk: Any) -> None:
        if not controller._accepts():
            return
        controller.enqueue(chunk)
        if controller._queued > BUFFER_LIMIT:
            error = TypeError_(
                "ReadableStream.tee() buffer limit exceeded. Read both branches at a similar pace."
            )
            for each in self._open():
                each.error(error)

    async def _cancel(self, index: int, reason: Any) -> None:
        self._cancelled[index] = True
        self._reasons[index] = reason
        # The standard lets the first cancel wait for the second. Nobody could then close one branch and go on.
        if all(self._cancelled) and self._stream._state == "readable":
            await self._stream._cancel_source(JsArray.adopt(list(self._reasons)))


def _weight(chunk: Any) -> float:
    length = getattr(chunk, "byteLength", None)
    return length if isinstance(length, int) else 1
