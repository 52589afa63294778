"""What a person is told when the files of the state directory cannot be used."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from pyflare_bindings.d1 import Statement
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import StateError, is_storage_fault, state_error

Write = Callable[[], Awaitable[object]]


@pytest.mark.parametrize(
    ("kind", "problem", "remedy"),
    [
        (apsw.NotADBError, "not a SQLite database", "Move it away"),
        (apsw.CorruptError, "damaged or cut off", "Restore it from a copy"),
        (apsw.FullError, "the disk is full", "Free some space"),
        (apsw.CantOpenError, "cannot be opened for writing", "choose another state directory"),
        (apsw.ReadOnlyError, "cannot be opened for writing", "choose another state directory"),
        (apsw.IOError, "reading or writing failed", "Check the disk"),
    ],
)
def test_a_fault_of_the_file_names_it_and_what_to_do(
    kind: type[apsw.Error], problem: str, remedy: str
) -> None:
    error = state_error(Path("/some/where.sqlite"), kind("detail"))
    assert is_storage_fault(kind("detail"))
    assert str(error).startswith("/some/where.sqlite: ")
    assert problem in str(error)
    assert remedy in str(error)


@pytest.mark.parametrize("kind", [apsw.SQLError, apsw.ConstraintError, apsw.TooBigError])
def test_a_fault_of_the_statement_is_none_of_the_file(kind: type[apsw.Error]) -> None:
    assert not is_storage_fault(kind("detail"))


@contextmanager
def no_more_descriptors() -> Iterator[None]:
    """Nothing more can be opened by this process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def statement(registry: BindingRegistry) -> Write:
    database = registry.d1("a")
    return lambda: database.query([Statement("CREATE TABLE t (x)")])


def pair(registry: BindingRegistry) -> Write:
    namespace = registry.kv("a")
    return lambda: namespace.put("k", b"v")


def young_object(registry: BindingRegistry, size: int = 1) -> Write:
    namespace = registry.objects("worker-Object")
    storage = namespace.open(namespace.ids.from_name("a"))

    async def write() -> None:
        storage.put("k", b"x" * size)
        await storage.commit()

    return write


def object_with_file(registry: BindingRegistry) -> Write:
    return young_object(registry, 100_000)


def test_a_database_that_another_program_has_locked_is_named_with_the_remedy() -> None:
    error = state_error(Path("/some/where.sqlite"), apsw.BusyError("database is locked"))
    assert "/some/where.sqlite: another program has this database locked" in str(error)
    assert "Let it commit" in str(error)


@pytest.mark.parametrize("owner", [statement, pair, young_object, object_with_file])
def test_a_process_without_descriptors_is_told_to_raise_its_limit(
    registry: BindingRegistry, owner: Callable[[BindingRegistry], Write]
) -> None:
    async def scenario() -> None:
        write = owner(registry)
        with no_more_descriptors(), pytest.raises(StateError) as caught:
            await write()
        assert "oo many open files" in str(caught.value)
        assert "ulimit -n" in str(caught.value)

    asyncio.run(scenario())


def test_a_database_that_is_damaged_while_it_is_open_is_named(registry: BindingRegistry) -> None:
    async def scenario() -> None:
        database = registry.d1("a")
        await database.query([Statement("CREATE TABLE t (x)")])
        await database.query([Statement("INSERT INTO t VALUES (hex(randomblob(5000)))")] * 50)
        assert database._engine is not None
        connection = database._engine.sandbox.connection
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        with database.path.open("r+b") as file:
            size = file.seek(0, 2)
            file.seek(4096)
            file.write(b"\xff" * (size - 4096))
        # A change from outside makes the connection drop what it remembers of the file.
        other = apsw.Connection(str(database.path))
        other.execute("PRAGMA user_version = 7")
        other.close()
        for sql in ("SELECT sum(length(x)) FROM t", "INSERT INTO t VALUES (1)"):
            with pytest.raises(StateError, match=r"damaged or cut off") as caught:
                await database.query([Statement(sql)])
            assert caught.value.path == database.path
        with pytest.raises(ExceptionGroup, match=r"could not be closed"):
            await registry.close()

    asyncio.run(scenario())
