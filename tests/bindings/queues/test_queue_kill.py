"""Messages survive the sudden end of the process until they are acknowledged; none is there twice.

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

# What is printed before a step may have happened, what is printed after it must have.
WORKER = """
import asyncio, sys
from pathlib import Path
from pyflare_bindings.queues import Outgoing
from pyflare_bindings.registry import BindingRegistry

def body(number):
    # Long bodies are kept in a table of their own.
    return (b"%d" % number).ljust(3000 if number % 4 == 0 else 0)

async def main(root, durability, first):
    registry = BindingRegistry(Path(root), durability=durability)
    queue, dead = registry.queue("q"), registry.queue("dead")
    number = int(first)

    async def produce():
        nonlocal number
        while True:
            numbers = range(number + 1, number + 4)
            number += 3
            print("sending", *numbers, flush=True)
            await queue.send_batch([Outgoing(body(each)) for each in numbers])
            print("sent", *numbers, flush=True)
            await asyncio.sleep(0)

    async def consume():
        while True:
            lease = await queue.lease(5, 60)
            if lease is not None:
                bodies = [str(int(message.body)) for message in lease.messages]
                # Every seventh message fails for good, the others are done at once.
                failing = {m.number: 0 for m in lease.messages if int(m.body) % 7 == 0}
                print("settling", *bodies, flush=True)
                settled = await queue.settle(lease, failing, max_retries=0, dead_letter=dead)
                print("done", *[str(int(m.body)) for m in settled.acknowledged], flush=True)
                print("moved", *[str(int(m.body)) for m in settled.dead], flush=True)
            await asyncio.sleep(0)

    await asyncio.gather(produce(), consume())

asyncio.run(main(*sys.argv[1:]))
"""


def run_until_killed(root: Path, durability: str, first: int, seconds: float) -> list[str]:
    """Start a process, kill it after a while. Out: the whole lines it printed."""
    command = [sys.executable, "-c", WORKER, str(root), durability, str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        time.sleep(seconds)  # the kill is to land anywhere
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines(keepends=True)
    return [line for line in lines if line.endswith("\n")]


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path, durability: str) -> None:
    async def stored(queue: str) -> list[int]:
        registry = BindingRegistry(tmp_path)
        found: list[int] = []
        page = await registry.queue(queue).list(1000)
        while page:
            found += [int(message.body) for message in page]
            page = await registry.queue(queue).list(1000, page[-1])
        metrics = await registry.queue(queue).metrics()
        assert metrics.backlog_count == len(found)
        await registry.close()
        return found

    moments = random.Random(f"queues {durability}")
    events: dict[str, set[int]] = {
        name: set() for name in ("sending", "sent", "settling", "done", "moved")
    }
    for _ in range(KILLS):
        first = max(events["sending"], default=0)
        for line in run_until_killed(tmp_path, durability, first, moments.uniform(0.0, 0.3)):
            what, *numbers = line.split()
            events[what].update(map(int, numbers))
        waiting, dead = asyncio.run(stored("q")), asyncio.run(stored("dead"))
        assert len(waiting) == len(set(waiting)), "a message is there twice"
        assert len(dead) == len(set(dead)), "a dead letter is there twice"
        assert not set(waiting) & set(dead), "a message is in both queues"
        assert set(waiting) | set(dead) <= events["sending"]
        lost = events["sent"] - events["settling"] - set(waiting)
        assert not lost, "accepted messages are gone before their delivery was settled"
        gone = {number for number in events["sent"] if number % 7 == 0} - set(waiting) - set(dead)
        assert not gone, "messages that must not be lost are gone"
        assert not events["done"] & set(waiting), "an acknowledged message came back"
        assert events["moved"] <= set(dead)
    assert events["done"]
    assert events["moved"]
