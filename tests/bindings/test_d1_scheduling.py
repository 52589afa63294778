"""Who runs when: short requests at once, slow ones off the loop, everybody in turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pyflare_bindings.d1 import D1Database, D1Error, Statement
from pyflare_bindings.d1 import database as database_module
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError
from pyflare_bindings.storage.log_copy import LogCopy

T = TypeVar("T")

COUNT = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n {}) SELECT count(*) FROM n"
SLOW = [Statement(COUNT.format("LIMIT 400000"))]
ENDLESS = [Statement(COUNT.format(""))]
INSERT = [Statement("INSERT INTO t (x) VALUES (1)")]
TOTAL = [Statement("SELECT count(*) FROM t")]


def scenario(
    tmp_path: Path,
    play: Callable[[D1Database, BindingRegistry], Awaitable[T]],
    durability: Any = "process",
) -> T:
    """Run `play` with a database that has an empty table t, and close it."""

    async def run() -> T:
        registry = BindingRegistry(tmp_path, durability=durability)
        database = registry.d1("main")
        await database.query([Statement("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")])
        try:
            return await asyncio.wait_for(play(database, registry), 60)
        finally:
            await registry.close()

    return asyncio.run(run())


async def total(database: D1Database) -> int:
    ((count,),) = (await database.query(TOTAL))[0].rows
    return int(count)


async def until_started(database: D1Database) -> None:
    for _ in range(1_000_000):
        if database._alone_on_thread is not None:
            return
        await asyncio.sleep(0)
    pytest.fail("the request did not reach the thread")


@pytest.mark.parametrize("statements", [INSERT, TOTAL, INSERT * 20])
def test_a_short_request_does_not_suspend_its_caller(
    tmp_path: Path, statements: list[Statement]
) -> None:
    async def play(database: D1Database, _: BindingRegistry) -> None:
        with pytest.raises(StopIteration):
            database.query(statements).send(None)

    scenario(tmp_path, play)


def test_a_slow_request_leaves_the_loop_free(tmp_path: Path) -> None:
    async def play(database: D1Database, _: BindingRegistry) -> tuple[int, int]:
        running = asyncio.create_task(database.query(SLOW))
        beats = 0
        while not running.done():
            await asyncio.sleep(0)
            beats += 1
        ((count,),) = (await running)[0].rows
        return count, beats

    count, beats = scenario(tmp_path, play)
    assert count == 400_000
    assert beats > 100


def test_a_request_known_to_be_slow_is_not_begun_on_the_loop(tmp_path: Path) -> None:
    async def play(database: D1Database, _: BindingRegistry) -> None:
        assert SLOW not in database._slow
        await database.query(SLOW)
        assert SLOW in database._slow

    scenario(tmp_path, play)


def test_a_slow_write_is_done_once(tmp_path: Path) -> None:
    rows = Statement(
        "INSERT INTO t (x) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "LIMIT 200000) SELECT i FROM n"
    )

    async def play(database: D1Database, _: BindingRegistry) -> tuple[int, int, int]:
        (result,) = await database.query([rows])
        return await total(database), result.meta.changes, result.meta.last_row_id

    assert scenario(tmp_path, play) == (200_000, 200_000, 200_000)


def test_a_long_batch_of_short_statements_is_done_once(tmp_path: Path) -> None:
    async def play(database: D1Database, _: BindingRegistry) -> tuple[int, int]:
        running = asyncio.create_task(database.query(INSERT * 20_000))
        beats = 0
        while not running.done():
            await asyncio.sleep(0)
            beats += 1
        await running
        return await total(database), beats

    count, beats = scenario(tmp_path, play)
    assert count == 20_000
    assert beats > 5


def test_a_large_result_is_fetched_off_the_loop(tmp_path: Path) -> None:
    text = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) "
        "SELECT i, 'some text ' || i FROM n"
    )

    async def play(database: D1Database, _: BindingRegistry) -> tuple[int, bool]:
        (result,) = await database.query([Statement(text)])
        return len(result.rows), [Statement(text)] in database._slow

    assert scenario(tmp_path, play) == (200_000, True)


def test_other_databases_go_on_while_one_is_busy(tmp_path: Path) -> None:
    async def play(database: D1Database, registry: BindingRegistry) -> None:
        other = registry.d1("other")
        await other.query([Statement("CREATE TABLE t (x)")])
        running = asyncio.create_task(database.query(ENDLESS))
        await until_started(database)
        for _ in range(50):
            await other.query(INSERT)
        assert await total(other) == 50
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    scenario(tmp_path, play)


def test_requests_of_one_database_are_answered_in_the_order_they_came(tmp_path: Path) -> None:
    async def play(database: D1Database, _: BindingRegistry) -> list[str]:
        order: list[str] = []

        async def ask(name: str, statements: list[Statement]) -> None:
            await database.query(statements)
            order.append(name)

        async with asyncio.TaskGroup() as group:
            group.create_task(ask("slow", SLOW))
            for index in range(5):
                group.create_task(ask(f"short {index}", INSERT))
            group.create_task(ask("slow again", SLOW))
            group.create_task(ask("last", TOTAL))
        return order

    assert scenario(tmp_path, play) == [
        "slow",
        *(f"short {index}" for index in range(5)),
        "slow again",
        "last",
    ]


def test_concurrent_inserts_get_consecutive_row_ids(tmp_path: Path) -> None:
    async def play(database: D1Database, _: BindingRegistry) -> list[int]:
        answers = await asyncio.gather(*(database.query(INSERT) for _ in range(200)))
        return [results[0].meta.last_row_id for results in answers]

    assert scenario(tmp_path, play) == list(range(1, 201))


def test_a_request_that_waits_sees_what_was_done_before_it(tmp_path: Path) -> None:
    async def play(database: D1Database, _: BindingRegistry) -> int:
        slow = asyncio.create_task(database.query([*INSERT, *SLOW]))
        await asyncio.sleep(0)
        count = await total(database)
        await slow
        return count

    assert scenario(tmp_path, play) == 1


def test_a_long_queue_is_served_in_turns_with_everybody_else(tmp_path: Path) -> None:
    async def play(database: D1Database, _: BindingRegistry) -> int:
        slow = asyncio.create_task(database.query(SLOW))
        await until_started(database)
        waiting = asyncio.gather(*(database.query(INSERT * 10) for _ in range(2000)))
        await slow
        beats = 0
        while not waiting.done():
            await asyncio.sleep(0)
            beats += 1
        await waiting
        assert await total(database) == 20_000
        return beats

    assert scenario(tmp_path, play) > 10


class TestCancellation:
    def test_of_a_waiting_request_leaves_no_trace(self, tmp_path: Path) -> None:
        async def play(database: D1Database, _: BindingRegistry) -> int:
            slow = asyncio.create_task(database.query(SLOW))
            await until_started(database)
            waiting = [asyncio.create_task(database.query(INSERT)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[1].cancel()
            await asyncio.gather(slow, waiting[0], waiting[2])
            return await total(database)

        assert scenario(tmp_path, play) == 2

    def test_of_a_running_request_stops_it(self, tmp_path: Path) -> None:
        async def play(database: D1Database, _: BindingRegistry) -> int:
            running = asyncio.create_task(database.query(ENDLESS))
            await until_started(database)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            return await total(database)

        assert scenario(tmp_path, play) == 0

    def test_of_a_running_write_undoes_it(self, tmp_path: Path) -> None:
        endless = Statement(
            "INSERT INTO t (x) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT i FROM n"
        )

        async def play(database: D1Database, _: BindingRegistry) -> int:
            running = asyncio.create_task(database.query([*INSERT, endless]))
            await until_started(database)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            return await total(database)

        assert scenario(tmp_path, play) == 0

    def test_of_every_waiting_request_leaves_the_queue_in_order(self, tmp_path: Path) -> None:
        async def play(database: D1Database, _: BindingRegistry) -> int:
            running = asyncio.create_task(database.query(ENDLESS))
            await until_started(database)
            waiting = [asyncio.create_task(database.query(INSERT)) for _ in range(10)]
            await asyncio.sleep(0)
            for task in (*waiting, running):
                task.cancel()
            await asyncio.gather(running, *waiting, return_exceptions=True)
            await database.query(INSERT)
            return await total(database)

        assert scenario(tmp_path, play) == 1


def test_more_requests_than_the_queue_holds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "_MAX_WAITING", 3)

    async def play(database: D1Database, _: BindingRegistry) -> None:
        running = asyncio.create_task(database.query(ENDLESS))
        await until_started(database)
        waiting = [asyncio.create_task(database.query(INSERT)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(D1Error, match=r"D1 DB is overloaded. Too many requests queued."):
            await database.query(INSERT)
        running.cancel()
        await asyncio.gather(*waiting)

    scenario(tmp_path, play)


class TestClosing:
    def test_refuses_the_requests_that_wait_and_finishes_the_running_one(
        self, tmp_path: Path
    ) -> None:
        async def play(database: D1Database, registry: BindingRegistry) -> int:
            running = asyncio.create_task(database.query([*INSERT, *SLOW]))
            await until_started(database)
            waiting = asyncio.create_task(database.query(INSERT))
            await asyncio.sleep(0)
            await registry.close()
            with pytest.raises(ClosedError):
                await waiting
            return len(await running)

        assert scenario(tmp_path, play) == 2

    def test_stops_a_request_that_does_not_end(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database_module, "_CLOSE_GRACE_SECONDS", 0.01)

        async def play(database: D1Database, registry: BindingRegistry) -> None:
            running = asyncio.create_task(database.query(ENDLESS))
            await until_started(database)
            await registry.close()
            with pytest.raises(ClosedError):
                await running

        scenario(tmp_path, play)

    def test_twice_is_harmless(self, tmp_path: Path) -> None:
        async def play(database: D1Database, _: BindingRegistry) -> None:
            await database.close()
            await database.close()

        scenario(tmp_path, play)

    def test_a_database_that_was_never_used_is_harmless(self, tmp_path: Path) -> None:
        registry = BindingRegistry(tmp_path)
        registry.d1("unused")
        asyncio.run(registry.close())
        assert list(tmp_path.iterdir()) == []


class TestWriteAheadLog:
    PAGES = 50

    def log_after_writing(self, tmp_path: Path, durability: Any) -> int:
        blob = Statement("INSERT INTO t (x) VALUES (zeroblob(4000))")

        async def play(database: D1Database, _: BindingRegistry) -> int:
            database._log = LogCopy(database.path, self.PAGES)
            for _ in range(3000):
                await database.query([blob])
                await asyncio.sleep(0)
            return database.path.with_name(database.path.name + "-wal").stat().st_size

        return scenario(tmp_path, play, durability)

    def test_stays_small_under_a_steady_stream_of_writes(self, tmp_path: Path) -> None:
        assert self.log_after_writing(tmp_path, "process") < 3000 * 4096 / 3

    def test_stays_small_when_writes_come_faster_than_it_can_be_copied(
        self, tmp_path: Path
    ) -> None:
        blob = Statement("INSERT INTO t (x) VALUES (zeroblob(4000))")

        async def play(database: D1Database, _: BindingRegistry) -> int:
            database._log = LogCopy(database.path, self.PAGES)
            released = threading.Event()
            database._thread.run(released.wait, lambda _: None)
            writes = asyncio.gather(*(database.query([blob]) for _ in range(3000)))
            await asyncio.sleep(0)
            size = database.path.with_name(database.path.name + "-wal").stat().st_size
            released.set()
            await writes
            assert await total(database) == 3000
            return size

        assert scenario(tmp_path, play) < 6 * self.PAGES * 4120

    def test_loses_nothing_when_it_is_copied(self, tmp_path: Path) -> None:
        self.log_after_writing(tmp_path, "process")

        async def count() -> int:
            registry = BindingRegistry(tmp_path)
            found = await total(registry.d1("main"))
            await registry.close()
            return found

        assert asyncio.run(count()) == 3000


class TestSharedCommits:
    """At durability `machine`, requests that wait together share one commit."""

    @staticmethod
    def together(tmp_path: Path, *requests: list[Statement]) -> tuple[list[Any], int, int]:
        """Send the requests while the thread is busy. Out: answers, commits, rows in t."""

        async def play(database: D1Database, _: BindingRegistry) -> tuple[list[Any], int, int]:
            commits = 0

            def count() -> bool:
                nonlocal commits
                commits += 1
                return False

            engine = database._engine
            assert engine is not None
            engine.sandbox.connection.set_commit_hook(count)
            first = asyncio.create_task(database.query(SLOW))
            await until_started(database)
            tasks = [asyncio.create_task(database.query(request)) for request in requests]
            await first
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            return answers, commits, await total(database)

        return scenario(tmp_path, play, "machine")

    def test_is_one_commit_for_all(self, tmp_path: Path) -> None:
        answers, commits, rows = self.together(tmp_path, *[INSERT] * 100)
        assert [answer[0].meta.last_row_id for answer in answers] == list(range(1, 101))
        assert rows == 100
        assert commits <= 3

    def test_gives_each_request_a_bookmark_of_its_own(self, tmp_path: Path) -> None:
        answers, _, _ = self.together(tmp_path, *[INSERT] * 10)
        counters = [answer.counter for answer in answers]
        assert counters == list(range(counters[0], counters[0] + 10))

    def test_a_request_that_fails_takes_no_other_with_it(self, tmp_path: Path) -> None:
        broken = [*INSERT, Statement("INSERT INTO nowhere VALUES (1)")]
        answers, _, rows = self.together(tmp_path, INSERT, broken, INSERT)
        assert isinstance(answers[1], D1Error)
        assert str(answers[1]) == "no such table: nowhere: SQLITE_ERROR"
        assert rows == 2

    def test_a_request_that_rolls_back_everything_takes_no_other_with_it(
        self, tmp_path: Path
    ) -> None:
        loud = [Statement("INSERT OR ROLLBACK INTO t (id) VALUES (1), (1)")]
        answers, _, rows = self.together(tmp_path, INSERT * 2, loud, INSERT)
        assert isinstance(answers[1], D1Error)
        assert "UNIQUE constraint failed" in str(answers[1])
        assert rows == 3

    def test_a_deferred_foreign_key_is_checked_for_each_request(self, tmp_path: Path) -> None:
        schema = [Statement("CREATE TABLE c (p REFERENCES t (id) DEFERRABLE INITIALLY DEFERRED)")]
        orphan = [Statement("INSERT INTO c VALUES (99)")]
        answers, _, rows = self.together(tmp_path, schema, orphan, INSERT)
        assert isinstance(answers[1], D1Error)
        assert str(answers[1]) == "FOREIGN KEY constraint failed"
        assert rows == 1

    def test_deferring_foreign_keys_ends_with_the_request(self, tmp_path: Path) -> None:
        schema = [Statement("CREATE TABLE c (p REFERENCES t (id))")]
        defers = [Statement("PRAGMA defer_foreign_keys = on")]
        orphan = [Statement("INSERT INTO c VALUES (99)"), Statement("SELECT 1")]
        answers, _, _ = self.together(tmp_path, schema, defers, orphan)
        assert isinstance(answers[2], D1Error)
        assert "SQLITE_CONSTRAINT_FOREIGNKEY" in str(answers[2])

    def test_a_select_that_is_known_runs_on_the_loop(self, tmp_path: Path) -> None:
        async def play(database: D1Database, _: BindingRegistry) -> None:
            await database.query(TOTAL)
            with pytest.raises(StopIteration):
                database.query(TOTAL).send(None)

        scenario(tmp_path, play, "machine")


def test_a_request_that_is_given_up_while_the_file_is_opened_is_stopped(tmp_path: Path) -> None:
    endless = (
        "WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n) SELECT count(*) FROM n"
    )

    async def program() -> list[Any]:
        opening = threading.Event()
        cancelled = threading.Event()

        def prepare() -> None:
            opening.set()
            cancelled.wait(10)

        database = D1Database("db", tmp_path / "db.sqlite", "process", prepare)
        request = asyncio.create_task(database.query([Statement(endless)]))
        await asyncio.to_thread(opening.wait, 10)
        request.cancel()
        await asyncio.wait([request])
        cancelled.set()
        found = await database.query([Statement("SELECT 1")])
        await database.close()
        return found[0].rows

    assert asyncio.run(program()) == [(1,)]
