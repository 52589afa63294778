"""`delete_all`: everything goes, in one step, with the alarm or without it."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare_bindings.objects import ObjectStorage
from pyflare_bindings.storage.errors import SqlError, StateError

from .conftest import Objects, rows

pytestmark = pytest.mark.parametrize("keep_alarm", [False, True])


def now(objects: Objects) -> int:
    return int(objects.clock.now() * 1000)


def fill(objects: Objects, storage: ObjectStorage) -> None:
    storage.put("a", b"1")
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES (1)")
    storage.next_bookmark()
    storage.alarm.set(now(objects) + 5000)
    objects.commit(storage)


def test_pairs_tables_and_bookmarks_are_gone(
    objects: Objects, storage: ObjectStorage, keep_alarm: bool
) -> None:
    fill(objects, storage)
    storage.delete_all(keep_alarm)
    objects.commit(storage)
    query = "SELECT name FROM sqlite_schema WHERE substr(name, 1, 4) <> '_cf_'"
    assert storage.list() == []
    assert rows(storage, query) == []
    following = objects.reopened(storage)
    assert following.list() == []
    assert rows(following, query) == []
    assert following.next_bookmark() == 0


def test_the_alarm_stays_or_goes(
    objects: Objects, storage: ObjectStorage, keep_alarm: bool
) -> None:
    fill(objects, storage)
    alarm = storage.alarm.get()
    storage.delete_all(keep_alarm)
    objects.commit(storage)
    expected = alarm if keep_alarm else None
    assert storage.alarm.get() == expected
    assert objects.reopened(storage).alarm.get() == expected
    objects.restart()
    assert objects.open().alarm.get() == expected


def test_the_file_goes_with_the_last_that_was_in_it(
    objects: Objects, storage: ObjectStorage, keep_alarm: bool
) -> None:
    fill(objects, storage)
    storage.delete_all(keep_alarm)
    objects.commit(storage)
    assert objects.has_file(storage) <= keep_alarm
    assert len(objects.namespace.stored_ids()) == int(keep_alarm)
    assert not [
        name for name in objects.files() if name.startswith(storage.id.hex) and not keep_alarm
    ]


def test_what_was_not_committed_is_dropped_and_not_committed(
    objects: Objects, storage: ObjectStorage, keep_alarm: bool
) -> None:
    storage.put("a", b"1")
    objects.commit(storage)
    storage.put("b", b"2")
    storage.delete_all(keep_alarm)
    assert storage.list() == []
    objects.commit(storage)
    assert objects.reopened(storage).list() == []


def test_it_happens_at_once_and_not_with_the_commit(
    objects: Objects, storage: ObjectStorage, keep_alarm: bool
) -> None:
    fill(objects, storage)
    storage.delete_all(keep_alarm)
    assert objects.reopened(storage).list() == []


def test_an_alarm_that_was_not_committed_is_kept_too(
    objects: Objects, storage: ObjectStorage, keep_alarm: bool
) -> None:
    fill(objects, storage)
    storage.alarm.set(now(objects) + 1000)
    storage.delete_all(keep_alarm)
    expected = now(objects) + 1000 if keep_alarm else None
    assert storage.alarm.get() == expected
    objects.commit(storage)
    assert objects.reopened(storage).alarm.get() == expected


def test_writing_goes_on_afterwards(
    objects: Objects, storage: ObjectStorage, keep_alarm: bool
) -> None:
    fill(objects, storage)
    storage.delete_all(keep_alarm)
    storage.put("b", b"2")
    storage.exec("CREATE TABLE t (y)")
    objects.commit(storage)
    following = objects.reopened(storage)
    assert following.list() == [("b", b"2")]
    assert rows(following, "SELECT y FROM t") == []


def test_open_cursors_are_told(objects: Objects, storage: ObjectStorage, keep_alarm: bool) -> None:
    storage.exec("CREATE TABLE t (x)")
    storage.exec("INSERT INTO t VALUES (1), (2)")
    objects.commit(storage)
    cursor = storage.exec("SELECT x FROM t")
    storage.delete_all(keep_alarm)
    with pytest.raises(
        SqlError, match=r"^SQLite query was canceled because the database was deleted\.$"
    ):
        cursor.next()


def test_it_is_refused_in_a_transaction(
    objects: Objects, storage: ObjectStorage, keep_alarm: bool
) -> None:
    storage.put("a", b"1")
    depth = storage.savepoint()
    with pytest.raises(RuntimeError, match=r"^Cannot call deleteAll\(\) within a transaction$"):
        storage.delete_all(keep_alarm)
    storage.release(depth)
    assert storage.get("a") == b"1"


def test_an_object_that_has_nothing_stays_nowhere(objects: Objects, keep_alarm: bool) -> None:
    storage = objects.open()
    storage.delete_all(keep_alarm)
    objects.commit(storage)
    assert objects.namespace.stored_ids() == []


def test_whoever_commits_is_told(
    objects: Objects, storage: ObjectStorage, keep_alarm: bool
) -> None:
    told: list[None] = []
    fill(objects, storage)
    storage.on_write = lambda: told.append(None)
    storage.delete_all(keep_alarm)
    assert told


def test_the_name_is_still_known(
    objects: Objects, storage: ObjectStorage, keep_alarm: bool
) -> None:
    fill(objects, storage)
    storage.delete_all(keep_alarm)
    storage.put("a", b"1")
    objects.commit(storage)
    assert objects.reopened(storage).name == "a"


@pytest.mark.parametrize("step", ["checkpoint", "write", "unlink"])
def test_a_crash_in_between_leaves_all_or_nothing(
    objects: Objects, monkeypatch: pytest.MonkeyPatch, keep_alarm: bool, step: str
) -> None:
    storage = objects.grown()
    fill(objects, storage)
    alarm = storage.alarm.get()

    def crash(*_: Any, **__: Any) -> Any:
        raise StateError(objects.root, "crash", "none")

    module = "pyflare_bindings.objects.database"
    match step:
        case "checkpoint":
            monkeypatch.setattr(f"{module}.ObjectDatabase.discard", crash)
        case "write":
            monkeypatch.setattr(f"{module}.write_file", crash)
        case _:
            monkeypatch.setattr("pyflare_bindings.objects.young_objects.YoungObjects.remove", crash)
    try:
        storage.delete_all(keep_alarm)
        finished = True
    except StateError:
        finished = False
    monkeypatch.undo()
    following = objects.reopened(storage)
    if finished:
        assert following.list() == []
        assert following.alarm.get() == (alarm if keep_alarm else None)
    else:
        assert following.get("a") == b"1"
        assert rows(following, "SELECT x FROM t") == [(1,)]
        assert following.alarm.get() == alarm
