"""The error of a queue."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["QueueError", "QueueErrorCode"]


class QueueErrorCode(IntEnum):
    """The platform's numbers for what a queue refuses.

    Source: https://developers.cloudflare.com/queues/reference/error-codes/
    """

    DELAY_INVALID = 10202
    METADATA_INVALID = 10203
    MESSAGE_SIZE = 10204
    BATCH_SIZE = 10205
    BATCH_COUNT = 10206
    OVERLOADED = 10250
    INTERNAL = 15000


class QueueError(Exception):
    """A request that was refused; `str()` is the platform's reason."""

    def __init__(self, code: QueueErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
