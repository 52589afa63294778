"""Many objects in a process that may open few files."""

import json
import subprocess
import sys
from pathlib import Path

from .projects import write_project

SOURCE = """
    import asyncio

    from workers import DurableObject, Response, WorkerEntrypoint


    class Thing(DurableObject):
        together = most = 0

        async def touch(self, writes, stay):
            sql = self.ctx.storage.sql
            sql.exec("CREATE TABLE IF NOT EXISTS rows (number)")
            for number in range(writes):
                sql.exec("INSERT INTO rows VALUES (?)", number)
                await self.ctx.storage.sync()
            Thing.together += 1
            Thing.most = max(Thing.most, Thing.together)
            await asyncio.sleep(stay)
            Thing.together -= 1
            return sql.exec("SELECT count(*) AS n FROM rows").one().n

        async def peak(self):
            return Thing.most


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response("")
"""

PROGRAM = """
import asyncio, json, os, resource, sys

resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
from pyflare import Pyflare
from pyflare_bindings.clock import ManualClock

def open_files():
    return len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0

async def main():
    clock = ManualClock()
    async with Pyflare(sys.argv[1], persist_to=sys.argv[2], clock=clock) as flare:
        things = flare.env().THING
        before = open_files()
        touched = []
        for first in range(0, TOUCHED, 50):
            numbers = range(first, first + 50)
            touched += await asyncio.gather(*(things.getByName(str(n)).touch(1, 0) for n in numbers))
        live = await asyncio.gather(*(things.getByName(str(n)).touch(20, 0.3) for n in range(LIVE)))
        peak = await things.getByName("0").peak()
        await clock.advance(30)
        idle = open_files() - before
        again = await asyncio.gather(*(things.getByName(str(n)).touch(1, 0) for n in range(LIVE)))
    print(json.dumps([sorted(set(touched)), sorted(set(live)), peak, idle, sorted(set(again))]))

asyncio.run(main())
"""


def test_more_live_objects_than_files_may_be_open(tmp_path: Path) -> None:
    project = write_project(
        tmp_path / "many",
        SOURCE,
        durable_objects={"bindings": [{"name": "THING", "class_name": "Thing"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Thing"]}],
    )
    program = PROGRAM.replace("FILES", "128").replace("TOUCHED", "1000").replace("LIVE", "300")

    done = subprocess.run(
        [sys.executable, "-c", program, str(project), str(tmp_path / "state")],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    touched, live, peak, idle, again = json.loads(done.stdout.splitlines()[-1])
    assert (touched, live, again) == ([1], [21], [22])
    assert peak == 300
    assert idle < 10
