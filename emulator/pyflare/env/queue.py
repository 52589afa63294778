"""``env.QUEUE`` as JavaScript sees it: the producer's binding over the one owner of the queue.

Source: https://developers.cloudflare.com/queues/configuration/javascript-apis/#queue and workerd
``src/workerd/api/queue.c++``
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final, Literal, TypeVar

from pyflare.js import semantics
from pyflare.js.array import items_of
from pyflare.js.date import Date
from pyflare.js.departure import start
from pyflare.js.error import Error, TypeError_
from pyflare.js.options import options_or_keywords
from pyflare.js.promise import JsPromise
from pyflare.js.queue_bodies import content_type, detach, encode
from pyflare.js.value import JsInstance, JsObject, is_nullish
from pyflare_bindings.queues import Outgoing, Queue, QueueError, QueueErrorCode, QueueMetrics
from pyflare_bindings.storage.errors import ClosedError, StateError
from pyflare_bindings.storage.row_file import OverloadedError

from .conversion import INTEGER, MISMATCH, MISSING, TEXT, Parameter, Struct, Type, struct_object

__all__ = ["WorkerQueue", "shown_metrics", "succeed"]

T = TypeVar("T")
Operation = Literal["send", "sendBatch", "metrics"]

_MESSAGE: Final = Struct(
    "MessageSendRequest",
    {
        "body": Type("any", lambda given: given),
        "contentType": TEXT,
        "delaySeconds": INTEGER,
    },
)


def _messages(given: Any) -> Any:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        return MISMATCH
    messages = []
    for each in items_of(given):
        if is_nullish(each):
            raise TypeError_(
                "Cannot initialize N7workerd3api11WorkerQueue18MessageSendRequestE with required "
                "members from an undefined or null value."
            )
        fields = _MESSAGE.convert(each)
        if fields is MISMATCH:
            raise TypeError_(
                f"Incorrect type: the provided value is not of type '{_MESSAGE.name}'."
            )
        messages.append(fields)
    return messages


_SEND_OPTIONS: Final = Parameter(
    "WorkerQueue",
    "send",
    2,
    Struct("SendOptions", {"contentType": TEXT, "delaySeconds": INTEGER}),
)
_MESSAGES: Final = Parameter("WorkerQueue", "sendBatch", 1, Type("Sequence", _messages))
_BATCH_OPTIONS: Final = Parameter(
    "WorkerQueue", "sendBatch", 2, Struct("SendBatchOptions", {"delaySeconds": INTEGER})
)


class WorkerQueue(JsInstance, js_name="WorkerQueue"):
    """The binding. Every method gives a promise, and what is wrong with its arguments rejects it."""

    def __init__(self, owner: Queue) -> None:
        self._owner = owner

    def _direct_wrapper(self) -> Any:
        """What the SDK's environment shows for this binding; see :mod:`pyflare.env.sdk`."""
        from .queue_sdk import WorkerQueueWrapper

        return WorkerQueueWrapper(self)

    def send(self, body: Any = None, options: Any = None, *_: Any, **named: Any) -> JsPromise:
        """Send one message. Options: ``contentType``, ``delaySeconds``."""
        return start(_send(self._owner, body, options_or_keywords(options, named)))

    def sendBatch(
        self, messages: Any = MISSING, options: Any = None, *_: Any, **named: Any
    ) -> JsPromise:
        """Send up to 100 messages ``{body, contentType, delaySeconds}``. Option: ``delaySeconds`` for all."""
        return start(_send_batch(self._owner, messages, options_or_keywords(options, named)))

    def metrics(self, *_: Any) -> JsPromise:
        """``{backlogCount, backlogBytes, oldestMessageTimestamp}``."""
        return start(_metrics(self._owner))


async def _send(owner: Queue, body: Any, options: Any) -> JsObject:
    fields = _SEND_OPTIONS.read(options)
    if body is None:
        raise TypeError_("Message body cannot be undefined")
    given = fields.get("contentType")
    kind = _default_type() if given is None else content_type(given)
    message = Outgoing(encode(body, kind), kind, fields.get("delaySeconds", 0))
    if kind == "bytes":
        detach(body)
    return _sent(await succeed("send", owner.send(message)))


async def _send_batch(owner: Queue, messages: Any, options: Any) -> JsObject:
    given = _MESSAGES.read(messages)
    delay = _BATCH_OPTIONS.read(options).get("delaySeconds", 0)
    if not given:
        raise TypeError_("sendBatch() requires at least one message")
    outgoing = [_outgoing(fields, delay) for fields in given]
    return _sent(await succeed("sendBatch", owner.send_batch(outgoing)))


def _outgoing(fields: dict[str, Any], delay: int) -> Outgoing:
    kind = fields.get("contentType")
    if kind is None:
        kind = _default_type()
    elif content_type(kind) != kind:
        # `send` takes a type in capitals, a batch does not.
        raise TypeError_(f"Unsupported queue message content type: {kind}")
    return Outgoing(encode(fields.get("body"), kind), kind, fields.get("delaySeconds", delay))


def _default_type() -> str:
    return "v8" if semantics.current().v8_queue_bodies else "json"


async def _metrics(owner: Queue) -> JsObject:
    return shown_metrics(await succeed("metrics", owner.metrics()))


def _sent(metrics: QueueMetrics) -> JsObject:
    return JsObject.adopt({"metadata": JsObject.adopt({"metrics": shown_metrics(metrics)})})


def shown_metrics(metrics: QueueMetrics) -> JsObject:
    """Metrics as a worker sees them."""
    oldest = metrics.oldest_at
    return struct_object(
        {
            "backlogCount": metrics.backlog_count,
            "backlogBytes": metrics.backlog_bytes,
            "oldestMessageTimestamp": None if oldest is None else Date.from_milliseconds(oldest),
        }
    )


async def succeed(operation: Operation, request: Awaitable[T]) -> T:
    """Await a request to the owner. Raises the platform's error."""
    try:
        return await request
    except QueueError as error:
        raise _failure(operation, error.code, error) from None
    except OverloadedError:
        raise _failure(operation, QueueErrorCode.OVERLOADED, "Too Many Requests") from None
    except (StateError, ClosedError) as error:
        # Production only says "Unknown Internal Error" here; the cause is what helps on one's own machine.
        raise _failure(operation, QueueErrorCode.INTERNAL, error) from None


def _failure(operation: Operation, code: QueueErrorCode, cause: object) -> Error:
    if semantics.current().plain_queue_errors and operation != "metrics":
        return Error(f"Queue {operation} failed: {cause}")
    return Error(f"{cause} ({code.value})")
