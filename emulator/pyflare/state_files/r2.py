"""R2 buckets: rows of objects and parts, and a file for each content."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

from pyflare_bindings.r2 import HttpMetadata, ListOptions, R2Bucket, R2Error, R2Object
from pyflare_bindings.r2.checksums import etag_of_parts
from pyflare_bindings.r2.restore import (
    DigestError,
    ObjectParts,
    RestoredObject,
    RestoredPart,
    StoredObject,
)
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.stored_content import StoredContent

from .blob_files import BlobFile, BlobFiles, write_blob
from .errors import SourceError
from .layout import WranglerState
from .names import R2
from .options import Options
from .outcome import Outcome
from .private_copy import copy_of
from .tables import ForeignDatabase, new_database, values_in

__all__ = ["export_bucket", "import_bucket"]

_KIND: Final = "R2 bucket"
_UNIT: Final = "objects"
_MD5: Final = re.compile(r"[0-9a-f]{32}")
#: The etag of an object whose upload was completed without parts.
_NO_PARTS: Final = etag_of_parts([])
_IN_PROGRESS: Final = 0
_COMPLETED: Final = 1
_SCHEMA: Final = """
CREATE TABLE _mf_objects (
    key TEXT PRIMARY KEY,
    blob_id TEXT,
    version TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    uploaded INTEGER NOT NULL,
    checksums TEXT NOT NULL,
    http_metadata TEXT NOT NULL,
    custom_metadata TEXT NOT NULL
);
CREATE TABLE _mf_multipart_uploads (
    upload_id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    http_metadata TEXT NOT NULL,
    custom_metadata TEXT NOT NULL,
    state TINYINT DEFAULT 0 NOT NULL
);
CREATE TABLE _mf_multipart_parts (
    upload_id TEXT NOT NULL REFERENCES _mf_multipart_uploads(upload_id),
    part_number INTEGER NOT NULL,
    blob_id TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    checksum_md5 TEXT NOT NULL,
    object_key TEXT REFERENCES _mf_objects(key) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (upload_id, part_number)
);
"""
# Of two keys that are the same once normalised the one written last stays.
_OBJECTS: Final = (
    "SELECT CAST(key AS BLOB), blob_id, version, size, etag, uploaded, checksums, http_metadata,"
    " custom_metadata FROM _mf_objects ORDER BY uploaded, key"
)
_PARTS: Final = (
    "SELECT upload_id, part_number, blob_id, size, checksum_md5 FROM _mf_multipart_parts"
    " WHERE object_key = CAST(? AS TEXT) ORDER BY part_number"
)
_OPEN_UPLOADS: Final = f"SELECT count(*) FROM _mf_multipart_uploads WHERE state = {_IN_PROGRESS}"
_INSERT_OBJECT: Final = "INSERT INTO _mf_objects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_UPLOAD: Final = "INSERT INTO _mf_multipart_uploads VALUES (?, ?, ?, ?, ?)"
_INSERT_PART: Final = "INSERT INTO _mf_multipart_parts VALUES (?, ?, ?, ?, ?, ?, ?)"
_BLOBS: Final = (
    "SELECT blob_id FROM _mf_objects WHERE blob_id IS NOT NULL"
    " UNION ALL SELECT blob_id FROM _mf_multipart_parts"
)
#: The name in wrangler's JSON, and ours.
_HTTP_FIELDS: Final = {
    "contentType": "content_type",
    "contentLanguage": "content_language",
    "contentDisposition": "content_disposition",
    "contentEncoding": "content_encoding",
    "cacheControl": "cache_control",
}
_CACHE_EXPIRY: Final = "cacheExpiry"


class Objects:
    """The objects of one bucket. They can be iterated again; `damaged` are the keys that were left out."""

    __slots__ = ("_blobs", "_database", "_skip_damaged", "damaged")

    def __init__(self, database: ForeignDatabase, blobs: BlobFiles, *, skip_damaged: bool) -> None:
        self._database = database
        self._blobs = blobs
        self._skip_damaged = skip_damaged
        self.damaged: dict[str, str] = {}

    def __iter__(self) -> Iterator[RestoredObject]:
        for row in self._database.rows(_OBJECTS):
            try:
                name = row[0].decode()
                if name in self.damaged:
                    continue
                restored = self._object(row, name)
                if self._skip_damaged:
                    _check_digests(restored)
            except (ValueError, TypeError, AttributeError, KeyError) as error:
                raise self._database.unexpected(f"object {row[0]!r}: {error!r}") from error
            except (SourceError, DigestError) as error:
                if not self._skip_damaged:
                    raise
                self.damaged[name] = str(error)
                continue
            yield restored

    def notes(self) -> list[str]:
        """What a person should know of those that were left out."""
        return [f"left out object {name!r}: {why}" for name, why in self.damaged.items()]

    def _object(self, row: tuple[Any, ...], name: str) -> RestoredObject:
        key, blob, version, size, etag, uploaded, checksums, http, custom = row
        found = R2Object(
            key=name,
            version=version,
            size=size,
            etag=etag,
            uploaded=int(uploaded),
            checksums={each: bytes.fromhex(value) for each, value in json.loads(checksums).items()},
            http_metadata=_http_metadata(json.loads(http)),
            custom_metadata={each: str(value) for each, value in json.loads(custom).items()},
            storage_class="Standard",
        )
        if blob is None:
            content: BlobFile | ObjectParts = self._parts(key, found)
        else:
            content = self._blobs.find(blob, size)
            if _MD5.fullmatch(etag) is None:
                # Nobody here can have such an etag with one content.
                part = RestoredPart(1, _md5_of(content), content)
                content = ObjectParts(f"{version}.1", [part])
        return RestoredObject(found, content)

    def _parts(self, key: bytes, found: R2Object) -> ObjectParts:
        rows = list(self._database.rows(_PARTS, (key,)))
        parts = [
            RestoredPart(number, bytes.fromhex(md5), self._blobs.find(blob, size))
            for _, number, blob, size, md5 in rows
        ]
        size = sum(part.content.size for part in parts)
        if size != found.size:
            raise self._database.unexpected(
                f"object {found.key!r} has {found.size} bytes, its parts {size}"
            )
        if rows:
            return ObjectParts(rows[0][0], parts)
        if found.etag != _NO_PARTS:
            raise self._database.unexpected(f"object {found.key!r} has no content")
        # Nothing leads from it to its upload.
        return ObjectParts(f"{found.version}.0", parts)


def _check_digests(restored: RestoredObject) -> None:
    content = restored.content
    if isinstance(content, ObjectParts):
        parts = list(content.parts)
    else:
        parts = [RestoredPart(0, bytes.fromhex(restored.object.etag), content)]
    if any(_md5_of(part.content) != part.md5 for part in parts):
        raise DigestError("the content does not have the MD5 that belongs to it")


def _md5_of(content: StoredContent) -> bytes:
    md5 = hashlib.md5(usedforsecurity=False)
    for chunk in content.chunks():
        md5.update(chunk)
    return md5.digest()


def _http_metadata(stored: dict[str, Any]) -> HttpMetadata:
    fields: dict[str, Any] = {
        ours: str(stored[theirs])
        for theirs, ours in _HTTP_FIELDS.items()
        if stored.get(theirs) is not None
    }
    expiry = stored.get(_CACHE_EXPIRY)
    return HttpMetadata(**fields, cache_expiry=None if expiry is None else int(expiry))


async def import_bucket(
    source: WranglerState, id: str, registry: BindingRegistry, work: Path, options: Options
) -> Outcome:
    """Carry one bucket over, but for uploads that are not finished. Raises StateError."""
    path = source.database(R2, id)
    if not path.is_file():
        return Outcome(_KIND, id, "absent")
    bucket = registry.r2(id)
    if not options.overwrite and not await bucket.is_empty():
        return Outcome(_KIND, id, "kept")
    database = ForeignDatabase(copy_of(path, work), path)
    if not database.has_table("_mf_objects"):
        return Outcome(_KIND, id, "absent")
    objects = Objects(database, BlobFiles(source.blobs(R2, id)), skip_damaged=options.skip_damaged)
    notes = []
    try:
        database.change("CREATE INDEX pyflare_parts ON _mf_multipart_parts(object_key)")
        count = await bucket.restore(objects)
        ((unfinished,),) = database.rows(_OPEN_UPLOADS)
        if unfinished:
            # Their parts have etags that no upload here could have given.
            notes.append(f"{unfinished} unfinished multipart uploads were left out")
    except R2Error as error:
        raise database.unexpected(str(error)) from error
    except DigestError as error:
        raise SourceError(
            path, str(error), "Write the object again, or leave it out with --skip-damaged"
        ) from error
    finally:
        database.copy.unlink(missing_ok=True)
    return Outcome(_KIND, id, "imported", count, _UNIT, notes=[*notes, *objects.notes()])


async def export_bucket(
    registry: BindingRegistry, id: str, target: WranglerState, options: Options
) -> Outcome:
    """Write one bucket, but for uploads that are not finished. Raises StateError."""
    bucket = registry.r2(id)
    if await bucket.is_empty():
        return Outcome(_KIND, id, "absent")
    path = target.database(R2, id)
    if path.exists() and not options.overwrite:
        return Outcome(_KIND, id, "kept")
    directory = target.blobs(R2, id)
    replaced = values_in(path, _BLOBS)
    now = int(registry.clock.now() * 1000)
    count = 0
    with new_database(path, _SCHEMA) as connection:
        async for stored in _objects(bucket):
            await _export_object(connection.execute, stored, directory, now)
            count += 1
    BlobFiles(directory).remove(replaced)
    return Outcome(_KIND, id, "exported", count, _UNIT)


async def _objects(bucket: R2Bucket) -> AsyncIterator[StoredObject]:
    cursor: str | None = None
    while True:
        page = await bucket.list(ListOptions(cursor=cursor))
        for listed in page.objects:
            stored = await bucket.read_stored(listed.key)
            if stored is not None:
                yield stored
        cursor = page.cursor
        if cursor is None:
            return


async def _export_object(execute: Any, stored: StoredObject, directory: Path, now: int) -> None:
    found, chunks = stored.object, Pieces(stored.body.chunks())
    http = _http_to_json(found.http_metadata or HttpMetadata())
    custom = json.dumps(found.custom_metadata or {}, ensure_ascii=False)
    checksums = json.dumps({name: value.hex() for name, value in found.checksums.items()})
    blob = None
    if stored.upload_id is None:
        blob = await write_blob(directory, chunks.next(found.size), now)
    row = (found.key, blob, found.version, found.size, found.etag, found.uploaded)
    execute(_INSERT_OBJECT, (*row, checksums, http, custom))
    if stored.upload_id is None:
        return
    execute(_INSERT_UPLOAD, (stored.upload_id, found.key, http, custom, _COMPLETED))
    for part in stored.parts:
        blob = await write_blob(directory, chunks.next(part.size), now)
        md5 = part.md5.hex()
        row_of_part = (stored.upload_id, part.number, blob, part.size, md5, md5, found.key)
        execute(_INSERT_PART, row_of_part)


class Pieces:
    """A stream that is taken apart again at the ends of its parts."""

    __slots__ = ("_rest", "_stream")

    def __init__(self, stream: AsyncIterator[bytes | memoryview]) -> None:
        self._stream = stream
        self._rest = b""

    async def next(self, size: int) -> AsyncIterator[bytes]:
        """The next `size` bytes."""
        while size:
            if not self._rest:
                self._rest = bytes(await anext(self._stream))
            piece, self._rest = self._rest[:size], self._rest[size:]
            size -= len(piece)
            yield piece


def _http_to_json(metadata: HttpMetadata) -> str:
    fields = {theirs: getattr(metadata, ours) for theirs, ours in _HTTP_FIELDS.items()}
    fields[_CACHE_EXPIRY] = metadata.cache_expiry
    return json.dumps({name: value for name, value in fields.items() if value is not None})
