"""A response in a cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from .http_dates import parse_http_date

__all__ = ["ENCODED", "STORED_AT", "StoredResponse"]

#: Among the headers of a row: the body lies encoded as `Content-Encoding` says. No header of a
#: response can have this name.
ENCODED: Final = ":encoded"
#: Among them too: when the response was stored, in seconds since the epoch.
STORED_AT: Final = ":stored-at"


class StoredResponse:
    """A response as it is kept: `body` where it is small, else the `blob` of `size` bytes.

    `headers` are by lower-case name; `encoded` is whether the body is what `Content-Encoding` makes
    of it; `expires` is in seconds since the epoch.
    """

    __slots__ = (
        "_born",
        "_pairs",
        "blob",
        "body",
        "encoded",
        "expires",
        "headers",
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
        self._pairs = [
            (name.encode(), value.encode(errors="replace"))
            for name, value in headers.items()
            if name not in _NOT_SENT
        ]
        self._born = _stored_at(headers) - int(headers.get("age", 0))
        self.expires = expires
        self.size = size
        self.body = body
        self.blob = blob
        self.weight = 1000 + size + 4 * sum([len(name) + len(value) for name, value in self._pairs])

    def pairs(self, now: float) -> list[tuple[bytes, bytes]]:
        """The headers as they go on the wire at `now`, in seconds, with the response's age by then.

        Production counts the age on; the local tools leave it as it was when it was stored.
        Source: https://developers.cloudflare.com/cache/concepts/cache-responses/
        """
        return [*self._pairs, (b"age", b"%d" % max(now - self._born, 0))]

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


_NOT_SENT: Final = frozenset({ENCODED, STORED_AT, "age", "cf-cache-status"})


def _stored_at(headers: Mapping[str, str]) -> float:
    if STORED_AT in headers:
        return float(headers[STORED_AT])
    # Of a row that an older version has written.
    return parse_http_date(headers.get("date", "")) or 0
