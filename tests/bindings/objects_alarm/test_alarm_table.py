"""The scheduler's file: what survives, and what happens to one that cannot be read."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.objects import AlarmScheduler, ObjectKey, SqliteAlarmTable
from pyflare_bindings.objects.alarm_table import BEGINNING, Position
from pyflare_bindings.storage.errors import StateError

from .conftest import Namespace, NoJitter, key, turns


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


async def filled(path: Path, count: int = 3) -> None:
    table = SqliteAlarmTable(path)
    await table.write({key(f"{n:04}"): n for n in range(count)})
    await table.close()


def overwrite(path: Path) -> None:
    """Leave only the first page of a file as it is."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4_096)
        file.write(b"\xff" * (size - 4_096))


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_changes_are_there_after_reopening(path: Path, durability: Any) -> None:
    async def test() -> None:
        table = SqliteAlarmTable(path, durability)
        await table.write({key("a"): 1, key("b"): 2})
        await table.write({key("a"): None, key("b"): 3, key("c", "other"): 4})
        await table.close()
        table = SqliteAlarmTable(path, durability)
        assert table.times([key("a"), key("b"), key("c", "other")]) == [None, 3, 4]
        assert not table.rebuilt
        await table.close()

    run(test())


def test_ids_are_opaque_texts(path: Path) -> None:
    async def test() -> None:
        table = SqliteAlarmTable(path)
        odd = [ObjectKey("a/b", "../x"), ObjectKey("a", "b/../x"), ObjectKey("'\";", "\0ü")]
        await table.write({each: n for n, each in enumerate(odd)})
        assert table.times(odd) == [0, 1, 2]
        assert [each.name for each in path.parent.iterdir() if "alarms" not in each.name] == []
        await table.close()

    run(test())


def test_due_alarms_come_in_pages_in_order(path: Path) -> None:
    async def test() -> None:
        table = SqliteAlarmTable(path)
        await table.write({key("c"): 1, key("a"): 2, key("b"): 2, key("d"): 9, key("x", "o"): 1})
        first = table.due("rooms", BEGINNING, 5, 2)
        assert first == [Position(1, "c"), Position(2, "a")]
        assert table.due("rooms", first[-1], 5, 2) == [Position(2, "b")]
        assert table.first("rooms", Position(2, "b")) == 9
        assert table.first("rooms", Position(9, "d")) is None
        assert table.first("never seen", BEGINNING) is None
        await table.close()

    run(test())


def test_pending_alarms_are_counted_per_namespace(path: Path) -> None:
    async def test() -> None:
        table = SqliteAlarmTable(path)
        await table.write({key("a"): 5, key("b"): 3, key("c", "other"): 4})
        assert table.pending() == [("rooms", 2, 3), ("other", 1, 4)]
        await table.close()

    run(test())


def test_pending_alarms_are_not_counted_without_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyflare_bindings.objects.alarm_table.MOST_COUNTED", 3)

    async def test() -> None:
        table = SqliteAlarmTable(path)
        await table.write(
            {key(f"{n}", space): n for n in range(5) for space in ("rooms", "other", "third")}
        )
        assert table.pending() == [("rooms", 3, 0), ("other", 1, 0), ("third", 1, 0)]
        await table.close()

    run(test())


def test_whoever_notes_something_of_a_table_hears_before_a_new_one_is_there(path: Path) -> None:
    heard: list[bool] = []

    def begins_anew() -> None:
        heard.append(path.exists())

    async def test() -> None:
        await SqliteAlarmTable(path, begins_anew=begins_anew).close()
        assert heard == [False]
        table = SqliteAlarmTable(path, begins_anew=begins_anew)
        assert heard == [False], "the table is as it was"
        table.replace()
        assert heard == [False, True]
        await table.close()

    run(test())


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_a_large_batch_leaves_the_loop_free(path: Path, durability: Any) -> None:
    async def test() -> None:
        table = SqliteAlarmTable(path, durability)
        written = table.write({key(f"{n:064}"): n for n in range(20_000)})
        assert not written.done()
        assert table.times([key(f"{0:064}")]) == [None], "reads go on meanwhile"
        await written
        assert table.pending()[0].alarms == 20_000
        await table.close()

    run(test())


def test_the_log_is_copied_into_the_file_and_does_not_grow_for_ever(path: Path) -> None:
    async def test() -> None:
        table = SqliteAlarmTable(path)
        for n in range(12):
            await table.write({key(f"{m:064}"): n + m for m in range(20_000)})
            await table.write({key("a"): n})
        assert os.stat(f"{path}-wal").st_size < 60_000_000
        assert table.times([key("a")]) == [11]
        await table.close()

    run(test())


def test_a_missing_file_is_reported_as_one_to_rebuild(path: Path) -> None:
    async def test() -> None:
        table = SqliteAlarmTable(path)
        assert table.rebuilt
        await table.close()

    run(test())


@pytest.mark.parametrize("size", [0, 100, 5_000])
def test_a_file_that_is_cut_off_is_set_aside(
    path: Path, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        await filled(path, 500)
        os.truncate(path, size)
        table = SqliteAlarmTable(path)
        assert table.pending() == []
        await table.write({key(): 7})
        assert table.times([key()]) == [7]
        await table.close()
        if size:
            assert path.with_name("alarms.sqlite.damaged").stat().st_size == size
            assert "collected from the objects" in caplog.text

    run(test())


def test_a_file_that_is_no_database_is_set_aside(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("hello " * 1_000)

    async def test() -> None:
        table = SqliteAlarmTable(path)
        assert table.rebuilt
        assert path.with_name("alarms.sqlite.damaged").read_text().startswith("hello")
        await table.close()

    run(test())


def test_an_index_that_misses_an_alarm_is_noticed(path: Path) -> None:
    async def test() -> None:
        await filled(path)
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(
                "UPDATE sqlite_schema SET sql = sql || ' WHERE time < 2' WHERE name = 'alarm_by_time'"
            )
            connection.execute("PRAGMA writable_schema = OFF")
        connection.close()
        with sqlite3.connect(path) as connection:
            connection.execute("INSERT INTO alarm VALUES(1, 'unseen', 5)")
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(
                "UPDATE sqlite_schema SET sql = replace(sql, ' WHERE time < 2', '') "
                "WHERE name = 'alarm_by_time'"
            )
        connection.close()
        table = SqliteAlarmTable(path)
        assert table.rebuilt
        await table.close()

    run(test())


def test_a_directory_in_the_place_of_the_file_is_an_error_that_names_it(path: Path) -> None:
    path.mkdir(parents=True)

    with pytest.raises(StateError, match=r"alarms\.sqlite") as caught:
        SqliteAlarmTable(path)

    assert caught.value.path == path


def test_a_table_damaged_while_it_is_used_is_rebuilt_from_the_objects(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async def stored() -> AsyncIterator[tuple[ObjectKey, int | None]]:
            for n in range(500):
                yield key(f"{n:04}"), 10_000_000 + n

        await filled(path, 500)
        table = SqliteAlarmTable(path)
        scheduler = AlarmScheduler(
            table, clock=ManualClock(0), random=NoJitter(), stored=lambda: stored()
        )
        overwrite(path)
        scheduler.attach("rooms", Namespace(ManualClock(0)))
        await turns(100)
        assert table.times([key("0000"), key("0499")]) == [10_000_000, 10_000_499]
        assert table.pending()[0].alarms == 500
        await scheduler.schedule(key("new"), 77_000)
        assert table.times([key("new")]) == [77_000]
        await scheduler.close()

    run(test())
    assert "has been rebuilt with 500 entries" in caplog.text


def test_a_directory_deleted_while_it_is_used_begins_anew_from_the_objects(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async def stored() -> AsyncIterator[tuple[ObjectKey, int | None]]:
            yield key("a"), 5_000

        table = SqliteAlarmTable(path)
        scheduler = AlarmScheduler(
            table, clock=ManualClock(0), random=NoJitter(), stored=lambda: stored()
        )
        await scheduler.schedule(key("a"), 5_000)
        shutil.rmtree(path.parent)
        await scheduler.schedule(key("b"), 6_000)
        await turns(100)
        await scheduler.close()
        table = SqliteAlarmTable(path)
        assert table.times([key("a"), key("b")]) == [5_000, 6_000]
        await table.close()

    run(test())
    assert "deleted while it was in use" in caplog.text


def test_a_write_that_fails_is_an_error_of_those_who_wait_and_of_nobody_else(path: Path) -> None:
    async def test() -> None:
        table = SqliteAlarmTable(path)
        scheduler = AlarmScheduler(table, clock=ManualClock(0), random=NoJitter())
        await scheduler.schedule(key("before"), 5_000)
        table._writer.execute("PRAGMA query_only = 1").fetchall()
        with pytest.raises(StateError, match=r"alarms\.sqlite"):
            await scheduler.schedule(key("refused"), 6_000)
        table._writer.execute("PRAGMA query_only = 0").fetchall()
        await scheduler.schedule(key("after"), 7_000)
        assert table.times([key("before"), key("refused"), key("after")]) == [5_000, None, 7_000]
        await scheduler.close()

    run(test())
