"""Entries that are taken over from somewhere else, with their times of expiry as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ..storage.entry_files import LARGEST_IN_ROW, EntryFiles
from ..storage.row_file import Execute
from ..storage.stored_content import StoredContent
from . import limits
from .errors import KVError

__all__ = ["RestoredEntry", "restore_all"]

_BLOBS: Final = "SELECT blob FROM entries WHERE blob IS NOT NULL"
_CLEAR: Final = "DELETE FROM entries"


class RestoredEntry(NamedTuple):
    """A key with its value; `expires` in seconds since the epoch, `metadata` as JSON text."""

    key: str
    content: StoredContent
    expires: int | None = None
    metadata: str | None = None


async def restore_all(
    files: EntryFiles, put: str, entries: Iterable[RestoredEntry], now: float
) -> int:
    """Make the rows what `entries` says, all of them or none. Out: how many there are.

    In: `put`, the statement that stores a row; `entries`, which is iterated twice. Raises KVError
    for an entry that KV does not allow, StateError, and what the contents raise.
    """
    large: dict[bytes, str] = {}
    try:
        for entry in entries:
            _check(entry)
            if entry.content.size > LARGEST_IN_ROW and not _has_expired(entry, now):
                encoded = limits.key_bytes(entry.key)
                large[encoded] = await files.take_in_stored(entry.content)
    except BaseException:
        files.drop_blobs(large.values())
        raise

    def change(execute: Execute) -> tuple[int, list[str]]:
        replaced: list[str] = [blob for (blob,) in execute(_BLOBS)]
        execute(_CLEAR)
        count = 0
        for entry in entries:
            if not _has_expired(entry, now):
                execute(put, _row(entry, large))
                count += 1
        return count, replaced

    return await files.rewrite(change, list(large.values()))


def _has_expired(entry: RestoredEntry, now: float) -> bool:
    return entry.expires is not None and entry.expires <= now


def _check(entry: RestoredEntry) -> None:
    try:
        limits.key_bytes(entry.key)
        limits.check_metadata(entry.metadata)
        limits.check_value_size(entry.content.size)
    except KVError as error:
        raise KVError(error.status, f"key {entry.key!r}: {error}") from None


def _row(entry: RestoredEntry, large: dict[bytes, str]) -> tuple[Any, ...]:
    encoded = limits.key_bytes(entry.key)
    content = entry.content
    blob = large.get(encoded)
    value = content.read() if blob is None else None
    return encoded, entry.expires, entry.metadata, content.size, blob, value
