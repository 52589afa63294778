"""What was confirmed survives the sudden end of the process, as a whole."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.objects import ObjectKey
from pyflare_bindings.registry import BindingRegistry

from .conftest import NAMESPACE, rows

PROGRAM = """
import asyncio, random, sys
from pathlib import Path
from pyflare_bindings.registry import BindingRegistry

FAR = 4_000_000_000_000

async def main(root, durability, seed):
    registry = BindingRegistry(Path(root), durability=durability)
    namespace = registry.objects("worker-Object")
    chance = random.Random(seed)

    async def use(name):
        storage = namespace.open(namespace.ids.from_name(name))
        while True:
            number = int(storage.get("number") or b"0")
            storage.exec("CREATE TABLE IF NOT EXISTS t (x)")
            if chance.random() < 0.05:
                storage.delete_all(True)
                storage.exec("CREATE TABLE t (x)")
                storage.put("deleted", b"%d" % (number + 1))
                storage.put("start", b"%d" % (number + 1))
            storage.put("number", b"%d" % (number + 1))
            storage.exec("INSERT INTO t VALUES (?)", (float(number + 1),))
            alarm = FAR + chance.randrange(1000)
            storage.alarm.set(alarm)
            await storage.commit()
            print(name, number + 1, alarm, flush=True)
            await asyncio.sleep(0)
            if chance.random() < 0.2:
                await storage.close()
                storage = namespace.open(namespace.ids.from_name(name))

    await asyncio.gather(*(use(str(n)) for n in range(12)))

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def confirmed_before_kill(
    root: Path, durability: str, seed: int, count: int
) -> dict[str, tuple[int, int]]:
    """Let objects write, read some confirmations, kill. Out: per object the last that was confirmed."""
    command = [sys.executable, "-c", PROGRAM, str(root), durability, str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(count)]
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.read().splitlines(keepends=True)
    confirmed = {}
    for line in lines:
        if line.endswith("\n"):
            name, number, alarm = line.split()
            confirmed[name] = (int(number), int(alarm))
    return confirmed


@pytest.mark.parametrize("durability", ["process", "machine"])
def test_killed_in_the_middle_of_writing(tmp_path: Path, durability: str) -> None:
    confirmed: dict[str, tuple[int, int]] = {}
    for round_ in range(4):
        last = confirmed_before_kill(tmp_path, durability, round_, 30 + 100 * round_)
        assert last
        confirmed |= last
        asyncio.run(check(tmp_path, confirmed))


async def check(root: Path, confirmed: dict[str, tuple[int, int]]) -> None:
    registry = BindingRegistry(root)
    namespace = registry.objects(NAMESPACE)
    assert len(namespace.stored_ids()) >= len(confirmed)
    for name, (number, alarm) in confirmed.items():
        id = namespace.ids.from_name(name)
        storage = namespace.open(id)
        stored = int(storage.get("number") or b"0")
        if storage.get("number") is None and storage.get("deleted") is None:
            # Killed between the deletion, which counts at once, and the commit after it.
            assert storage.list() == []
            confirmed[name] = (0, alarm)
            continue
        assert stored >= number
        start = int(storage.get("start") or b"1")
        expected = [(float(each),) for each in range(start, stored + 1)]
        assert rows(storage, "SELECT x FROM t ORDER BY rowid") == expected
        assert rows(storage, "PRAGMA quick_check") == [("ok",)]
        truth = storage.alarm.get()
        scheduled = scheduled_time(registry, id.hex)
        assert truth is not None
        assert scheduled is not None
        assert scheduled <= truth, "the scheduler is never behind the object"
        if stored == number:
            assert truth == alarm
    await registry.close()


def scheduled_time(registry: BindingRegistry, id: str) -> int | None:
    table: Any = registry.alarms()._table
    (time,) = table.times([ObjectKey(NAMESPACE, id)])
    return None if time is None else int(time)
