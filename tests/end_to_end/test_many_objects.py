"""Many objects in a process that may open few files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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


BUSY = """
    import asyncio

    from workers import DurableObject, Response, WorkerEntrypoint

    LARGE = "x" * 100_000


    class Thing(DurableObject):
        async def grow(self):
            self.ctx.storage.sql.exec("CREATE TABLE rows (number); INSERT INTO rows VALUES (1), (2), (3)")
            self.ctx.storage.kv.put("large", LARGE)
            self.ctx.storage.kv.put("n", 0)

        def count(self):
            n = self.ctx.storage.kv.get("n") + 1
            self.ctx.storage.kv.put("n", n)
            return n

        async def writes(self):
            return self.count()

        async def writes_again_later(self):
            for _ in range(3):
                self.count()
                await asyncio.sleep(0.05)
            return self.ctx.storage.kv.get("n") - 2

        async def runs_transactions(self):
            async def inside(txn):
                self.count()
                await asyncio.sleep(0.05)
                async def within(txn):
                    return self.ctx.storage.kv.get("n")
                return await self.ctx.storage.transaction(within)

            return await self.ctx.storage.transaction(inside)

        async def reads_on(self):
            cursor = self.ctx.storage.sql.exec("SELECT number FROM rows")
            cursor.next()
            n = self.count()
            await asyncio.sleep(0.2)
            assert len(cursor.toArray()) == 2
            return n

        async def blocks(self):
            async def inside():
                self.count()
                await asyncio.sleep(0.05)
                return self.count() - 1

            return await self.ctx.blockConcurrencyWhile(inside)

        async def calls(self):
            other = self.env.THING.get(self.env.THING.newUniqueId())
            n = self.count()
            await other.grow()
            await other.writes()
            return n

        async def grows_at_once(self):
            n = self.count()
            self.ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS more (number)")
            self.ctx.storage.kv.put("larger", LARGE)
            return n

        async def sets_an_alarm(self):
            n = self.count()
            await self.ctx.storage.setAlarm(4102444800000 - n)
            return n


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response("")
"""

ALL_AT_ONCE = """
import asyncio, json, os, resource, sys

resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
from pyflare import Pyflare

async def main():
    async with Pyflare(sys.argv[1], persist_to=sys.argv[2]) as flare:
        things = [flare.env().THING.getByName(str(n)) for n in range(LIVE)]
        await asyncio.gather(*(thing.grow() for thing in things))
        for turn in range(2):
            done = await asyncio.gather(*(thing.HOW() for thing in things), return_exceptions=True)
        after = await asyncio.gather(*(thing.writes() for thing in things), return_exceptions=True)
    print(json.dumps([sorted(set(map(str, done))), len(set(map(str, after))), str(after[0])]))

asyncio.run(main())
"""


@pytest.mark.parametrize(
    "how",
    [
        "writes", "writes_again_later", "runs_transactions", "reads_on", "blocks", "calls",
        "grows_at_once", "sets_an_alarm",
    ],
)  # fmt: skip
def test_more_objects_at_work_than_files_may_be_open(tmp_path: Path, how: str) -> None:
    project = write_project(
        tmp_path / "busy",
        BUSY,
        durable_objects={"bindings": [{"name": "THING", "class_name": "Thing"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Thing"]}],
    )
    # A transaction with an earlier alarm stays open until the scheduler knows of it.
    live = "40" if how == "sets_an_alarm" else "200"
    program = ALL_AT_ONCE.replace("FILES", "128").replace("LIVE", live).replace("HOW", how)

    done = subprocess.run(
        [sys.executable, "-c", program, str(project), str(tmp_path / "state")],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    counts, different, _ = json.loads(done.stdout.splitlines()[-1])
    each = {"writes_again_later": "4", "blocks": "3"}.get(how, "2")
    assert (counts, different) == ([each], 1)
