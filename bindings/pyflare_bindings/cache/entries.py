"""A response in a cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

__all__ = ["ENCODED", "StoredResponse"]

#: Among the headers of a row: the body lies encoded as `Content-Encoding` says. No header of a
#: response can have this name.
ENCODED: Final = ":encoded"


class StoredResponse:
    """A response as it is kept: `body` where it is small, else the `blob` of `size` bytes.

    `headers` are by lower-case name and `pairs` the same as they go on the wire; `encoded` is
    whether the body is what `Content-Encoding` makes of it; `expires` is in seconds since the epoch.
    """

    __slots__ = (
        "blob",
        "body",
        "encoded",
        "expires",
        "headers",
        "pairs",
        "size",
        "status",
        "weight",
    )

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        expires: float,
        size: int,
        body: bytes | None,
        blob: str | None,
    ) -> None:
        self.status = status
        self.headers = headers
        self.encoded = ENCODED in headers
        self.pairs = [
            (name.encode(), value.encode(errors="replace"))
            for name, value in headers.items()
            if name != ENCODED
        ]
        self.expires = expires
        self.size = size
        self.body = body
        self.blob = blob
        self.weight = 1000 + size + 4 * sum([len(name) + len(value) for name, value in self.pairs])

    @classmethod
    def from_row(
        cls,
        status: int,
        headers: str,
        expires: float,
        size: int,
        body: bytes | None,
        blob: str | None,
    ) -> StoredResponse:
        """From what the database holds; `headers` is a JSON object."""
        return cls(status, json.loads(headers), expires, size, body, blob)
