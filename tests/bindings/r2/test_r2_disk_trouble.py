"""When the disk is full, read-only or damaged: a clear error, and the state as it was."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from pyflare_bindings.r2 import R2Bucket
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.blobs import DamagedBlobError
from pyflare_bindings.storage.errors import StateError

# Runs with a small file system of its own, which the kernel removes with the process.
OWN_DISK = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
PRELUDE = """
import asyncio, os, subprocess, sys
from pathlib import Path
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import StateError

root = Path(sys.argv[1])

async def refused(request, text):
    try:
        await request
    except StateError as error:
        assert text in str(error), str(error)
        assert str(root) in str(error), str(error)
    else:
        raise AssertionError("not refused")

async def state(bucket):
    page = await bucket.list()
    found = {}
    for each in page.objects:
        found[each.key] = bytes(await (await bucket.get(each.key)).body.read())
    return found

def files():
    return sorted(str(path) for path in root.rglob("*.blobs/*"))
"""
FULL = (
    PRELUDE
    + """
async def main():
    bucket = BindingRegistry(root).r2("a")
    before = {"large": os.urandom(1 << 20), "small": b"x"}
    for key, content in before.items():
        await bucket.put(key, content)
    kept = files()
    for _ in range(3):
        await refused(bucket.put("large", os.urandom(8 << 20)), "the disk is full")
    upload = await bucket.uploads.create("m")
    await refused(bucket.uploads.upload_part("m", upload, 1, os.urandom(8 << 20)), "disk is full")
    assert await state(bucket) == before
    ballast = root / "ballast"
    file = os.open(ballast, os.O_CREAT | os.O_WRONLY)
    try:
        while True:
            os.write(file, b"x" * 4096)
    except OSError:
        os.close(file)
    small = 0
    try:
        while True:
            await bucket.put("s%d" % small, os.urandom(20_000))
            small += 1
    except StateError as error:
        assert "the disk is full" in str(error), str(error)
    assert len(await state(bucket)) == 2 + small
    os.unlink(ballast)
    await bucket.put("after", os.urandom(1 << 20))
    await asyncio.sleep(0.1)
    assert len(files()) == len(kept) + 1, files()
    await bucket.close()

asyncio.run(main())
print("done")
"""
)
READ_ONLY = (
    PRELUDE
    + """
async def main():
    bucket = BindingRegistry(root).r2("a")
    before = {"large": os.urandom(1 << 20), "small": b"x"}
    for key, content in before.items():
        await bucket.put(key, content)
    # Files that are open for writing forbid the whole file system to become read-only.
    subprocess.run(["mount", "-o", "bind,ro", root, root], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True)
    await refused(bucket.put("large", os.urandom(1 << 20)), "writable")
    await refused(BindingRegistry(root).r2("another").put("k", b""), "writable")
    assert await state(bucket) == before
    os._exit(0 if print("done", flush=True) is None else 1)

asyncio.run(main())
"""
)


def run_on_own_disk(script: str, directory: Path, size: str) -> None:
    mount = f'mount -t tmpfs -o size={size} none "$0" && exec "$@"'
    command = [*OWN_DISK, mount, str(directory), sys.executable, "-c", script, str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "done\n", done.stderr


own_disk = pytest.mark.skipif(
    subprocess.run(
        [*OWN_DISK, "mount -t tmpfs none /mnt"], capture_output=True, check=False
    ).returncode
    != 0,
    reason="this system lets nobody mount a file system of their own",
)


@own_disk
def test_a_full_disk_is_named_and_nothing_changes(tmp_path: Path) -> None:
    run_on_own_disk(FULL, tmp_path, "6m")


@own_disk
def test_a_read_only_disk_is_named_and_reads_go_on(tmp_path: Path) -> None:
    run_on_own_disk(READ_ONLY, tmp_path, "20m")


def blob_paths(r2: Any) -> list[Path]:
    return sorted(r2.directory.glob("*.blobs/*"))


@pytest.mark.parametrize("damage", ["deleted", "cut off"])
def test_a_damaged_content_is_an_error_and_not_nothing(r2: Any, damage: str) -> None:
    r2.put("k", os.urandom(100_000))
    r2.put("other", b"fine")
    (path,) = blob_paths(r2)
    if damage == "deleted":
        path.unlink()
    else:
        os.truncate(path, 5)
    with pytest.raises(DamagedBlobError) as caught:
        r2.run(r2.bucket.get("k"))
    assert caught.value.path == path
    assert r2.run(r2.bucket.head("k")).size == 100_000
    assert r2.read("other") == b"fine"
    r2.put("k", b"written anew")
    assert r2.read("k") == b"written anew"


def test_a_part_that_is_gone_is_an_error(small: Any) -> None:
    async def upload() -> None:
        id = await small.bucket.uploads.create("k")
        parts = [
            await small.bucket.uploads.upload_part("k", id, n, bytes([n]) * 50)
            for n in range(1, 31)
        ]
        await small.bucket.uploads.complete("k", id, parts)

    small.run(upload())
    blob_paths(small)[0].unlink()
    with pytest.raises(DamagedBlobError):
        small.read("k")
    with pytest.raises(DamagedBlobError):
        small.streamed("k")


@pytest.mark.parametrize("content", [b"not a database at all" * 100, "cut off"])
def test_a_damaged_database_is_named_and_left_as_it_is(
    r2: Any, content: bytes | str, tmp_path: Path
) -> None:
    async def fill() -> None:
        for n in range(200):
            await r2.bucket.put(f"{n}", os.urandom(2000))

    r2.run(fill())
    r2.run(r2.bucket.close())
    (path,) = r2.directory.glob("*.sqlite")
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        os.truncate(path, path.stat().st_size // 2)
    damaged = path.read_bytes()

    async def read_all(bucket: R2Bucket) -> None:
        for n in range(200):
            await bucket.get(f"{n}")

    async def use() -> None:
        registry = BindingRegistry(tmp_path)
        bucket = registry.r2("test")
        for _ in range(2):
            with pytest.raises(StateError) as caught:
                await read_all(bucket)
            assert caught.value.path == path
        await registry.r2("fine").put("k", b"")
        try:
            await registry.close()
        except ExceptionGroup:
            pass

    asyncio.run(use())
    assert path.read_bytes() == damaged


def test_a_database_that_is_damaged_while_it_is_open_is_named(r2: Any) -> None:
    async def fill() -> None:
        for n in range(200):
            await r2.bucket.put(f"{n}", os.urandom(2000))

    r2.run(fill())
    (path,) = r2.directory.glob("*.sqlite")
    other = apsw.Connection(str(path))
    other.execute("SELECT count(*) FROM objects").fetchall()
    other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    with path.open("r+b") as file:
        size = file.seek(0, 2)
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    # A change from outside makes the connection drop what it remembers of the file.
    other.execute("PRAGMA user_version = 7")
    other.close()
    for request in (r2.bucket.get("1"), r2.bucket.put("1", b""), r2.bucket.delete("1")):
        with pytest.raises(StateError, match="damaged or cut off"):
            r2.run(request)


def test_a_database_that_is_moved_away_and_put_back_finds_its_contents(
    small: Any, clock: Any
) -> None:
    content = os.urandom(5000)
    small.put("k", content)
    small.run(small.bucket.close())
    path, aside = small.directory / "a.sqlite", small.directory / "aside"

    def started() -> None:
        small.bucket = R2Bucket("test", path, clock)
        small.run(small.bucket.list())

    path.rename(aside)
    started()
    assert small.keys() == []
    small.put("other", os.urandom(50_000))
    small.run(small.bucket.close())
    aside.rename(path)
    started()
    assert small.read("k") == content
    small.run(small.bucket.close())
