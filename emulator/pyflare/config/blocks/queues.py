"""`queues`: producers (bindings) and consumers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..diagnostics import Position
from ..stringify import stringify
from ..table import Table

# (smallest, largest) as production accepts them; wrangler itself leaves the check to deployment.
_RANGES: dict[str, tuple[int, int]] = {
    "max_batch_size": (1, 100),
    "max_batch_timeout": (0, 60),
    "max_retries": (0, 100),
    "max_concurrency": (1, 250),
    "retry_delay": (0, 86_400),
    "visibility_timeout_ms": (0, 43_200_000),
}
# wrangler sends this one on in milliseconds; the platform refuses a fraction of any other.
_FRACTIONS = "max_batch_timeout"


@dataclass(frozen=True, slots=True, eq=False)
class QueueProducer:
    """An entry of `queues.producers`. `delivery_delay` is in seconds."""

    binding: str
    queue: str | None = None
    delivery_delay: float | None = None
    remote: bool | None = None
    position: Position | None = None

    @property
    def local_id(self) -> str:
        """The name of the queue."""
        return self.binding if self.queue is None else self.queue

    @property
    def label(self) -> str:
        return self.local_id


@dataclass(frozen=True, slots=True, eq=False)
class QueueConsumer:
    """An entry of `queues.consumers`; None where the platform's default applies. Times are in
    seconds unless the name says otherwise."""

    queue: str
    max_batch_size: int | None = None
    max_batch_timeout: float | None = None
    max_retries: int | None = None
    dead_letter_queue: str | None = None
    retry_delay: float | None = None
    max_concurrency: int | None = None
    visibility_timeout_ms: float | None = None
    position: Position | None = None


def producer(table: Table) -> QueueProducer | None:
    # wrangler leaves an entry with an unknown key otherwise unchecked; here the rest is checked
    # too, so that what is wrong in it is said now and not at the first message.
    table.only("binding", "queue", "delivery_delay", "remote")
    binding = table.need_text("binding")
    queue = table.may_text(
        "queue",
        '"{field}" bindings should optionally have a non-empty {type} "{key}" field but got '
        "{json}.",
        empty=False,
    )
    delay = _number(table, "delivery_delay")
    if "delivery_delay" in table:
        table.warn(
            f'The "delivery_delay" field in "{table.field}" is deprecated and has no effect. '
            'Queue-level settings should be configured using "wrangler queues update" instead.',
            "delivery_delay",
        )
    remote = table.remote()
    if not table.valid:
        return None
    return QueueProducer(binding, queue, delay, remote, table.position)


def consumer(table: Table) -> QueueConsumer | None:
    table.only("queue", "type", "dead_letter_queue", *_RANGES)
    queue = table.need_text("queue", '"{field}" should have a {type} "{key}" field but got {json}.')
    kind = table.value.get("type", "worker")
    if kind != "worker":
        shown = kind if isinstance(kind, str) else stringify(kind)
        table.fail(
            f'"{table.field}.type" has an invalid value "{shown}". Only "worker" consumers can '
            "be configured in your Wrangler configuration.",
            "type",
        )
    numbers: dict[str, Any] = {}
    for key, (low, high) in _RANGES.items():
        value = _number(table, key)
        if value is not None and not low <= value <= high:
            table.fail(
                f'"{table.field}.{key}" must be between {low} and {high} but got '
                f"{stringify(value)}.",
                key,
            )
        elif value is not None and key != _FRACTIONS:
            if value != int(value):
                table.fail(
                    f'"{table.field}.{key}" must be a whole number but got {stringify(value)}.', key
                )
            value = int(value)
        numbers[key] = value
    dead_letter = table.may_text("dead_letter_queue", _optional("string"))
    if dead_letter is not None and dead_letter == table.value.get("queue"):
        table.fail(
            f'Dead letter queue for queue "{dead_letter}" cannot be itself', "dead_letter_queue"
        )
    if not table.valid:
        return None
    return QueueConsumer(queue, dead_letter_queue=dead_letter, position=table.position, **numbers)


def _optional(kind: str) -> str:
    return f'"{{field}}" should, optionally, have a {kind} "{{key}}" field but got {{json}}.'


def _number(table: Table, key: str) -> float | None:
    value: float | None = table.may(key, _optional("number"), "number")
    return value
