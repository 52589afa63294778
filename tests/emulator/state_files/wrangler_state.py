"""Local state as wrangler leaves it behind, written with the standard library alone."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

KV = "miniflare-KVNamespaceObject"
R2 = "miniflare-R2BucketObject"
D1 = "miniflare-D1DatabaseObject"

ENTRIES = """
CREATE TABLE _mf_entries (key TEXT PRIMARY KEY, blob_id TEXT NOT NULL, expiration INTEGER, metadata TEXT);
CREATE INDEX _mf_entries_expiration_idx ON _mf_entries(expiration);
"""
OBJECTS = """
CREATE TABLE _mf_objects (key TEXT PRIMARY KEY, blob_id TEXT, version TEXT NOT NULL, size INTEGER NOT NULL,
  etag TEXT NOT NULL, uploaded INTEGER NOT NULL, checksums TEXT NOT NULL, http_metadata TEXT NOT NULL,
  custom_metadata TEXT NOT NULL);
CREATE TABLE _mf_multipart_uploads (upload_id TEXT PRIMARY KEY, key TEXT NOT NULL, http_metadata TEXT NOT NULL,
  custom_metadata TEXT NOT NULL, state TINYINT DEFAULT 0 NOT NULL);
CREATE TABLE _mf_multipart_parts (upload_id TEXT NOT NULL REFERENCES _mf_multipart_uploads(upload_id),
  part_number INTEGER NOT NULL, blob_id TEXT NOT NULL, size INTEGER NOT NULL, etag TEXT NOT NULL,
  checksum_md5 TEXT NOT NULL, object_key TEXT REFERENCES _mf_objects(key) DEFERRABLE INITIALLY DEFERRED,
  PRIMARY KEY (upload_id, part_number));
"""
METADATA = "CREATE TABLE _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB)"
PAIRS = "CREATE TABLE _cf_KV (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID"
ALARMS = (
    "CREATE TABLE IF NOT EXISTS _cf_ALARM"
    " (actor_id TEXT PRIMARY KEY, scheduled_time INTEGER, actor_name TEXT) WITHOUT ROWID"
)

Statement = tuple[str, tuple[Any, ...]]


def object_id(unique_key: str, name: str) -> str:
    """How the runtime makes an id of a name."""
    key = hashlib.sha256(unique_key.encode()).digest()
    first = hmac.digest(key, name.encode(), "sha256")[:16]
    return (first + hmac.digest(key, first, "sha256")[:16]).hex()


class WranglerFixture:
    """A `.wrangler/state` to be filled. What is written last stays in the databases' logs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".wrangler" / "state"
        self.root = self.path / "v3"
        self._building = folder / "building"
        self.page_bytes = 4096

    def database(self, path: Path, script: str, *rows: Statement) -> Path:
        """A database whose schema is in its file, and whose rows are in its log only."""
        self._building.mkdir(exist_ok=True)
        built = self._building / path.name
        if path.exists():
            shutil.copyfile(path, built)
            shutil.copyfile(f"{path}-wal", f"{built}-wal")
        with closing(sqlite3.connect(built, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA page_size = {self.page_bytes}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(script)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute("BEGIN")
            for statement, values in rows:
                connection.execute(statement, values)
            connection.execute("COMMIT")
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(built, path)
            shutil.copyfile(f"{built}-wal", f"{path}-wal")
        shutil.rmtree(self._building)
        return path

    def database_path(self, folder: str, unique_key: str, name: str) -> Path:
        return self.root / folder / unique_key / f"{object_id(unique_key, name)}.sqlite"

    def d1(self, id: str, script: str, *rows: Statement) -> Path:
        return self.database(self.database_path("d1", D1, id), f"{script};{METADATA}", *rows)

    def blob(self, folder: str, name: str, content: bytes) -> str:
        id = secrets.token_hex(40)
        path = self.root / folder / name / "blobs" / id
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return id

    def kv(self, id: str, entries: dict[str, tuple[bytes, int | None, str | None]]) -> Path:
        """In: value, expiry in milliseconds since the epoch, metadata as JSON."""
        rows = [
            (
                "INSERT INTO _mf_entries VALUES (?, ?, ?, ?)",
                (key, self.blob("kv", id, value), expires, metadata),
            )
            for key, (value, expires, metadata) in entries.items()
        ]
        return self.database(self.database_path("kv", KV, id), ENTRIES, *rows)

    def r2(self, bucket: str, *rows: Statement) -> Path:
        return self.database(self.database_path("r2", R2, bucket), OBJECTS, *rows)

    def r2_object(self, bucket: str, key: str, content: bytes, **fields: Any) -> Statement:
        md5 = hashlib.md5(content).hexdigest()
        row = {
            "key": key,
            "blob_id": self.blob("r2", bucket, content),
            "version": secrets.token_hex(16),
            "size": len(content),
            "etag": md5,
            "uploaded": 1_700_000_000_123,
            "checksums": json.dumps({"md5": md5}),
            "http_metadata": "{}",
            "custom_metadata": "{}",
        } | fields
        return f"INSERT INTO _mf_objects VALUES ({', '.join('?' * len(row))})", tuple(row.values())

    def r2_in_parts(self, bucket: str, key: str, parts: list[bytes]) -> list[Statement]:
        digests = [hashlib.md5(part) for part in parts]
        joined = hashlib.md5(b"".join(each.digest() for each in digests)).hexdigest()
        upload = f"upload-of-{key}"
        whole = self.r2_object(
            bucket,
            key,
            b"".join(parts),
            blob_id=None,
            etag=f"{joined}-{len(parts)}",
            checksums="{}",
        )
        rows: list[Statement] = [
            whole,
            ("INSERT INTO _mf_multipart_uploads VALUES (?, ?, '{}', '{}', 1)", (upload, key)),
        ]
        for number, (part, digest) in enumerate(zip(parts, digests, strict=True), 1):
            row = (upload, number, self.blob("r2", bucket, part), len(part))
            rows.append(
                (
                    "INSERT INTO _mf_multipart_parts VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (*row, secrets.token_hex(16), digest.hexdigest(), key),
                )
            )
        return rows

    def object(
        self,
        unique_key: str,
        name: str,
        script: str = "",
        *rows: Statement,
        alarm: int | None = None,
        named: bool = True,
    ) -> Path:
        """An object that was called by its name. In: `alarm` in milliseconds since the epoch."""
        id = object_id(unique_key, name)
        directory = self.root / "do" / unique_key
        if named:
            script += ";CREATE TABLE __miniflare_do_name (id INTEGER PRIMARY KEY, name TEXT)"
            rows += (("INSERT INTO __miniflare_do_name VALUES (1, ?)", (name,)),)
        if alarm is not None:
            script += f";{METADATA}"
            rows += (("INSERT INTO _cf_METADATA VALUES (1, ?)", (alarm * 1_000_000,)),)
            self.database(
                directory / "metadata.sqlite",
                ALARMS,
                ("INSERT INTO _cf_ALARM VALUES (?, ?, ?)", (id, alarm * 1_000_000, name)),
            )
        return self.database(directory / f"{id}.sqlite", script, *rows)
