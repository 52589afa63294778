"""What a queue accepts.

Source: https://developers.cloudflare.com/queues/platform/limits/, where 1 KB is 1,000 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .errors import QueueError, QueueErrorCode
from .messages import Outgoing

MAX_MESSAGE_BYTES: Final = 128_000
MAX_BATCH_MESSAGES: Final = 100
# The documented limit; the local tools allow 288,000.
MAX_BATCH_BYTES: Final = 256_000
MAX_DELAY_SECONDS: Final = 86_400
#: The longest that a pulled message may stay invisible.
MAX_VISIBILITY_SECONDS: Final = 43_200
CONTENT_TYPES: Final = frozenset({"text", "bytes", "json", "v8"})


def check_message(message: Outgoing) -> None:
    """Raise QueueError for a message that cannot be sent alone."""
    size = len(message.body)
    if size > MAX_MESSAGE_BYTES:
        raise QueueError(
            QueueErrorCode.MESSAGE_SIZE,
            f"message length of {size} bytes exceeds limit of {MAX_MESSAGE_BYTES}",
        )
    _check_metadata(message)


def check_batch(messages: Sequence[Outgoing]) -> None:
    """Raise QueueError for messages that cannot be sent together."""
    if len(messages) > MAX_BATCH_MESSAGES:
        raise QueueError(
            QueueErrorCode.BATCH_COUNT,
            f"batch message count of {len(messages)} exceeds limit of {MAX_BATCH_MESSAGES}",
        )
    largest = max((len(message.body) for message in messages), default=0)
    if largest > MAX_MESSAGE_BYTES:
        raise QueueError(
            QueueErrorCode.MESSAGE_SIZE,
            f"message in batch has length {largest} bytes which exceeds single message size limit"
            f" of {MAX_MESSAGE_BYTES}",
        )
    total = sum(len(message.body) for message in messages)
    if total > MAX_BATCH_BYTES:
        raise QueueError(
            QueueErrorCode.BATCH_SIZE,
            f"batch size of {total} bytes exceeds limit of {MAX_BATCH_BYTES}",
        )
    for message in messages:
        _check_metadata(message)


def _check_metadata(message: Outgoing) -> None:
    if not 0 <= message.delay <= MAX_DELAY_SECONDS:
        raise QueueError(
            QueueErrorCode.DELAY_INVALID,
            f"message delay {message.delay} is invalid: it must be a whole number of seconds"
            f" from 0 to {MAX_DELAY_SECONDS}",
        )
    if message.content_type not in CONTENT_TYPES:
        raise QueueError(
            QueueErrorCode.METADATA_INVALID,
            f"message content type {message.content_type} is invalid; if specified, must be one of"
            " 'text', 'json', 'bytes', or 'v8'",
        )
