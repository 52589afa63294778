"""An owner's own rows: the order of writes, their durability, and what a failure undoes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from pyflare_bindings.storage.errors import ClosedError, StateError
from pyflare_bindings.storage.row_file import Execute, OverloadedError, RowFile

SCHEMA = "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v NOT NULL)"
INSERT = "INSERT INTO t (v) VALUES (?)"


class Client:
    def __init__(self, runner: asyncio.Runner, path: Path, durability: Any) -> None:
        self.runner = runner
        self.rows = RowFile(path, durability, SCHEMA)
        self.runner.run(self.rows.open())

    def write(self, job: Any, **options: Any) -> Any:
        return self.runner.run(self.rows.write(job, **options))

    def values(self) -> list[Any]:
        return [value for (value,) in self.rows.read("SELECT v FROM t ORDER BY id").fetchall()]


@pytest.fixture(params=["process", "machine"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    with asyncio.Runner() as runner:
        made = Client(runner, tmp_path / "rows.sqlite", request.param)
        yield made
        runner.run(made.rows.close())


def insert(value: object) -> Any:
    return lambda execute: execute(INSERT, (value,)).fetchall()


def two_rows_and_a_failure(execute: Execute) -> None:
    execute(INSERT, ("first",))
    execute(INSERT, ("second",))
    raise LookupError("the job's own")


def test_writes_are_done_in_the_order_of_the_calls(client: Client) -> None:
    async def many() -> None:
        await asyncio.gather(*(client.rows.write(insert(number)) for number in range(700)))

    client.runner.run(many())
    assert client.values() == list(range(700))


def test_what_a_job_returns_is_returned_and_told_to_the_callback(client: Client) -> None:
    told: list[object] = []
    job = lambda execute: execute("INSERT INTO t (v) VALUES (7) RETURNING v").get  # noqa: E731
    assert client.write(job, committed=told.append) == 7
    assert told == [7]


def test_an_atomic_job_that_fails_is_undone_as_a_whole(client: Client) -> None:
    told: list[object] = []
    with pytest.raises(LookupError, match="the job's own"):
        client.write(two_rows_and_a_failure, atomic=True, committed=told.append)
    assert client.values() == []
    assert told == []


def test_a_failing_job_concerns_no_other(client: Client) -> None:
    async def together() -> list[Any]:
        return await asyncio.gather(
            client.rows.write(insert("before")),
            client.rows.write(two_rows_and_a_failure, atomic=True),
            client.rows.write(insert(None)),
            client.rows.write(insert("after")),
            return_exceptions=True,
        )

    _, own, refused, _ = client.runner.run(together())
    assert isinstance(own, LookupError)
    assert isinstance(refused, StateError)
    assert client.values() == ["before", "after"]


def test_a_caller_cancelled_before_its_turn_leaves_no_trace(tmp_path: Path) -> None:
    async def scenario() -> tuple[list[Any], list[str]]:
        rows = RowFile(tmp_path / "rows.sqlite", "machine", SCHEMA)
        await rows.open()
        told: list[str] = []
        first = asyncio.create_task(rows.write(insert("a"), lambda _: told.append("a")))
        await asyncio.sleep(0)
        second = asyncio.create_task(rows.write(insert("b"), lambda _: told.append("b")))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        assert second.cancelled()
        await rows.write(insert("c"))
        values = rows.read("SELECT v FROM t").fetchall()
        await rows.close()
        return values, told

    assert asyncio.run(scenario()) == ([("a",), ("c",)], ["a"])


def test_a_caller_cancelled_during_its_commit_is_told_first_whether_it_is_done(
    tmp_path: Path,
) -> None:
    async def scenario() -> tuple[bool, list[str], list[Any]]:
        rows = RowFile(tmp_path / "rows.sqlite", "machine", SCHEMA)
        await rows.open()
        told: list[str] = []
        task = asyncio.create_task(rows.write(insert("a"), lambda _: told.append("a")))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        known = list(told)
        values = rows.read("SELECT v FROM t").fetchall()
        await rows.close()
        return task.cancelled(), known, values

    assert asyncio.run(scenario()) == (True, ["a"], [("a",)])


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_a_steady_stream_of_writes_does_not_let_the_log_grow_for_ever(
    tmp_path: Path, durability: Any
) -> None:
    async def steady() -> int:
        path = tmp_path / "rows.sqlite"
        rows = RowFile(path, durability, SCHEMA, pages_between_copies=100)
        await rows.open()
        for _ in range(60):
            await asyncio.gather(*(rows.write(insert(b"x" * 16_000)) for _ in range(20)))
        log = path.with_name(path.name + "-wal").stat().st_size
        assert rows.read("SELECT count(*) FROM t").get == 1200
        await rows.close()
        return log

    assert asyncio.run(steady()) < 6_000_000 < 1200 * 16_000


def test_another_program_can_read_while_the_file_is_in_use(client: Client) -> None:
    client.write(insert("seen"))
    other = apsw.Connection(str(client.rows.path), flags=apsw.SQLITE_OPEN_READONLY)
    assert other.execute("SELECT v FROM t").fetchall() == [("seen",)]
    other.close()


def test_too_many_waiting_writes_are_refused(client: Client) -> None:
    async def flood() -> list[Any]:
        # Held as by a copy of the log, so that everything has to wait.
        client.rows._busy = True
        tasks = [asyncio.create_task(client.rows.write(insert(n))) for n in range(10_001)]
        await asyncio.sleep(0)
        client.rows._busy = False
        tasks.append(asyncio.create_task(client.rows.write(insert("last"))))
        client.rows._serve_waiting()
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = client.runner.run(flood())
    assert [type(outcome) for outcome in outcomes[10_000:]] == [OverloadedError, list]
    assert client.values() == [*range(10_000), "last"]


def test_closing_refuses_what_waits_and_what_comes(client: Client) -> None:
    async def scenario() -> list[Any]:
        client.rows._busy = True
        waiting = asyncio.create_task(client.rows.write(insert("waiting")))
        await asyncio.sleep(0)
        await client.rows.close()
        return await asyncio.gather(
            waiting, client.rows.write(insert("late")), client.rows.open(), return_exceptions=True
        )

    for outcome in client.runner.run(scenario()):
        assert isinstance(outcome, ClosedError)
        assert "rows.sqlite has been closed" in str(outcome)


def test_closing_leaves_one_file_without_a_log(client: Client) -> None:
    client.write(insert("kept"))
    client.runner.run(client.rows.close())
    assert [path.name for path in client.rows.path.parent.iterdir()] == ["rows.sqlite"]


def test_a_full_disk_is_told_and_leaves_what_was_there(client: Client) -> None:
    client.write(insert("before"))
    writer = client.rows._writer
    assert writer is not None
    pages = writer.execute("PRAGMA page_count").get
    writer.execute(f"PRAGMA max_page_count={pages}").fetchall()

    async def together() -> list[Any]:
        return await asyncio.gather(
            client.rows.write(insert("small")),
            client.rows.write(insert(b"x" * 100_000)),
            return_exceptions=True,
        )

    _, refused = client.runner.run(together())
    assert isinstance(refused, StateError)
    assert "the disk is full. Free some space and try again" in str(refused)
    writer.execute("PRAGMA max_page_count=1000000").fetchall()
    client.write(insert("after"))
    assert client.values() in (["before", "small", "after"], ["before", "after"])
    assert writer.execute("PRAGMA integrity_check").get == "ok"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    rows = RowFile(tmp_path / "below" / "rows.sqlite", "process", SCHEMA)
    with pytest.raises(StateError, match="cannot be created"):
        asyncio.run(rows.open())
    tmp_path.chmod(0o700)


def test_a_failed_opening_can_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"
    path.write_bytes(b"no database at all" * 100)

    async def scenario() -> None:
        rows = RowFile(path, "process", SCHEMA)
        for _ in range(2):
            with pytest.raises(StateError, match="not a SQLite database"):
                await rows.open()
        path.unlink()
        await rows.open()
        assert rows.is_open
        await rows.close()

    asyncio.run(scenario())


def test_nothing_is_read_while_the_file_is_being_closed(client: Client) -> None:
    """The thread closes the connection that reads use, which two threads must not do at a time."""

    async def read_meanwhile() -> None:
        closing = asyncio.create_task(client.rows.close())
        await asyncio.sleep(0)
        with pytest.raises(ClosedError):
            client.rows.read("SELECT v FROM t")
        await closing

    client.runner.run(read_meanwhile())
