"""What was acknowledged survives the sudden end of the process, and nothing else is left.

`PYFLARE_KILLS` is the number of random moments at which a writer is killed; a handful by default.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.r2 import ListOptions, R2Bucket
from pyflare_bindings.registry import BindingRegistry

KILLS = int(os.environ.get("PYFLARE_KILLS", "6"))

# Prints a line before each write ("begin") and after it was acknowledged ("done").
WRITER = """
import asyncio, json, os, sys
from pathlib import Path
from pyflare_bindings.registry import BindingRegistry

MIB = 1024 * 1024

def say(kind, key, etag, size):
    print(json.dumps([kind, key, etag, size]), flush=True)

async def pieces(seed, size):
    block = bytes([seed % 256]) * 65536
    for _ in range(size // len(block)):
        await asyncio.sleep(0)
        yield block

async def main(root, durability, seed):
    bucket = BindingRegistry(Path(root), durability=durability).r2("a")
    number = seed * 1000

    async def large():
        nonlocal number
        while True:
            number += 1
            key = "large/%d" % (number % 3)
            say("begin", key, None, 20 * MIB)
            made = await bucket.put(key, pieces(number, 20 * MIB), length=20 * MIB)
            say("done", key, made.etag, made.size)

    async def small():
        nonlocal number
        while True:
            number += 1
            key = "small/%d" % (number % 50)
            say("begin", key, None, 0)
            made = await bucket.put(key, b"%d" % number * 100)
            say("done", key, made.etag, made.size)
            await asyncio.sleep(0.001)

    async def whole():
        nonlocal number
        while True:
            number += 1
            key = "whole/%d" % (number % 20)
            size = (40_000, 300_000, MIB, 2 * MIB)[number % 4]
            say("begin", key, None, size)
            made = await bucket.put(key, bytes([number % 256]) * size)
            say("done", key, made.etag, made.size)
            await asyncio.sleep(0.003)

    async def in_parts():
        nonlocal number
        while True:
            number += 1
            key = "parts/%d" % (number % 3)
            say("begin", key, None, 11 * MIB)
            upload = await bucket.uploads.create(key)
            parts = []
            for part, size in ((1, 5 * MIB), (2, 5 * MIB), (3, MIB)):
                body = pieces(number + part, size)
                parts.append(
                    await bucket.uploads.upload_part(key, upload, part, body, length=size)
                )
            made = await bucket.uploads.complete(key, upload, parts)
            say("done", key, made.etag, made.size)

    async def deleting():
        nonlocal number
        while True:
            number += 1
            key = "large/%d" % (number % 3)
            await asyncio.sleep(0.02)
            # The other task of this key may be at work; the check allows for both.
            say("delete", key, None, 0)
            await bucket.delete(key)

    await asyncio.gather(large(), small(), whole(), in_parts(), deleting())

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""

Event = tuple[str, str, str | None, int]


def events_before_kill(root: Path, durability: str, seed: int, seconds: float) -> list[Event]:
    """Start a writer, kill it after a while and give what it said."""
    command = [sys.executable, "-c", WRITER, str(root), durability, str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(seconds)
        writer.send_signal(signal.SIGKILL)
        lines = [first, *writer.stdout.read().splitlines(keepends=True)]
    return [tuple(json.loads(line)) for line in lines if line.endswith("\n")]


def allowed_after(
    events: list[Event], before: dict[str, str]
) -> Iterator[tuple[str, set[str | None], bool]]:
    """For each key the etags it may have, and whether an unfinished write may have landed.

    Only the last acknowledged state counts; where a write or a deletion was under way when the
    process ended, its outcome is allowed as well.
    """
    keys = set(before) | {key for _, key, _, _ in events}
    for key in sorted(keys):
        state: set[str | None] = {before.get(key)}
        open_writes = 0
        deleted = False
        for kind, _, etag, _ in (event for event in events if event[1] == key):
            if kind == "begin":
                open_writes += 1
            elif kind == "delete":
                deleted = True
                state.add(None)
            else:
                open_writes -= 1
                state = {etag, None} if deleted else {etag}
        yield key, state, open_writes > 0


async def contents(bucket: R2Bucket) -> dict[str, str]:
    """Each key with its etag, after its content has been found to be what the etag says."""
    found: dict[str, str] = {}
    page = await bucket.list(ListOptions())
    assert not page.truncated
    for each in page.objects:
        got: Any = await bucket.get(each.key)
        digest, size = hashlib.md5(), 0
        parts = []
        async for chunk in got.body.chunks():
            digest.update(chunk)
            size += len(chunk)
            parts.append(chunk)
        assert size == each.size
        if "-" in each.etag:
            data = b"".join(parts)
            five = 5 * 1024 * 1024
            md5s = [hashlib.md5(data[at : at + five]).digest() for at in range(0, size, five)]
            assert each.etag == f"{hashlib.md5(b''.join(md5s)).hexdigest()}-{len(md5s)}"
        else:
            assert each.etag == digest.hexdigest()
        found[each.key] = each.etag
    return found


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_acknowledged_writes_are_whole_after_a_kill_and_nothing_else_remains(
    tmp_path: Path, durability: str
) -> None:
    generator = random.Random(f"{durability}-{KILLS}")
    before: dict[str, str] = {}
    acknowledged = 0

    async def check(events: list[Event]) -> dict[str, str]:
        registry = BindingRegistry(tmp_path)
        bucket = registry.r2("a")
        found = await contents(bucket)
        for key, etags, unfinished in allowed_after(events, before):
            assert unfinished or found.get(key) in etags, key
        assert set(found) <= {key for _, key, _, _ in events} | set(before)
        await registry.close()
        return found

    def blob_files() -> set[str]:
        return {path.name for path in tmp_path.rglob("*.blobs/*")}

    async def blobs_without_rows() -> set[str]:
        registry = BindingRegistry(tmp_path)
        bucket = registry.r2("a")
        await bucket.head("k")
        sweep = bucket._files._sweep
        assert sweep is not None
        await sweep
        rows = bucket._files.read(
            "SELECT blob FROM objects WHERE blob IS NOT NULL UNION ALL SELECT blob FROM parts"
        )
        known = {blob for (blob,) in rows}
        await registry.close()
        assert known <= blob_files()
        return blob_files() - known

    for kill in range((KILLS + 1) // 2):
        events = events_before_kill(tmp_path, durability, kill + 1, generator.uniform(0, 0.6))
        before = asyncio.run(check(events))
        acknowledged += sum(kind == "done" for kind, *_ in events)
        assert asyncio.run(blobs_without_rows()) == set()
    assert acknowledged
