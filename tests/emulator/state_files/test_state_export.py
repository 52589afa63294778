"""`pyflare state export`: files that wrangler finds and reads, and that come back the same."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.d1.results import Statement
from pyflare_bindings.lease import Lease
from pyflare_bindings.r2 import HttpMetadata, ObjectOptions, UploadedPart
from pyflare_bindings.registry import BindingRegistry
from tests.emulator.state_files.conftest import Command
from tests.emulator.state_files.test_state_import import (
    CLASS,
    LATER,
    content,
    from_object,
    in_state,
    rows,
    value,
)
from tests.emulator.state_files.wrangler_state import D1, KV, R2, WranglerFixture, object_id

PART = b"1" * (5 * 1024 * 1024)


async def fill(registry: BindingRegistry) -> None:
    """Something of each kind."""
    for sql in (
        "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT)",
        "INSERT INTO orders VALUES (41, 'tea')",
    ):
        await registry.d1("dbid-1").query([Statement(sql, ())])
    kv = registry.kv("kvprev")
    await kv.put("small", b"value", metadata='{"a":1}')
    await kv.put("large", b"L" * 200_000, expiration=LATER // 1000)
    bucket = registry.r2("my-bucket")
    http = HttpMetadata(content_type="text/plain", cache_expiry=1_800_000_000_000)
    await bucket.put("häuser/plan.txt", b"a plan", ObjectOptions(http, {"owner": "Zoë"}))
    await bucket.put("sealed", b"for one", ObjectOptions(ssec_key=b"k" * 32))
    upload = await bucket.uploads.create("film")
    parts: list[UploadedPart] = []
    for number, part in enumerate((PART, b"2" * 100), 1):
        parts.append(await bucket.uploads.upload_part("film", upload, number, part))
    await bucket.uploads.complete("film", upload, parts)
    await bucket.uploads.complete("empty", await bucket.uploads.create("empty"), [])
    namespace = registry.objects(CLASS)
    for name, size in (("a", 10), ("big", 300_000)):
        storage = namespace.open(namespace.ids.from_name(name))
        storage.exec("CREATE TABLE visits (n INTEGER, v BLOB)")
        storage.exec("INSERT INTO visits VALUES (7, zeroblob(?))", (float(size),))
        storage.put("k", b"\xff\x0fI\x0e")
        if name == "a":
            storage.alarm.set(LATER)
        await storage.commit()
        await storage.close()


@pytest.fixture
def filled(state: Path) -> Path:
    in_state(state, fill)
    return state


def query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(sql).fetchall()


def database(root: Path, folder: str, key: str, name: str) -> Path:
    return root / "v3" / folder / key / f"{object_id(key, name)}.sqlite"


def test_a_database_is_where_wrangler_looks_for_it(
    filled: Path, command: Command, tmp_path: Path
) -> None:
    printed = command("export", tmp_path / "out")

    path = database(tmp_path / "out", "d1", D1, "dbid-1")
    assert (printed.code, printed.err) == (0, "")
    assert "D1 database dbid-1: exported, 1 tables" in printed.out
    assert query(path, "SELECT * FROM orders") == [(41, "tea")]


def test_keys_are_rows_with_a_file_each(filled: Path, command: Command, tmp_path: Path) -> None:
    command("export", tmp_path / "out")

    path = database(tmp_path / "out", "kv", KV, "kvprev")
    sql = "SELECT key, blob_id, expiration, metadata FROM _mf_entries ORDER BY key"
    (large, large_blob, expires, _), (small, small_blob, never, metadata) = query(path, sql)
    blobs = tmp_path / "out" / "v3" / "kv" / "kvprev" / "blobs"
    assert (large, expires, small, never, metadata) == ("large", LATER, "small", None, '{"a":1}')
    assert (blobs / large_blob).read_bytes() == b"L" * 200_000
    assert (blobs / small_blob).read_bytes() == b"value"
    assert len(small_blob) == 80


def test_objects_of_a_bucket_are_rows_with_a_file_for_each_part(
    filled: Path, command: Command, tmp_path: Path
) -> None:
    command("export", tmp_path / "out")

    path = database(tmp_path / "out", "r2", R2, "my-bucket")
    blobs = tmp_path / "out" / "v3" / "r2" / "my-bucket" / "blobs"
    sql = "SELECT blob_id, size, etag, checksums, http_metadata, custom_metadata FROM _mf_objects"
    ((blob, size, etag, checksums, http, custom),) = query(
        path, f"{sql} WHERE key = 'häuser/plan.txt'"
    )
    md5 = hashlib.md5(b"a plan").hexdigest()
    assert ((blobs / blob).read_bytes(), size, etag) == (b"a plan", 6, md5)
    assert json.loads(checksums) == {"md5": md5}
    assert json.loads(http) == {"contentType": "text/plain", "cacheExpiry": 1_800_000_000_000}
    assert json.loads(custom) == {"owner": "Zoë"}
    assert query(path, "SELECT blob_id, size FROM _mf_objects WHERE key = 'film'") == [
        (None, len(PART) + 100)
    ]
    parts = query(
        path, "SELECT part_number, blob_id, object_key FROM _mf_multipart_parts ORDER BY 1"
    )
    assert [(number, key) for number, _, key in parts] == [(1, "film"), (2, "film")]
    assert (blobs / parts[0][1]).read_bytes() == PART
    sql = "SELECT key, state FROM _mf_multipart_uploads ORDER BY key"
    assert query(path, sql) == [("empty", 1), ("film", 1)]


def test_the_content_of_a_customer_s_key_is_written_as_it_is_kept(
    filled: Path, command: Command, tmp_path: Path
) -> None:
    command("export", tmp_path / "out")

    path = database(tmp_path / "out", "r2", R2, "my-bucket")
    ((blob,),) = query(path, "SELECT blob_id FROM _mf_objects WHERE key = 'sealed'")
    blobs = tmp_path / "out" / "v3" / "r2" / "my-bucket" / "blobs"
    assert (blobs / blob).read_bytes() == b"for one"


def test_a_durable_object_is_a_file_with_its_name_and_alarm(
    filled: Path, command: Command, tmp_path: Path
) -> None:
    command("export", tmp_path / "out")

    directory = tmp_path / "out" / "v3" / "do" / CLASS
    id = object_id(CLASS, "a")
    path = directory / f"{id}.sqlite"
    assert query(path, "SELECT n FROM visits") == [(7,)]
    assert query(path, "SELECT key, value FROM _cf_KV") == [("k", b"\xff\x0fI\x0e")]
    assert query(path, "SELECT * FROM _cf_METADATA") == [(1, LATER * 1_000_000)]
    assert query(path, "SELECT * FROM __miniflare_do_name") == [(1, "a")]
    assert query(directory / "metadata.sqlite", "SELECT * FROM _cf_ALARM") == [
        (id, LATER * 1_000_000)
    ]


def test_what_was_exported_is_imported_the_same(
    filled: Path, command: Command, tmp_path: Path
) -> None:
    command("export", tmp_path / "out")
    other = tmp_path / "other"

    printed = command("import", tmp_path / "out", "--persist-to", other)

    assert printed.code == 0
    assert rows(other, "SELECT * FROM orders") == rows(filled, "SELECT * FROM orders")
    assert value(other, "small") == value(filled, "small")
    assert value(other, "large") == value(filled, "large")
    for key in ("häuser/plan.txt", "film", "empty"):
        ours, theirs = content(filled, key), content(other, key)
        assert ours is not None
        assert theirs is not None
        assert ours[1] == theirs[1]
        assert ours[0].etag == theirs[0].etag
        assert ours[0].version == theirs[0].version
        assert ours[0].uploaded == theirs[0].uploaded
        assert ours[0].http_metadata == theirs[0].http_metadata
    for name in ("a", "big"):
        sql = "SELECT n, length(v) FROM visits"
        assert from_object(other, name, sql) == from_object(filled, name, sql)


def test_alarms_come_back_the_same(filled: Path, command: Command, tmp_path: Path) -> None:
    command("export", tmp_path / "out")
    command("import", tmp_path / "out", "--persist-to", tmp_path / "other")

    async def ask(registry: BindingRegistry) -> list[tuple[str, int | None]]:
        return [(id.hex, alarm) for id, alarm in registry.objects(CLASS).stored_alarms() if alarm]

    assert in_state(tmp_path / "other", ask) == [(object_id(CLASS, "a"), LATER)]


def test_what_is_there_already_is_kept(filled: Path, command: Command, tmp_path: Path) -> None:
    command("export", tmp_path / "out")
    rows(filled, "UPDATE orders SET what = 'coffee'")

    printed = command("export", tmp_path / "out")

    path = database(tmp_path / "out", "d1", D1, "dbid-1")
    assert printed.code == 0
    assert printed.out.count("kept: there is data already") == 4
    assert query(path, "SELECT what FROM orders") == [("tea",)]


def test_overwriting_replaces_what_is_there(filled: Path, command: Command, tmp_path: Path) -> None:
    command("export", tmp_path / "out")
    path = database(tmp_path / "out", "d1", D1, "dbid-1")
    path.with_name(f"{path.name}-wal").write_bytes(b"a log of the database before")
    rows(filled, "UPDATE orders SET what = 'coffee'")

    async def change(registry: BindingRegistry) -> None:
        await registry.kv("kvprev").delete("large")
        namespace = registry.objects(CLASS)
        storage = namespace.open(namespace.ids.from_name("a"))
        storage.alarm.delete()
        await storage.commit()
        await storage.close()

    in_state(filled, change)

    printed = command("export", tmp_path / "out", "--overwrite")

    blobs = tmp_path / "out" / "v3" / "kv" / "kvprev" / "blobs"
    metadata = tmp_path / "out" / "v3" / "do" / CLASS / "metadata.sqlite"
    assert printed.out.count(": exported") == 4
    assert query(path, "SELECT what FROM orders") == [("coffee",)]
    assert len(list(blobs.iterdir())) == 1
    assert query(metadata, "SELECT * FROM _cf_ALARM") == []


@pytest.mark.parametrize("name_column", ["", ", actor_name TEXT"])
def test_alarms_go_to_the_table_that_a_runtime_has_made(
    filled: Path, command: Command, tmp_path: Path, name_column: str
) -> None:
    directory = tmp_path / "out" / "v3" / "do" / CLASS
    directory.mkdir(parents=True)
    with closing(sqlite3.connect(directory / "metadata.sqlite")) as connection, connection:
        columns = f"actor_id TEXT PRIMARY KEY, scheduled_time INTEGER{name_column}"
        connection.execute(f"CREATE TABLE _cf_ALARM ({columns}) WITHOUT ROWID")
        connection.execute("INSERT INTO _cf_ALARM (actor_id, scheduled_time) VALUES ('other', 1)")

    command("export", tmp_path / "out")

    sql = "SELECT actor_id, scheduled_time FROM _cf_ALARM ORDER BY scheduled_time"
    assert query(directory / "metadata.sqlite", sql) == [
        ("other", 1),
        (object_id(CLASS, "a"), LATER * 1_000_000),
    ]


def test_a_project_that_stored_nothing_writes_nothing(command: Command, tmp_path: Path) -> None:
    printed = command("export", tmp_path / "out")

    assert printed.code == 0
    assert printed.out.count("nothing to carry over") == 4
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_is_named(
    filled: Path, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "out").write_text("a file")

    printed = command("export", tmp_path / "out")

    assert printed.code == 1
    assert printed.out.count("FAILED") == 4
    assert f"{tmp_path / 'out'}" in printed.err


def test_state_that_another_process_uses_is_left_alone(
    filled: Path, command: Command, tmp_path: Path
) -> None:
    lease = Lease.acquire(filled)

    printed = command("export", tmp_path / "out")
    lease.release()

    assert printed.code == 1
    assert "is in use" in printed.err


def test_a_failed_export_leaves_what_was_there(
    filled: Path, command: Command, tmp_path: Path
) -> None:
    command("export", tmp_path / "out")
    path = database(tmp_path / "out", "kv", KV, "kvprev")
    before = path.read_bytes()
    (kept,) = filled.glob("v1/kv/*.blobs/*")
    kept.unlink()

    printed = command("export", tmp_path / "out", "--overwrite")

    assert printed.code == 1
    assert f"{kept}: the file with this value's content is missing" in printed.err
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.new"))


def test_two_configurations_are_exported_together(
    project: Path, command: Command, state: Path, tmp_path: Path
) -> None:
    other = tmp_path / "second.jsonc"
    other.write_text(
        json.dumps(
            {
                "name": "second",
                "compatibility_date": "2026-05-01",
                "kv_namespaces": [{"binding": "KV", "id": "other"}],
            }
        )
    )

    async def write(registry: BindingRegistry) -> None:
        await registry.kv("other").put("k", b"v")
        await registry.kv("kvprev").put("k", b"v")

    in_state(state, write)

    printed = command("export", tmp_path / "out", "-c", project / "wrangler.jsonc", "-c", other)

    assert "KV namespace kvprev: exported, 1 keys" in printed.out
    assert "KV namespace other: exported, 1 keys" in printed.out


def test_a_configuration_with_a_mistake_is_told(project: Path, command: Command) -> None:
    (project / "wrangler.jsonc").write_text("{")

    printed = command("import")

    assert printed.code == 1
    assert "wrangler.jsonc" in printed.err


def test_exports_need_a_directory(command: Command) -> None:
    with pytest.raises(SystemExit, match="2"):
        command("export")


def test_objects_of_a_renamed_class_stay_here_and_none_come_over(
    command: Command, wrangler: WranglerFixture, state: Path, tmp_path: Path
) -> None:
    in_state(state, fill)
    names = state / "v1" / "do" / "renamed.json"
    names.write_text(json.dumps({CLASS: "shop-Visits"}))
    exported = command("export", tmp_path / "out")
    assert exported.code == 1
    assert "kept under shop-Visits, the name it had before" in exported.err
    wrangler.database(wrangler.database_path("do", CLASS, "new"), "CREATE TABLE t (x)")
    imported = command("import")
    assert imported.code == 1
    assert "kept under shop-Visits, the name it had before" in imported.err
