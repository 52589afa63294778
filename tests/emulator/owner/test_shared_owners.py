"""Databases, buckets, namespaces and queues of another process, as an embedded Pyflare uses them."""

import asyncio
import gc
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pyflare.env.r2 import R2Bucket
from pyflare.owner.shared import OwnerEnded, SharedRegistry
from pyflare.owner.values import dump, load, pack_error, unpack_error
from pyflare.pyodide.ffi import to_js
from pyflare_bindings.clock import SystemClock
from pyflare_bindings.d1 import D1Error, Statement
from pyflare_bindings.kv import KVError
from pyflare_bindings.lease import Lease, LeaseHeld
from pyflare_bindings.queues import Outgoing, QueueError
from pyflare_bindings.r2 import R2Error, UploadedPart
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import FileGoneError, StateError

from .conftest import Owner


def using(
    root: Path,
    program: Callable[[Any], Coroutine[Any, Any, Any]],
    take_over: Callable[[], Awaitable[BindingRegistry]] | None = None,
) -> Any:
    async def nobody() -> BindingRegistry:
        raise LeaseHeld(root, {})

    async def keep(_: BindingRegistry) -> None:
        raise AssertionError("nobody asked for it")

    async def run() -> Any:
        shared = SharedRegistry(root, SystemClock(), take_over or nobody, keep)
        try:
            return await program(shared)
        finally:
            await shared.close()

    return asyncio.run(run())


async def stream(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def test_a_database_answers_as_if_it_were_here(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        database = shared.d1("db")
        await database.query(
            [Statement("CREATE TABLE t (v)"), Statement("INSERT INTO t VALUES (1)")]
        )
        found = await database.query([Statement("SELECT v, x'00' AS b FROM t WHERE v = ?", (1.0,))])
        assert database.bookmark == found.bookmark
        with pytest.raises(D1Error, match="no such table: no") as raised:
            await database.query([Statement("SELECT 1"), Statement("SELECT * FROM no")])
        return found[0].columns, found[0].rows, raised.value.statement_index

    assert using(owner.root, program) == (("v", "b"), [(1, b"\0")], 1)


def test_values_of_any_length_go_through_a_namespace(owner: Owner) -> None:
    long = bytes(200_000)

    async def program(shared: Any) -> Any:
        kv = shared.kv("kv")
        await kv.put("short", b"s", metadata="[1]")
        await kv.put("long", stream(long[:50_000], long[50_000:]))
        found = await kv.get("long")
        assert (await kv.get("none")) is None
        assert await found.read() == long
        many = await kv.get_many(["short", "long", "none"])
        assert [None if each is None else await each.read() for each in many.values()] == [
            b"s",
            long,
            None,
        ]
        with pytest.raises(KVError) as raised:
            await kv.put("", b"")
        assert (raised.value.status, str(raised.value)) == (400, "Key names must not be empty")
        return [key.name for key in (await kv.list()).keys], (await kv.get("short")).metadata

    assert using(owner.root, program) == (["long", "short"], "[1]")


def test_objects_and_uploads_go_through_a_bucket(owner: Owner) -> None:
    part = bytes(5 * 1024 * 1024)

    async def program(shared: Any) -> Any:
        bucket = shared.r2("my-bucket")
        await bucket.put("k", stream(b"a", b"b"), length=2)
        found = await bucket.get("k")
        assert await found.body.read() == b"ab"
        upload = await bucket.uploads.create("big")
        parts = [
            await bucket.uploads.upload_part("big", upload, number, content)
            for number, content in ((1, part), (2, b"end"))
        ]
        await bucket.uploads.complete(
            "big", upload, [UploadedPart(each.part_number, each.etag) for each in parts]
        )
        size = 0
        async for piece in (await bucket.get("big")).body.chunks():
            size += len(piece)
        with pytest.raises(R2Error) as raised:
            await bucket.put("x" * 1025, b"")
        assert raised.value.code == 10020
        await bucket.delete(["k"])
        assert await bucket.head("k") is None
        return size

    assert using(owner.root, program) == len(part) + 3


def test_messages_go_to_a_queue(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        queue = shared.queue("jobs")
        await queue.send(Outgoing(b"1"))
        await queue.send_batch([Outgoing(b"2"), Outgoing(b"3")])
        with pytest.raises(QueueError, match="exceeds limit"):
            await queue.send(Outgoing(bytes(200_000)))
        return (await queue.metrics()).backlog_count

    assert using(owner.root, program) == 3


@pytest.mark.parametrize("size", [0, 10, 100_000, 3_000_000])
def test_a_worker_reads_objects_of_another_process_as_its_own(owner: Owner, size: int) -> None:
    async def program(shared: Any) -> Any:
        await shared.r2("my-bucket").put("k", bytes(size))
        bucket = R2Bucket._make(shared.r2("my-bucket"))
        found = await bucket.get("k")
        return len((await found.arrayBuffer()).to_py())

    assert using(owner.root, program) == size


def test_what_fails_its_conditions_has_no_content(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        bucket = R2Bucket._make(shared.r2("my-bucket"))
        await bucket.put("k", "value")
        found = await bucket.get("k", to_js({"onlyIf": {"etagMatches": "other"}}))
        return hasattr(found, "body"), found.size

    assert using(owner.root, program) == (False, 5)


@pytest.mark.parametrize("kind", ["kv", "r2"])
def test_content_that_nobody_reads_holds_nobody_up(owner: Owner, kind: str) -> None:
    async def program(shared: Any) -> Any:
        stored = getattr(shared, kind)("id")
        await stored.put("k", bytes(2_000_000))
        for _ in range(70):
            assert (await stored.get("k")).size == 2_000_000
        await asyncio.sleep(0)
        return "done"

    assert using(owner.root, program) == "done"


def test_content_that_is_garbage_in_a_cycle_is_hung_up_without_a_warning(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        bucket = shared.r2("bucket")
        await bucket.put("k", bytes(3_000_000))
        for _ in range(3):
            found = await bucket.get("k")
            found.body.itself = found.body
            del found
            gc.collect()
        return len(shared.lent), (await bucket.head("k")).size

    assert using(owner.root, program) == (0, 3_000_000)


def test_content_that_is_not_read_to_its_end_holds_nobody_up(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        bucket = shared.r2("my-bucket")
        await bucket.put("k", bytes(8_000_000))
        for _ in range(70):
            found = await bucket.get("k")
            found.body.close()
            async for _piece in (await bucket.get("k")).body.chunks():
                break
        return (await bucket.head("k")).size

    assert using(owner.root, program) == 8_000_000


def test_calls_at_once_are_all_answered(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        kv = shared.kv("kv")
        await asyncio.gather(*(kv.put(f"{n:04}", b"v") for n in range(300)))
        return len((await kv.list()).keys)

    assert using(owner.root, program) == 300


def test_a_stream_that_fails_leaves_the_old_value(owner: Owner) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ValueError("the stream broke")

    async def program(shared: Any) -> Any:
        kv = shared.kv("kv")
        await kv.put("k", b"old")
        with pytest.raises(ValueError, match="the stream broke"):
            await kv.put("k", broken())
        return await (await kv.get("k")).read()

    assert using(owner.root, program) == b"old"


def test_what_runs_in_the_owner_alone_says_so_when_it_is_used(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        with pytest.raises(StateError, match="rate limit cannot be shared with it"):
            await shared.rate_limit("1").limit("key", 1, 10)

    using(owner.root, program)


def test_methods_that_are_not_for_others_are_refused(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        for method in ("close", "check_file", "__class__"):
            with pytest.raises(StateError, match=f"d1.{method} cannot be called"):
                await shared.call("d1", "db", method, (), {})

    using(owner.root, program)


def test_after_the_owners_end_the_next_call_takes_over(owner: Owner) -> None:
    taken: list[Lease] = []

    async def take_over() -> BindingRegistry:
        taken.append(Lease.acquire(owner.root))
        return BindingRegistry(owner.root)

    async def program(shared: Any) -> Any:
        kv = shared.kv("kv")
        await kv.put("k", b"v")
        await asyncio.to_thread(owner.end)
        values = await asyncio.gather(*(kv.get("k") for _ in range(5)))
        return [await each.read() for each in values], len(taken)

    assert using(owner.root, program, take_over) == ([b"v"] * 5, 1)
    taken[0].release()


def test_after_the_owners_end_the_next_call_finds_the_next_owner(
    own: Callable[..., Owner],
) -> None:
    first = own()

    async def program(shared: Any) -> Any:
        kv = shared.kv("kv")
        await kv.put("k", b"v")
        await asyncio.to_thread(first.end)
        await asyncio.to_thread(own, first.root)
        return await (await kv.get("k")).read()

    assert using(first.root, program) == b"v"


def test_a_call_in_flight_at_the_owners_end_gets_the_documented_error(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        async def endless() -> AsyncIterator[bytes]:
            yield b"x"
            await asyncio.to_thread(owner.end, 0.0)
            for _ in range(100):
                yield b"x" * 100_000

        with pytest.raises(OwnerEnded, match="may or may not have been done") as raised:
            await shared.kv("kv").put("k", endless())
        return raised.value.path

    assert using(owner.root, program) == owner.root


@pytest.mark.parametrize(
    "error",
    [
        KVError(400, "no"),
        D1Error("no such table", 3),
        FileGoneError(Path("/x/y"), "Look"),
    ],
)
def test_errors_arrive_as_they_were(error: Exception) -> None:
    again = unpack_error(load(dump(pack_error(error))))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_a_pickle_names_nothing_but_values_of_owners() -> None:
    for other in (print, Path("/x"), pickle.Pickler):
        with pytest.raises(pickle.UnpicklingError, match="is no value of an owner"):
            load(pickle.dumps(other))
