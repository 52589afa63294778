"""Where the system allows no further threads: what is refused never happens, and nothing is forgotten."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.blobs import Blob, BlobStore
from pyflare_bindings.storage.errors import StateError
from pyflare_bindings.storage.owner_thread import OwnerThread
from pyflare_bindings.storage.threads import NoThreadError, Threads

MIB = 1024 * 1024


class Limit:
    """How many threads may still be started, of those whose names begin alike."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 1_000_000
        self.of = ""
        start = threading.Thread.start

        def start_if_allowed(thread: threading.Thread) -> None:
            if thread.name.startswith(self.of):
                if self.left == 0:
                    raise RuntimeError("can't start new thread")
                self.left -= 1
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", start_if_allowed)


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Limit:
    return Limit(monkeypatch)


def names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory)) if directory.exists() else []


async def write(store: BlobStore, content: bytes) -> Blob:
    async with store.writer(["md5"]) as writer:
        return await writer.commit(content)


def test_a_job_that_was_refused_is_not_done_when_there_are_threads_again(limit: Limit) -> None:
    done: list[str] = []
    with Threads(2) as pool:
        limit.left = 0
        with pytest.raises(NoThreadError):
            pool.submit(done.append, "refused")
        limit.left = 10
        pool.submit(done.append, "next").result()
    assert done == ["next"]


def test_a_pool_makes_do_with_the_threads_that_it_has(limit: Limit) -> None:
    limit.left = 1
    go_on = threading.Event()
    with Threads(4) as pool:
        first = pool.submit(go_on.wait)
        try:
            others = [pool.submit(threading.get_ident) for _ in range(3)]
        finally:
            go_on.set()
        assert first.result()
        assert len({each.result() for each in others}) == 1


@pytest.mark.parametrize("size", [1024, 200 * 1024, MIB, 3 * MIB])
def test_a_blob_for_which_there_is_no_thread_is_refused_and_never_written(
    tmp_path: Path, limit: Limit, size: int
) -> None:
    async def run() -> list[str]:
        store = BlobStore(tmp_path / "blobs")
        limit.left = 0
        with pytest.raises(StateError, match=r"blobs: .*cannot start another thread.*ulimit -u"):
            await write(store, b"x" * size)
        limit.left = 100
        kept = await write(store, b"y" * size)
        await store.close()
        return [name for name in names(tmp_path / "blobs") if name != kept.id]

    assert asyncio.run(run()) == []


def test_a_blob_is_refused_when_there_is_no_thread_to_hash_it(tmp_path: Path, limit: Limit) -> None:
    limit.of = "pyflare-blob-hashes"
    limit.left = 0

    async def run() -> list[str]:
        store = BlobStore(tmp_path)
        with pytest.raises(StateError, match="cannot start another thread"):
            await write(store, b"x" * 3 * MIB)
        left = names(tmp_path)
        await store.close()
        return left

    assert asyncio.run(run()) == []


def test_a_thread_of_the_pool_writes_what_no_thread_beside_can(
    tmp_path: Path, limit: Limit
) -> None:
    limit.of = "pyflare-blob-beside"
    limit.left = 0

    async def run() -> list[str]:
        store = BlobStore(tmp_path)
        blob = await write(store, b"x" * MIB)
        await store.close()
        return [name for name in names(tmp_path) if name != blob.id]

    assert asyncio.run(run()) == []


async def _written_before(directory: Path) -> str:
    store = BlobStore(directory)
    blob = await write(store, b"content")
    await store.close()
    return blob.id


async def _with_the_next_removal(store: BlobStore, limit: Limit) -> None:
    limit.left = 100
    store.delete([])
    await store.sweep(())
    await asyncio.sleep(0)


async def _at_the_end(store: BlobStore, limit: Limit) -> None:
    await store.close()


@pytest.mark.parametrize("then", [_with_the_next_removal, _at_the_end])
def test_a_blob_that_no_thread_can_remove_goes_later(
    tmp_path: Path, limit: Limit, then: Callable[[BlobStore, Limit], object]
) -> None:
    async def run() -> tuple[list[str], list[str], str]:
        id = await _written_before(tmp_path)
        store = BlobStore(tmp_path)
        # So that no sweep takes it for what an earlier run has left.
        store._run = id[:8]
        limit.left = 0
        store.delete([id])
        before = names(tmp_path)
        await then(store, limit)  # type: ignore[misc]
        after = names(tmp_path)
        await store.close()
        return before, after, id

    before, after, id = asyncio.run(run())
    assert (before, after) == ([id], [])


def test_a_blob_is_removed_by_the_thread_beside_when_there_is_no_other(
    tmp_path: Path, limit: Limit
) -> None:
    limit.of = "pyflare-blobs"
    limit.left = 0

    async def run() -> list[str]:
        store = BlobStore(tmp_path)
        blob = await write(store, b"x" * MIB)
        store.delete([blob.id])
        while store._jobs:
            await asyncio.wait([asyncio.wrap_future(job) for job in list(store._jobs)])
        left = names(tmp_path)
        await store.close()
        return left

    assert asyncio.run(run()) == []


async def _stream(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // MIB):
        yield bytes(MIB)


def test_objects_are_as_they_were_after_a_put_that_was_refused(
    tmp_path: Path, limit: Limit
) -> None:
    async def run() -> None:
        registry = BindingRegistry(tmp_path)
        bucket = registry.r2("bucket")
        await bucket.put("small", b"small")
        limit.left = 0
        for content in (b"x" * MIB, _stream(2 * MIB)):
            with pytest.raises(StateError, match="cannot start another thread"):
                await bucket.put("large", content, length=2 * MIB)
        assert await bucket.head("large") is None
        limit.left = 100
        await bucket.put("large", b"y" * MIB)
        await registry.close()

    asyncio.run(run())
    assert len(list(tmp_path.rglob("*.blobs/*"))) == 1


def test_the_event_loop_does_an_owners_jobs_when_there_is_no_thread(limit: Limit) -> None:
    async def run() -> list[object]:
        thread = OwnerThread("owner")
        done: list[object] = []
        limit.left = 0
        thread.run(threading.current_thread, done.append)
        thread.run(lambda: "second", done.append)
        limit.left = 100
        thread.run(lambda: "third", done.append)
        await thread.drain(10, lambda: None)
        limit.left = 0
        await thread.finish(lambda: done.append("last"))
        return done

    assert asyncio.run(run()) == [threading.main_thread(), "second", "third", "last"]


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_small_values_are_stored_without_any_thread(
    tmp_path: Path, limit: Limit, durability: str
) -> None:
    limit.left = 0

    async def run() -> bytes:
        registry = BindingRegistry(tmp_path, durability=durability)  # type: ignore[arg-type]
        async with asyncio.timeout(10):
            await registry.kv("namespace").put("key", b"value")
            entry = await registry.kv("namespace").get("key")
            await registry.close()
        assert entry is not None
        return await entry.read()

    assert asyncio.run(run()) == b"value"
