"""Long computations leave the event loop.

The platform computes inline, because each of its isolates has a thread; here all workers share one loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Final, TypeVar

__all__ = ["LONG", "off_loop"]

T = TypeVar("T")

#: From how many estimated milliseconds on a computation leaves the loop.
LONG: Final = 5.0


async def off_loop(job: Callable[[], T]) -> T:
    """Run a computation on the loop's pool of threads. ``job`` must not touch values that a worker can change."""
    # In an empty context, because a worker's own context has no threads, as in production.
    return await Context().run(asyncio.get_running_loop().run_in_executor, None, job)
