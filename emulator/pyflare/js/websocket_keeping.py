"""Where whoever runs workers learns of the WebSocket connections that a worker opens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeAlias

from .callbacks import supervise

__all__ = ["CloseConnection", "KeepConnection", "keep_connection", "keep_going"]

#: Ends a connection from the emulator's side, with this code and reason.
CloseConnection: TypeAlias = Callable[[int, str], None]

#: Keeps the running event going until some work is done; the function ends the connection early.
KeepConnection: TypeAlias = Callable[[asyncio.Task[Any], CloseConnection | None], None]

#: Whoever runs a worker sets it for that worker's context.
keep_connection: ContextVar[KeepConnection | None] = ContextVar("keep_connection", default=None)


def keep_going(work: asyncio.Task[Any], close: CloseConnection | None = None) -> None:
    """The running event lasts until this work is done, and its failure is logged."""
    keep = keep_connection.get()
    if keep is None:
        supervise(work)
    else:
        keep(work, close)
