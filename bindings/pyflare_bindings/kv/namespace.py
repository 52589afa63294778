"""The owner of one KV namespace."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ..clock import Clock
from ..storage.entry_files import EntryFiles
from ..storage.row_file import Execute
from ..storage.sqlite import Durability
from . import limits
from .entries import KVEntry, KVKey, KVPage
from .errors import KVError
from .restore import RestoredEntry, restore_all

__all__ = ["KVNamespace"]

# The value comes last, so that a listing reads past no long one.
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    expires INTEGER,
    metadata TEXT,
    size INTEGER NOT NULL,
    blob TEXT,
    value BLOB
);
"""
_GET: Final = "SELECT value, blob, size, expires, metadata FROM entries WHERE key = ?"
_ANY: Final = "SELECT 1 FROM entries LIMIT 1"
_BLOB_OF: Final = "SELECT blob FROM entries WHERE key = ?"
_PUT: Final = (
    "INSERT INTO entries (key, expires, metadata, size, blob, value) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET expires = excluded.expires, metadata = excluded.metadata,"
    " size = excluded.size, blob = excluded.blob, value = excluded.value"
)
_DELETE: Final = "DELETE FROM entries WHERE key = ? RETURNING blob"
_LIST: Final = (
    "SELECT key, expires, metadata FROM entries WHERE key >= ? AND key < ? ORDER BY key LIMIT ?"
)
# No UTF-8 text has this byte, so it lies behind every key.
_BEHIND_ALL_KEYS: Final = b"\xff"

Row = tuple[bytes, int | None, str | None, int, str | None, bytes | None]


class KVNamespace:
    """One KV namespace, strictly consistent: a read sees every write that was acknowledged.

    Values up to 64 KiB are kept in their row, longer ones in a file of their own. The registry
    makes it; its files are opened at the first request. Every method raises StateError when the
    files cannot be used and ClosedError after `close`.
    """

    __slots__ = ("_clock", "_files", "id", "path")

    def __init__(
        self,
        id: str,
        path: Path,
        clock: Clock,
        durability: Durability = "process",
        prepare_file: Callable[[], None] = lambda: None,
    ) -> None:
        self.id = id
        self.path = path
        self._clock = clock
        name = f"the KV namespace {id!r}"
        self._files = EntryFiles(name, path, _SCHEMA, clock, durability, prepare_file)

    async def get(self, key: str, cache_ttl: int | None = None) -> KVEntry | None:
        """The value of a key; None when there is none, or it has expired.

        In: `cache_ttl`, in seconds, is checked and has no effect. Raises KVError.
        """
        encoded = limits.key_bytes(key)
        if cache_ttl is not None:
            limits.check_cache_ttl(cache_ttl)
        if not self._files.is_open:
            await self._files.open()
        return self._look_up(encoded)

    async def get_many(
        self, keys: Sequence[str], cache_ttl: int | None = None
    ) -> dict[str, KVEntry | None]:
        """The values of up to 100 keys, which may hold 25 MiB together, in the order asked for.

        Raises KVError, also for one key that is no good.
        """
        limits.check_bulk_keys(keys)
        encoded = {key: limits.key_bytes(key) for key in keys}
        if cache_ttl is not None:
            limits.check_cache_ttl(cache_ttl)
        if not self._files.is_open:
            await self._files.open()
        found = {key: self._look_up(each) for key, each in encoded.items()}
        entries = [entry for entry in found.values() if entry is not None]
        try:
            limits.check_bulk_size(sum(entry.size for entry in entries))
        except KVError:
            for entry in entries:
                entry.close()
            raise
        return found

    async def put(
        self,
        key: str,
        value: bytes | AsyncIterator[bytes | memoryview],
        *,
        length: int | None = None,
        expiration: int | None = None,
        expiration_ttl: int | None = None,
        metadata: str | None = None,
    ) -> None:
        """Set value, expiry and metadata of a key together.

        In: `length`, the bytes that a stream will give, if known; `expiration` in seconds since
        the epoch; `expiration_ttl` in seconds, which wins; `metadata` as JSON text. Raises
        KVError, and what a stream raises; then the old value stays. A caller that is cancelled
        leaves the old value or the new one, and nothing else.
        """
        encoded = limits.key_bytes(key)
        expires = limits.expiry(self._clock.now(), expiration, expiration_ttl)
        limits.check_metadata(metadata)
        if isinstance(value, bytes):
            limits.check_value_size(len(value))
        elif length is not None:
            limits.check_value_size(length)
        files = self._files
        if not files.is_open:
            await files.open()
        body = await files.take_in(value, limits.MAX_VALUE_BYTES)
        limits.check_value_size(body.size)
        row = (encoded, expires, metadata, body.size, body.blob, body.content)
        await files.store(body, expires, partial(_store, row))

    async def delete(self, key: str) -> None:
        """Remove a key; one that is not there is fine. Raises KVError."""
        encoded = limits.key_bytes(key)
        if not self._files.is_open:
            await self._files.open()
        await self._files.remove(_DELETE, (encoded,))

    async def list(
        self, prefix: str = "", limit: int = limits.MAX_LIST_KEYS, cursor: str | None = None
    ) -> KVPage:
        """Keys that begin with `prefix`, in ascending order of their UTF-8 bytes.

        In: `cursor` of an earlier page, behind whose last key this one begins. Raises KVError.
        """
        limits.check_list_limit(limit)
        first = limits.prefix_bytes(prefix)
        end = first[:-1] + bytes([first[-1] + 1]) if first else _BEHIND_ALL_KEYS
        if cursor:
            first = max(first, _key_of_cursor(cursor) + b"\0")
        if not self._files.is_open:
            await self._files.open()
        keys: list[KVKey] = []
        while True:
            wanted = limit + 1 - len(keys)
            rows = self._files.all(_LIST, (first, end, wanted))
            now = self._clock.now()
            keys += [
                KVKey(key.decode(), expires, metadata)
                for key, expires, metadata in rows
                if expires is None or expires > now
            ]
            if len(keys) > limit:
                del keys[limit:]
                return KVPage(keys, _cursor_behind(keys[-1].name))
            if len(rows) < wanted:
                return KVPage(keys)
            # Some had expired. However many more there are, others have their turn in between.
            first = rows[-1][0] + b"\0"
            await asyncio.sleep(0)

    async def is_empty(self) -> bool:
        """Whether it holds no entry; nothing is created."""
        if not self.path.exists():
            return True
        await self._files.open()
        return self._files.one(_ANY, ()) is None

    async def restore(self, entries: Iterable[RestoredEntry]) -> int:
        """Put these entries in the place of all that are there, at once.

        In: `entries`, which is iterated twice, with no key twice in it. Out: how many there are
        now; those that have expired are left out. Raises KVError, and what the contents raise; then
        nothing has changed.
        """
        await self._files.open()
        return await restore_all(self._files, _PUT, entries, self._clock.now())

    def check_file(self) -> None:
        """See :meth:`pyflare_bindings.storage.row_file.RowFile.check_file`."""
        self._files.check_file()

    async def close(self) -> None:
        """Finish the writes at hand and close the files. Idempotent."""
        await self._files.close()

    def _look_up(self, encoded: bytes) -> KVEntry | None:
        row = self._files.one(_GET, (encoded,))
        if row is None:
            return None
        value, blob, size, expires, metadata = row
        if expires is not None and expires <= self._clock.now():
            return None
        # In the same turn as the look-up: from here on the file stays, whoever overwrites the key.
        content = value if blob is None else self._files.open_blob(blob, size)
        return KVEntry(content, size, metadata, expires)


def _store(row: Row, execute: Execute) -> str | None:
    replaced: str | None = execute(_BLOB_OF, row[:1]).get
    execute(_PUT, row)
    return replaced


def _cursor_behind(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def _key_of_cursor(cursor: str) -> bytes:
    try:
        return base64.b64decode(cursor, validate=True)
    except (binascii.Error, ValueError):
        raise KVError(
            400, "Invalid cursor. Please pass the cursor of the previous page unchanged."
        ) from None
