"""One request to a local endpoint: its query, its body, and its answer."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from pyflare.server.contracts import Receive, Scope, Send
from pyflare.server.outbound import send_text

__all__ = ["BodyTooLarge", "query_of", "read_body", "send_json"]


class BodyTooLarge(Exception):
    """A body is longer than the endpoint takes; ``size`` is the number of bytes seen or announced."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the body has {size} bytes or more")
        self.size = size


def query_of(scope: Scope) -> dict[str, str]:
    """The parameters of the query; of a repeated one the first counts."""
    found: dict[str, str] = {}
    for name, value in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True):
        found.setdefault(name, value)
    return found


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """The whole body. Raises :class:`BodyTooLarge` beyond ``most`` bytes, without reading them, and ConnectionError
    when the client leaves.
    """
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > most:
            raise BodyTooLarge(int(value))
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionError("the client disconnected before its request was complete")
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise BodyTooLarge(size)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def send_json(send: Send, status: int, value: Any) -> None:
    """An answer in JSON."""
    await send_text(send, status, json.dumps(value), "application/json")
