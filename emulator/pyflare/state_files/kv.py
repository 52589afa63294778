"""KV namespaces: rows of one table, and a file for each value."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from pyflare_bindings.kv import KVEntry, KVError, KVNamespace
from pyflare_bindings.kv.restore import RestoredEntry
from pyflare_bindings.registry import BindingRegistry

from .blob_files import BlobFiles, write_blob
from .errors import SourceError
from .layout import WranglerState
from .names import KV
from .options import Options
from .outcome import Outcome
from .private_copy import copy_of
from .tables import ForeignDatabase, new_database, values_in

__all__ = ["ENTRIES_SCHEMA", "ENTRIES_TABLE", "Entries", "export_namespace", "import_namespace"]

_KIND: Final = "KV namespace"
_UNIT: Final = "keys"
_MILLISECONDS: Final = 1000
ENTRIES_TABLE: Final = "_mf_entries"
ENTRIES_SCHEMA: Final = f"""
CREATE TABLE {ENTRIES_TABLE} (
    key TEXT PRIMARY KEY,
    blob_id TEXT NOT NULL,
    expiration INTEGER,
    metadata TEXT
);
CREATE INDEX {ENTRIES_TABLE}_expiration_idx ON {ENTRIES_TABLE}(expiration);
"""
_SELECT: Final = (
    f"SELECT CAST(key AS BLOB), blob_id, expiration, metadata FROM {ENTRIES_TABLE} ORDER BY key"
)
_INSERT: Final = f"INSERT INTO {ENTRIES_TABLE} VALUES (?, ?, ?, ?)"
_BLOBS: Final = f"SELECT blob_id FROM {ENTRIES_TABLE}"


class Entries:
    """The entries of one namespace. They can be iterated again; `missing` are the keys that were left out."""

    __slots__ = ("_blobs", "_database", "_skip_damaged", "missing")

    def __init__(self, database: ForeignDatabase, blobs: BlobFiles, *, skip_damaged: bool) -> None:
        self._database = database
        self._blobs = blobs
        self._skip_damaged = skip_damaged
        self.missing: dict[str, str] = {}

    def __iter__(self) -> Iterator[RestoredEntry]:
        for key, blob, expiration, metadata in self._database.rows(_SELECT):
            try:
                name = key.decode()
                expires = None if expiration is None else int(expiration) // _MILLISECONDS
                content = self._blobs.find(blob)
            except (ValueError, TypeError, AttributeError) as error:
                raise self._database.unexpected(f"key {key!r}: {error}") from error
            except SourceError as error:
                if not self._skip_damaged:
                    raise
                self.missing[name] = str(error)
                continue
            if name not in self.missing:
                yield RestoredEntry(name, content, expires, metadata)

    def notes(self) -> list[str]:
        """What a person should know of those that were left out."""
        return [f"left out key {name!r}: {why}" for name, why in self.missing.items()]


async def import_namespace(
    source: WranglerState, id: str, registry: BindingRegistry, work: Path, options: Options
) -> Outcome:
    """Carry one namespace over. Raises StateError."""
    path = source.database(KV, id)
    if not path.is_file():
        return Outcome(_KIND, id, "absent")
    namespace = registry.kv(id)
    if not options.overwrite and not await namespace.is_empty():
        return Outcome(_KIND, id, "kept")
    database = ForeignDatabase(copy_of(path, work), path)
    if not database.has_table(ENTRIES_TABLE):
        return Outcome(_KIND, id, "absent")
    blobs = BlobFiles(source.blobs(KV, id))
    entries = Entries(database, blobs, skip_damaged=options.skip_damaged)
    try:
        count = await namespace.restore(entries)
    except KVError as error:
        raise database.unexpected(str(error)) from error
    finally:
        database.copy.unlink(missing_ok=True)
    return Outcome(_KIND, id, "imported", count, _UNIT, notes=entries.notes())


async def export_namespace(
    registry: BindingRegistry, id: str, target: WranglerState, options: Options
) -> Outcome:
    """Write one namespace. Raises StateError."""
    namespace = registry.kv(id)
    if await namespace.is_empty():
        return Outcome(_KIND, id, "absent")
    path = target.database(KV, id)
    if path.exists() and not options.overwrite:
        return Outcome(_KIND, id, "kept")
    now = int(registry.clock.now() * _MILLISECONDS)
    directory = target.blobs(KV, id)
    replaced = values_in(path, _BLOBS)
    count = 0
    with new_database(path, ENTRIES_SCHEMA) as connection:
        async for name, entry in _entries(namespace):
            blob = await write_blob(directory, entry.chunks(), now)
            expires = None if entry.expires is None else entry.expires * _MILLISECONDS
            connection.execute(_INSERT, (name, blob, expires, entry.metadata)).fetchall()
            count += 1
    BlobFiles(directory).remove(replaced)
    return Outcome(_KIND, id, "exported", count, _UNIT)


async def _entries(namespace: KVNamespace) -> AsyncIterator[tuple[str, KVEntry]]:
    cursor: str | None = None
    while True:
        page = await namespace.list(cursor=cursor)
        for key in page.keys:
            entry = await namespace.get(key.name)
            # It may have expired since.
            if entry is not None:
                yield key.name, entry
        cursor = page.cursor
        if cursor is None:
            return
