"""What goes into a queue and what comes out. Times are in milliseconds since the epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from .queue import Queue

#: Told of messages that came into a queue: (the queue, how many, when they can be delivered).
Arrival: TypeAlias = "Callable[[Queue, int, int], None]"


class Outgoing(NamedTuple):
    """A message to be sent: its encoded body, how it is encoded, and its delay in seconds."""

    body: bytes
    content_type: str = "json"
    delay: int = 0


class LeasedMessage(NamedTuple):
    """A message on its way to a consumer. `attempts` counts this delivery."""

    number: int
    raw_id: bytes
    sent_at: int
    attempts: int
    content_type: str
    body: bytes

    @property
    def id(self) -> str:
        """32 hexadecimal digits, the same at every delivery."""
        return self.raw_id.hex()


class StoredMessage(NamedTuple):
    """A message as it lies in its queue, for a person to look at. `attempts` are past deliveries."""

    number: int
    raw_id: bytes
    sent_at: int
    attempts: int
    content_type: str
    body: bytes
    visible_at: int
    in_flight: bool

    @property
    def id(self) -> str:
        """32 hexadecimal digits."""
        return self.raw_id.hex()


@dataclass(slots=True, frozen=True)
class QueueMetrics:
    """Messages that nobody has acknowledged, their bytes, and when the oldest was sent."""

    backlog_count: int
    backlog_bytes: int
    oldest_at: int | None


@dataclass(slots=True, frozen=True)
class Lease:
    """Messages that are out for delivery until they are settled or the lease ends."""

    token: str
    messages: Sequence[LeasedMessage]


@dataclass(slots=True, frozen=True)
class Settled:
    """What became of leased messages.

    `dead` are those whose deliveries are used up: they went to the dead-letter queue, or were
    dropped where there is none. Those whose lease had ended before are in none of the lists.
    """

    acknowledged: Sequence[LeasedMessage]
    retried: Sequence[LeasedMessage]
    dead: Sequence[LeasedMessage]


class Outlook(NamedTuple):
    """What a queue holds for a consumer.

    `ready` messages can be delivered now, counted up to the limit asked for; the first of them
    since `ready_since`; `next_at` is when another one becomes deliverable.
    """

    ready: int
    ready_since: int | None
    next_at: int | None
