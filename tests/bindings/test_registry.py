"""One owner per resource, and the files below the state directory."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare_bindings.d1 import Statement
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError, StateError
from pyflare_bindings.storage.layout import file_name

SELECT_ONE = [Statement("SELECT 1")]


def query_and_close(registry: BindingRegistry, id: str, sql: str = "SELECT 1") -> None:
    async def scenario() -> None:
        try:
            await registry.d1(id).query([Statement(sql)])
        finally:
            await registry.close()

    asyncio.run(scenario())


def test_everyone_who_asks_for_an_id_gets_the_same_owner(registry: BindingRegistry) -> None:
    assert registry.d1("shared") is registry.d1("shared")


def test_different_ids_have_different_owners_and_files(registry: BindingRegistry) -> None:
    first, second = registry.d1("a"), registry.d1("b")
    assert first is not second
    assert first.path != second.path


def test_asking_for_an_owner_creates_no_file(tmp_path: Path) -> None:
    BindingRegistry(tmp_path / "state").d1("a")
    assert list(tmp_path.iterdir()) == []


def test_directories_are_for_the_user_alone(registry: BindingRegistry) -> None:
    query_and_close(registry, "a")
    for directory in (registry.root, registry.root / "v1", registry.root / "v1" / "d1"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_databases_lie_below_their_kind(registry: BindingRegistry) -> None:
    assert registry.d1("My DB").path.parent == registry.root / "v1" / "d1"


@pytest.mark.parametrize("id", ["../../etc/passwd", "a/b", "", "\0", "x" * 5000, "..", "ünï"])
def test_an_id_is_never_a_path(registry: BindingRegistry, id: str) -> None:
    path = registry.d1(id).path
    assert path.parent == registry.root / "v1" / "d1"
    assert len(path.name) < 100
    assert set(path.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")


def test_a_file_name_starts_with_the_readable_part_of_the_id() -> None:
    assert file_name("My Shop: DB/1", ".sqlite").startswith("my-shop-db-1-")


@given(st.lists(st.text(), min_size=2, max_size=2, unique=True))
def test_no_two_ids_share_a_file(ids: list[str]) -> None:
    first, second = ids
    assert file_name(first, ".sqlite") != file_name(second, ".sqlite")


def test_the_manifest_tells_which_file_holds_which_id(registry: BindingRegistry) -> None:
    path = registry.d1("My DB").path
    query_and_close(registry, "My DB")
    assert list(registry.stored("d1")) == [("d1", "My DB", path)]


def test_the_manifest_names_a_database_once_however_often_it_is_opened(tmp_path: Path) -> None:
    for _ in range(3):
        query_and_close(BindingRegistry(tmp_path), "a")
    assert [entry.id for entry in BindingRegistry(tmp_path).stored("d1")] == ["a"]


def test_a_line_of_the_manifest_that_a_crash_cut_off_spoils_no_other(tmp_path: Path) -> None:
    query_and_close(BindingRegistry(tmp_path), "a")
    with (tmp_path / "v1" / "d1" / "manifest.jsonl").open("a") as manifest:
        manifest.write('{"id": "bro')
    query_and_close(BindingRegistry(tmp_path), "b")
    assert [entry.id for entry in BindingRegistry(tmp_path).stored("d1")] == ["a", "b"]


def test_a_manifest_cannot_point_outside_its_directory(tmp_path: Path) -> None:
    query_and_close(BindingRegistry(tmp_path), "a")
    (tmp_path / "secret").write_text("")
    with (tmp_path / "v1" / "d1" / "manifest.jsonl").open("a") as manifest:
        manifest.write(json.dumps({"id": "evil", "file": "../../secret"}) + "\n")
    assert [entry.id for entry in BindingRegistry(tmp_path).stored("d1")] == ["a"]


def test_a_state_directory_without_databases_lists_none(tmp_path: Path) -> None:
    assert list(BindingRegistry(tmp_path).stored("d1")) == []


def test_a_closed_registry_gives_no_owners(registry: BindingRegistry) -> None:
    asyncio.run(registry.close())
    with pytest.raises(ClosedError, match=r"the registry has been closed.*'a'"):
        registry.d1("a")


def test_a_database_of_a_closed_registry_refuses_queries(registry: BindingRegistry) -> None:
    database = registry.d1("a")
    query_and_close(registry, "a")
    with pytest.raises(ClosedError, match="the D1 database 'a' has been closed"):
        asyncio.run(database.query(SELECT_ONE))


def test_owners_are_closed_in_the_reverse_order_of_their_creation(
    registry: BindingRegistry,
) -> None:
    order: list[str] = []

    class Recorder:
        def __init__(self, name: str) -> None:
            self.name = name

        async def close(self) -> None:
            order.append(self.name)

    for name in ("first", "second", "third"):
        registry._owner("test", name, Recorder, lambda name=name: Recorder(name))  # type: ignore[misc]
    asyncio.run(registry.close())
    assert order == ["third", "second", "first"]


def test_an_owner_that_fails_to_close_does_not_keep_the_others_open(
    registry: BindingRegistry,
) -> None:
    closed: list[str] = []

    class Good:
        async def close(self) -> None:
            closed.append("good")

    class Bad:
        async def close(self) -> None:
            raise OSError("no space")

    registry._owner("test", "good", Good, Good)
    registry._owner("test", "bad", Bad, Bad)
    with pytest.raises(ExceptionGroup, match="some owners could not be closed"):
        asyncio.run(registry.close())
    assert closed == ["good"]


def test_an_unknown_durability_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'process' or 'machine', not 'none'"):
        BindingRegistry(tmp_path, durability="none")  # type: ignore[arg-type]


def test_a_closed_database_leaves_no_log_behind(registry: BindingRegistry) -> None:
    path = registry.d1("a").path
    query_and_close(registry, "a", "CREATE TABLE t (x)")
    assert path.exists()
    assert not path.with_name(path.name + "-wal").exists()


def test_a_file_that_is_not_a_database_is_named(registry: BindingRegistry) -> None:
    path = registry.d1("a").path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is certainly no database" * 100)
    with pytest.raises(StateError, match=r"not a SQLite database.*Move it away") as caught:
        query_and_close(registry, "a")
    assert caught.value.path == path
    assert str(path) in str(caught.value)


def test_a_database_that_was_cut_off_is_named(registry: BindingRegistry) -> None:
    path = registry.d1("a").path
    query_and_close(registry, "a", "CREATE TABLE t AS SELECT hex(randomblob(40000)) AS x")
    os.truncate(path, 4096)
    registry = BindingRegistry(registry.root)
    with pytest.raises(StateError, match=r"damaged or cut off.*Restore it from a copy") as caught:
        query_and_close(registry, "a", "SELECT * FROM t")
    assert caught.value.path == path


def test_a_state_directory_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, not a directory")
    with pytest.raises(StateError, match=r"cannot be created.*choose another state directory"):
        query_and_close(BindingRegistry(tmp_path / "state"), "a")


def test_a_path_that_is_a_directory_is_named(registry: BindingRegistry) -> None:
    registry.d1("a").path.mkdir(parents=True)
    with pytest.raises(StateError, match="cannot be opened for writing"):
        query_and_close(registry, "a")


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write anywhere")
def test_a_read_only_database_is_named(registry: BindingRegistry) -> None:
    path = registry.d1("a").path
    query_and_close(registry, "a")
    path.chmod(0o400)
    with pytest.raises(StateError, match="cannot be opened for writing"):
        query_and_close(BindingRegistry(registry.root), "a")


def test_a_database_that_could_not_be_opened_can_be_used_once_the_fault_is_mended(
    registry: BindingRegistry,
) -> None:
    async def scenario() -> None:
        database = registry.d1("a")
        database.path.parent.mkdir(parents=True)
        database.path.write_bytes(b"no database" * 100)
        with pytest.raises(StateError):
            await database.query(SELECT_ONE)
        database.path.unlink()
        (result,) = await database.query(SELECT_ONE)
        assert result.rows == [(1,)]
        await registry.close()

    asyncio.run(scenario())


def test_a_database_locked_by_another_program_is_waited_for_off_the_loop(
    registry: BindingRegistry,
) -> None:
    async def scenario() -> None:
        database = registry.d1("a")
        await database.query([Statement("CREATE TABLE t (x)")])
        other = apsw.Connection(str(database.path))
        other.execute("BEGIN IMMEDIATE")
        insert = asyncio.create_task(database.query([Statement("INSERT INTO t VALUES (1)")]))
        beats = 0
        while beats < 20:
            await asyncio.sleep(0.001)
            beats += 1
        assert not insert.done()
        other.execute("COMMIT")
        other.close()
        await insert
        (result,) = await database.query([Statement("SELECT count(*) FROM t")])
        assert result.rows == [(1,)]
        await registry.close()

    asyncio.run(scenario())
