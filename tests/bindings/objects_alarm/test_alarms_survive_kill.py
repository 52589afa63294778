"""An alarm that has been acknowledged survives the sudden end of the process."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from pyflare_bindings.objects import ObjectKey, SqliteAlarmTable

_PROGRAM = """
import asyncio, itertools, sys
from pathlib import Path
from random import Random
from pyflare_bindings.clock import SystemClock
from pyflare_bindings.objects import AlarmScheduler, ObjectKey, SqliteAlarmTable

async def main():
    table = SqliteAlarmTable(Path(sys.argv[1]))
    scheduler = AlarmScheduler(table, clock=SystemClock(), random=Random())
    for n in itertools.count():
        ids = [f"{n % 50}-{m}" for m in range(4)]
        await asyncio.gather(
            *(scheduler.schedule(ObjectKey("rooms", id), 10_000_000_000_000 + n) for id in ids)
        )
        print(n, flush=True)

asyncio.run(main())
"""


def test_killed_in_the_middle_of_writing(path: Path) -> None:
    acknowledged: dict[str, int] = {}
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        with process.stdout as output:
            for line in output:
                acknowledged[f"{int(line) % 50}"] = int(line)
                if int(line) == 150:
                    process.send_signal(signal.SIGKILL)
        process.wait()
        asyncio.run(_check(path, acknowledged))


async def _check(path: Path, acknowledged: dict[str, int]) -> None:
    table = SqliteAlarmTable(path)
    assert not table.rebuilt
    for n, last in acknowledged.items():
        times = table.times([ObjectKey("rooms", f"{n}-{m}") for m in range(4)])
        assert len(set(times)) == 1, "a batch is there wholly or not at all"
        assert times[0] is not None
        assert times[0] >= 10_000_000_000_000 + last
    await table.close()
