"""Disks that are full, files that are damaged or gone, logs that grow: what was confirmed stays."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.objects import ObjectStorage
from pyflare_bindings.storage.errors import FileGoneError, StateError

from .conftest import MANY, Objects, rows


@contextmanager
def no_file_grows() -> Iterator[None]:
    """Every write behind the present end of any file fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def confirmed(objects: Objects, storage: ObjectStorage) -> None:
    storage.put("a", b"confirmed")
    objects.commit(storage)


# The disk


def test_a_commit_that_cannot_be_written_breaks_the_object(
    objects: Objects, storage: ObjectStorage
) -> None:
    broken: list[BaseException] = []
    storage.on_broken = broken.append
    confirmed(objects, storage)
    storage.put("a", b"lost")
    with no_file_grows(), pytest.raises(StateError) as caught:
        objects.commit(storage)
    assert broken == [caught.value]
    assert str(objects.root) in str(caught.value)
    with pytest.raises(StateError):
        storage.get("a")
    following = objects.reopened(storage)
    assert following.get("a") == b"confirmed"
    following.put("a", b"next")
    objects.commit(following)
    objects.restart()
    assert objects.open().get("a") == b"next"


def test_a_file_that_cannot_be_created_breaks_the_object_and_loses_nothing(
    objects: Objects,
) -> None:
    storage = objects.open()
    for number in range(4):
        storage.put("a", str(number).encode())
        objects.commit(storage)
    with no_file_grows(), pytest.raises(StateError):
        storage.put("a", b"lost")
    assert storage.broken is not None
    assert not objects.has_file(storage)
    assert objects.reopened(storage).get("a") == b"3"


def test_a_statement_that_finds_the_disk_full_breaks_the_object(
    objects: Objects, storage: ObjectStorage
) -> None:
    confirmed(objects, storage)
    if not objects.has_file(storage):
        pytest.skip("a young object is in memory while a statement runs")
    storage.exec("CREATE TABLE t (x)")

    def fill() -> None:
        for _ in range(50):
            storage.exec("INSERT INTO t VALUES (zeroblob(1000000))")

    with no_file_grows(), pytest.raises(StateError):
        fill()
    assert isinstance(storage.broken, StateError)
    following = objects.reopened(storage)
    assert following.get("a") == b"confirmed"
    assert rows(following, "SELECT name FROM sqlite_schema WHERE name = 't'") == []


@pytest.mark.parametrize("keep_alarm", [False, True])
def test_deleting_everything_on_a_full_disk_deletes_all_or_nothing(
    objects: Objects, storage: ObjectStorage, keep_alarm: bool
) -> None:
    storage.alarm.set(int(objects.clock.now() * 1000) + 5000)
    confirmed(objects, storage)
    alarm = storage.alarm.get()
    finished = True
    with no_file_grows():
        try:
            storage.delete_all(keep_alarm)
        except StateError:
            finished = False
    following = objects.reopened(storage)
    assert following.get("a") == (None if finished else b"confirmed")
    assert following.alarm.get() == (alarm if keep_alarm or not finished else None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_is_named(objects: Objects) -> None:
    objects.root.mkdir()
    objects.root.chmod(stat.S_IRUSR | stat.S_IXUSR)
    storage = objects.open()
    storage.put("a", b"1")
    with pytest.raises(StateError, match="Make the"):
        objects.commit(storage)
    objects.root.chmod(stat.S_IRWXU)


# Files that are gone, replaced or damaged


def test_a_commit_into_a_file_that_was_deleted_is_refused(
    objects: Objects, storage: ObjectStorage
) -> None:
    confirmed(objects, storage)
    shutil.rmtree(objects.root)
    storage.put("a", b"lost")
    with pytest.raises(FileGoneError):
        objects.commit(storage)
    assert isinstance(storage.broken, FileGoneError)
    following = objects.reopened(storage)
    assert following.get("a") is None
    following.put("a", b"anew")
    objects.commit(following)
    objects.restart()
    assert objects.open().get("a") == b"anew"


def test_a_file_that_was_replaced_is_noticed(objects: Objects) -> None:
    storage = objects.grown()
    confirmed(objects, storage)
    path = objects.path(storage)
    copy = path.with_suffix(".copy")
    shutil.copy(path, copy)
    os.replace(copy, path)
    objects.registry.check_files()
    assert isinstance(storage.broken, FileGoneError)
    objects.reopened(storage)


def test_looking_after_files_that_are_in_place_does_nothing(
    objects: Objects, storage: ObjectStorage
) -> None:
    confirmed(objects, storage)
    objects.registry.check_files()
    assert storage.broken is None
    assert storage.get("a") == b"confirmed"


@pytest.mark.parametrize(
    "content", [b"not a database" * 100, b"", b"SQLite format 3\0" + b"x" * 5000]
)
def test_a_damaged_file_is_named_when_the_object_is_opened(
    objects: Objects, content: bytes
) -> None:
    storage = objects.grown()
    objects.close(storage)
    path = objects.path(storage)
    path.with_name(path.name + "-wal").unlink()
    path.write_bytes(content)
    with pytest.raises(StateError, match=storage.id.hex):
        objects.open()
    assert list(objects.namespace.stored_alarms()) == []


def test_a_damaged_file_of_the_young_is_named(objects: Objects) -> None:
    storage = objects.open()
    confirmed(objects, storage)
    objects.stop()
    young = objects.namespace._files.young.path
    for suffix in ("-wal", "-shm"):
        young.with_name(young.name + suffix).unlink(missing_ok=True)
    young.write_bytes(b"not a database" * 1000)
    objects.__init__(objects.runner, objects.root)  # type: ignore[misc]
    with pytest.raises(StateError, match=r"young\.sqlite"):
        objects.open()


def test_a_damaged_image_is_named(objects: Objects) -> None:
    storage = objects.open()
    confirmed(objects, storage)
    young = objects.namespace._files.young
    objects.close(storage)
    assert young._connection is not None
    young._connection.execute("UPDATE young SET image = x'00'")
    with pytest.raises(StateError, match="damaged"):
        objects.open()


# Logs


def log_bytes(path: Path) -> int:
    try:
        return path.with_name(path.name + "-wal").stat().st_size
    except FileNotFoundError:
        return 0


def test_the_log_of_a_busy_object_does_not_grow_without_end(objects: Objects) -> None:
    storage = objects.grown()
    longest = 0

    async def run() -> None:
        nonlocal longest
        for number in range(400):
            storage.put(str(number % 3), os.urandom(60_000))
            await storage.commit()
            await asyncio.sleep(0.0005)
            longest = max(longest, log_bytes(objects.path(storage)))

    objects.runner.run(run())
    written = 400 * 60_000
    assert longest < written / 2
    assert storage.broken is None
    objects.restart()
    assert len(objects.open().list()) == 3
    assert rows(objects.open(), "PRAGMA quick_check") == [("ok",)]


def test_the_log_of_the_young_does_not_grow_without_end(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyflare_bindings.objects.files._YOUNG_LOG_PAGES", 50)
    longest = 0

    async def run() -> None:
        nonlocal longest
        for number in range(300):
            storage = objects.open(str(number))
            storage.put("a", os.urandom(5000))
            await storage.commit()
            await storage.close()
            await asyncio.sleep(0.0005)
            longest = max(longest, log_bytes(objects.namespace._files.young.path))

    objects.runner.run(run())
    assert longest < 300 * 5000 / 2
    objects.restart()
    assert len(objects.namespace.stored_ids()) == 300


def test_an_object_with_a_long_log_can_delete_everything(objects: Objects) -> None:
    storage = objects.grown()
    for _ in range(30):
        storage.put("a", os.urandom(100_000))
        objects.commit(storage)
    storage.delete_all(False)
    objects.commit(storage)
    assert [name for name in objects.files() if len(name) > 64] == []


# Surviving the machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Objects]:
    with asyncio.Runner() as runner:
        objects = Objects(runner, tmp_path / "state", "machine")
        yield objects
        objects.stop()


@pytest.mark.parametrize("grown", [False, True])
def test_a_commit_waits_for_the_disk_away_from_the_loop(
    machine: Objects, monkeypatch: pytest.MonkeyPatch, grown: bool
) -> None:
    storage = machine.grown() if grown else machine.open()
    confirmed(machine, storage)
    synced: list[str] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)

    async def run() -> None:
        storage.put("a", b"2")
        durable = storage.commit()
        assert not durable.done()
        storage.put("b", b"3")
        both = storage.commit()
        await asyncio.gather(durable, both)

    machine.runner.run(run())
    log = machine.path(storage) if grown else machine.namespace._files.young.path
    assert str(log) + "-wal" in synced
    assert machine.reopened(storage).list()[-2:] == [("a", b"2"), ("b", b"3")]


def test_commits_that_wait_together_share_an_fsync(
    machine: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    storages = [machine.open(str(number)) for number in range(20)]
    confirmed(machine, storages[0])
    calls: list[int] = []
    monkeypatch.setattr(os, "fsync", calls.append)

    async def run() -> None:
        for storage in storages:
            storage.put("a", b"1")
        await asyncio.gather(*(storage.commit() for storage in storages))

    machine.runner.run(run())
    assert len(calls) <= 4


def test_a_disk_that_refuses_breaks_the_object(
    machine: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = machine.grown()
    confirmed(machine, storage)

    def refuse(_: Any) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuse)
    storage.put("a", b"2")
    with pytest.raises(StateError, match="Input/output error"):
        machine.commit(storage)
    assert isinstance(storage.broken, StateError)
    monkeypatch.undo()
    machine.reopened(storage)


def test_closing_does_not_disturb_what_is_on_its_way(machine: Objects) -> None:
    storage = machine.grown()

    async def run() -> None:
        storage.put("a", b"1")
        durable = storage.commit()
        await storage.close()
        await durable

    machine.runner.run(run())
    assert machine.open().get("a") == b"1"


def test_everything_works_at_this_level_too(machine: Objects) -> None:
    storage = machine.open()
    for number in range(MANY):
        storage.put("a", str(number).encode())
        machine.commit(storage)
    storage.delete_all(False)
    machine.commit(storage)
    storage.exec("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    machine.commit(storage)
    machine.restart()
    assert rows(machine.open(), "SELECT x FROM t") == [(1,)]
