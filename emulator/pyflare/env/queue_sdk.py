"""``env.QUEUE`` as a Python Worker sees it: the SDK's wrapper of the producer's binding, with a short way to send.

The SDK converts a body to JavaScript, which then becomes JSON, and the answer back to Python. For bodies of plain
values and no options both ends are known: they are written as JSON at once, and the answer is built as what the SDK
would make of it. Everything else takes the SDK's own way. A test runs the same programs through both and compares.
"""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import datetime
from json import JSONEncoder
from typing import Any, Final

from workers.rpc import JsDict, _BindingWrapper

from pyflare.js import semantics
from pyflare.js.promise import begin
from pyflare.js.value import MAX_SAFE_INTEGER
from pyflare_bindings.queues import Outgoing, Queue

from .queue import succeed

__all__ = ["WorkerQueueWrapper"]

_TEXT: Final = frozenset({str})
_encode: Final = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class WorkerQueueWrapper(_BindingWrapper):  # type: ignore[misc]
    """The SDK's wrapper of :class:`pyflare.env.queue.WorkerQueue`."""

    def __init__(self, binding: Any) -> None:
        if binding is self:
            return
        self._binding = binding
        self._owner: Queue = binding._owner

    def send(self, *arguments: Any, **named: Any) -> Coroutine[Any, Any, Any]:
        if len(arguments) == 1 and not named and not semantics.current().v8_queue_bodies:
            body = _as_json(arguments[0])
            if body is not None:
                return _answer(begin(succeed("send", self._owner.send(Outgoing(body)))))
        return self._getattr_helper("send")(*arguments, **named)  # type: ignore[no-any-return]

    def sendBatch(self, *arguments: Any, **named: Any) -> Coroutine[Any, Any, Any]:
        if len(arguments) == 1 and not named and not semantics.current().v8_queue_bodies:
            messages = _plain_batch(arguments[0])
            if messages:
                return _answer(begin(succeed("sendBatch", self._owner.send_batch(messages))))
        return self._getattr_helper("sendBatch")(*arguments, **named)  # type: ignore[no-any-return]


def _plain_batch(batch: Any) -> list[Outgoing] | None:
    """The messages of a batch that needs nothing but plain bodies, else None."""
    if type(batch) is not list:
        return None
    messages = []
    for each in batch:
        if type(each) is not dict or len(each) != 1 or "body" not in each:
            return None
        body = _as_json(each["body"])
        if body is None:
            return None
        messages.append(Outgoing(body))
    return messages


def _as_json(body: Any) -> bytes | None:
    """A body as the SDK and ``JSON.stringify`` would write it, None where that is not certain."""
    try:
        return _encode(body).encode() if _is_plain(body) else None
    except (UnicodeEncodeError, RecursionError, ValueError):
        return None


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER)
    if kind is float:
        # Python's form of a number is JavaScript's where neither uses an exponent and there is a fraction.
        return not value.is_integer() and 1e-4 <= abs(value) < 1e15
    if kind is dict:
        return (
            _TEXT.issuperset(map(type, value))
            # JavaScript puts integer keys first.
            and not any("0" <= key[:1] <= "9" for key in value)
            and _are_plain(value.values())
        )
    return kind is list and _are_plain(value)


def _are_plain(values: Any) -> bool:
    return _TEXT.issuperset(map(type, values)) or all(map(_is_plain, values))


async def _answer(begun: Any) -> JsDict:
    metrics = await begun
    shown = JsDict(backlogCount=metrics.backlog_count, backlogBytes=metrics.backlog_bytes)
    if metrics.oldest_at is not None:
        # Naive and in local time, as the SDK gives a Date.
        shown["oldestMessageTimestamp"] = datetime.fromtimestamp(metrics.oldest_at / 1000)
    elif not semantics.current().unset_fields_are_absent:
        shown["oldestMessageTimestamp"] = None
    return JsDict(metadata=JsDict(metrics=shown))


# What a person meets in "coroutine ... was never awaited".
_answer.__qualname__ = "WorkerQueue.send"
