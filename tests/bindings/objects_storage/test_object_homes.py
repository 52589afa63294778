"""Where objects are kept: among the young, in files of their own, open or closed."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyflare_bindings.objects import ObjectStorage
from pyflare_bindings.objects.open_databases import OpenDatabases, databases_allowed
from pyflare_bindings.storage.errors import SqlError

from .conftest import MANY, Objects, rows


def squeeze(storage: ObjectStorage) -> None:
    """Close the database as if many others had been opened."""
    storage.close_if_idle()
    assert storage.close_if_idle()


def open_files(root: Path) -> list[str]:
    """The files below a directory that this process has open."""
    found = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        if target.startswith(str(root)):
            found.append(target)
    return found


# Homes


def test_an_object_that_is_touched_once_has_no_file_of_its_own(objects: Objects) -> None:
    for number in range(10):
        storage = objects.open(str(number))
        storage.put("a", b"1")
        objects.commit(storage)
    assert [name for name in objects.files() if len(name) > 64] == []
    assert len(objects.namespace.stored_ids()) == 10


def test_an_object_that_is_used_often_gets_a_file(objects: Objects) -> None:
    storage = objects.open()
    for number in range(MANY):
        storage.put("a", str(number).encode())
        objects.commit(storage)
    assert objects.has_file(storage)
    assert storage.get("a") == b"5"
    assert objects.namespace.stored_ids() == [storage.id]
    assert list(objects.namespace._files.young.ids()) == []
    assert objects.reopened(storage).get("a") == b"5"


def test_an_object_that_grows_gets_a_file_at_once(objects: Objects) -> None:
    storage = objects.open()
    storage.put("a", b"x" * 200_000)
    objects.commit(storage)
    assert objects.has_file(storage)
    assert storage.get("a") == b"x" * 200_000
    objects.restart()
    assert objects.open().get("a") == b"x" * 200_000


def test_an_object_moves_to_its_file_in_the_middle_of_everything(objects: Objects) -> None:
    storage = objects.open()
    storage.exec("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    for number in range(1, MANY + 1):
        storage.exec("INSERT INTO t VALUES (?)", (float(number),))
        cursor = storage.exec("SELECT id FROM t")
        objects.commit(storage)
        assert cursor.fetch_all() == [(each,) for each in range(1, number + 1)]
    assert objects.has_file(storage)


@pytest.mark.parametrize("how", ["often", "grows", "both"])
def test_rows_that_are_being_read_are_live_and_hold_up_the_move(objects: Objects, how: str) -> None:
    storage = objects.open()
    storage.exec("CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
    objects.commit(storage)
    cursor = storage.exec("SELECT id FROM t")
    assert cursor.next() == (1,)
    for number in range(3, 3 + MANY):
        storage.exec("INSERT INTO t VALUES (?)", (float(number),))
        if how != "often":
            storage.put("large", b"x" * 80_000)
        objects.commit(storage)
        if how == "grows":
            break
    last = number
    storage.exec("DELETE FROM t WHERE id = ?", (float(last),))
    objects.commit(storage)
    assert not objects.has_file(storage)
    assert cursor.fetch_all() == [(each,) for each in range(2, last)]
    storage.put("a", b"1")
    objects.commit(storage)
    assert objects.has_file(storage) is True
    objects.restart()
    storage = objects.open()
    assert storage.get("a") == b"1"
    assert rows(storage, "SELECT count(*) FROM t") == [(last - 1,)]


def test_what_was_stored_while_rows_were_read_survives(objects: Objects) -> None:
    storage = objects.open()
    storage.exec("CREATE TABLE t (id); INSERT INTO t VALUES (1), (2)")
    cursor = storage.exec("SELECT id FROM t")
    storage.put("large", b"x" * 300_000)
    objects.commit(storage)
    assert not objects.has_file(storage)
    del cursor
    objects.restart()
    assert objects.open().get("large") == b"x" * 300_000


def test_an_object_that_grows_far_moves_whoever_reads(objects: Objects) -> None:
    storage = objects.open()
    storage.exec("CREATE TABLE t (id); INSERT INTO t VALUES (1), (2)")
    cursor = storage.exec("SELECT id FROM t")
    storage.put("large", b"x" * 1_500_000)
    objects.commit(storage)
    assert objects.has_file(storage)
    assert cursor.fetch_all() == [(1,), (2,)]


def test_an_object_moves_before_a_statement_that_needs_the_table_it_has(objects: Objects) -> None:
    storage = objects.open()
    storage.exec("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    objects.commit(storage)
    for _ in range(MANY):
        storage.exec("UPDATE t SET x = x + 1; UPDATE t SET x = x + 1")
        objects.commit(storage)
    assert objects.has_file(storage)
    assert rows(storage, "SELECT x FROM t") == [(1 + 2 * MANY,)]


def test_a_file_counts_more_than_what_is_left_among_the_young(objects: Objects) -> None:
    storage = objects.grown()
    storage.put("a", b"new")
    objects.commit(storage)
    from pyflare_bindings.objects.images import empty_image

    young = objects.namespace._files.young
    young.store(storage.id.raw, empty_image(), 5)
    following = objects.reopened(storage)
    assert following.get("a") == b"new"
    assert list(objects.namespace.stored_alarms()) == [(following.id, None)]
    assert objects.namespace.stored_ids() == [following.id]
    following.delete_all(False)
    assert objects.reopened(following).list() == []


def test_an_unfinished_file_is_nothing(objects: Objects) -> None:
    storage = objects.open()
    storage.put("a", b"1")
    objects.commit(storage)
    objects.path(storage).with_suffix(".new").write_bytes(b"half")
    assert objects.namespace.stored_ids() == [storage.id]
    for _ in range(MANY):
        storage.put("b", b"1")
        objects.commit(storage)
    assert objects.has_file(storage)
    assert not objects.path(storage).with_suffix(".new").exists()


def test_a_log_that_was_left_behind_does_not_come_back(objects: Objects) -> None:
    storage = objects.grown()
    storage.put("a", b"old")
    objects.commit(storage)
    log = objects.path(storage).with_name(objects.path(storage).name + "-wal")
    left_behind = log.read_bytes()
    objects.close(storage)
    objects.open().delete_all(False)
    log.write_bytes(left_behind)
    storage = objects.open()
    assert storage.get("a") is None
    for _ in range(MANY):
        storage.put("b", b"new")
        objects.commit(storage)
    objects.restart()
    assert objects.open().list() == [("b", b"new")]


def test_other_files_in_the_directory_are_not_objects(objects: Objects) -> None:
    storage = objects.grown()
    for name in ("x.sqlite", "README", "f" * 64, "f" * 63 + ".sqlite"):
        (objects.path(storage).parent / name).write_bytes(b"")
    assert objects.namespace.stored_ids() == [storage.id]


def test_the_directory_is_for_this_user_alone(objects: Objects) -> None:
    storage = objects.grown()
    assert objects.path(storage).parent.stat().st_mode & 0o077 == 0
    assert objects.path(storage).stat().st_mode & 0o077 == 0


# Open and closed


def test_what_is_idle_is_closed_and_opened_again(objects: Objects, storage: ObjectStorage) -> None:
    storage.put("a", b"1")
    objects.commit(storage)
    squeeze(storage)
    assert len(objects.open_databases) == 0
    assert storage.get("a") == b"1"
    squeeze(storage)
    storage.put("a", b"2")
    objects.commit(storage)
    squeeze(storage)
    assert rows(storage, "SELECT 1") == [(1,)]
    squeeze(storage)
    assert storage.database_size > 0
    assert objects.reopened(storage).get("a") == b"2"


def test_what_was_used_a_moment_ago_stays_open(storage: ObjectStorage) -> None:
    storage.put("a", b"1")
    storage.roll_back_all()
    storage.get("a")
    assert storage.close_if_idle() is False
    assert storage.close_if_idle() is True


def test_a_transaction_keeps_the_database_open(objects: Objects, storage: ObjectStorage) -> None:
    storage.put("a", b"1")
    assert [storage.close_if_idle() for _ in range(3)] == [False] * 3
    objects.commit(storage)
    squeeze(storage)


def test_a_cursor_keeps_the_database_open(objects: Objects, storage: ObjectStorage) -> None:
    cursor = storage.exec("SELECT 1 UNION ALL SELECT 2")
    assert [storage.close_if_idle() for _ in range(3)] == [False] * 3
    assert cursor.fetch_all() == [(1,), (2,)]
    squeeze(storage)
    storage.exec("SELECT 1 UNION ALL SELECT 2")
    squeeze(storage)


def test_settings_made_by_pragma_outlive_the_closing(
    objects: Objects, storage: ObjectStorage
) -> None:
    storage.exec("PRAGMA case_sensitive_like = ON")
    storage.exec("PRAGMA recursive_triggers(1);")
    storage.exec("PRAGMA main.foreign_keys = off -- for now")
    squeeze(storage)
    assert rows(storage, "SELECT 'a' LIKE 'A'") == [(0,)]
    assert rows(storage, "PRAGMA recursive_triggers") == [(1,)]
    assert rows(storage, "PRAGMA foreign_keys") == [(0,)]
    assert rows(objects.reopened(storage), "SELECT 'a' LIKE 'A'") == [(1,)]


def test_no_more_databases_are_open_than_allowed(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        objects = Objects(runner, tmp_path / "state")
        objects.registry._open_objects = OpenDatabases(4)
        objects.namespace = objects.registry.objects("worker-Other")
        storages = [objects.grown(str(number)) for number in range(12)]
        assert len(objects.open_databases) == 4
        assert len(open_files(tmp_path)) <= 4 * 3 + 3
        for number, storage in enumerate(storages):
            storage.put("a", str(number).encode())
            objects.commit(storage)
        assert [storage.get("a") for storage in storages] == [b"%d" % each for each in range(12)]
        assert len(objects.open_databases) == 4
        objects.stop()


def test_a_database_in_use_may_be_one_too_many(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        objects = Objects(runner, tmp_path / "state")
        objects.registry._open_objects = OpenDatabases(2)
        objects.namespace = objects.registry.objects("worker-Other")
        storages = [objects.open(str(number)) for number in range(5)]
        for storage in storages:
            storage.put("a", b"1")
        assert len(objects.open_databases) == 5
        for storage in storages:
            objects.commit(storage)
        objects.open("more").put("a", b"1")
        objects.open("more").roll_back_all()
        assert len(objects.open_databases) <= 6
        objects.open_databases.close_idle()
        objects.open_databases.close_idle()
        assert len(objects.open_databases) == 0
        objects.stop()


NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM t",
        "SELECT * FROM t JOIN t AS u",
        NUMBERS.format(5_000) + "SELECT i FROM n",
        NUMBERS.format(30_000) + "SELECT i FROM n",
        "SELECT abs(id - 9223372036854775807 - 5) FROM t",
        "SELECT CASE id WHEN 3 THEN CAST(x'ff' AS TEXT) ELSE 'a' END FROM t",
    ],
    ids=["few", "many", "measured", "very many", "one fails", "not UTF-8"],
)
@pytest.mark.parametrize("read", [0, 1, 3])
def test_a_cursor_does_not_notice_that_room_was_made(
    objects: Objects, storage: ObjectStorage, query: str, read: int
) -> None:
    storage.exec("CREATE TABLE t (id); INSERT INTO t VALUES (1), (2), (3), (4), (5), (6)")
    objects.commit(storage)

    def outcome(crowded: bool) -> list[object]:
        seen: list[object] = []
        cursor = storage.exec(query)
        try:
            for _ in range(read):
                seen += [cursor.next(), cursor.rows_read]
            for _ in range(3 if crowded else 0):
                storage.close_early()
            seen += [cursor.next(), cursor.rows_read]
            seen += [cursor.fetch_all(), cursor.rows_read]
            seen += [cursor.next()]
        except SqlError as error:
            seen += [type(error), str(error)]
        return seen

    assert outcome(crowded=True) == outcome(crowded=False)


def test_what_the_turn_before_wrote_is_committed_to_make_room(
    objects: Objects, storage: ObjectStorage
) -> None:
    storage.put("a", b"1")
    assert storage.close_early() is False
    storage.on_crowded = lambda: objects.commit(storage)
    assert storage.close_early() is True
    assert not storage.in_transaction
    assert storage.get("a") == b"1"
    depth = storage.savepoint()
    storage.put("a", b"2")
    assert storage.close_early() is False
    storage.roll_back(depth)
    assert storage.get("a") == b"1"


def test_no_more_files_are_open_than_allowed_while_all_are_written_to(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        objects = Objects(runner, tmp_path / "state")
        objects.registry._open_objects = OpenDatabases(2, files=4)
        objects.namespace = objects.registry.objects("worker-Other")
        storages = [objects.grown(str(number)) for number in range(12)]
        for storage in storages:
            storage.on_crowded = partial(objects.commit, storage)
        for number, storage in enumerate(storages):
            storage.put("a", str(number).encode())
            storage.exec("SELECT 1 UNION ALL SELECT 2")
            assert len(objects.open_databases) <= 4
        assert len(open_files(tmp_path)) <= 4 * 3 + 3
        assert [storage.get("a") for storage in storages] == [b"%d" % each for each in range(12)]
        objects.stop()


def test_closed_objects_hold_no_file(objects: Objects, tmp_path: Path) -> None:
    for number in range(5):
        objects.close(objects.grown(str(number)))
    assert len(objects.open_databases) == 0
    assert {Path(name).name.partition("-")[0] for name in open_files(tmp_path)} <= {"young.sqlite"}


def test_the_number_allowed_follows_the_limit_of_the_process() -> None:
    assert 16 <= databases_allowed() <= 512


# Everything at random


OPERATION = st.one_of(
    st.tuples(st.just("put"), st.sampled_from("abc"), st.binary(max_size=4)),
    st.tuples(st.just("delete"), st.sampled_from("abc"), st.just(b"")),
    st.tuples(st.just("insert"), st.just(""), st.binary(max_size=4)),
    st.tuples(
        st.sampled_from(
            (
                "commit", "roll back", "squeeze", "reopen", "restart", "delete all",
                "savepoint", "release", "roll back to", "alarm", "large",
            )
        ),
        st.just(""),
        st.just(b""),
    ),
)  # fmt: skip


Held = tuple[dict[str, bytes], list[bytes], int | None]


class Model:
    """What an object should hold: pairs, the rows of one table, and the alarm."""

    def __init__(self) -> None:
        self.now: Held = ({}, [], None)
        self.durable: Held = self.now
        self.savepoints: list[Held] = []


@settings(max_examples=60)
@given(st.lists(OPERATION, max_size=40))
@example([(name, "", b"") for name in ("alarm", "delete all", "roll back")])
@example([(name, "", b"") for name in ("alarm", "commit", "alarm", "delete all", "roll back")])
def test_an_object_is_what_its_history_makes_it(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, str, bytes]]
) -> None:
    with asyncio.Runner() as runner:
        objects = Objects(runner, tmp_path_factory.mktemp("model"))
        storage = objects.open()
        model = Model()
        for operation in operations:
            storage = step(objects, storage, model, *operation)
            pairs, inserted, alarm = model.now
            assert dict(storage.list()) == pairs
            assert storage.alarm.get() == alarm
            exists = rows(storage, "SELECT 1 FROM sqlite_schema WHERE name = 't'")
            found = rows(storage, "SELECT x FROM t ORDER BY rowid") if exists else []
            assert [x for (x,) in found] == inserted
        objects.stop()


def step(
    objects: Objects, storage: ObjectStorage, model: Model, name: str, key: str, value: bytes
) -> ObjectStorage:
    pairs, inserted, alarm = model.now
    match name:
        case "put":
            storage.put(key, value)
            model.now = ({**pairs, key: value}, inserted, alarm)
        case "large":
            storage.put("large", b"x" * 80_000)
            model.now = ({**pairs, "large": b"x" * 80_000}, inserted, alarm)
        case "delete":
            assert storage.delete(key) is (key in pairs)
            model.now = ({k: v for k, v in pairs.items() if k != key}, inserted, alarm)
        case "insert":
            storage.exec("CREATE TABLE IF NOT EXISTS t (x)")
            storage.exec("INSERT INTO t VALUES (?)", (value,))
            model.now = (pairs, [*inserted, value], alarm)
        case "alarm":
            time = (alarm or int(objects.clock.now() * 1000)) + 1000
            storage.alarm.set(time)
            model.now = (pairs, inserted, time)
        case "savepoint":
            model.savepoints.append(model.now)
            storage.savepoint()
        case "release" if model.savepoints:
            model.savepoints.pop()
            storage.release(len(model.savepoints))
        case "roll back to" if model.savepoints:
            model.now = model.savepoints.pop()
            storage.roll_back(len(model.savepoints))
        case "commit" if not model.savepoints:
            objects.commit(storage)
            model.durable = model.now
        case "roll back":
            storage.roll_back_all()
            model.savepoints.clear()
            model.now = model.durable
        case "squeeze":
            storage.close_if_idle()
            storage.close_if_idle()
        case "delete all" if not model.savepoints:
            storage.delete_all(True)
            model.durable = ({}, [], model.durable[2])
            model.now = ({}, [], alarm)
        case "reopen" | "restart":
            model.savepoints.clear()
            model.now = model.durable
            if name == "reopen":
                return objects.reopened(storage)
            objects.restart()
            return objects.open()
    return storage
