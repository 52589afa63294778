"""Queues: messages kept until a consumer has acknowledged them."""

from .errors import QueueError, QueueErrorCode
from .messages import (
    Arrival,
    Lease,
    LeasedMessage,
    Outgoing,
    Outlook,
    QueueMetrics,
    Settled,
    StoredMessage,
)
from .queue import Queue
from .store import QueueStore, StoredQueue

__all__ = [
    "Arrival",
    "Lease",
    "LeasedMessage",
    "Outgoing",
    "Outlook",
    "Queue",
    "QueueError",
    "QueueErrorCode",
    "QueueMetrics",
    "QueueStore",
    "Settled",
    "StoredMessage",
    "StoredQueue",
]
