"""What a ``queue`` handler is given: the batch, its messages, and the marks that the handler sets on them.

For every message the first mark counts, and a message's own mark beats one of the whole batch.

Source: https://developers.cloudflare.com/queues/configuration/batching-retries/#explicit-acknowledgement-and-retries
and workerd ``src/workerd/api/queue.c++``
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from pyflare.env.conversion import INTEGER, Parameter, Struct
from pyflare.js.array import JsArray
from pyflare.js.date import Date
from pyflare.js.options import options_or_keywords
from pyflare.js.queue_bodies import decode
from pyflare.js.value import JsInstance, JsObject, own_properties

__all__ = ["Delivered", "Marks", "MessageBatch", "QueueMessage"]

_MAX_DELAY_SECONDS: Final = 86_400
_RETRY_OPTIONS: Final = Struct("QueueRetryOptions", {"delaySeconds": INTEGER})
_RETRY: Final = Parameter("QueueMessage", "retry", 1, _RETRY_OPTIONS)
_RETRY_ALL: Final = Parameter("QueueController", "retryAll", 1, _RETRY_OPTIONS)


class Delivered(Protocol):
    """A message as the batch shows it."""

    @property
    def id(self) -> str: ...

    @property
    def sent_at(self) -> int: ...

    @property
    def attempts(self) -> int: ...

    @property
    def content_type(self) -> str: ...

    @property
    def body(self) -> bytes: ...


class Marks:
    """What a handler has said about its messages.

    ``warn`` is told of calls that come too late to have an effect.
    """

    __slots__ = (
        "_closed",
        "_warn",
        "acknowledged",
        "all_acknowledged",
        "all_retried",
        "batch_delay",
        "retried",
    )

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._closed = False
        self.acknowledged: dict[str, None] = {}
        #: id -> its own delay in seconds, None where it has none.
        self.retried: dict[str, int | None] = {}
        self.all_acknowledged = False
        self.all_retried = False
        self.batch_delay: int | None = None

    def close(self) -> None:
        """Later calls have no effect: the handler was stopped."""
        self._closed = True

    def ack(self, id: str) -> None:
        if self._is_stopped("ack()") or self.all_acknowledged:
            return
        if self.all_retried:
            self._too_late("ack()", "retryAll()", id)
        elif id in self.retried:
            self._too_late("ack()", "retry()", id)
        else:
            self.acknowledged[id] = None

    def retry(self, id: str, delay: int | None) -> None:
        if self._is_stopped("retry()"):
            return
        if self.all_acknowledged:
            self._too_late("retry()", "ackAll()", id)
        elif id in self.acknowledged:
            self._too_late("retry()", "ack()", id)
        else:
            self.retried[id] = self.retried.get(id) if delay is None else delay

    def ack_all(self) -> None:
        if self._is_stopped("ackAll()"):
            return
        if self.all_retried:
            self._too_late("ackAll()", "retryAll()")
        else:
            self.all_acknowledged = True

    def retry_all(self, delay: int | None) -> None:
        if self._is_stopped("retryAll()"):
            return
        if self.all_acknowledged:
            self._too_late("retryAll()", "ackAll()")
            return
        self.all_retried = True
        if delay is not None:
            self.batch_delay = delay

    def retries(self, ids: Iterable[str], *, failed: bool, default_delay: int) -> dict[str, int]:
        """The messages that are to come again, each with its delay in seconds; all others are done.

        ``failed`` says whether the handler raised, which brings back what it has not marked.
        """
        again: dict[str, int] = {}
        shared = default_delay if self.batch_delay is None else self.batch_delay
        for id in ids:
            if id in self.acknowledged:
                continue
            if id in self.retried:
                own = self.retried[id]
                again[id] = shared if own is None else own
            elif not self.all_acknowledged and (self.all_retried or failed):
                again[id] = shared
        return again

    def _is_stopped(self, call: str) -> bool:
        if self._closed:
            self._warn(
                f"Received a call to {call} after the handler was stopped for its time limit. It has no effect."
            )
        return self._closed

    def _too_late(self, call: str, earlier: str, id: str | None = None) -> None:
        if id is None:
            self._warn(
                f"Received a call to {call} after {earlier} was already called. "
                f"Calling {call} after calling {earlier} has no effect."
            )
        else:
            self._warn(
                f"Received a call to {call} on message {id} after {earlier} was already called. "
                f"Calling {call} on a message after calling {earlier} has no effect."
            )


def _delay(parameter: Parameter, options: Any, named: dict[str, Any]) -> int | None:
    delay = parameter.read(options_or_keywords(options, named)).get("delaySeconds")
    return None if delay is None else min(max(delay, 0), _MAX_DELAY_SECONDS)


class QueueMessage(JsInstance, js_name="QueueMessage"):
    """One message. Its body is decoded when it is first asked for."""

    _own_items = own_properties("id", "timestamp", "body", "attempts")
    _UNREAD: Final = object()

    def __init__(self, message: Delivered, marks: Marks) -> None:
        self._message = message
        self._marks = marks
        self._body: Any = self._UNREAD

    @property
    def id(self) -> str:
        return self._message.id

    @property
    def timestamp(self) -> Date:
        made: Date = Date.from_milliseconds(self._message.sent_at)
        return made

    @property
    def body(self) -> Any:
        if self._body is self._UNREAD:
            self._body = decode(self._message.body, self._message.content_type)
        return self._body

    @property
    def attempts(self) -> int:
        """1 on the first delivery."""
        return self._message.attempts

    def ack(self, *_: Any) -> None:
        """This message is done, whatever becomes of the rest of the batch."""
        self._marks.ack(self._message.id)

    def retry(self, options: Any = None, *_: Any, **named: Any) -> None:
        """Deliver this message again. Option: ``delaySeconds``."""
        self._marks.retry(self._message.id, _delay(_RETRY, options, named))


class MessageBatch(JsInstance, js_name="QueueController"):
    """The messages of one delivery. ``metadata`` is called for the first time somebody wants to see it."""

    _own_items = own_properties("messages", "queue", "metadata")

    def __init__(
        self,
        queue: str,
        messages: Sequence[Delivered],
        marks: Marks,
        metadata: Callable[[], JsObject],
    ) -> None:
        self._queue = queue
        self._messages = JsArray.adopt([QueueMessage._make(each, marks) for each in messages])
        self._marks = marks
        self._metadata: Callable[[], JsObject] | JsObject = metadata

    @property
    def queue(self) -> str:
        return self._queue

    @property
    def messages(self) -> JsArray:
        return self._messages

    @property
    def metadata(self) -> JsObject:
        """``{metrics: {backlogCount, backlogBytes, oldestMessageTimestamp}}`` of the queue without this batch."""
        if not isinstance(self._metadata, JsObject):
            self._metadata = self._metadata()
        return self._metadata

    def ackAll(self, *_: Any) -> None:
        """Every message without a mark of its own is done."""
        self._marks.ack_all()

    def retryAll(self, options: Any = None, *_: Any, **named: Any) -> None:
        """Deliver every message without a mark of its own again. Option: ``delaySeconds``."""
        self._marks.retry_all(_delay(_RETRY_ALL, options, named))
