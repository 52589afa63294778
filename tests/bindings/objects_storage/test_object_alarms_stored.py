"""The alarm in an object's database, the scheduler's table, and how the two are kept together."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import apsw
import pytest

from pyflare_bindings.objects import (
    AlarmRun,
    AlarmTimeError,
    ObjectKey,
    ObjectStorage,
    Outcome,
    deliver,
)
from pyflare_bindings.objects.stored_alarms import (
    compare_with_objects,
    renew_comparison,
    stored_alarms,
)
from pyflare_bindings.storage.errors import StateError

from .conftest import MANY, NAMESPACE, Objects


def now(objects: Objects) -> int:
    return int(objects.clock.now() * 1000)


def scheduled(objects: Objects, storage: ObjectStorage) -> int | None:
    table: Any = objects.registry.alarms()._table
    (time,) = table.times([ObjectKey(NAMESPACE, storage.id.hex)])
    return None if time is None else int(time)


def set_alarm(objects: Objects, storage: ObjectStorage, time: int) -> None:
    storage.alarm.set(time)
    objects.commit(storage)


def collected(objects: Objects) -> list[tuple[ObjectKey, int | None]]:
    async def run() -> list[tuple[ObjectKey, int | None]]:
        return [pair async for pair in stored_alarms(objects.registry)]

    return objects.runner.run(run())


def test_objects_without_alarms_need_no_scheduler(objects: Objects) -> None:
    storage = objects.grown()
    storage.put("a", b"1")
    objects.commit(storage)
    objects.close(storage)
    objects.stop()
    assert [name for name in objects.files() if "alarm" in name] == []


def test_an_alarm_is_with_the_object_and_with_the_scheduler(
    objects: Objects, storage: ObjectStorage
) -> None:
    set_alarm(objects, storage, now(objects) + 5000)
    assert scheduled(objects, storage) == now(objects) + 5000
    assert objects.reopened(storage).alarm.get() == now(objects) + 5000


def test_an_earlier_alarm_waits_for_the_scheduler_before_it_is_committed(
    objects: Objects, storage: ObjectStorage
) -> None:
    set_alarm(objects, storage, now(objects) + 5000)

    async def run() -> None:
        storage.alarm.set(now(objects) + 1000)
        storage.put("a", b"1")
        confirmed = storage.commit()
        assert not confirmed.done()
        assert storage.in_transaction, "it is not committed yet"
        await confirmed
        assert not storage.in_transaction

    objects.runner.run(run())
    assert scheduled(objects, storage) == now(objects) + 1000


def test_a_later_alarm_is_committed_first(objects: Objects, storage: ObjectStorage) -> None:
    set_alarm(objects, storage, now(objects) + 1000)

    async def run() -> None:
        storage.alarm.set(now(objects) + 5000)
        confirmed = storage.commit()
        assert not storage.in_transaction
        assert scheduled(objects, storage) == now(objects) + 1000
        await confirmed

    objects.runner.run(run())


def test_deleting_the_alarm_removes_it_in_both_places(
    objects: Objects, storage: ObjectStorage
) -> None:
    set_alarm(objects, storage, now(objects) + 1000)
    storage.alarm.delete()
    objects.commit(storage)
    objects.restart()
    assert objects.open().alarm.get() is None
    assert scheduled(objects, objects.open()) is None


def test_a_time_that_is_not_after_the_epoch_is_refused(storage: ObjectStorage) -> None:
    with pytest.raises(
        AlarmTimeError, match=r"^setAlarm\(\) cannot be called with an alarm time <= 0$"
    ):
        storage.alarm.set(0)
    assert not storage.in_transaction


def test_the_same_time_again_writes_nothing(objects: Objects, storage: ObjectStorage) -> None:
    set_alarm(objects, storage, now(objects) + 1000)
    storage.alarm.set(now(objects) + 1000)
    assert not storage.in_transaction


def test_an_instance_that_ends_with_what_it_began_tells_the_scheduler_nothing(
    objects: Objects, storage: ObjectStorage
) -> None:
    set_alarm(objects, storage, now(objects) + 1000)
    storage = objects.reopened(storage)
    writes = objects.registry.alarms().writes
    storage.put("a", b"1")
    objects.commit(storage)
    objects.close(storage)
    assert objects.registry.alarms().writes == writes


def test_an_instance_that_lost_an_earlier_alarm_gives_the_scheduler_the_truth(
    objects: Objects, storage: ObjectStorage
) -> None:
    set_alarm(objects, storage, now(objects) + 5000)

    async def run() -> None:
        storage.alarm.set(now(objects) + 1000)
        waiting = storage.commit()
        await storage.close()
        with pytest.raises(Exception, match="reset"):
            await waiting

    objects.runner.run(run())
    objects.restart()
    assert scheduled(objects, objects.open()) == now(objects) + 5000
    assert objects.open().alarm.get() == now(objects) + 5000


def test_every_stored_alarm_is_found(objects: Objects) -> None:
    young, grown, live, none = (objects.open(name) for name in ("young", "grown", "live", "none"))
    for number in range(MANY):
        grown.put("a", str(number).encode())
        objects.commit(grown)
    none.put("a", b"1")
    objects.commit(none)
    for index, storage in enumerate((young, grown, live), 1):
        set_alarm(objects, storage, now(objects) + 1000 * index)
    other = objects.registry.objects("worker-Other")
    storage = other.open(other.ids.from_name("x"))
    set_alarm(objects, storage, now(objects) + 9000)
    for each in (young, grown, none):
        objects.close(each)
    found = dict(collected(objects))
    expected = {
        ObjectKey(NAMESPACE, young.id.hex): now(objects) + 1000,
        ObjectKey(NAMESPACE, grown.id.hex): now(objects) + 2000,
        ObjectKey(NAMESPACE, live.id.hex): now(objects) + 3000,
        ObjectKey("worker-Other", storage.id.hex): now(objects) + 9000,
    }
    assert found == expected
    objects.restart()
    assert dict(collected(objects)) == expected


def test_a_table_that_is_lost_is_rebuilt_from_the_objects(objects: Objects) -> None:
    storages = [objects.open(str(number)) for number in range(5)]
    for number, storage in enumerate(storages, 1):
        set_alarm(objects, storage, now(objects) + 1000 * number)
    objects.stop()
    for path in Path(objects.root).rglob("alarms*.sqlite*"):
        path.unlink()
    objects.restart()

    async def run() -> None:
        scheduler = objects.registry.alarms()
        assert await scheduler.compare(stored_alarms(objects.registry)) == 5

    objects.runner.run(run())
    for number, storage in enumerate(storages, 1):
        assert scheduled(objects, storage) == now(objects) + 1000 * number


class Runner:
    """Wakes objects of a namespace as the emulator does, with a handler that notes the time."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.ran: list[tuple[str, float]] = []

    async def run(self, run: AlarmRun) -> Outcome:
        namespace = self.objects.namespace
        storage = namespace.open(namespace.ids.from_string(run.key.id))

        async def handler() -> None:
            storage.put("ran", b"1")
            self.ran.append((storage.name or "", self.objects.clock.now()))

        return await deliver(storage.alarm, run, handler)

    async def abandon(self, key: ObjectKey, time: int) -> int | None:
        namespace = self.objects.namespace
        return await namespace.open(namespace.ids.from_string(key.id)).alarm.abandon(time)


def test_an_alarm_wakes_its_object_by_name_after_a_restart(objects: Objects) -> None:
    start = objects.clock.now()
    set_alarm(objects, objects.open("sleeper"), now(objects) + 5000)
    objects.restart()

    async def run() -> None:
        runner = Runner(objects)
        objects.registry.alarms().attach(NAMESPACE, runner)
        await objects.clock.advance(4.9)
        assert runner.ran == []
        await objects.clock.advance(0.2)
        for _ in range(20):
            await asyncio.sleep(0)
        assert [(name, round(time - start, 3)) for name, time in runner.ran] == [("sleeper", 5.0)]

    objects.runner.run(run())
    storage = objects.open("sleeper")
    assert storage.get("ran") == b"1"
    assert storage.alarm.get() is None
    assert scheduled(objects, storage) is None


def test_an_entry_without_an_object_is_removed_and_leaves_no_file(objects: Objects) -> None:
    storage = objects.open("gone")
    set_alarm(objects, storage, now(objects) + 5000)
    objects.stop()
    for path in Path(objects.root).rglob("young.sqlite*"):
        path.unlink()
    objects.restart()

    async def run() -> None:
        runner = Runner(objects)
        objects.registry.alarms().attach(NAMESPACE, runner)
        await objects.clock.advance(6)
        for _ in range(20):
            await asyncio.sleep(0)
        assert runner.ran == []

    objects.runner.run(run())
    assert scheduled(objects, storage) is None
    assert objects.namespace.stored_ids() == []
    assert [name for name in objects.files() if name.startswith("young")] == []


# The comparison at start


def compare(objects: Objects) -> int:
    return objects.runner.run(compare_with_objects(objects.registry))


def forge(objects: Objects, storage: ObjectStorage, time: int | None) -> None:
    """Give the scheduler's table another time than the object has."""
    key = ObjectKey(NAMESPACE, storage.id.hex)

    async def run() -> None:
        await objects.registry.alarms()._table.write({key: time})

    objects.runner.run(run())


def age(objects: Objects) -> None:
    """Make all files look as if they were written a week ago."""
    for path in objects.root.rglob("*.sqlite*"):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 7 * 86_400))


@pytest.mark.parametrize("wrong", [None, 1, 9_000_000_000_000])
@pytest.mark.parametrize("live", [False, True])
def test_a_start_mends_what_disagrees(
    objects: Objects, storage: ObjectStorage, wrong: int | None, live: bool
) -> None:
    set_alarm(objects, storage, now(objects) + 5000)
    objects.restart()
    forge(objects, storage, wrong)
    if live:
        objects.open()
    assert compare(objects) == 1
    assert scheduled(objects, storage) == now(objects) + 5000
    assert compare(objects) == 0


def test_a_start_looks_only_at_what_was_written_since_the_one_before(
    objects: Objects, storage: ObjectStorage
) -> None:
    set_alarm(objects, storage, now(objects) + 5000)
    objects.restart()
    compare(objects)
    objects.restart()
    age(objects)
    forge(objects, storage, 9_000_000_000_000)
    assert compare(objects) == 0
    objects.restart()
    set_alarm(objects, objects.open(), now(objects) + 6000)
    objects.restart()
    forge(objects, storage, 9_000_000_000_000)
    assert compare(objects) == 1


def test_a_lost_table_is_compared_with_everything(objects: Objects, storage: ObjectStorage) -> None:
    set_alarm(objects, storage, now(objects) + 5000)
    objects.restart()
    compare(objects)
    objects.stop()
    age(objects)
    for path in objects.root.rglob("alarms*.sqlite*"):
        path.unlink()
    objects.restart()
    assert compare(objects) == 1
    assert scheduled(objects, storage) == now(objects) + 5000


def test_looking_for_alarms_changes_no_file(objects: Objects) -> None:
    with_log, without_log = objects.grown("with"), objects.grown("without")
    for storage in (with_log, without_log):
        set_alarm(objects, storage, now(objects) + 5000)
    objects.stop()
    connection = apsw.Connection(str(objects.path(without_log)))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    before = {
        path.name: (path.stat().st_mtime_ns, path.stat().st_size)
        for path in objects.path(with_log).parent.iterdir()
        if len(path.name) > 64
    }
    objects.restart()
    assert len(list(objects.namespace.stored_alarms())) == 2
    after = {
        path.name: (path.stat().st_mtime_ns, path.stat().st_size)
        for path in objects.path(with_log).parent.iterdir()
        if len(path.name) > 64
    }
    assert after == before


def test_a_marker_that_makes_no_sense_is_ignored(objects: Objects, storage: ObjectStorage) -> None:
    set_alarm(objects, storage, now(objects) + 5000)
    compare(objects)
    (marker,) = objects.root.rglob("compared")
    marker.write_text("yesterday")
    age(objects)
    objects.restart()
    forge(objects, storage, None)
    assert compare(objects) == 1


def test_the_end_of_a_process_makes_the_next_comparison_shorter(
    objects: Objects, storage: ObjectStorage
) -> None:
    set_alarm(objects, storage, now(objects) + 5000)
    renew_comparison(objects.registry)
    assert not list(objects.root.rglob("compared")), "there was no comparison yet"
    compare(objects)
    (marker,) = objects.root.rglob("compared")
    marker.write_text("1000.0")
    renew_comparison(objects.registry)
    assert float(marker.read_text()) > 1000


def test_a_table_that_is_replaced_forgets_that_it_was_compared(
    objects: Objects, storage: ObjectStorage
) -> None:
    set_alarm(objects, storage, now(objects) + 5000)
    compare(objects)
    table: Any = objects.registry.alarms()._table
    table.replace()
    assert not list(objects.root.rglob("compared"))


def test_a_note_that_cannot_be_removed_keeps_the_table_from_beginning_anew(
    objects: Objects, storage: ObjectStorage
) -> None:
    set_alarm(objects, storage, now(objects) + 5000)
    compare(objects)
    (marker,) = objects.root.rglob("compared")
    marker.unlink()
    marker.mkdir()
    table: Any = objects.registry.alarms()._table
    with pytest.raises(StateError, match="Remove it by hand"):
        table.replace()


# Whoever runs alarms


def test_the_opening_of_the_scheduler_is_told(objects: Objects, storage: ObjectStorage) -> None:
    opened: list[Any] = []
    objects.registry.on_alarms = opened.append
    assert opened == []
    set_alarm(objects, storage, now(objects) + 5000)
    assert opened == [objects.registry.alarms()]
    assert objects.registry.may_have_alarms()


def test_objects_may_have_alarms_that_the_scheduler_has_lost(
    objects: Objects, storage: ObjectStorage
) -> None:
    set_alarm(objects, storage, now(objects) + 5000)
    objects.stop()
    for path in objects.root.rglob("alarms*.sqlite*"):
        path.unlink()
    objects.restart()
    assert objects.registry.may_have_alarms()
