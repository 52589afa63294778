"""Files of blobs are let go of by whoever fails, is collected as garbage or outlives the store."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.r2 import R2Bucket
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.blobs import Blob, BlobStore, DamagedBlobError
from pyflare_bindings.storage.errors import ClosedError, StateError

MIB = 1024 * 1024


def names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory)) if directory.exists() else []


def contents(directory: Path) -> list[Path]:
    """The files of the blobs of all owners in a state directory."""
    return list(directory.rglob("*.blobs/*"))


def open_files(directory: Path) -> list[str]:
    """The files below a directory that this process has open."""
    found = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        if path.startswith(str(directory)):
            found.append(path)
    return found


on_linux = pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="only Linux tells what is open"
)


async def write(store: BlobStore, content: bytes) -> Blob:
    async with store.writer() as writer:
        return await writer.commit(content)


async def _write_past_the_end(store: BlobStore) -> None:
    async with store.writer(["md5"]) as writer:
        await writer.write(bytes(MIB))
        await store.close()
        assert names(store.directory) == [f"{writer.id}.part"]
        await writer.write(bytes(MIB))


@on_linux
def test_a_blob_that_is_being_written_when_the_store_is_closed_leaves_nothing(
    tmp_path: Path,
) -> None:
    async def run() -> tuple[list[str], list[str]]:
        store = BlobStore(tmp_path)
        with pytest.raises(ClosedError):
            await _write_past_the_end(store)
        return names(tmp_path), open_files(tmp_path)

    assert asyncio.run(run()) == ([], [])


async def _endless(began: asyncio.Event) -> AsyncIterator[bytes]:
    yield bytes(MIB)
    began.set()
    await asyncio.get_running_loop().create_future()


@on_linux
@pytest.mark.parametrize("first", ["collected", "closed"])
def test_a_put_that_is_collected_as_garbage_leaves_nothing(tmp_path: Path, first: str) -> None:
    """Its stream will never go on, and so nobody holds on to what waits for it."""

    async def run() -> tuple[list[Path], list[str]]:
        registry = BindingRegistry(tmp_path)
        bucket = registry.r2("bucket")
        await bucket.put("small", b"small")
        began = asyncio.Event()
        waiting = bucket.put("large", _endless(began))
        step = waiting.send(None)
        while not began.is_set():
            # As its task does it.
            await step if step is not None else await asyncio.sleep(0)
            step = waiting.send(None)
        if first == "closed":
            await registry.close()
        del step, waiting
        gc.collect()
        await registry.close()
        return contents(tmp_path), open_files(tmp_path)

    files, opened = asyncio.run(run())
    assert (files, [each for each in opened if ".blobs" in each]) == ([], [])


@pytest.mark.parametrize("held", ["threads", "store"])
def test_a_writer_may_be_collected_in_the_midst_of_anything(tmp_path: Path, held: str) -> None:
    def collect(store: BlobStore, garbage: list[Any]) -> None:
        assert store._executor is not None
        locks = {"threads": store._executor._shutdown_lock, "store": store._lock}
        with locks[held]:
            garbage.clear()

    async def take(store: BlobStore) -> None:
        async with store.writer() as writer:
            await writer.commit(b"content")
            await asyncio.sleep(0)

    async def run() -> list[str]:
        store = BlobStore(tmp_path)
        taking = take(store)
        step: Any = taking.send(None)
        while step is not None:
            await asyncio.wait([step])
            step = taking.send(None)
        assert len(names(tmp_path)) == 1
        garbage: list[Any] = [taking]
        del taking
        collector = threading.Thread(target=collect, args=(store, garbage), daemon=True)
        collector.start()
        await asyncio.to_thread(collector.join, 10)
        assert not collector.is_alive()
        await asyncio.sleep(0)
        await store.close()
        return names(tmp_path)

    assert asyncio.run(run()) == []


@on_linux
def test_a_writer_that_nobody_ends_closes_its_file(tmp_path: Path) -> None:
    async def run() -> list[str]:
        store = BlobStore(tmp_path)
        writer = store.writer()
        await writer.write(bytes(MIB))
        await store.close()
        assert len(open_files(tmp_path)) == 1
        del writer
        gc.collect()
        return open_files(tmp_path)

    assert asyncio.run(run()) == []


@on_linux
@pytest.mark.parametrize("size", [100 * 1024, 3 * MIB])
def test_a_stream_that_has_failed_lets_go_of_its_blob(tmp_path: Path, size: int) -> None:
    async def run() -> tuple[list[str], list[str]]:
        store = BlobStore(tmp_path)
        blob = await write(store, bytes(size))
        chunks = store.open(blob.id, size).chunks()
        os.truncate(tmp_path / blob.id, 10)
        # Kept, as a traceback in a log would be.
        with pytest.raises(DamagedBlobError) as failure:
            async for _ in chunks:
                pass
        opened = open_files(tmp_path)
        store.delete([blob.id])
        await store.close()
        assert failure.value is not None
        return names(tmp_path), opened

    assert asyncio.run(run()) == ([], [])


def _not_in_memory(*_: object) -> int:
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


@pytest.mark.parametrize("size", [100 * 1024, 3 * MIB])
@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("in_memory", [True, False])
def test_a_stream_that_has_failed_goes_on_where_it_was_when_it_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, after: int, in_memory: bool
) -> None:
    if not in_memory and hasattr(os, "preadv"):
        monkeypatch.setattr(os, "preadv", _not_in_memory)
    content = os.urandom(size)
    failures = 1
    read = os.pread

    def read_or_fail(descriptor: int, length: int, offset: int) -> bytes:
        nonlocal failures
        if offset >= after * 512 * 1024 and failures:
            failures -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(descriptor, length, offset)

    async def run() -> tuple[bytes, int]:
        store = BlobStore(tmp_path)
        blob = await write(store, content)
        monkeypatch.setattr(os, "pread", read_or_fail)
        chunks = store.open(blob.id, size).chunks()
        got, failed = b"", 0
        while failed < 3:
            try:
                got += await anext(chunks)
            except StateError:
                failed += 1
            except StopAsyncIteration:
                break
        await store.close()
        return got, failed

    got, failed = asyncio.run(run())
    assert got == content
    assert failed == (1 if after == 0 or size > MIB else 0)


def test_a_stream_that_could_not_open_its_file_can_be_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file, refused = os.open, [True]

    def open_or_fail(*arguments: Any) -> int:
        if refused:
            refused.clear()
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return open_file(*arguments)

    async def run() -> bytes:
        store = BlobStore(tmp_path)
        blob = await write(store, b"content" * 100_000)
        chunks = store.open(blob.id, blob.size).chunks()
        monkeypatch.setattr(os, "open", open_or_fail)
        with pytest.raises(StateError, match="too many open files"):
            await anext(chunks)
        got = b"".join([chunk async for chunk in chunks])
        await store.close()
        return got

    assert asyncio.run(run()) == b"content" * 100_000


async def _of_parts(bucket: R2Bucket) -> None:
    upload = await bucket.uploads.create("key")
    parts = [
        await bucket.uploads.upload_part("key", upload, number, bytes(5 * MIB)) for number in (1, 2)
    ]
    await bucket.uploads.complete("key", upload, parts)


def test_the_body_of_an_object_that_has_failed_lets_go_of_all_its_parts(tmp_path: Path) -> None:
    async def run() -> list[Path]:
        registry = BindingRegistry(tmp_path)
        bucket = registry.r2("bucket")
        await _of_parts(bucket)
        found = await bucket.get("key")
        assert found is not None
        for file in contents(tmp_path):
            os.truncate(file, 10)
        body = found.body.chunks()
        with pytest.raises(DamagedBlobError) as failure:
            await anext(body)
        await bucket.delete(["key"])
        await asyncio.sleep(0)
        await registry.close()
        assert failure.value is not None
        return contents(tmp_path)

    assert asyncio.run(run()) == []
