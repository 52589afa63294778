"""A caller that is cancelled leaves nothing half-done and no file without a row."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.r2 import R2Bucket

MIB = 1024 * 1024
NEW = os.urandom(3 * MIB)


def blob_count(directory: Path) -> int:
    return len(list(directory.glob("*.blobs/*")))


async def cancel_after(turns: int, work: Any) -> bool:
    """Start `work`, let the loop turn and cancel it. Out: whether it was too late."""
    task = asyncio.ensure_future(work)
    for _ in range(turns):
        # Some turns wait for the threads, so that every stage of the work is met.
        await asyncio.sleep(0.0005 if turns > 5 else 0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return False
    return True


@pytest.mark.parametrize("durability", ["process", "machine"])
@pytest.mark.parametrize("size", [10, 3 * MIB], ids=["in the row", "in a file"])
@pytest.mark.parametrize("turns", [0, 1, 2, 4, 6, 9, 12, 20])
def test_a_write_that_is_cancelled_is_done_or_not_done(
    tmp_path: Path, clock: ManualClock, durability: Any, size: int, turns: int
) -> None:
    old, new = b"old" * 20_000, NEW[:size]

    async def run() -> tuple[bytes, int]:
        bucket = R2Bucket("a", tmp_path / "a.sqlite", clock, durability)
        await bucket.put("k", old)
        finished = await cancel_after(turns, bucket.put("k", new))
        found: Any = await bucket.get("k")
        content = bytes(await found.body.read())
        assert not finished or content == new
        await bucket.close()
        return content, blob_count(tmp_path)

    content, files = asyncio.run(run())
    assert content in (old, new)
    assert files == (1 if len(content) > 32 * 1024 else 0)


@pytest.mark.parametrize("turns", [0, 1, 2, 4, 6, 9, 12, 20])
def test_a_part_that_is_cancelled_leaves_no_file_of_its_own(
    tmp_path: Path, clock: ManualClock, turns: int
) -> None:
    async def run() -> tuple[int, int]:
        bucket = R2Bucket("a", tmp_path / "a.sqlite", clock)
        id = await bucket.uploads.create("k")
        await cancel_after(turns, bucket.uploads.upload_part("k", id, 1, NEW))
        await bucket.head("k")
        rows = bucket._files.read("SELECT count(*) FROM parts")[0][0]
        await bucket.close()
        return rows, blob_count(tmp_path)

    rows, files = asyncio.run(run())
    assert rows == files <= 1


def test_a_stream_that_never_ends_is_given_up_without_a_trace(
    tmp_path: Path, clock: ManualClock
) -> None:
    async def run() -> None:
        bucket = R2Bucket("a", tmp_path / "a.sqlite", clock)

        async def endless() -> Any:
            yield NEW
            await asyncio.Event().wait()

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(bucket.put("k", endless()), 0.05)
        assert await bucket.head("k") is None
        await bucket.close()

    asyncio.run(run())
    assert blob_count(tmp_path) == 0


def test_a_bucket_that_is_closed_refuses_work(tmp_path: Path, clock: ManualClock) -> None:
    from pyflare_bindings.storage.errors import ClosedError

    async def run() -> None:
        bucket = R2Bucket("a", tmp_path / "a.sqlite", clock)
        await bucket.put("k", b"")
        await bucket.close()
        await bucket.close()
        for request in (bucket.head("k"), bucket.get("k"), bucket.put("k", NEW), bucket.list()):
            with pytest.raises(ClosedError):
                await request

    asyncio.run(run())


def test_a_bucket_that_is_closed_while_it_is_written_to_ends_in_order(
    tmp_path: Path, clock: ManualClock
) -> None:
    async def run() -> list[Any]:
        bucket = R2Bucket("a", tmp_path / "a.sqlite", clock)
        await bucket.put("first", b"")
        writes = [asyncio.ensure_future(bucket.put(f"k{n}", NEW)) for n in range(4)]
        await asyncio.sleep(0)
        await bucket.close()
        return await asyncio.gather(*writes, return_exceptions=True)

    outcomes = asyncio.run(run())
    written = sum(not isinstance(outcome, Exception) for outcome in outcomes)

    async def reopen() -> tuple[int, int]:
        bucket = R2Bucket("a", tmp_path / "a.sqlite", clock)
        keys = [found.key for found in (await bucket.list()).objects]
        sweep = bucket._files._sweep
        assert sweep is not None
        await sweep
        await bucket.close()
        return len(keys) - 1, blob_count(tmp_path)

    assert asyncio.run(reopen()) == (written, written)
