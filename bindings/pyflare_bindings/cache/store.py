"""The owner of all caches of a state directory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from cachetools import TLRUCache

from ..clock import Clock
from ..storage.entry_files import Body, EntryFiles
from ..storage.row_file import Execute
from ..storage.sqlite import Durability
from .answer import Answer, Conditions, answer
from .entries import ENCODED, STORED_AT, StoredResponse
from .policy import MAX_BODY_BYTES, keep

__all__ = ["DEFAULT_CACHE", "CacheStore", "named_cache"]

#: `caches.default`.
DEFAULT_CACHE: Final = "default"

_HOT_BYTES: Final = 32 * 1024 * 1024

# The body comes last, so that a look at the other columns reads past no long one.
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY,
    cache TEXT NOT NULL,
    key TEXT NOT NULL,
    expires REAL NOT NULL,
    status INTEGER NOT NULL,
    headers TEXT NOT NULL,
    size INTEGER NOT NULL,
    blob TEXT,
    body BLOB,
    UNIQUE (cache, key)
);
"""
_MATCH: Final = (
    "SELECT status, headers, expires, size, body, blob FROM entries WHERE cache = ? AND key = ?"
)
_BLOB_OF: Final = "SELECT blob FROM entries WHERE cache = ? AND key = ?"
_PUT: Final = (
    "INSERT INTO entries (cache, key, expires, status, headers, size, blob, body)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (cache, key) DO UPDATE SET"
    " expires = excluded.expires, status = excluded.status, headers = excluded.headers,"
    " size = excluded.size, blob = excluded.blob, body = excluded.body"
)
_ANY: Final = "SELECT 1 FROM entries WHERE cache = ? LIMIT 1"
_DELETE: Final = "DELETE FROM entries WHERE cache = ? AND key = ? RETURNING blob, expires"
_PURGE: Final = (
    "DELETE FROM entries WHERE id IN (SELECT id FROM entries WHERE cache = ? LIMIT 100)"
    " RETURNING blob, expires"
)

Key = tuple[str, str]
Row = tuple[str, str, float, int, str, int, str | None, bytes | None]


def named_cache(name: str) -> str:
    """`caches.open(name)`; never the same cache as `DEFAULT_CACHE`."""
    return f"named:{name}"


class CacheStore:
    """All caches, each a mapping from keys to responses.

    Bodies up to 64 KiB are kept in their row, longer ones in a file of their own; what was used
    last is also kept in memory, up to `hot_bytes`. The registry makes it; its files are opened at
    the first request. Every method raises StateError when the files cannot be used and ClosedError
    after `close`.

    `default_lifetimes` can be set to False for the ways of the JavaScript emulator, where a
    response that says nothing about its lifetime is never found again.
    """

    __slots__ = ("_clock", "_files", "_hot", "default_lifetimes", "path")

    def __init__(
        self,
        path: Path,
        clock: Clock,
        durability: Durability = "process",
        prepare_file: Callable[[], None] = lambda: None,
        hot_bytes: int = _HOT_BYTES,
    ) -> None:
        self.path = path
        self.default_lifetimes = True
        self._clock = clock
        self._files = EntryFiles("the cache", path, _SCHEMA, clock, durability, prepare_file)
        self._hot: TLRUCache[Key, StoredResponse] = TLRUCache(
            hot_bytes, _expiry, timer=clock.now, getsizeof=_weight
        )

    async def match(
        self, cache: str, key: str, conditions: Conditions | None = None
    ) -> Answer | None:
        """Look a response up; None when there is none, or it has expired."""
        stored = self._hot.get((cache, key))
        if stored is not None and stored.body is not None:
            return answer(stored, stored.body, conditions, self._clock.now())
        if not self._files.is_open:
            await self._files.open()
        row = self._files.one(_MATCH, (cache, key))
        if row is None or row[2] <= self._clock.now():
            return None
        stored = StoredResponse.from_row(*row)
        if stored.blob is not None:
            # In the same turn as the look-up: from here on the file stays.
            reader = self._files.open_blob(stored.blob, stored.size)
            return answer(stored, reader, conditions, self._clock.now())
        assert stored.body is not None
        self._keep_hot((cache, key), stored)
        return answer(stored, stored.body, conditions, self._clock.now())

    async def put(
        self,
        cache: str,
        key: str,
        status: int,
        headers: Mapping[str, str],
        body: bytes | AsyncIterator[bytes | memoryview],
        *,
        length: int | None = None,
        encoded: bool = False,
        authorized: bool = False,
    ) -> bool:
        """Store a response if a cache may; gives whether it can be found now.

        In: `headers` by lower-case name; `length` of a stream in bytes, if known; `encoded`,
        whether the body is what `Content-Encoding` makes of it already; `authorized`, whether the
        request carried `Authorization`. Raises what the stream raises; then what was
        there stays. A caller that is cancelled leaves the old response or the new one. A stream
        that is not stored has not been read.
        """
        now = self._clock.now()
        kept = keep(
            status,
            headers,
            now,
            authorized=authorized,
            default_lifetimes=self.default_lifetimes,
        )
        known = len(body) if isinstance(body, bytes) else length
        if kept is None or (known is not None and known > MAX_BODY_BYTES):
            return False
        if not self._files.is_open:
            await self._files.open()
        if kept.expires <= self._clock.now():
            await self._remove(_DELETE, cache, key)
            return False
        taken = await self._files.take_in(body, MAX_BODY_BYTES)
        if taken.size > MAX_BODY_BYTES:
            return False
        if "content-encoding" in kept.headers and not encoded:
            # It is compressed on its way out, to a length that nobody knows.
            kept.headers.pop("content-length", None)
        elif known is not None or "content-length" in kept.headers:
            kept.headers["content-length"] = str(taken.size)
        kept.headers[STORED_AT] = str(now)
        if encoded:
            kept.headers[ENCODED] = "1"
        await self._store((cache, key), status, kept.headers, kept.expires, taken)
        return True

    async def delete(self, cache: str, key: str) -> bool:
        """Remove a response; gives whether there was one that had not expired."""
        if not self._files.is_open:
            await self._files.open()
        return await self._remove(_DELETE, cache, key) > 0

    async def purge(self, cache: str = DEFAULT_CACHE) -> int:
        """Remove all responses of a cache; gives how many had not expired."""
        if not self._files.is_open:
            await self._files.open()
        purged = 0
        while self._files.one(_ANY, (cache,)) is not None:
            # In batches, between which others have their turn.
            purged += await self._remove(_PURGE, cache)
            await asyncio.sleep(0)
        return purged

    def check_file(self) -> None:
        """See :meth:`pyflare_bindings.storage.row_file.RowFile.check_file`."""
        self._files.check_file()

    async def close(self) -> None:
        """Finish the writes at hand and close the files. Idempotent."""
        self._hot.clear()
        await self._files.close()

    async def _store(
        self, key: Key, status: int, headers: dict[str, str], expires: float, body: Body
    ) -> None:
        stored = StoredResponse(status, headers, expires, body.size, body.content, body.blob)
        row = (*key, expires, status, json.dumps(headers), body.size, body.blob, body.content)
        await self._files.store(
            body, expires, partial(_store_row, row), partial(self._keep_hot, key, stored)
        )

    async def _remove(self, sql: str, *where: str) -> int:
        def forget(_: list[Any]) -> None:
            if len(where) == 2:
                self._hot.pop(where, None)
                return
            for each in [each for each in self._hot if each[0] == where[0]]:
                self._hot.pop(each, None)

        now = self._clock.now()
        removed = await self._files.remove(sql, where, forget)
        return sum(expires > now for _, expires in removed)

    def _keep_hot(self, key: Key, stored: StoredResponse) -> None:
        # The layer takes the place of rows, so only what lies in a row is kept.
        if stored.body is None or stored.weight > self._hot.maxsize:
            self._hot.pop(key, None)
        else:
            self._hot[key] = stored


def _expiry(_key: Key, stored: StoredResponse, _now: float) -> float:
    return stored.expires


def _weight(stored: StoredResponse) -> int:
    return stored.weight


def _store_row(row: Row, execute: Execute) -> str | None:
    replaced: str | None = execute(_BLOB_OF, row[:2]).get
    execute(_PUT, row)
    return replaced
