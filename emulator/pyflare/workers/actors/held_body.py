"""The body of an object's response: no chunk leaves before what was written until then is durable."""

from __future__ import annotations

import asyncio
from typing import Any

from .output_gate import OutputGate

__all__ = ["HeldBody"]


class HeldBody:
    """A body source over another one."""

    __slots__ = ("_gate", "_source", "length")

    def __init__(self, source: Any, gate: OutputGate) -> None:
        self._source = source
        self._gate = gate
        self.length: int | None = source.length

    async def read(self) -> bytes:
        """Raises: what the source raises, and what a commit failed with."""
        chunk: bytes = await self._source.read()
        pending = self._gate.departure()
        if pending is not None:
            await asyncio.shield(pending)
        return chunk

    async def cancel(self, reason: Any) -> None:
        cancel = getattr(self._source, "cancel", None)
        if cancel is not None:
            await cancel(reason)
