"""Calls a ``queue`` handler with messages from outside, as tests and trigger endpoints do."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from pyflare.env.queue import shown_metrics
from pyflare.js.queue_bodies import content_type, encode
from pyflare.js.value import JsObject, jsnull
from pyflare_bindings.queues import QueueMetrics

from .batch import Marks, MessageBatch
from .delivery import ConsumerLog
from .event import ConsumingWorker, run_queue_event

__all__ = ["DirectMessage", "deliver_directly"]

#: The last time, in milliseconds since the epoch, that a Date can hold.
_LATEST: Final = 8_640_000_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectMessage:
    """A message for a handler. ``sent_at`` is in milliseconds since the epoch, ``body`` encoded."""

    body: bytes
    content_type: str = "json"
    id: str = field(default_factory=lambda: os.urandom(16).hex())
    sent_at: int = 0
    attempts: int = 1

    @classmethod
    def read(cls, given: Mapping[str, Any], now: int) -> DirectMessage:
        """From ``{body, contentType?, id?, timestamp?, attempts?}``, as JSON or a test has it.

        ``timestamp`` may be a datetime, milliseconds or an ISO text; the default is ``now``. Raises ValueError.
        """
        if not isinstance(given, Mapping) or "body" not in given:
            raise ValueError(f'A message is an object with a "body", not {given!r}.')
        try:
            body = _with_null(given["body"])
            kind = content_type(given.get("contentType", "bytes" if _is_bytes(body) else "json"))
            encoded = encode(body, kind)
        except Exception as error:
            raise ValueError(f"The body of a message cannot be sent: {error}") from error
        extra: dict[str, Any] = {}
        if "id" in given:
            extra["id"] = str(given["id"])
        attempts = given.get("attempts", 1)
        if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1:
            raise ValueError(f'"attempts" is a whole number from 1 on, not {attempts!r}.')
        sent_at = _milliseconds(given.get("timestamp"), now)
        return cls(body=encoded, content_type=kind, sent_at=sent_at, attempts=attempts, **extra)


def _with_null(value: Any) -> Any:
    """Python's None means undefined to JavaScript; in a message it stands for null."""
    match value:
        case None:
            return jsnull
        case dict():
            return {key: _with_null(item) for key, item in value.items()}
        case list() | tuple():
            return [_with_null(item) for item in value]
    return value


def _is_bytes(body: Any) -> bool:
    return isinstance(body, bytes | bytearray | memoryview)


def _milliseconds(timestamp: Any, now: int) -> int:
    match timestamp:
        case None:
            return now
        case bool():
            pass
        case int() | float():
            # Beyond these a Date is invalid.
            if -_LATEST <= timestamp <= _LATEST:
                return int(timestamp)
        case datetime() | str():
            try:
                if isinstance(timestamp, str):
                    timestamp = datetime.fromisoformat(timestamp)
                return int(timestamp.timestamp() * 1000)
            except (ValueError, OverflowError):
                pass
    raise ValueError(
        f'"timestamp" is a number of milliseconds or an ISO 8601 text, not {timestamp!r}.'
    )


async def deliver_directly(
    worker: ConsumingWorker,
    queue: str,
    messages: Sequence[DirectMessage | Mapping[str, Any]],
    now: int,
    log: ConsumerLog,
) -> dict[str, Any]:
    """Run the handler. Gives the outcome in the platform's words; see :meth:`QueueDispatcher.deliver`."""
    read = [
        each if isinstance(each, DirectMessage) else DirectMessage.read(each, now)
        for each in messages
    ]
    marks = Marks(lambda text: log.console(worker.name, "warn", text))
    batch = MessageBatch._make(queue, read, marks, _no_backlog)
    succeeded = await run_queue_event(
        worker,
        batch,
        lambda error: log.uncaught(worker.name, error, where=f'queue "{queue}"'),
    )
    return {
        "outcome": "ok" if succeeded else "exception",
        "ackAll": marks.all_acknowledged,
        "retryBatch": {"retry": marks.all_retried, **_delay(marks.batch_delay)},
        "explicitAcks": list(marks.acknowledged),
        "retryMessages": [{"msgId": id, **_delay(own)} for id, own in marks.retried.items()],
    }


def _delay(seconds: int | None) -> dict[str, int]:
    return {} if seconds is None else {"delaySeconds": seconds}


def _no_backlog() -> JsObject:
    return JsObject.adopt({"metrics": shown_metrics(QueueMetrics(0, 0, None))})
