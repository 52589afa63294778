"""`pyflare state import`: what wrangler kept is there, and the source is as it was."""

import asyncio
import hashlib
import json
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pyflare_bindings.d1.results import Statement
from pyflare_bindings.lease import Lease
from pyflare_bindings.r2 import R2ObjectBody
from pyflare_bindings.registry import BindingRegistry
from tests.emulator.state_files.conftest import Command
from tests.emulator.state_files.wrangler_state import PAIRS, WranglerFixture, object_id

T = TypeVar("T")

CLASS = "shop-Counter"
LATER = 4_000_000_000_000


def in_state(state: Path, question: Callable[[BindingRegistry], Awaitable[T]]) -> T:
    async def ask() -> T:
        registry = BindingRegistry(state)
        try:
            return await question(registry)
        finally:
            await registry.close()

    return asyncio.run(ask())


def rows(state: Path, sql: str, database: str = "dbid-1") -> list[tuple[Any, ...]]:
    async def ask(registry: BindingRegistry) -> list[tuple[Any, ...]]:
        return (await registry.d1(database).query([Statement(sql, ())]))[0].rows

    return in_state(state, ask)


def value(state: Path, key: str) -> tuple[bytes, int | None, str | None] | None:
    async def ask(registry: BindingRegistry) -> tuple[bytes, int | None, str | None] | None:
        found = await registry.kv("kvprev").get(key)
        return None if found is None else (await found.read(), found.expires, found.metadata)

    return in_state(state, ask)


def content(state: Path, key: str) -> tuple[R2ObjectBody, bytes] | None:
    async def ask(registry: BindingRegistry) -> tuple[R2ObjectBody, bytes] | None:
        found = await registry.r2("my-bucket").get(key)
        if not isinstance(found, R2ObjectBody):
            return None
        return found, bytes(await found.body.read())

    return in_state(state, ask)


def from_object(state: Path, name: str, sql: str) -> list[tuple[Any, ...]]:
    async def ask(registry: BindingRegistry) -> list[tuple[Any, ...]]:
        namespace = registry.objects(CLASS)
        storage = namespace.open(namespace.ids.from_name(name))
        found = list(storage.exec(sql))
        await storage.close()
        return found

    return in_state(state, ask)


def fingerprint(root: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path.relative_to(root)): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def fill(wrangler: WranglerFixture) -> None:
    """Something of each kind."""
    wrangler.d1(
        "dbid-1",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT);"
        "CREATE INDEX by_what ON orders(what)",
        ("INSERT INTO orders (id, what) VALUES (?, ?)", (41, "tea")),
    )
    wrangler.kv(
        "kvprev",
        {
            "small": (b"value", None, '{"a":1}'),
            "large": (b"L" * 200_000, LATER, None),
            "empty": (b"", None, None),
        },
    )
    wrangler.r2(
        "my-bucket",
        wrangler.r2_object(
            "my-bucket",
            "häuser/plan.txt",
            b"a plan",
            http_metadata='{"contentType":"text/plain","cacheExpiry":1800000000000}',
            custom_metadata='{"owner":"Zoë"}',
        ),
        *wrangler.r2_in_parts("my-bucket", "film", [b"1" * 6_000_000, b"2" * 100]),
    )
    wrangler.object(
        CLASS,
        "a",
        f"{PAIRS};CREATE TABLE visits (n INTEGER)",
        ("INSERT INTO visits VALUES (?)", (7,)),
        ("INSERT INTO _cf_KV VALUES (?, ?)", ("k", b"\xff\x0fI\x0e")),
        alarm=LATER,
    )


def test_a_database_comes_with_its_tables_rows_and_indices(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)

    printed = command("import", wrangler.path)

    assert (printed.code, printed.err) == (0, "")
    assert "D1 database dbid-1: imported, 1 tables" in printed.out
    assert rows(state, "SELECT * FROM orders") == [(41, "tea")]
    assert rows(state, "SELECT name FROM sqlite_schema WHERE type = 'index'") == [("by_what",)]
    assert rows(state, "INSERT INTO orders (what) VALUES ('next') RETURNING id") == [(42,)]


def test_keys_come_with_values_expiry_and_metadata(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)

    printed = command("import", wrangler.path)

    assert "KV namespace kvprev: imported, 3 keys" in printed.out
    assert value(state, "small") == (b"value", None, '{"a":1}')
    assert value(state, "large") == (b"L" * 200_000, LATER // 1000, None)
    assert value(state, "empty") == (b"", None, None)


def test_a_key_that_has_expired_is_left_out(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    past = int(time.time() - 60) * 1000
    wrangler.kv("kvprev", {"old": (b"x", past, None), "new": (b"y", None, None)})

    printed = command("import", wrangler.path)

    assert "imported, 1 keys" in printed.out
    assert value(state, "old") is None


def test_an_empty_header_of_an_object_comes_as_an_empty_header(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    http = '{"contentType":"","cacheControl":"no-cache"}'
    wrangler.r2("my-bucket", wrangler.r2_object("my-bucket", "a", b"x", http_metadata=http))

    command("import", wrangler.path)

    found = content(state, "a")
    assert found is not None
    metadata = found[0].http_metadata
    assert metadata is not None
    assert (metadata.content_type, metadata.cache_control) == ("", "no-cache")
    assert metadata.content_language is None


def test_objects_of_a_bucket_come_with_version_time_and_metadata(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)

    printed = command("import", wrangler.path)

    found = content(state, "häuser/plan.txt")
    assert "R2 bucket my-bucket: imported, 2 objects" in printed.out
    assert found is not None
    body, read = found
    assert read == b"a plan"
    assert (body.uploaded, body.etag) == (1_700_000_000_123, hashlib.md5(b"a plan").hexdigest())
    assert body.custom_metadata == {"owner": "Zoë"}
    assert body.http_metadata is not None
    assert body.http_metadata.content_type == "text/plain"
    assert body.http_metadata.cache_expiry == 1_800_000_000_000


def test_an_object_in_parts_keeps_its_etag(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)

    command("import", wrangler.path)

    found = content(state, "film")
    assert found is not None
    body, read = found
    assert read == b"1" * 6_000_000 + b"2" * 100
    assert body.etag.endswith("-2")
    assert body.checksums == {}


def test_a_checksum_beside_the_md5_is_kept(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    digest = hashlib.sha256(b"x").digest()
    md5 = hashlib.md5(b"x").hexdigest()
    both = json.dumps({"md5": md5, "sha256": digest.hex()})
    wrangler.r2("my-bucket", wrangler.r2_object("my-bucket", "k", b"x", checksums=both))

    command("import", wrangler.path)

    found = content(state, "k")
    assert found is not None
    assert found[0].checksums == {"md5": bytes.fromhex(md5), "sha256": digest}


def test_one_content_with_an_etag_of_parts_keeps_that_etag(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    etag = f"{'0' * 32}-3"
    row = wrangler.r2_object("my-bucket", "k", b"whole", etag=etag, checksums="{}")
    wrangler.r2("my-bucket", row)

    command("import", wrangler.path)

    found = content(state, "k")
    assert found is not None
    assert (found[0].etag, found[1]) == (etag, b"whole")


def test_an_object_without_parts_comes_with_the_rest_of_its_bucket(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    kept = wrangler.r2_object("my-bucket", "k", b"x")
    wrangler.r2("my-bucket", *wrangler.r2_in_parts("my-bucket", "empty", []), kept)

    printed = command("import", wrangler.path)

    found = content(state, "empty")
    assert (printed.code, printed.err) == (0, "")
    assert "R2 bucket my-bucket: imported, 2 objects" in printed.out
    assert found is not None
    assert (found[0].etag, found[1]) == ("d41d8cd98f00b204e9800998ecf8427e-0", b"")


@pytest.mark.parametrize(
    ("size", "parts", "why"),
    [
        (7, [], "object 'k' has 7 bytes, its parts 0"),
        (7, [b"part"], "object 'k' has 7 bytes, its parts 4"),
        (0, None, "object 'k' has no content"),
    ],
)
def test_an_object_whose_parts_are_not_there_is_named(
    wrangler: WranglerFixture,
    command: Command,
    size: int,
    parts: list[bytes] | None,
    why: str,
) -> None:
    rows = wrangler.r2_in_parts("my-bucket", "k", [b""] if parts is None else parts)
    if parts is None:
        rows.append(("DELETE FROM _mf_multipart_parts", ()))
    rows.append(("UPDATE _mf_objects SET size = ?", (size,)))
    wrangler.r2("my-bucket", *rows)

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert why in printed.err


def test_an_upload_that_is_not_finished_is_named(
    wrangler: WranglerFixture, command: Command
) -> None:
    upload = "INSERT INTO _mf_multipart_uploads VALUES ('u', 'k', '{}', '{}', 0)"
    wrangler.r2("my-bucket", (upload, ()), wrangler.r2_object("my-bucket", "k", b"x"))

    printed = command("import", wrangler.path)

    assert printed.code == 0
    assert "1 unfinished multipart uploads were left out" in printed.err


def test_a_durable_object_comes_with_tables_and_values(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)

    printed = command("import", wrangler.path)

    assert f"Durable Object class {CLASS}: imported, 1 objects" in printed.out
    assert from_object(state, "a", "SELECT n FROM visits") == [(7,)]

    async def ask(registry: BindingRegistry) -> tuple[bytes | None, str | None]:
        namespace = registry.objects(CLASS)
        by_id = namespace.ids.from_string(object_id(CLASS, "a"))
        storage = namespace.open(by_id)
        found = storage.get("k"), storage.name
        await storage.close()
        return found

    assert in_state(state, ask) == (b"\xff\x0fI\x0e", "a")


def test_a_tool_s_own_table_does_not_show_in_an_object(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)

    command("import", wrangler.path)

    tables = from_object(state, "a", "SELECT name FROM sqlite_schema WHERE type = 'table'")
    assert sorted(tables) == [("_cf_KV",), ("_cf_METADATA",), ("visits",)]


def test_an_alarm_is_known_to_the_object_and_to_the_scheduler(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)

    command("import", wrangler.path)

    async def ask(registry: BindingRegistry) -> tuple[Any, Any]:
        namespace = registry.objects(CLASS)
        stored = [alarm for _, alarm in namespace.stored_alarms()]
        return stored, [(each.namespace, each.earliest) for each in registry.alarms().pending()]

    assert in_state(state, ask) == ([LATER], [(CLASS, LATER)])


def test_the_name_of_an_object_is_also_taken_from_the_table_of_alarms(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    wrangler.object(CLASS, "woken", alarm=LATER, named=False)

    command("import", wrangler.path)

    async def ask(registry: BindingRegistry) -> str | None:
        namespace = registry.objects(CLASS)
        storage = namespace.open(namespace.ids.from_string(object_id(CLASS, "woken")))
        name = storage.name
        await storage.close()
        return name

    assert in_state(state, ask) == "woken"


def test_a_large_object_is_whole(wrangler: WranglerFixture, command: Command, state: Path) -> None:
    wrangler.object(
        CLASS, "big", "CREATE TABLE t (v BLOB)", ("INSERT INTO t VALUES (?)", (b"x" * 500_000,))
    )

    command("import", wrangler.path)

    assert from_object(state, "big", "SELECT length(v) FROM t") == [(500_000.0,)]


def test_an_object_with_pages_of_another_size_is_whole(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    wrangler.page_bytes = 1024
    wrangler.object(CLASS, "pages", "CREATE TABLE t (v)", ("INSERT INTO t VALUES (?)", ("there",)))

    command("import", wrangler.path)

    assert from_object(state, "pages", "SELECT v FROM t") == [("there",)]


def test_an_object_that_never_stored_anything_is_left_out(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    wrangler.object(CLASS, "looked-at")

    printed = command("import", wrangler.path)

    assert f"Durable Object class {CLASS}: nothing to carry over" in printed.out

    async def ask(registry: BindingRegistry) -> int:
        return len(registry.objects(CLASS).stored_ids())

    assert in_state(state, ask) == 0


def test_the_source_is_not_changed(
    wrangler: WranglerFixture, command: Command, project: Path
) -> None:
    fill(wrangler)
    before = fingerprint(project / ".wrangler")

    command("import", wrangler.path)

    assert fingerprint(project / ".wrangler") == before


def test_a_second_run_keeps_what_was_written_since(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)
    command("import", wrangler.path)
    rows(state, "UPDATE orders SET what = 'coffee'")

    printed = command("import", wrangler.path)

    assert printed.code == 0
    assert printed.out.count("kept: there is data already") == 4
    assert rows(state, "SELECT what FROM orders") == [("coffee",)]


def test_overwriting_gives_exactly_what_is_in_the_source(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)
    command("import", wrangler.path)
    rows(state, "UPDATE orders SET what = 'coffee'")
    from_object(state, "a", "SELECT 1")

    async def write(registry: BindingRegistry) -> None:
        await registry.kv("kvprev").put("extra", b"x" * 100_000)
        await registry.r2("my-bucket").put("extra", b"x" * 100_000)
        namespace = registry.objects(CLASS)
        storage = namespace.open(namespace.ids.from_name("a"))
        for number in range(6):
            storage.put("k", bytes([number]))
            await storage.commit()
        await storage.close()

    in_state(state, write)

    printed = command("import", wrangler.path, "--overwrite")

    assert printed.out.count(": imported") == 4
    assert rows(state, "SELECT what FROM orders") == [("tea",)]
    assert value(state, "extra") is None
    assert content(state, "extra") is None
    assert from_object(state, "a", "SELECT count(*) FROM visits") == [(1.0,)]

    async def ask(registry: BindingRegistry) -> bytes | None:
        namespace = registry.objects(CLASS)
        storage = namespace.open(namespace.ids.from_name("a"))
        found = storage.get("k")
        await storage.close()
        return found

    assert in_state(state, ask) == b"\xff\x0fI\x0e"


def test_nothing_is_left_over_in_the_state_directory(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)
    (state / "v1" / "incoming").mkdir(parents=True)
    (state / "v1" / "incoming" / "half.sqlite").write_bytes(b"of a run that was killed")

    command("import", wrangler.path)

    assert not (state / "v1" / "incoming").exists()


def test_without_a_directory_that_of_the_project_is_read(
    wrangler: WranglerFixture, command: Command
) -> None:
    fill(wrangler)

    assert "D1 database dbid-1: imported" in command("import").out


def test_the_directory_of_the_version_can_be_named_too(
    wrangler: WranglerFixture, command: Command
) -> None:
    fill(wrangler)

    assert "D1 database dbid-1: imported" in command("import", wrangler.root).out


def test_what_no_configuration_names_is_told(wrangler: WranglerFixture, command: Command) -> None:
    fill(wrangler)
    wrangler.d1("another", "CREATE TABLE t (v)")
    wrangler.object("old-Thing", "x", "CREATE TABLE t (v)")
    (wrangler.root / "cache" / "miniflare-CacheObject").mkdir(parents=True)

    printed = command("import", wrangler.path)

    assert printed.code == 0
    assert "1 x D1 database that no configuration names" in printed.err
    assert "Durable Object class old-Thing, which no configuration names" in printed.err
    assert "the Cache API's entries (cache), which are not carried over" in printed.err


def test_the_report_can_be_read_by_a_script(wrangler: WranglerFixture, command: Command) -> None:
    fill(wrangler)

    report = json.loads(command("import", wrangler.path, "--json").out)

    assert [(each["kind"], each["id"], each["action"], each["count"]) for each in report] == [
        ("D1 database", "dbid-1", "imported", 1),
        ("KV namespace", "kvprev", "imported", 3),
        ("R2 bucket", "my-bucket", "imported", 2),
        ("Durable Object class", CLASS, "imported", 1),
    ]


def test_state_that_another_process_uses_is_left_alone(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)
    state.mkdir(parents=True)
    lease = Lease.acquire(state)

    printed = command("import", wrangler.path)
    lease.release()

    assert printed.code == 1
    assert f"The state directory {state} is in use" in printed.err
    assert not (state / "v1").exists()


def test_a_project_without_resources_is_told_so(
    wrangler: WranglerFixture, command: Command, project: Path
) -> None:
    fill(wrangler)
    (project / "wrangler.jsonc").write_text('{"name": "bare", "compatibility_date": "2026-05-01"}')

    printed = command("import", wrangler.path)

    assert printed.code == 0
    assert "names no D1 database" in printed.err


def test_a_database_that_wrangler_has_open_is_read_from_its_log(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    path = wrangler.d1("dbid-1", "CREATE TABLE t (v)")
    held = sqlite3.connect(path, isolation_level=None)
    held.execute("PRAGMA wal_autocheckpoint = 0")
    held.execute("INSERT INTO t VALUES ('in the log')")

    printed = command("import", wrangler.path)
    held.close()

    assert printed.code == 0
    assert rows(state, "SELECT v FROM t") == [("in the log",)]


def test_bookmarks_that_are_no_numbers_are_forgotten(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    odd = "INSERT INTO _cf_METADATA VALUES (2, x'00')"
    wrangler.d1("dbid-1", "CREATE TABLE t (v)", (odd, ()))
    wrangler.object(CLASS, "a", "CREATE TABLE t (v)", (odd, ()), alarm=LATER)

    command("import", wrangler.path)

    assert rows(state, "INSERT INTO t VALUES (1) RETURNING v") == [(1,)]

    async def ask(registry: BindingRegistry) -> int:
        namespace = registry.objects(CLASS)
        storage = namespace.open(namespace.ids.from_name("a"))
        number = storage.next_bookmark()
        await storage.close()
        return number

    assert in_state(state, ask) == 0


def test_the_project_s_directory_can_be_named_too(
    wrangler: WranglerFixture, command: Command, project: Path
) -> None:
    fill(wrangler)

    assert "D1 database dbid-1: imported" in command("import", project).out


def test_an_environment_that_is_not_there_is_warned_of(command: Command) -> None:
    done = command("import", "--env", "nope")
    assert 'No environment found in configuration with name "nope".' in done.err
