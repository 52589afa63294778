"""The tables of a bucket, and objects as rows."""

from __future__ import annotations

import json
from dataclasses import astuple
from typing import Any

from ..storage.row_file import Execute
from .keys import StoredKey, well_formed
from .values import NO_HTTP_METADATA, Checksum, HttpMetadata, R2Object

# An object's content is in its row, in the blob that it names, or in the parts of its upload. It
# is the last column, so that reading the others does not touch its pages.
SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    spelling TEXT,
    version TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    uploaded INTEGER NOT NULL,
    storage_class TEXT NOT NULL,
    hash_name TEXT,
    hash BLOB,
    ssec_key_md5 TEXT,
    upload TEXT,
    blob TEXT,
    http_metadata TEXT,
    custom_metadata TEXT,
    content BLOB
);
CREATE TABLE IF NOT EXISTS uploads (
    id TEXT PRIMARY KEY,
    key BLOB NOT NULL,
    spelling TEXT,
    state INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    storage_class TEXT NOT NULL,
    ssec_key_md5 TEXT,
    http_metadata TEXT,
    custom_metadata TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS uploads_by_age ON uploads (state, changed);
CREATE TABLE IF NOT EXISTS parts (
    upload TEXT NOT NULL,
    number INTEGER NOT NULL,
    blob TEXT NOT NULL,
    size INTEGER NOT NULL,
    md5 BLOB NOT NULL,
    PRIMARY KEY (upload, number)
) WITHOUT ROWID;
"""

_NAMES = (
    "key, spelling, version, size, etag, uploaded, storage_class, hash_name, hash, ssec_key_md5,"
    " upload"
)
HEAD = f"{_NAMES}, http_metadata, custom_metadata"
SELECT_HEAD = f"SELECT {HEAD} FROM objects WHERE key = ?"
SELECT_WHOLE = f"SELECT {HEAD}, blob, content FROM objects WHERE key = ?"

_COLUMNS = f"{HEAD}, blob, content"
_COUNT = _COLUMNS.count(",") + 1
PUT = (
    f"INSERT INTO objects ({_COLUMNS}) VALUES ({', '.join('?' * _COUNT)})"
    " ON CONFLICT (key) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ") if name != "key")
)

Row = tuple[Any, ...]


def fetch(execute: Execute, sql: str, parameters: tuple[Any, ...]) -> list[Row]:
    """All rows of a statement."""
    return execute(sql, parameters).fetchall()


def row_of(key: StoredKey, found: R2Object, checksum: Checksum | None, upload: str | None) -> Row:
    """The columns of `HEAD` for an object."""
    extra = None if checksum is None or checksum.name == "md5" else checksum
    return (
        key.identity,
        key.spelling,
        found.version,
        found.size,
        found.etag,
        found.uploaded,
        found.storage_class,
        None if extra is None else extra.name,
        None if extra is None else extra.value,
        found.ssec_key_md5,
        upload,
        http_to_text(found.http_metadata or NO_HTTP_METADATA),
        custom_to_text(found.custom_metadata or {}),
    )


def object_of(row: Row, *, http: bool = True, custom: bool = True) -> R2Object:
    """The object of a row that begins with the columns of `HEAD`, with the wanted metadata."""
    key, spelling, version, size, etag, uploaded, storage_class, hash_name, hash_, ssec, upload = (
        row[:11]
    )
    checksums = {} if upload is not None else {"md5": bytes.fromhex(etag)}
    if hash_name is not None:
        checksums[hash_name] = hash_
    return R2Object(
        key.decode() if spelling is None else spelling,
        version,
        size,
        etag,
        uploaded,
        checksums,
        http_of_text(row[11]) if http else None,
        custom_of_text(row[12]) if custom else None,
        storage_class,
        ssec,
    )


def http_to_text(metadata: HttpMetadata) -> str | None:
    """HTTP metadata as a column."""
    if metadata is NO_HTTP_METADATA or metadata == NO_HTTP_METADATA:
        return None
    return json.dumps(astuple(metadata), separators=(",", ":"))


def http_of_text(text: str | None) -> HttpMetadata:
    """HTTP metadata of a column."""
    return NO_HTTP_METADATA if text is None else HttpMetadata(*json.loads(text))


def custom_to_text(metadata: dict[str, str]) -> str | None:
    """Custom metadata as a column."""
    if not metadata:
        return None
    text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
    return well_formed(text)


def custom_of_text(text: str | None) -> dict[str, str]:
    """Custom metadata of a column."""
    return {} if text is None else json.loads(text)
