"""Taking over contents from somewhere else: all of it or nothing, whatever goes wrong."""

import asyncio
import hashlib
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import pytest

from pyflare_bindings.d1 import Statement
from pyflare_bindings.kv import KVError
from pyflare_bindings.kv.restore import RestoredEntry
from pyflare_bindings.objects import ObjectResetError
from pyflare_bindings.r2 import HttpMetadata, R2Error, R2Object, R2ObjectBody
from pyflare_bindings.r2.restore import DigestError, ObjectParts, RestoredObject, RestoredPart
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError, StateError
from pyflare_bindings.storage.whole_file import copy_database, put_in_place

LARGE = 300_000


class Bytes:
    """A content in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    @property
    def size(self) -> int:
        return len(self._content)

    def read(self) -> bytes:
        return self._content

    def chunks(self) -> Iterator[bytes]:
        yield self._content[: self.size // 2]
        yield self._content[self.size // 2 :]


class Lost(Bytes):
    """A content that cannot be read to its end."""

    def read(self) -> bytes:
        raise OSError("lost")

    def chunks(self) -> Iterator[bytes]:
        yield b"beginning"
        raise OSError("lost")


Program = Callable[[BindingRegistry], Awaitable[Any]]


@pytest.fixture(params=["process", "machine"])
def durability(request: pytest.FixtureRequest) -> Literal["process", "machine"]:
    found: Literal["process", "machine"] = request.param
    return found


def run(root: Path, program: Program, durability: Literal["process", "machine"] = "process") -> Any:
    async def whole() -> Any:
        registry = BindingRegistry(root, durability=durability)
        try:
            return await program(registry)
        finally:
            await registry.close()

    return asyncio.run(whole())


def blobs(root: Path) -> list[Path]:
    return [path for path in root.rglob("*.blobs/*") if path.is_file()]


def stored(key: str, content: bytes, **fields: Any) -> R2Object:
    md5 = hashlib.md5(content)
    values = {
        "key": key,
        "version": "f" * 32,
        "size": len(content),
        "etag": md5.hexdigest(),
        "uploaded": 1_000,
        "checksums": {"md5": md5.digest()},
        "http_metadata": HttpMetadata(),
        "custom_metadata": {},
        "storage_class": "Standard",
    }
    return R2Object(**(values | fields))


# KV


def test_entries_take_the_place_of_all_that_were_there(
    tmp_path: Path, durability: Literal["process", "machine"]
) -> None:
    async def program(registry: BindingRegistry) -> Any:
        kv = registry.kv("a")
        await kv.put("old", b"x" * LARGE)
        count = await kv.restore(
            [RestoredEntry("small", Bytes(b"s")), RestoredEntry("large", Bytes(b"L" * LARGE))]
        )
        large = await kv.get("large")
        assert large is not None
        return count, await kv.get("old"), await large.read()

    assert run(tmp_path, program, durability) == (2, None, b"L" * LARGE)
    assert len(blobs(tmp_path)) == 1


@pytest.mark.parametrize("lost", [Lost(b"s"), Lost(b"L" * LARGE)])
def test_an_entry_that_cannot_be_read_changes_nothing(tmp_path: Path, lost: Lost) -> None:
    async def program(registry: BindingRegistry) -> Any:
        kv = registry.kv("a")
        await kv.put("old", b"x" * LARGE)
        with pytest.raises(OSError, match="lost"):
            await kv.restore(
                [RestoredEntry("large", Bytes(b"L" * LARGE)), RestoredEntry("lost", lost)]
            )
        old = await kv.get("old")
        assert old is not None
        return await kv.get("large"), await old.read()

    assert run(tmp_path, program) == (None, b"x" * LARGE)
    assert len(blobs(tmp_path)) == 1


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (RestoredEntry("", Bytes(b"")), "key '': Key names must not be empty"),
        (RestoredEntry("k", Bytes(b""), None, "m" * 1025), "key 'k': Metadata length of 1025"),
        (RestoredEntry("k", Bytes(b"v" * (25 * 1024 * 1024 + 1))), "key 'k': Value length of"),
    ],
)
def test_an_entry_that_kv_does_not_allow_is_named(
    tmp_path: Path, entry: RestoredEntry, text: str
) -> None:
    async def program(registry: BindingRegistry) -> None:
        with pytest.raises(KVError, match=text):
            await registry.kv("a").restore([entry])

    run(tmp_path, program)


def test_looking_whether_there_is_anything_creates_no_file(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry) -> Any:
        return (
            await registry.kv("a").is_empty(),
            await registry.r2("a").is_empty(),
            await registry.d1("a").is_empty(),
        )

    assert run(tmp_path, program) == (True, True, True)
    assert list(tmp_path.iterdir()) == []


# R2


def test_objects_take_the_place_of_all_that_were_there(
    tmp_path: Path, durability: Literal["process", "machine"]
) -> None:
    halves = [b"1" * LARGE, b"2" * 10]
    parts = [
        RestoredPart(number, hashlib.md5(half).digest(), Bytes(half))
        for number, half in enumerate(halves, 1)
    ]
    whole = b"".join(halves)

    async def program(registry: BindingRegistry) -> Any:
        bucket = registry.r2("a")
        await bucket.put("old", b"x" * LARGE)
        await bucket.uploads.create("unfinished")
        count = await bucket.restore(
            [
                RestoredObject(stored("small", b"s"), Bytes(b"s")),
                RestoredObject(
                    stored("parts", whole, etag="e-2", checksums={}), ObjectParts("up", parts)
                ),
            ]
        )
        found = await bucket.get("parts")
        assert isinstance(found, R2ObjectBody)
        kept = await bucket.read_stored("parts")
        assert kept is not None
        layout = [part.number for part in kept.parts]
        return count, await bucket.head("old"), bytes(await found.body.read()) == whole, layout

    assert run(tmp_path, program, durability) == (2, None, True, [1, 2])
    assert len(blobs(tmp_path)) == 2


def test_of_two_spellings_of_one_key_the_later_object_stays(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry) -> Any:
        bucket = registry.r2("a")
        await bucket.restore(
            [
                RestoredObject(stored("\u00e9", b"1" * LARGE), Bytes(b"1" * LARGE)),
                RestoredObject(stored("e\u0301", b"2"), Bytes(b"2")),
            ]
        )
        found = await bucket.get("\u00e9")
        assert isinstance(found, R2ObjectBody)
        return bytes(await found.body.read())

    assert run(tmp_path, program) == b"2"
    assert blobs(tmp_path) == []


@pytest.mark.parametrize("size", [10, LARGE])
def test_a_content_with_another_md5_changes_nothing(tmp_path: Path, size: int) -> None:
    async def program(registry: BindingRegistry) -> Any:
        bucket = registry.r2("a")
        await bucket.put("old", b"x" * LARGE)
        wrong = RestoredObject(stored("k", b"a" * size), Bytes(b"b" * size))
        good = RestoredObject(stored("l", b"a" * LARGE), Bytes(b"a" * LARGE))
        with pytest.raises(DigestError, match="the content of object 'k' has the MD5"):
            await bucket.restore([good, wrong])
        return await bucket.head("l"), await bucket.head("old") is not None

    assert run(tmp_path, program) == (None, True)
    assert len(blobs(tmp_path)) == 1


def test_a_part_with_another_md5_is_named(tmp_path: Path) -> None:
    part = RestoredPart(3, b"0" * 16, Bytes(b"x"))
    restored = RestoredObject(stored("k", b"x", etag="e-1", checksums={}), ObjectParts("u", [part]))

    async def program(registry: BindingRegistry) -> None:
        with pytest.raises(DigestError, match="part 3 of object 'k'"):
            await registry.r2("a").restore([restored])

    run(tmp_path, program)
    assert blobs(tmp_path) == []


def test_a_key_that_r2_does_not_allow_is_refused(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry) -> None:
        with pytest.raises(R2Error):
            await registry.r2("a").restore([RestoredObject(stored("k" * 2000, b""), Bytes(b""))])

    run(tmp_path, program)


def test_an_object_that_is_not_there_is_none(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry) -> Any:
        return await registry.r2("a").read_stored("nothing")

    assert run(tmp_path, program) is None


# D1


def database(path: Path, value: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (v)")
        connection.execute("INSERT INTO t VALUES (?)", (value,))
    return path


def test_a_database_takes_the_place_of_the_one_before(
    tmp_path: Path, durability: Literal["process", "machine"]
) -> None:
    incoming = database(tmp_path / "incoming", "new")

    async def program(registry: BindingRegistry) -> Any:
        d1 = registry.d1("a")
        for sql in ("CREATE TABLE old (v)", "INSERT INTO old VALUES (1)"):
            await d1.query([Statement(sql)])
        await d1.restore(incoming)
        found = (await d1.query([Statement("SELECT v FROM t")]))[0].rows
        return found, await d1.copy_to(tmp_path / "out"), await d1.is_empty()

    assert run(tmp_path / "state", program, durability) == ([("new",)], True, False)
    with closing(sqlite3.connect(tmp_path / "out")) as copied:
        assert copied.execute("SELECT v FROM t").fetchall() == [("new",)]
    assert not incoming.exists()


def test_a_database_that_does_not_exist_is_not_copied(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry) -> Any:
        return await registry.d1("a").copy_to(tmp_path / "out")

    assert run(tmp_path / "state", program) is False
    assert not (tmp_path / "out").exists()


def test_a_database_in_use_is_not_replaced(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry) -> None:
        d1 = registry.d1("a")
        first = asyncio.create_task(d1.query([Statement("CREATE TABLE t (v)")]))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="the D1 database 'a' is in use"):
            await d1.restore(tmp_path / "incoming")
        await first

    run(tmp_path / "state", program)


def test_requests_wait_while_a_database_is_replaced(tmp_path: Path) -> None:
    incoming = database(tmp_path / "incoming", "new")

    async def program(registry: BindingRegistry) -> Any:
        d1 = registry.d1("a")
        replaced = asyncio.create_task(d1.restore(incoming))
        await asyncio.sleep(0)
        rows = (await d1.query([Statement("SELECT v FROM t")]))[0].rows
        await replaced
        return rows

    assert run(tmp_path / "state", program) == [("new",)]


def test_a_closed_database_is_not_replaced(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry) -> None:
        d1 = registry.d1("a")
        await d1.close()
        with pytest.raises(ClosedError):
            await d1.restore(tmp_path / "incoming")

    run(tmp_path / "state", program)


def test_a_database_that_has_gone_meanwhile_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="this file cannot be written"):
        put_in_place(tmp_path / "nothing", tmp_path / "state" / "there.sqlite", sync=False)


def test_a_damaged_database_is_replaced_too(tmp_path: Path) -> None:
    damaged = tmp_path / "there.sqlite"
    damaged.write_bytes(b"x" * 5000)

    put_in_place(database(tmp_path / "incoming", "new"), damaged, sync=True)

    with closing(sqlite3.connect(damaged)) as connection:
        assert connection.execute("SELECT v FROM t").fetchall() == [("new",)]


def test_a_log_of_the_database_before_does_not_reach_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "there.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        old.execute("PRAGMA journal_mode = WAL")
        old.execute("CREATE TABLE before (v)")
        (tmp_path / "log").write_bytes((tmp_path / "there.sqlite-wal").read_bytes())
    (tmp_path / "there.sqlite-wal").write_bytes((tmp_path / "log").read_bytes())

    put_in_place(database(tmp_path / "incoming", "new"), path, sync=False)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("t",)]


def test_a_damaged_database_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "damaged").write_bytes(b"x" * 5000)

    with pytest.raises(StateError, match="damaged: this file is not a SQLite database"):
        copy_database(tmp_path / "damaged", tmp_path / "out")


# Durable Objects


@pytest.mark.parametrize("size", [10, LARGE])
def test_an_object_takes_the_place_of_the_one_before(
    tmp_path: Path, size: int, durability: Literal["process", "machine"]
) -> None:
    incoming = database(tmp_path / "incoming", "n" * size)

    async def program(registry: BindingRegistry) -> Any:
        namespace = registry.objects("w-Thing")
        id = namespace.ids.from_name("a")
        for _ in range(2):
            storage = namespace.open(id)
            storage.exec("CREATE TABLE IF NOT EXISTS before (v)")
            await storage.commit()
            await storage.close()
        moved = await namespace.restore(id, incoming)
        storage = namespace.open(namespace.ids.from_string(id.hex))
        rows = list(storage.exec("SELECT length(v) FROM t"))
        tables = list(storage.exec("SELECT name FROM sqlite_schema WHERE name = 'before'"))
        name = storage.name
        await storage.close()
        return moved.is_empty, rows, tables, name, len(namespace.stored_ids())

    found = run(tmp_path / "state", program, durability)

    assert found == (False, [(size,)], [], "a", 1)


def test_an_object_that_lives_is_neither_replaced_nor_copied(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry) -> None:
        namespace = registry.objects("w-Thing")
        id = namespace.ids.from_name("a")
        storage = namespace.open(id)
        with pytest.raises(ObjectResetError, match="an instance of the object is alive"):
            await namespace.restore(id, tmp_path / "incoming")
        with pytest.raises(ObjectResetError, match="an instance of the object is alive"):
            namespace.copy_to(id, tmp_path / "out")
        await storage.close()

    run(tmp_path / "state", program)


def test_an_object_that_stored_nothing_is_not_copied(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry) -> Any:
        namespace = registry.objects("w-Thing")
        return namespace.copy_to(namespace.ids.from_name("a"), tmp_path / "out")

    assert run(tmp_path / "state", program) is None
    assert not (tmp_path / "out").exists()


def test_objects_of_a_closed_namespace_are_not_replaced(tmp_path: Path) -> None:
    async def program(registry: BindingRegistry) -> None:
        namespace = registry.objects("w-Thing")
        await namespace.close()
        with pytest.raises(ClosedError):
            await namespace.restore(namespace.ids.from_name("a"), tmp_path / "incoming")

    run(tmp_path / "state", program)
