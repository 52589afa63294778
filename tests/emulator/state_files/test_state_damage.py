"""Damaged and partial sources: the file is named, the rest is carried over, nothing is half there."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from pyflare.state_files.errors import SourceError
from pyflare.state_files.private_copy import copy_of
from tests.emulator.state_files.conftest import Command
from tests.emulator.state_files.test_state_import import (
    CLASS,
    LATER,
    content,
    fill,
    from_object,
    rows,
    value,
)
from tests.emulator.state_files.wrangler_state import D1, WranglerFixture, object_id


def blob_paths(wrangler: WranglerFixture, folder: str, name: str) -> list[Path]:
    return sorted(
        (wrangler.root / folder / name / "blobs").iterdir(), key=lambda p: p.stat().st_size
    )


def blobs_kept(state: Path) -> int:
    return sum(1 for path in state.rglob("*.blobs/*") if path.is_file())


def test_a_directory_that_does_not_exist_is_named(command: Command, tmp_path: Path) -> None:
    printed = command("import", tmp_path / "nowhere")

    assert printed.code == 1
    assert f"{tmp_path / 'nowhere'}: there is no such directory" in printed.err


def test_a_directory_without_state_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    printed = command("import", tmp_path / "other")

    assert printed.code == 1
    assert "holds no local state of wrangler (no v3/d1, kv, r2 or do)" in printed.err


def test_state_of_an_older_wrangler_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "old" / ".mf" / "kv").mkdir(parents=True)

    printed = command("import", tmp_path / "old")

    assert printed.code == 1
    assert "state of a version before wrangler 3, which is not read" in printed.err


@pytest.mark.parametrize("content", [b"no database at all", b"SQLite"])
def test_a_file_that_is_no_database_is_named_and_the_others_are_imported(
    wrangler: WranglerFixture, command: Command, state: Path, content: bytes
) -> None:
    fill(wrangler)
    path = wrangler.database_path("d1", D1, "dbid-1")
    path.write_bytes(content)

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert "D1 database dbid-1: FAILED" in printed.out
    assert f"{path}: this file is not a SQLite database, or is cut off." in printed.err
    assert value(state, "small") is not None


def test_a_database_that_is_cut_off_is_named(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    path = wrangler.d1("dbid-1", "CREATE TABLE t (v); CREATE INDEX i ON t(v)")
    os.truncate(path, 5000)
    path.with_name(f"{path.name}-wal").unlink()

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert f"{path}: this database is damaged or cut off" in printed.err
    assert not list(state.glob("v1/d1/*.sqlite"))


def test_a_missing_content_fails_its_whole_namespace(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)
    missing = blob_paths(wrangler, "kv", "kvprev")[1]
    missing.unlink()

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert f"{missing}: this content is missing. Copy the state directory once more" in printed.err
    assert value(state, "large") is None
    assert blobs_kept(state) == 2, "the two parts of the bucket's object"


def test_contents_that_were_not_copied_at_all_are_named(
    wrangler: WranglerFixture, command: Command
) -> None:
    fill(wrangler)
    shutil.rmtree(wrangler.root / "r2" / "my-bucket")

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert "R2 bucket my-bucket: FAILED" in printed.out
    assert f"{wrangler.root / 'r2' / 'my-bucket' / 'blobs'}" in printed.err


def test_damaged_values_can_be_left_out(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)
    blob_paths(wrangler, "kv", "kvprev")[1].unlink()
    part, *_ = blob_paths(wrangler, "r2", "my-bucket")
    part.write_bytes(b"b plan")

    printed = command("import", wrangler.path, "--skip-damaged")

    assert printed.code == 0
    assert "KV namespace kvprev: imported, 2 keys" in printed.out
    assert "R2 bucket my-bucket: imported, 1 objects" in printed.out
    assert "left out key 'small'" in printed.err
    assert "left out object 'häuser/plan.txt'" in printed.err
    assert value(state, "large") is not None
    assert content(state, "film") is not None


def test_a_content_of_another_length_is_named(wrangler: WranglerFixture, command: Command) -> None:
    fill(wrangler)
    cut = blob_paths(wrangler, "r2", "my-bucket")[0]
    cut.write_bytes(b"a")

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert f"{cut}: this content has 1 bytes instead of 6" in printed.err


def test_a_content_that_does_not_have_its_md5_is_refused(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)
    blob_paths(wrangler, "r2", "my-bucket")[0].write_bytes(b"b plan")

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert "the content of object 'häuser/plan.txt' has the MD5" in printed.err
    assert content(state, "film") is None
    assert blobs_kept(state) == 1, "the large value of the namespace"


def test_a_large_content_that_does_not_have_its_md5_is_refused(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    row = wrangler.r2_object("my-bucket", "k", b"x" * 100_000, etag="0" * 32)
    wrangler.r2("my-bucket", row)

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert "the content of object 'k' has the MD5" in printed.err
    assert blobs_kept(state) == 0


def test_a_content_that_is_no_file_is_named(wrangler: WranglerFixture, command: Command) -> None:
    fill(wrangler)
    path = blob_paths(wrangler, "kv", "kvprev")[0]
    path.unlink()
    path.mkdir()

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert f"{path}: this content" in printed.err


def test_the_name_of_a_content_is_never_a_path(wrangler: WranglerFixture, command: Command) -> None:
    secret = wrangler.root / "kv" / "secret"
    secret.parent.mkdir(parents=True)
    secret.write_text("not yours")
    row = "INSERT INTO _mf_entries VALUES ('k', '../../secret', NULL, NULL)"
    wrangler.kv("kvprev", {"x": (b"x", None, None)})
    path = wrangler.database_path("kv", "miniflare-KVNamespaceObject", "kvprev")
    wrangler.database(path, "SELECT 1", (row, ()))

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert "'../../secret' is no name of a content in it" in printed.err


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("kv", ("INSERT INTO _mf_entries VALUES (?, ?, ?, ?)", ("k", "0" * 80, "soon", None))),
        ("kv", ("INSERT INTO _mf_entries VALUES (?, ?, ?, ?)", ("k" * 600, "0" * 80, None, None))),
        ("r2", {"custom_metadata": "no json"}),
        ("r2", {"size": 7, "blob_id": None}),
        ("r2", {"checksums": '{"md5": 5}'}),
    ],
)
def test_rows_that_wrangler_could_not_have_written_are_refused(
    wrangler: WranglerFixture, command: Command, table: str, row: Any
) -> None:
    if table == "kv":
        wrangler.kv("kvprev", {})
        path = wrangler.database_path("kv", "miniflare-KVNamespaceObject", "kvprev")
        directory = wrangler.root / "kv" / "kvprev" / "blobs"
        directory.mkdir(parents=True)
        (directory / ("0" * 80)).write_bytes(b"")
        wrangler.database(path, "SELECT 1", row)
    else:
        path = wrangler.r2("my-bucket", wrangler.r2_object("my-bucket", "k", b"x", **row))

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert f"{path}: this database is not laid out as wrangler's local state is" in printed.err


def test_tables_of_another_layout_are_refused(wrangler: WranglerFixture, command: Command) -> None:
    path = wrangler.database_path("kv", "miniflare-KVNamespaceObject", "kvprev")
    wrangler.database(path, "CREATE TABLE _mf_entries (name TEXT)")

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert f"{path}: this database is not laid out as wrangler's local state is" in printed.err


def test_a_resource_that_was_never_used_has_nothing_to_carry_over(
    wrangler: WranglerFixture, command: Command
) -> None:
    for folder, key, name in (
        ("kv", "miniflare-KVNamespaceObject", "kvprev"),
        ("r2", "miniflare-R2BucketObject", "my-bucket"),
        ("d1", D1, "dbid-1"),
    ):
        wrangler.database(wrangler.database_path(folder, key, name), "SELECT 1")

    printed = command("import", wrangler.path)

    assert printed.code == 0
    assert printed.out.count("nothing to carry over") == 4


def test_a_damaged_object_is_named_and_the_others_are_imported(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)
    path = wrangler.object(CLASS, "broken", "CREATE TABLE t (v)")
    path.write_bytes(b"x" * 4096)

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert f"Durable Object class {CLASS}: FAILED, 1 objects" in printed.out
    assert f"{path}: this file is not a SQLite database" in printed.err
    assert from_object(state, "a", "SELECT n FROM visits") == [(7,)]


def test_a_damaged_object_can_be_left_out(wrangler: WranglerFixture, command: Command) -> None:
    fill(wrangler)
    path = wrangler.object(CLASS, "broken", "CREATE TABLE t (v)")
    path.write_bytes(b"x" * 4096)

    printed = command("import", wrangler.path, "--skip-damaged")

    assert printed.code == 0
    assert f"{path}: this file is not a SQLite database" in printed.err


def test_an_object_whose_alarm_is_no_time_is_refused(
    wrangler: WranglerFixture, command: Command
) -> None:
    wrangler.object(
        CLASS,
        "odd",
        "CREATE TABLE _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB)",
        ("INSERT INTO _cf_METADATA VALUES (1, ?)", ("tomorrow",)),
    )

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert f"{object_id(CLASS, 'odd')}.sqlite: this database is damaged" in printed.err


def test_a_file_named_after_another_class_is_refused(
    wrangler: WranglerFixture, command: Command
) -> None:
    path = wrangler.object(CLASS, "a", "CREATE TABLE t (v)")
    path.rename(path.with_name(f"{'0' * 64}.sqlite"))

    printed = command("import", wrangler.path)

    assert printed.code == 1
    assert f"{'0' * 64}.sqlite: the name of this file is no id of the class" in printed.err


def test_the_storage_of_facets_is_left_out(wrangler: WranglerFixture, command: Command) -> None:
    path = wrangler.object(CLASS, "a", "CREATE TABLE t (v)")
    shutil.copyfile(path, path.with_name(f"{path.stem}.1.sqlite"))

    printed = command("import", wrangler.path)

    assert printed.code == 0
    assert "imported, 1 objects" in printed.out
    assert f"left out {path.with_name(path.stem)}.1.sqlite: the storage of a facet" in printed.err


def test_alarms_survive_a_damaged_table_of_alarms(
    wrangler: WranglerFixture, command: Command
) -> None:
    wrangler.object(CLASS, "a", alarm=LATER)
    table = wrangler.root / "do" / CLASS / "metadata.sqlite"
    table.write_bytes(b"x" * 100)

    printed = command("import", wrangler.path)

    assert printed.code == 0
    assert f"Durable Object class {CLASS}: imported, 1 objects" in printed.out
    assert f"{table}: this file is not a SQLite database" in printed.err


def test_a_failed_overwrite_leaves_what_was_there(
    wrangler: WranglerFixture, command: Command, state: Path
) -> None:
    fill(wrangler)
    command("import", wrangler.path)
    blob_paths(wrangler, "kv", "kvprev")[1].unlink()
    blob_paths(wrangler, "r2", "my-bucket")[0].write_bytes(b"b plan")
    wrangler.database_path("d1", D1, "dbid-1").write_bytes(b"gone")

    printed = command("import", wrangler.path, "--overwrite")

    assert printed.code == 1
    assert printed.out.count("FAILED") == 3
    assert rows(state, "SELECT what FROM orders") == [("tea",)]
    assert value(state, "large") is not None
    assert content(state, "film") is not None


def test_a_database_that_keeps_changing_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "live.sqlite"
    source.write_bytes(b"")
    copyfile = shutil.copyfile

    def copy_while_writing(path: Path, destination: Path) -> None:
        copyfile(path, destination)
        with source.open("ab") as file:
            file.write(b"x")

    monkeypatch.setattr(shutil, "copyfile", copy_while_writing)
    (tmp_path / "work").mkdir()

    with pytest.raises(SourceError, match=r"live\.sqlite: this database is being written to"):
        copy_of(source, tmp_path / "work")


def test_a_copy_that_has_no_space_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "any.sqlite"
    source.write_bytes(b"")

    with pytest.raises(SourceError, match="this file cannot be copied"):
        copy_of(source, tmp_path / "no such directory")
