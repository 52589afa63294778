"""One page of a listing.

Keys are stored as UTF-8 bytes, so their order is the index's, a prefix is a range of it, and a
group of keys that share a delimited prefix is skipped with one seek: a page costs what is on it.
Source: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#bucket-method-definitions
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from typing import Any

from .errors import R2Error, invalid_argument, invalid_limit
from .keys import identity_of, successor
from .limits import Limits
from .rows import HEAD, Row, object_of
from .values import ListOptions, ListResult, R2Object

_SELECT_KEY = "SELECT key FROM objects WHERE key >= ? AND key < ? ORDER BY key LIMIT 1"
_SELECT = f"SELECT {HEAD} FROM objects WHERE key >= ? AND key < ? ORDER BY key LIMIT ?"
_DEFAULT_LIMIT = 1000
_BEHIND_ALL_KEYS = b"\xff"
_FIRST_BATCH = 4

_CURSOR_VERSION = b"\x01"
_CHECK_BYTES = 6


def list_page(
    read: Callable[[str, tuple[Any, ...]], list[Row]], options: ListOptions, limits: Limits
) -> ListResult:
    """List one page. Raises R2Error for a limit outside 1 to 1000 and for a foreign cursor."""
    limit = _DEFAULT_LIMIT if options.limit is None else options.limit
    if not 1 <= limit <= _DEFAULT_LIMIT:
        raise invalid_limit()
    page = _Page(options, min(limit, limits.page_keys), limits.page_metadata)
    start, end = _bounds(options)
    batch = _FIRST_BATCH if page.delimiter else page.room
    while page.room:
        if page.delimiter:
            # The index alone tells whether a group comes next.
            found = read(_SELECT_KEY, (start, end))
            if not found:
                return page.result(None)
            group = page.group_of(found[0][0])
            if group is not None:
                start = page.take_group(group)
                batch = _FIRST_BATCH
                continue
        asked = min(batch, page.room)
        rows = read(_SELECT, (start, end, asked))
        for row in rows:
            if not page.room or page.group_of(row[0]) is not None:
                break
            page.take_object(row)
            start = row[0] + b"\0"
        else:
            if len(rows) < asked:
                return page.result(None)
            batch *= 2
    return page.result(start if read(_SELECT_KEY, (start, end)) else None)


class _Page:
    """What is on the page so far; `room` is how much more fits."""

    __slots__ = (
        "_custom",
        "_cut_from",
        "_http",
        "_metadata_room",
        "_objects",
        "_prefixes",
        "delimiter",
        "room",
    )

    def __init__(self, options: ListOptions, room: int, metadata_room: int) -> None:
        self.room = room
        self.delimiter = identity_of(options.delimiter)
        self._cut_from = len(identity_of(options.prefix))
        self._http = "httpMetadata" in options.include
        self._custom = "customMetadata" in options.include
        self._metadata_room = metadata_room
        self._objects: list[R2Object] = []
        self._prefixes: list[str] = []

    def group_of(self, key: bytes) -> bytes | None:
        """The beginning that a key shares with its group; None for a key that stands alone."""
        if not self.delimiter:
            return None
        at = key.find(self.delimiter, self._cut_from)
        return None if at < 0 else key[: at + len(self.delimiter)]

    def take_group(self, group: bytes) -> bytes:
        """Add a group. Out: where the listing goes on behind it."""
        self.room -= 1
        self._prefixes.append(group.decode())
        return successor(group) or _BEHIND_ALL_KEYS

    def take_object(self, row: Row) -> None:
        """Add an object."""
        self.room -= 1
        self._objects.append(object_of(row, http=self._http, custom=self._custom))
        if self._http or self._custom:
            self._metadata_room -= len(row[0]) + len(row[11] or "") + len(row[12] or "")
            if self._metadata_room <= 0:
                self.room = 0

    def result(self, following: bytes | None) -> ListResult:
        """The page; `following` is where the next one begins, None when this is the last."""
        cursor = None if following is None else _write_cursor(following)
        return ListResult(self._objects, self._prefixes, cursor)


def _bounds(options: ListOptions) -> tuple[bytes, bytes]:
    prefix = identity_of(options.prefix)
    start = prefix
    if options.start_after is not None:
        start = max(start, identity_of(options.start_after) + b"\0")
    if options.cursor is not None:
        start = max(start, _read_cursor(options.cursor))
    return start, successor(prefix) or _BEHIND_ALL_KEYS


def _write_cursor(position: bytes) -> str:
    checked = _CURSOR_VERSION + position
    return base64.urlsafe_b64encode(_check_of(checked) + checked).decode()


def _read_cursor(cursor: str) -> bytes:
    try:
        data = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise _invalid_cursor() from None
    check, checked = data[:_CHECK_BYTES], data[_CHECK_BYTES:]
    if checked[:1] != _CURSOR_VERSION or check != _check_of(checked):
        raise _invalid_cursor()
    return checked[1:]


def _check_of(checked: bytes) -> bytes:
    return hashlib.sha256(b"r2 cursor" + checked).digest()[:_CHECK_BYTES]


def _invalid_cursor() -> R2Error:
    # Production refuses such cursors; the local tools list from the start.
    return invalid_argument("The cursor is not one that a listing has returned.")
