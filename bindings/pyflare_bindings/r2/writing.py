"""Putting a finished content in the place of an object, inside of a write transaction."""

from __future__ import annotations

import secrets
from typing import Any, TypeAlias

from ..storage.row_file import Execute
from .checksums import md5_hex
from .conditions import Conditions
from .content import Received
from .keys import StoredKey, well_formed
from .rows import PUT, fetch, row_of
from .upload_rows import remove_parts
from .values import Checksum, ObjectOptions, R2Object

_SELECT_CURRENT = "SELECT etag, uploaded, blob, upload FROM objects WHERE key = ?"
_DELETE = "DELETE FROM objects WHERE key = ? RETURNING blob, upload"

#: Blobs that nothing refers to any more once the transaction has been committed.
Garbage: TypeAlias = list[str]


def new_object(
    key: StoredKey, options: ObjectOptions, received: Received, checksum: Checksum | None
) -> R2Object:
    """The object that a content becomes; its time of upload is set when it is stored."""
    checksums = {"md5": received.digests["md5"]}
    if checksum is not None:
        checksums[checksum.name] = checksum.value
    custom = options.custom_metadata
    return R2Object(
        key=key.identity.decode() if key.spelling is None else key.spelling,
        version=new_version(),
        size=received.size,
        etag=checksums["md5"].hex(),
        uploaded=0,
        checksums=checksums,
        http_metadata=options.http_metadata,
        custom_metadata={well_formed(name): well_formed(custom[name]) for name in custom},
        storage_class=options.storage_class,
        ssec_key_md5=None if options.ssec_key is None else md5_hex(options.ssec_key),
    )


def new_version() -> str:
    """A version that no other write has."""
    return secrets.token_hex(16)


def current_holds(conditions: Conditions | None, rows: list[tuple[Any, ...]]) -> bool:
    """Whether the conditions hold; the row, if any, begins with the etag and the time."""
    if conditions is None:
        return True
    return conditions.hold_for(*rows[0][:2]) if rows else conditions.hold_for_nothing()


def replace(
    execute: Execute,
    key: StoredKey,
    found: R2Object,
    conditions: Conditions | None,
    *,
    checksum: Checksum | None = None,
    in_row: bytes | memoryview | None = None,
    blob: str | None = None,
    upload: str | None = None,
) -> list[str] | None:
    """Put an object under its key, unless the conditions fail.

    Out: the blobs that nothing refers to any more; None when the conditions fail.
    """
    rows = fetch(execute, _SELECT_CURRENT, (key.identity,))
    if not current_holds(conditions, rows):
        return None
    garbage: list[str] = []
    if rows:
        _, _, old_blob, old_upload = rows[0]
        garbage = _blobs_of(execute, old_blob, old_upload)
    execute(PUT, (*row_of(key, found, checksum, upload), blob, in_row))
    return garbage


def remove(execute: Execute, key: bytes) -> list[str]:
    """Delete an object, if it is there. Out: the blobs that nothing refers to any more."""
    garbage: list[str] = []
    for blob, upload in fetch(execute, _DELETE, (key,)):
        garbage += _blobs_of(execute, blob, upload)
    return garbage


def _blobs_of(execute: Execute, blob: str | None, upload: str | None) -> list[str]:
    if blob is not None:
        return [blob]
    return [] if upload is None else remove_parts(execute, upload)
