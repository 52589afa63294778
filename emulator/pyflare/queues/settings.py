"""How a queue is consumed.

The defaults are production's, not those of the JavaScript emulator (5 messages, 1 second, 2 retries):
https://developers.cloudflare.com/queues/configuration/configure-queues/#consumer-worker-configuration
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyflare.config.blocks.queues import QueueConsumer

__all__ = ["ConsumerSettings"]

#: Production adds consumers as the backlog grows, up to 250; on one event loop more than these bring nothing.
_DEFAULT_CONCURRENCY: Final = 10


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """``max_batch_timeout`` and ``retry_delay`` are in seconds."""

    max_batch_size: int = 10
    max_batch_timeout: float = 5.0
    max_retries: int = 3
    max_concurrency: int = _DEFAULT_CONCURRENCY
    retry_delay: int = 0
    dead_letter_queue: str | None = None

    @classmethod
    def read(cls, entry: QueueConsumer) -> ConsumerSettings:
        """From an entry of ``queues.consumers``, where None stands for the default."""
        given = {
            "max_batch_size": _whole(entry.max_batch_size),
            "max_batch_timeout": entry.max_batch_timeout,
            "max_retries": _whole(entry.max_retries),
            "max_concurrency": _whole(entry.max_concurrency),
            "retry_delay": _whole(entry.retry_delay),
            "dead_letter_queue": entry.dead_letter_queue,
        }
        return cls(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
