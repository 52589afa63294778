"""Bodies of values as files: whole or not there, readable to the end, and nothing left behind."""

from __future__ import annotations

import asyncio
import errno
import gc
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pyflare_bindings.storage.blobs import Blob, BlobStore, DamagedBlobError
from pyflare_bindings.storage.errors import ClosedError, StateError

MIB = 1024 * 1024


def names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory)) if directory.exists() else []


async def write(store: BlobStore, *chunks: bytes) -> Blob:
    async with store.writer() as writer:
        for chunk in chunks:
            await writer.write(chunk)
        return await writer.commit()


async def write_and_fail(store: BlobStore) -> None:
    async with store.writer() as writer:
        await writer.write(b"content")
        await writer.commit()
        raise LookupError


def test_a_committed_blob_reads_back_whole(tmp_path: Path) -> None:
    async def run() -> bytes:
        store = BlobStore(tmp_path / "blobs")
        blob = await write(store, b"one ", b"two ", b"x" * MIB, b" end")
        data = await store.open(blob.id, blob.size).read()
        await store.close()
        return data

    assert asyncio.run(run()) == b"one two " + b"x" * MIB + b" end"


def test_an_empty_blob_is_a_blob(tmp_path: Path) -> None:
    async def run() -> tuple[int, bytes]:
        store = BlobStore(tmp_path)
        blob = await write(store)
        data = await store.open(blob.id, 0).read()
        await store.close()
        return blob.size, data

    assert asyncio.run(run()) == (0, b"")


def test_hashes_are_those_of_the_content(tmp_path: Path) -> None:
    content = os.urandom(2 * MIB + 17)

    async def run() -> Blob:
        store = BlobStore(tmp_path)
        async with store.writer(["md5", "sha512"]) as writer:
            for at in range(0, len(content), 100_000):
                await writer.write(content[at : at + 100_000])
            blob = await writer.commit()
        await store.close()
        return blob

    assert dict(asyncio.run(run()).digests) == {
        "md5": hashlib.md5(content).digest(),
        "sha512": hashlib.sha512(content).digest(),
    }


def test_the_directory_is_not_created_before_the_first_blob(tmp_path: Path) -> None:
    async def run() -> None:
        store = BlobStore(tmp_path / "blobs")
        async with store.writer():
            pass
        await store.close()

    asyncio.run(run())
    assert not (tmp_path / "blobs").exists()


def test_two_blobs_of_the_same_content_have_names_of_their_own(tmp_path: Path) -> None:
    async def run() -> tuple[Blob, Blob]:
        store = BlobStore(tmp_path)
        pair = await write(store, b"same"), await write(store, b"same")
        await store.close()
        return pair

    first, second = asyncio.run(run())
    assert first.id != second.id


def test_nothing_has_its_final_name_before_the_commit(tmp_path: Path) -> None:
    async def run() -> list[str]:
        store = BlobStore(tmp_path)
        async with store.writer() as writer:
            await writer.write(b"x" * MIB)
            await writer.write(b"x" * MIB)
            seen = [name for name in names(tmp_path) if not name.endswith(".part")]
            await writer.commit()
        await store.close()
        return seen

    assert asyncio.run(run()) == []


@pytest.mark.parametrize("size", [0, 10, 2 * MIB], ids=["nothing", "little", "much"])
def test_a_writer_that_is_left_without_a_commit_leaves_no_file(tmp_path: Path, size: int) -> None:
    async def run() -> None:
        store = BlobStore(tmp_path)
        async with store.writer() as writer:
            await writer.write(b"x" * size)
        await store.close()

    asyncio.run(run())
    assert names(tmp_path) == []


def test_an_exception_after_the_commit_removes_the_blob(tmp_path: Path) -> None:
    async def run() -> None:
        store = BlobStore(tmp_path)
        with pytest.raises(LookupError):
            await write_and_fail(store)
        await store.close()

    asyncio.run(run())
    assert names(tmp_path) == []


@pytest.mark.parametrize("turns", [1, 2, 3, 5, 8])
def test_a_cancelled_writer_leaves_no_file(tmp_path: Path, turns: int) -> None:
    async def run() -> None:
        store = BlobStore(tmp_path)

        async def forever() -> None:
            async with store.writer(["md5"]) as writer:
                while True:
                    await writer.write(b"x" * MIB)

        task = asyncio.create_task(forever())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.close()

    asyncio.run(run())
    assert names(tmp_path) == []


def test_a_commit_that_is_cancelled_leaves_no_file(tmp_path: Path) -> None:
    async def run() -> None:
        store = BlobStore(tmp_path)
        task = asyncio.create_task(write(store, b"x" * 100_000))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.close()

    asyncio.run(run())
    assert names(tmp_path) == []


def test_part_of_a_blob_is_read_from_its_place(tmp_path: Path) -> None:
    async def run() -> bytes:
        store = BlobStore(tmp_path)
        blob = await write(store, b"0123456789")
        data = await store.open(blob.id, blob.size).read(3, 4)
        await store.close()
        return data

    assert asyncio.run(run()) == b"3456"


def test_a_stream_gives_the_asked_bytes_in_order(tmp_path: Path) -> None:
    content = os.urandom(3 * MIB + 5)

    async def run() -> list[bytes]:
        store = BlobStore(tmp_path)
        blob = await write(store, content)
        reader = store.open(blob.id, blob.size)
        chunks = [chunk async for chunk in reader.chunks(7, 2 * MIB)]
        await store.close()
        return chunks

    chunks = asyncio.run(run())
    assert b"".join(chunks) == content[7 : 7 + 2 * MIB]
    assert max(map(len, chunks)) <= MIB


def test_a_deleted_blob_stays_readable_to_its_readers(tmp_path: Path) -> None:
    async def run() -> tuple[bytes, list[str]]:
        store = BlobStore(tmp_path)
        blob = await write(store, b"content")
        reader = store.open(blob.id, blob.size)
        store.delete([blob.id])
        data = await reader.read()
        reader.close()
        await store.close()
        return data, names(tmp_path)

    assert asyncio.run(run()) == (b"content", [])


def test_a_stream_outlives_the_reader_and_the_blob(tmp_path: Path) -> None:
    content = os.urandom(2 * MIB)

    async def run() -> bytes:
        store = BlobStore(tmp_path)
        blob = await write(store, content)
        chunks = store.open(blob.id, blob.size).chunks()
        first = await anext(chunks)
        store.delete([blob.id])
        rest = [chunk async for chunk in chunks]
        await store.close()
        return first + b"".join(rest)

    assert asyncio.run(run()) == content
    assert names(tmp_path) == []


def test_a_reader_that_is_dropped_unread_does_not_keep_the_file(tmp_path: Path) -> None:
    async def run() -> None:
        store = BlobStore(tmp_path)
        blob = await write(store, b"content")
        reader = store.open(blob.id, blob.size)
        store.delete([blob.id])
        del reader
        gc.collect()
        await store.close()

    asyncio.run(run())
    assert names(tmp_path) == []


def test_a_reader_costs_no_file_descriptor(tmp_path: Path) -> None:
    async def run() -> int:
        store = BlobStore(tmp_path)
        blob = await write(store, b"content")
        before = len(os.listdir("/proc/self/fd"))
        readers = [store.open(blob.id, blob.size) for _ in range(100)]
        after = len(os.listdir("/proc/self/fd"))
        del readers
        await store.close()
        return after - before

    assert asyncio.run(run()) == 0


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    async def run() -> None:
        store = BlobStore(tmp_path)
        blob = await write(store, b"content")
        (tmp_path / blob.id).unlink()
        with pytest.raises(DamagedBlobError, match=f"{blob.id}.* is missing"):
            store.open(blob.id, blob.size)
        await store.close()

    asyncio.run(run())


@pytest.mark.parametrize("content", [b"cont", b"content and more"], ids=["short", "long"])
def test_a_file_of_another_size_is_an_error_that_says_so(tmp_path: Path, content: bytes) -> None:
    async def run() -> None:
        store = BlobStore(tmp_path)
        blob = await write(store, b"content")
        (tmp_path / blob.id).write_bytes(content)
        with pytest.raises(DamagedBlobError, match=f"{len(content)} bytes instead of 7"):
            store.open(blob.id, blob.size)
        await store.close()

    asyncio.run(run())


def test_a_file_that_goes_missing_after_the_open_fails_when_it_is_read(tmp_path: Path) -> None:
    async def run() -> None:
        store = BlobStore(tmp_path)
        blob = await write(store, b"content")
        reader = store.open(blob.id, blob.size)
        (tmp_path / blob.id).unlink()
        with pytest.raises(DamagedBlobError):
            await reader.read()
        with pytest.raises(DamagedBlobError):
            await anext(reader.chunks())
        await store.close()

    asyncio.run(run())


def _refuse_to_tell(*_: object) -> int:
    raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


def _not_in_memory(*_: object) -> int:
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


@pytest.mark.parametrize("preadv", [_refuse_to_tell, _not_in_memory, None])
@pytest.mark.parametrize("size", [1, 100 * 1024, 256 * 1024, 256 * 1024 + 1, 3 * MIB + 7])
def test_content_reads_back_the_same_from_memory_and_from_the_disk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    preadv: Callable[..., int] | None,
) -> None:
    content = os.urandom(size)
    if preadv is not None and hasattr(os, "preadv"):
        monkeypatch.setattr(os, "preadv", preadv)

    async def run() -> list[bytes]:
        store = BlobStore(tmp_path)
        blob = await write(store, content)
        reader = store.open(blob.id, size)
        whole = await reader.read()
        part = await reader.read(size // 3, size // 2)
        streamed = b"".join([chunk async for chunk in reader.chunks()])
        rest = b"".join([chunk async for chunk in reader.chunks(size // 2)])
        reader.close()
        await store.close()
        return [whole, part, streamed, rest]

    start = size // 3
    assert asyncio.run(run()) == [
        content,
        content[start : start + size // 2],
        content,
        content[size // 2 :],
    ]


def test_a_long_stream_leaves_others_their_turns(tmp_path: Path) -> None:
    async def run() -> tuple[int, int]:
        store = BlobStore(tmp_path)
        blob = await write(store, *[bytes(MIB)] * 8)
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        chunks = 0
        async for _ in store.open(blob.id, blob.size).chunks():
            chunks += 1
        task.cancel()
        await store.close()
        return chunks, turns

    chunks, turns = asyncio.run(run())
    assert turns >= chunks - 1 > 1


@pytest.mark.parametrize("size", [100 * 1024, 3 * MIB])
def test_a_stream_tells_of_a_file_that_was_cut_off_half_way(tmp_path: Path, size: int) -> None:
    async def run() -> None:
        store = BlobStore(tmp_path)
        blob = await write(store, bytes(size))
        chunks = store.open(blob.id, size).chunks()
        os.truncate(tmp_path / blob.id, size // 2)
        try:
            with pytest.raises(DamagedBlobError, match=blob.id):
                async for _ in chunks:
                    pass
        finally:
            await store.close()

    asyncio.run(run())


@pytest.mark.parametrize("held", ["threads", "store", "pins"])
def test_a_reader_may_be_collected_in_the_midst_of_anything(tmp_path: Path, held: str) -> None:
    def collect(store: BlobStore) -> None:
        assert store._executor is not None
        locks = {
            "threads": store._executor._shutdown_lock,
            "store": store._lock,
            "pins": store._pins._lock,
        }
        with locks[held]:
            gc.collect()

    async def run() -> list[str]:
        store = BlobStore(tmp_path)
        blob = await write(store, b"content")
        cycle: list[object] = [store.open(blob.id, blob.size)]
        cycle.append(cycle)
        store.delete([blob.id])
        del cycle
        collector = threading.Thread(target=collect, args=(store,), daemon=True)
        collector.start()
        collector.join(10)
        assert not collector.is_alive()
        # Whoever held the pins comes by them again.
        store.delete([])
        await asyncio.sleep(0)
        await store.close()
        return names(tmp_path)

    assert asyncio.run(run()) == []


@pytest.mark.parametrize("size", [100 * 1024, 3 * MIB])
def test_a_stream_that_has_given_its_last_byte_lets_go_of_the_blob(
    tmp_path: Path, size: int
) -> None:
    async def run() -> list[str]:
        store = BlobStore(tmp_path)
        blob = await write(store, bytes(size))
        chunks = store.open(blob.id, size).chunks()
        read = 0
        while read < size:
            read += len(await anext(chunks))
        store.delete([blob.id])
        await store.close()
        return names(tmp_path)

    assert asyncio.run(run()) == []


@pytest.mark.parametrize("id", ["../../etc/passwd", "", "00000000-zz", "/etc/passwd"])
def test_an_id_of_a_foreign_form_reaches_no_file(tmp_path: Path, id: str) -> None:
    store = BlobStore(tmp_path)
    with pytest.raises(DamagedBlobError):
        store.open(id, 0)
    with pytest.raises(DamagedBlobError):
        store.delete([id])


def test_a_directory_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file in the way")

    async def run() -> None:
        store = BlobStore(tmp_path / "blobs" / "below")
        with pytest.raises(StateError, match=r"blobs.*cannot be created|blobs"):
            await write(store, b"content")
        await store.close()

    asyncio.run(run())


@pytest.mark.parametrize("size", [MIB, 2 * MIB])
def test_a_disk_that_refuses_is_named_also_while_content_is_hashed_beside(
    tmp_path: Path, size: int
) -> None:
    (tmp_path / "blobs").write_text("a file where the directory should be")

    async def run() -> None:
        store = BlobStore(tmp_path / "blobs")
        try:
            async with store.writer(["md5"]) as writer:
                await writer.commit(b"x" * size)
        finally:
            await store.close()

    with pytest.raises(StateError, match="blobs"):
        asyncio.run(run())


@pytest.mark.parametrize(("start", "size"), [("submit_hashing", 2 * MIB), ("submit_beside", MIB)])
def test_a_write_fails_and_leaves_nothing_when_no_thread_can_be_had_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str, size: int
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    async def run() -> list[str]:
        store = BlobStore(tmp_path / "blobs")
        monkeypatch.setattr(BlobStore, start, refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            async with asyncio.timeout(10), store.writer(["md5"]) as writer:
                await writer.commit(b"x" * size)
        await store.close()
        return names(tmp_path / "blobs")

    assert asyncio.run(run()) == []


@pytest.mark.parametrize("hashes", [["md5"], ["md5", "sha256"], []])
@pytest.mark.parametrize("size", [127 * 1024, 128 * 1024, MIB // 2 + 1, MIB - 1, MIB, MIB + 1])
def test_contents_given_at_once_are_hashed_and_kept_whatever_thread_does_it(
    tmp_path: Path, size: int, hashes: list[str]
) -> None:
    contents = [os.urandom(size) for _ in range(4)]

    async def put(store: BlobStore, content: bytes) -> Blob:
        async with store.writer(hashes) as writer:
            return await writer.commit(content)

    async def run() -> list[Blob]:
        store = BlobStore(tmp_path)
        blobs = list(await asyncio.gather(*(put(store, content) for content in contents)))
        await store.close()
        return blobs

    for blob, content in zip(asyncio.run(run()), contents, strict=True):
        expected = {name: hashlib.new(name, content).digest() for name in hashes}
        assert (blob.size, blob.digests) == (size, expected)
        assert (tmp_path / blob.id).read_bytes() == content


def test_a_sweep_removes_what_earlier_runs_left_and_no_row_knows(tmp_path: Path) -> None:
    async def earlier_run() -> tuple[Blob, Blob]:
        store = BlobStore(tmp_path)
        kept, orphan = await write(store, b"kept"), await write(store, b"orphan")
        await store.close()
        return kept, orphan

    kept, orphan = asyncio.run(earlier_run())
    (tmp_path / f"{orphan.id[:-1]}0.part").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("a person's own file")

    async def next_run() -> int:
        store = BlobStore(tmp_path)
        removed = await store.sweep({kept.id})
        await store.close()
        return removed

    assert asyncio.run(next_run()) == 2
    assert names(tmp_path) == sorted([kept.id, "notes.txt"])


def test_a_sweep_leaves_what_this_run_is_writing(tmp_path: Path) -> None:
    async def run() -> tuple[int, bytes]:
        store = BlobStore(tmp_path)
        done = await write(store, b"done, but no row yet")
        async with store.writer() as writer:
            await writer.write(b"x" * MIB)
            removed = await store.sweep(set())
            await writer.commit()
        data = await store.open(done.id, done.size).read()
        await store.close()
        return removed, data

    assert asyncio.run(run()) == (0, b"done, but no row yet")


def test_a_sweep_of_a_store_that_never_wrote_finds_nothing(tmp_path: Path) -> None:
    async def run() -> int:
        store = BlobStore(tmp_path / "never")
        removed = await store.sweep(set())
        await store.close()
        return removed

    assert asyncio.run(run()) == 0


def test_a_closed_store_refuses_work(tmp_path: Path) -> None:
    async def run() -> None:
        store = BlobStore(tmp_path)
        blob = await write(store, b"content")
        reader = store.open(blob.id, blob.size)
        await store.close()
        with pytest.raises(ClosedError):
            await reader.read()
        with pytest.raises(ClosedError):
            await write(store, b"more")

    asyncio.run(run())
