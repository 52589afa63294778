"""The implicit transaction, savepoints in it, and what ends an instance."""

from __future__ import annotations

import asyncio

import pytest

from pyflare_bindings.objects import CriticalSqlError, ObjectResetError, ObjectStorage
from pyflare_bindings.storage.errors import ClosedError, SqlError

from .conftest import Objects, rows

# The implicit transaction


def test_the_first_write_begins_it_and_says_so(objects: Objects, storage: ObjectStorage) -> None:
    told: list[bool] = []
    storage.on_write = lambda: told.append(storage.in_transaction)
    assert not storage.in_transaction
    storage.put("a", b"1")
    storage.put("b", b"2")
    storage.exec("CREATE TABLE t (x)")
    assert told == [True]
    objects.commit(storage)
    assert not storage.in_transaction
    storage.delete("a")
    assert told == [True, True]


@pytest.mark.parametrize(
    ("sql", "writes"),
    [
        ("SELECT 1", False),
        ("PRAGMA table_list", False),
        ("EXPLAIN DELETE FROM sqlite_sequence", False),
        ("CREATE TABLE t (x)", True),
        ("SELECT 1; CREATE TABLE t (x)", True),
        ("CREATE TABLE t (x); SELECT 1", True),
    ],
)
def test_only_a_statement_that_writes_begins_it(
    objects: Objects, storage: ObjectStorage, sql: str, writes: bool
) -> None:
    try:
        storage.exec(sql)
    except SqlError:
        assert not writes
    assert storage.in_transaction is writes


def test_all_writes_of_it_are_undone_together(objects: Objects, storage: ObjectStorage) -> None:
    storage.put("kept", b"1")
    storage.exec("CREATE TABLE t (x)")
    objects.commit(storage)
    storage.put("kept", b"2")
    storage.put("lost", b"2")
    storage.exec("INSERT INTO t VALUES (1)")
    storage.exec("CREATE TABLE u (x)")
    storage.roll_back_all()
    assert not storage.in_transaction
    assert storage.list() == [("kept", b"1")]
    assert rows(storage, "SELECT * FROM t") == []
    assert rows(storage, "SELECT name FROM sqlite_schema WHERE name = 'u'") == []


def test_undoing_the_first_transaction_leaves_nothing_on_disk(objects: Objects) -> None:
    storage = objects.open()
    storage.put("a", b"1")
    storage.roll_back_all()
    objects.close(storage)
    assert objects.namespace.stored_ids() == []


def test_undoing_nothing_does_nothing(storage: ObjectStorage) -> None:
    storage.roll_back_all()
    assert not storage.in_transaction


def test_committing_nothing_is_durable_at_once(objects: Objects) -> None:
    storage = objects.open()
    objects.commit(storage)
    assert objects.files() == []


def test_what_was_committed_is_there_for_the_next_instance(
    objects: Objects, storage: ObjectStorage
) -> None:
    storage.put("a", b"1")
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES (1)")
    objects.commit(storage)
    storage.put("b", b"not committed")
    following = objects.reopened(storage)
    assert following is not storage
    assert following.list() == [("a", b"1")]
    assert rows(following, "SELECT x FROM t") == [(1,)]


def test_what_was_committed_is_there_after_a_restart(
    objects: Objects, storage: ObjectStorage
) -> None:
    storage.put("a", b"1")
    objects.commit(storage)
    objects.restart()
    assert objects.open().get("a") == b"1"


def test_a_deferred_foreign_key_fails_the_commit_and_breaks_the_object(
    objects: Objects, storage: ObjectStorage
) -> None:
    broken: list[BaseException] = []
    storage.on_broken = broken.append
    storage.exec("CREATE TABLE p (id INTEGER PRIMARY KEY)")
    storage.exec("CREATE TABLE c (p REFERENCES p DEFERRABLE INITIALLY DEFERRED)")
    objects.commit(storage)
    storage.exec("INSERT INTO c VALUES (1)")
    text = (
        r"^Durable Object was reset and rolled back to its last known good state because the "
        r"application left the database in a state where constraints were violated: "
        r"FOREIGN KEY constraint failed: SQLITE_CONSTRAINT "
        r"\(extended: SQLITE_CONSTRAINT_FOREIGNKEY\)$"
    )
    with pytest.raises(SqlError, match=text):
        objects.commit(storage)
    assert [str(each) for each in broken] == [str(storage.broken)]
    for again in (
        lambda: storage.get("a"),
        lambda: storage.put("a", b""),
        lambda: storage.exec("SELECT 1"),
    ):
        with pytest.raises(SqlError, match=text):
            again()
    assert rows(objects.reopened(storage), "SELECT * FROM c") == []


def test_deferring_foreign_keys_by_pragma_lasts_until_the_commit(
    objects: Objects, storage: ObjectStorage
) -> None:
    storage.exec("CREATE TABLE p (id INTEGER PRIMARY KEY)")
    storage.exec("CREATE TABLE c (p REFERENCES p)")
    objects.commit(storage)
    storage.exec("PRAGMA defer_foreign_keys = ON")
    storage.exec("INSERT INTO c VALUES (1)")
    storage.exec("INSERT INTO p VALUES (1)")
    objects.commit(storage)
    with pytest.raises(SqlError, match="FOREIGN KEY"):
        storage.exec("INSERT INTO c VALUES (2)")
    assert storage.broken is None


def test_a_statement_that_undoes_the_transaction_breaks_the_object(
    objects: Objects, storage: ObjectStorage
) -> None:
    storage.exec("CREATE TABLE t (x UNIQUE)")
    objects.commit(storage)
    storage.put("a", b"1")
    with pytest.raises(CriticalSqlError, match="no transaction is active"):
        storage.exec("INSERT OR ROLLBACK INTO t VALUES (1), (1)")
    assert isinstance(storage.broken, CriticalSqlError)
    assert objects.reopened(storage).get("a") is None


# Savepoints


def test_a_savepoint_is_undone_alone(objects: Objects, storage: ObjectStorage) -> None:
    storage.put("a", b"1")
    depth = storage.savepoint()
    assert storage.depth == 1
    storage.put("a", b"2")
    storage.exec("CREATE TABLE t (x)")
    storage.roll_back(depth)
    assert storage.depth == 0
    assert storage.in_transaction
    objects.commit(storage)
    assert objects.reopened(storage).list() == [("a", b"1")]


def test_a_released_savepoint_is_part_of_what_is_around_it(
    objects: Objects, storage: ObjectStorage
) -> None:
    outer = storage.savepoint()
    storage.put("a", b"1")
    inner = storage.savepoint()
    assert (outer, inner) == (0, 1)
    storage.put("b", b"1")
    storage.release(inner)
    storage.roll_back(outer)
    assert storage.list() == []


def test_a_savepoint_begins_the_implicit_transaction(storage: ObjectStorage) -> None:
    told: list[None] = []
    storage.on_write = lambda: told.append(None)
    storage.savepoint()
    assert storage.in_transaction
    assert told == [None]


def test_a_savepoint_can_be_undone_again_and_again(storage: ObjectStorage) -> None:
    depth = storage.savepoint()
    for _ in range(3):
        storage.put("a", b"1")
        storage.roll_back(depth, keep=True)
        assert storage.get("a") is None
    storage.put("b", b"1")
    storage.release(depth)
    assert storage.list() == [("b", b"1")]


def test_an_outer_savepoint_does_not_end_before_the_inner_one(storage: ObjectStorage) -> None:
    outer = storage.savepoint()
    storage.savepoint()
    with pytest.raises(AssertionError, match="innermost"):
        storage.release(outer)
    with pytest.raises(AssertionError, match="innermost"):
        storage.roll_back(outer)


def test_a_commit_in_a_savepoint_waits_for_the_one_after_it(
    objects: Objects, storage: ObjectStorage
) -> None:
    async def run() -> None:
        told: list[None] = []
        depth = storage.savepoint()
        storage.put("a", b"1")
        storage.on_write = lambda: told.append(None)
        early = storage.commit()
        assert not early.done()
        storage.release(depth)
        assert told == [None], "whoever commits is told that there is something to commit"
        await storage.commit()
        await early

    objects.runner.run(run())
    assert objects.reopened(storage).get("a") == b"1"


def test_undoing_everything_ends_all_savepoints(storage: ObjectStorage) -> None:
    storage.savepoint()
    storage.savepoint()
    storage.roll_back_all()
    assert storage.depth == 0
    assert storage.savepoint() == 0


def test_a_cursor_does_not_outlive_the_undoing_of_its_savepoint(
    objects: Objects, storage: ObjectStorage
) -> None:
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES (1), (2), (3)")
    objects.commit(storage)
    outside = storage.exec("SELECT x FROM t")
    depth = storage.savepoint()
    inside = storage.exec("SELECT x FROM t")
    assert inside.next() == (1,)
    storage.roll_back(depth)
    with pytest.raises(
        SqlError,
        match=r"^abort due to ROLLBACK: SQLITE_ABORT \(extended: SQLITE_ABORT_ROLLBACK\)$",
    ):
        inside.next()
    assert outside.fetch_all() == [(1,), (2,), (3,)]


# The alarm in transactions


def test_an_alarm_is_undone_with_the_savepoint(objects: Objects, storage: ObjectStorage) -> None:
    now = int(objects.clock.now() * 1000)

    async def run() -> None:
        storage.alarm.set(now + 5000)
        await storage.commit()
        depth = storage.savepoint()
        storage.alarm.set(now + 1000)
        assert storage.alarm.get() == now + 1000
        storage.roll_back(depth)
        assert storage.alarm.get() == now + 5000
        await storage.commit()

    objects.runner.run(run())
    assert objects.reopened(storage).alarm.get() == now + 5000


def test_an_alarm_is_undone_with_the_transaction(objects: Objects, storage: ObjectStorage) -> None:
    now = int(objects.clock.now() * 1000)
    storage.alarm.set(now + 1000)
    assert storage.in_transaction
    storage.roll_back_all()
    assert storage.alarm.get() is None
    objects.commit(storage)
    assert objects.reopened(storage).alarm.get() is None


# The end of an instance


def test_there_is_one_storage_for_an_object(objects: Objects) -> None:
    assert objects.open("a") is objects.open("a")
    assert objects.open("a") is not objects.open("b")


def test_a_closed_storage_refuses_everything(objects: Objects, storage: ObjectStorage) -> None:
    storage.put("a", b"1")
    objects.close(storage)
    for call in (
        lambda: storage.get("a"),
        lambda: storage.put("a", b"2"),
        lambda: storage.exec("SELECT 1"),
        lambda: storage.list(),
        lambda: storage.delete_all(False),
        lambda: storage.savepoint(),
        lambda: storage.database_size,
    ):
        with pytest.raises(ObjectResetError):
            call()
    with pytest.raises(ObjectResetError):
        objects.commit(storage)


def test_a_cursor_ends_with_its_instance(objects: Objects, storage: ObjectStorage) -> None:
    cursor = storage.exec("SELECT 1 UNION ALL SELECT 2")
    objects.close(storage)
    with pytest.raises(SqlError, match="the object was reset"):
        cursor.fetch_all()


def test_closing_twice_is_closing_once(objects: Objects, storage: ObjectStorage) -> None:
    async def run() -> None:
        assert storage.close() is storage.close()
        await storage.close()

    objects.runner.run(run())


def test_a_closed_namespace_opens_nothing(tmp_path: object, objects: Objects) -> None:
    storage = objects.open()
    storage.put("a", b"1")
    objects.stop()
    with pytest.raises(ClosedError):
        objects.open("b")
    with pytest.raises(ObjectResetError):
        storage.get("a")


def test_the_name_of_an_object_is_kept(objects: Objects) -> None:
    storage = objects.open("a name")
    storage.put("a", b"1")
    objects.commit(storage)
    assert objects.reopened(storage).name == "a name"
    objects.restart()
    ids = objects.namespace.ids
    assert objects.namespace.open(ids.from_string(storage.id.hex)).name == "a name"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, None),
        ("ä" * 513, None),
        ("", ""),
        ("\ud800", "\ufffd"),
    ],
)
def test_a_name_of_more_than_1024_bytes_is_not_kept(
    objects: Objects, name: str, kept: str | None
) -> None:
    storage = objects.open(name)
    assert storage.name == kept
    storage.put("a", b"1")
    objects.commit(storage)
    assert objects.reopened(storage).name == kept


def test_a_name_that_is_learned_later_is_kept(objects: Objects) -> None:
    id = objects.namespace.ids.from_name("later")
    storage = objects.namespace.open(objects.namespace.ids.from_string(id.hex))
    storage.put("a", b"1")
    objects.commit(storage)
    assert storage.name is None
    assert objects.open("later") is storage
    assert storage.name == "later"
    storage.put("a", b"2")
    objects.commit(storage)
    assert objects.reopened(storage).name == "later"


def test_a_name_is_not_lost_with_the_transaction_that_stored_it(objects: Objects) -> None:
    storage = objects.open("n")
    storage.put("a", b"1")
    storage.roll_back_all()
    storage.put("a", b"1")
    objects.commit(storage)
    assert objects.reopened(storage).name == "n"


def test_objects_do_not_see_each_other(objects: Objects) -> None:
    a, b = objects.open("a"), objects.grown("b")
    a.put("x", b"a")
    b.put("x", b"b")
    a.exec("CREATE TABLE t (x)")
    objects.commit(a)
    objects.commit(b)
    assert (a.get("x"), b.get("x")) == (b"a", b"b")
    with pytest.raises(SqlError, match="no such table"):
        b.exec("SELECT * FROM t")


def test_namespaces_do_not_see_each_other(objects: Objects) -> None:
    other = objects.registry.objects("worker-Other")
    a, b = objects.open("a"), other.open(other.ids.from_name("a"))
    a.put("x", b"1")
    objects.commit(a)
    assert b.get("x") is None
    assert other.stored_ids() == []


def test_a_commit_of_many_objects_is_one_each(objects: Objects) -> None:
    storages = [objects.open(str(number)) for number in range(20)]

    async def run() -> None:
        for storage in storages:
            storage.put("a", storage.name.encode() if storage.name else b"")
        await asyncio.gather(*(storage.commit() for storage in storages))

    objects.runner.run(run())
    objects.restart()
    assert [objects.open(str(number)).get("a") for number in range(20)] == [
        str(number).encode() for number in range(20)
    ]
