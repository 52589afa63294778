"""Running the runtime's own network traffic as nobody's code.

A worker's own `anyio.py` must not be imported by httpx, and nothing of its context belongs to a shared connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, Final, TypeVar

from .unlogged import own_traffic

__all__ = ["NOBODY", "as_nobody"]

T = TypeVar("T")

#: To be copied.
NOBODY: Final = Context()
NOBODY.run(own_traffic.set, True)


async def as_nobody(work: Coroutine[Any, Any, T]) -> T:
    """Run from beginning to end in one Task, which httpx insists on and a promise's eager first step does not give."""
    task = asyncio.get_running_loop().create_task(work, context=NOBODY.copy())
    return await task
