"""``env.QUEUE`` as JavaScript sees it: the producer's binding over the one owner of the queue.

Source: https://developers.cloudflare.com/queues/configuration/javascript-apis/#queue and workerd
``src/workerd/api/queue.c++``
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Literal, TypeVar

from pyflare.js import semantics
from pyflare.js.array import items_of
from pyflare.js.date import Date
from pyflare.js.departure import start
from pyflare.js.error import Error, TypeError_
from pyflare.js.promise import JsPromise
from pyflare.js.queue_bodies import content_type, detach, encode
from pyflare.js.value import JsInstance, JsObject, get_property, is_nullish
from pyflare.js.webidl import integer
from pyflare_bindings.queues import Outgoing, Queue, QueueError, QueueErrorCode, QueueMetrics
from pyflare_bindings.storage.errors import ClosedError, StateError
from pyflare_bindings.storage.row_file import OverloadedError

__all__ = ["WorkerQueue", "shown_metrics", "succeed"]

T = TypeVar("T")
Operation = Literal["send", "sendBatch", "metrics"]


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
        return start(_send(self._owner, body, named if options is None else options))

    def sendBatch(
        self, messages: Any = None, options: Any = None, *_: Any, **named: Any
    ) -> JsPromise:
        """Send up to 100 messages ``{body, contentType, delaySeconds}``. Option: ``delaySeconds`` for all."""
        return start(_send_batch(self._owner, messages, named if options is None else options))

    def metrics(self, *_: Any) -> JsPromise:
        """``{backlogCount, backlogBytes, oldestMessageTimestamp}``."""
        return start(_metrics(self._owner))


async def _send(owner: Queue, body: Any, options: Any) -> JsObject:
    message = _outgoing(body, options, 0)
    if message.content_type == "bytes":
        detach(body)
    return _sent(await succeed("send", owner.send(message)))


async def _send_batch(owner: Queue, messages: Any, options: Any) -> JsObject:
    delay = _delay(options, 0)
    outgoing = [_outgoing(get_property(each, "body"), each, delay) for each in _items(messages)]
    if not outgoing:
        raise TypeError_("sendBatch() requires at least one message")
    return _sent(await succeed("sendBatch", owner.send_batch(outgoing)))


async def _metrics(owner: Queue) -> JsObject:
    return shown_metrics(await succeed("metrics", owner.metrics()))


def _items(messages: Any) -> list[Any]:
    if isinstance(messages, str) or not hasattr(messages, "__iter__"):
        raise TypeError_(
            "Failed to execute 'sendBatch' on 'WorkerQueue': parameter 1 is not of type 'Array'."
        )
    return list(items_of(messages))


def _outgoing(body: Any, options: Any, delay: int) -> Outgoing:
    given = None if is_nullish(options) else get_property(options, "contentType")
    if is_nullish(given):
        given = "v8" if semantics.current().v8_queue_bodies else "json"
    kind = content_type(given)
    return Outgoing(encode(body, kind), kind, _delay(options, delay))


def _delay(options: Any, default: int) -> int:
    given = None if is_nullish(options) else get_property(options, "delaySeconds")
    return default if is_nullish(given) else integer(given)


def _sent(metrics: QueueMetrics) -> JsObject:
    return JsObject.adopt({"metadata": JsObject.adopt({"metrics": shown_metrics(metrics)})})


def shown_metrics(metrics: QueueMetrics) -> JsObject:
    """Metrics as a worker sees them."""
    shown: dict[str, Any] = {
        "backlogCount": metrics.backlog_count,
        "backlogBytes": metrics.backlog_bytes,
    }
    if metrics.oldest_at is not None:
        shown["oldestMessageTimestamp"] = Date.from_milliseconds(metrics.oldest_at)
    return JsObject.adopt(shown)


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
