"""``DurableObjectStub``: a fetcher to one object.

Source: https://developers.cloudflare.com/durable-objects/api/stub/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflare.js.fetcher import Channel, Fetcher

from .id import DurableObjectId

__all__ = ["DurableObjectStub"]


class DurableObjectStub(Fetcher, js_name="DurableObject"):
    """The object is started by the first call, not by this. ``id`` and ``name`` are the stub's own."""

    def __init__(self, channel: Channel, id: DurableObjectId) -> None:
        super().__init__(channel)
        self.id = id
        self.name = id.name

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        yield "id", self.id
        yield "name", self.name
