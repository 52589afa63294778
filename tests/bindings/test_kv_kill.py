"""Acknowledged values survive the sudden end of the process, whole, and nothing else is left.

`PYFLARE_KILLS` sets how many random moments are tried.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyflare_bindings.registry import BindingRegistry

KILLS = int(os.environ.get("PYFLARE_KILLS", "5"))

# A value repeats its own number, so that one that is torn or mixed shows.
WRITER = """
import asyncio, sys
from pathlib import Path
from pyflare_bindings.registry import BindingRegistry

async def main(root, durability, first):
    kv = BindingRegistry(Path(root), durability=durability).kv("a")
    number = int(first)

    async def write(key, size):
        nonlocal number
        while True:
            number += 1
            mine = number
            value = b"%08d" % mine * size
            print("begin", key, mine, flush=True)
            await kv.put(key, value)
            print("done", key, mine, flush=True)
            await asyncio.sleep(0)

    await asyncio.gather(
        write("small", 10), write("large", 20_000), write("huge", 500_000), write("other", 20_000)
    )

asyncio.run(main(*sys.argv[1:]))
"""


def run_until_killed(root: Path, durability: str, first: int, seconds: float) -> list[str]:
    """Start a writer, kill it after a while. Out: the lines it printed."""
    command = [sys.executable, "-c", WRITER, str(root), durability, str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline()]
        time.sleep(seconds)  # the kill is to land anywhere
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.read().splitlines(keepends=True)
    return [line for line in lines if line.endswith("\n")]


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_kills_at_random_moments_lose_and_tear_nothing(tmp_path: Path, durability: str) -> None:
    def count_blobs() -> int:
        return len(list(tmp_path.glob("**/*.blobs/*")))

    async def check(begun: dict[str, set[int]], done: dict[str, int]) -> None:
        registry = BindingRegistry(tmp_path)
        kv = registry.kv("a")
        page = await kv.list()
        blobs = 0
        for key in page.keys:
            entry = await kv.get(key.name)
            assert entry is not None
            value = await entry.read()
            number = int(value[:8])
            assert value == b"%08d" % number * (len(value) // 8), f"{key.name} is torn"
            assert len(value) == {"small": 80, "huge": 4_000_000}.get(key.name, 160_000)
            assert number >= done.get(key.name, 0), f"{key.name} was acknowledged and is lost"
            assert number in begun[key.name]
            blobs += len(value) > 65536
        assert done.keys() <= {key.name for key in page.keys}
        assert count_blobs() == blobs, "a file without a row is left"
        await registry.close()

    moments = random.Random(f"kv {durability}")
    begun: dict[str, set[int]] = {}
    done: dict[str, int] = {}
    first = 0
    for _ in range(KILLS):
        for line in run_until_killed(tmp_path, durability, first, moments.uniform(0.0, 0.3)):
            what, key, number = line.split()
            first = max(first, int(number))
            if what == "begin":
                begun.setdefault(key, set()).add(int(number))
            else:
                done[key] = int(number)
        asyncio.run(check(begun, done))
    assert done
