"""Alarms of the real server in real time: while it is killed, and while its code is saved.

`PYFLARE_ALARM_SECONDS` says how long the objects are troubled; CONTRIBUTING names the long run.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from .conftest import Serve
from .dev_server import DevServer, eventually
from .projects import write_project

OBJECTS = 200
KILLS = 5
SECONDS = float(os.environ.get("PYFLARE_ALARM_SECONDS", "8"))
LATEST = 5.0
"""How many seconds after its time, or after the start of the process, an alarm must have run."""

# Every change of the alarm has a number. What became of it is written down in the transaction that
# decides it: it ran, or a later change replaced it. So at the end each is accounted for.
BELLS = """
import json
import time

from workers import DurableObject, Response, WorkerEntrypoint

STARTED = time.time()


class Bell(DurableObject):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        self.exec = exec = ctx.storage.sql.exec
        exec("CREATE TABLE IF NOT EXISTS change (number INTEGER, kind TEXT, at REAL)")
        exec("CREATE TABLE IF NOT EXISTS run (number INTEGER, kind TEXT, at REAL, due REAL, ran REAL)")
        exec("CREATE TABLE IF NOT EXISTS replaced (number INTEGER, kind TEXT, at REAL, overdue REAL)")

    def current(self):
        rows = self.exec("SELECT number, kind, at FROM change").toArray()
        return (rows[0].number, rows[0].kind, rows[0].at) if rows else (0, "none", 0)

    async def change(self, number, kind, at):
        before, was, due = self.current()
        if number <= before:
            return
        if was == "set":
            overdue = time.time() - max(due / 1000, STARTED)
            self.exec("INSERT INTO replaced VALUES (?, ?, ?, ?)", before, was, due, overdue)
        self.exec("DELETE FROM change")
        self.exec("INSERT INTO change VALUES (?, ?, ?)", number, kind, at)
        if kind == "set":
            await self.ctx.storage.setAlarm(at)
        else:
            await self.ctx.storage.deleteAlarm()

    def alarm(self, info):
        number, kind, at = self.current()
        now = time.time() * 1000
        self.exec("INSERT INTO run VALUES (?, ?, ?, ?, ?)", number, kind, at, info.scheduledTime, now)
        if kind == "set" and at <= now:
            self.exec("UPDATE change SET kind = 'ran'")

    async def tell(self):
        def rows(query):
            return [list(row) for row in self.exec(query).raw()]

        return json.dumps(
            {
                "alarm": await self.ctx.storage.getAlarm(),
                "current": self.current(),
                "runs": rows("SELECT number, kind, at, due, ran FROM run"),
                "replaced": rows("SELECT number, overdue FROM replaced"),
            }
        )


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        what, name, *more = request.url.split("/")[3:]
        bell = self.env.BELL.getByName(name)
        if what == "tell":
            return Response(await bell.tell())
        number, at = map(int, more)
        await bell.change(number, what, at)
        return Response("changed")
"""


def two_workers(folder: Path) -> tuple[Path, Path]:
    """The one that has the class, and one that uses it from its own code."""
    binding = {"name": "BELL", "class_name": "Bell"}
    bells = write_project(
        folder / "bells",
        BELLS,
        name="bells",
        durable_objects={"bindings": [binding]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Bell"]}],
    )
    ringer = write_project(
        folder / "ringer",
        BELLS.replace("class Bell(DurableObject)", "class Unused"),
        name="ringer",
        durable_objects={"bindings": [{**binding, "script_name": "bells"}]},
    )
    return bells, ringer


@dataclass
class History:
    """What one object was asked for, by number, and when each change was confirmed, in milliseconds."""

    name: str
    asked: dict[int, tuple[str, int]] = field(default_factory=dict)
    confirmed: dict[int, float] = field(default_factory=dict)


class Trouble:
    """Changes alarms at random, over whatever server is there."""

    def __init__(self, start: Callable[[], DevServer]) -> None:
        self.start = start
        self.random = random.Random("alarms")
        self.histories = [History(f"bell-{number}") for number in range(OBJECTS)]
        self.server = start()
        self.up = asyncio.Event()
        self.up.set()
        self.until = 0.0

    async def run(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        async with asyncio.TaskGroup() as tasks:
            for first in range(20):
                tasks.create_task(self._change(self.histories[first::20]))
            for _ in range(KILLS):
                await asyncio.sleep(seconds / (KILLS + 1) * self.random.uniform(0.5, 1.5))
                self.up.clear()
                self.server.kill()
                self.server = await asyncio.to_thread(self.start)
                self.up.set()

    async def _change(self, histories: list[History]) -> None:
        host = {"host": self.random.choice(("ringer.localhost", "bells.localhost"))}
        async with httpx.AsyncClient(timeout=20, trust_env=False) as client:
            while time.monotonic() < self.until:
                await self.up.wait()
                history = self.random.choice(histories)
                number = len(history.asked) + 1
                kind = "set" if self.random.random() < 0.8 else "delete"
                at = int((time.time() + self.random.uniform(-0.2, 2.0)) * 1000)
                history.asked[number] = (kind, at)
                url = f"http://127.0.0.1:{self.server.port}/{kind}/{history.name}/{number}/{at}"
                try:
                    answer = await client.get(url, headers=host)
                except httpx.TransportError:
                    await asyncio.sleep(0.01)
                    continue
                assert answer.text == "changed", answer.text
                history.confirmed[number] = time.time() * 1000


def faults(history: History, told: dict[str, Any]) -> list[str]:
    """What is wrong with what became of the alarms of one object.

    While a change is not confirmed yet, the alarm that was there before may still run, as on the platform.
    """
    ran = {number for number, _, at, _, moment in told["runs"] if at <= moment}
    replaced = {number for number, _ in told["replaced"]}
    found = [
        f"{number} neither ran nor was replaced"
        for number in history.confirmed
        if history.asked[number][0] == "set" and number not in ran | replaced
    ]
    for number, kind, at, due, moment in told["runs"]:
        confirmed = number == 0 or moment > history.confirmed.get(number, math.inf)
        if moment < due:
            found.append(f"a run for {due:.0f} was {due - moment:.0f} ms early")
        elif kind in ("delete", "none") and confirmed:
            found.append(f"ran after its alarm was deleted by {number}")
        elif moment < at and confirmed:
            found.append(f"{number} ran {at - moment:.0f} ms early")
    found += [
        f"{number} was {overdue:.1f} s overdue when it was replaced"
        for number, overdue in told["replaced"]
        if overdue > LATEST
    ]
    if told["alarm"] is not None:
        found.append(f"an alarm is left at {told['alarm']}")
    return [f"{history.name}: {each}" for each in found]


@pytest.mark.parametrize(
    ("durability", "seconds"), [("process", SECONDS), ("machine", SECONDS / 2)]
)
def test_no_alarm_is_lost_early_or_run_after_its_deletion_through_five_kills(
    serve: Serve, tmp_path: Path, durability: str, seconds: float
) -> None:
    bells, ringer = two_workers(tmp_path)
    trouble = Trouble(lambda: serve(bells, ringer, arguments=("--durability", durability)))
    asyncio.run(trouble.run(seconds))
    server = trouble.server
    asked = [history for history in trouble.histories if history.asked]

    def told(history: History) -> Any:
        return server.get(f"/tell/{history.name}").json()

    for history in asked:
        eventually(lambda: told(history)["alarm"] is None, f"{history.name} without alarm")  # noqa: B023
    everything = [told(history) for history in asked]

    assert [fault for pair in zip(asked, everything, strict=True) for fault in faults(*pair)] == []
    assert sum(len(each["runs"]) for each in everything) > OBJECTS / 10
    assert sum(len(each["replaced"]) for each in everything) > OBJECTS / 20
    server.check_output()


TICK = """
from workers import DurableObject, Response, WorkerEntrypoint

class Tick(DurableObject):
    async def start(self, at):
        await self.ctx.storage.setAlarm(at)

    async def alarm(self, info):
        log = await self.ctx.storage.get("log") or []
        await self.ctx.storage.put("log", [*log, [VERSION, info.scheduledTime]])
        await self.ctx.storage.setAlarm(info.scheduledTime + 50)

    async def log(self):
        return [await self.ctx.storage.get("log") or [], await self.ctx.storage.getAlarm()]

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        tick = self.env.TICK.getByName("tick")
        what, *more = request.url.split("/")[3:]
        if what == "start":
            await tick.start(int(more[0]))
        return Response.json(await tick.log())
"""


def ticking(folder: Path, version: int) -> Path:
    return write_project(
        folder,
        f"VERSION = {version}\n{TICK}",
        durable_objects={"bindings": [{"name": "TICK", "class_name": "Tick"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Tick"]}],
    )


def test_a_repeating_alarm_goes_on_through_every_save_with_the_newest_code(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(ticking(tmp_path / "project", 0))
    server.get(f"/start/{int(time.time() * 1000) + 50}")
    for version in range(1, 6):
        (tmp_path / "project" / "src" / "entry.py").write_text(f"VERSION = {version}\n{TICK}")

        def newest(version: int = version) -> bool:
            log, _ = server.get("/log").json()
            return bool(log) and log[-1][0] == version

        eventually(newest, f"an alarm of version {version}")

    log, alarm = server.get("/log").json()
    steps = [later - earlier for (_, earlier), (_, later) in pairwise(log)]
    # A run that is late by more than a step makes the next one start from now.
    assert min(steps) >= 50, "none twice"
    assert max(steps) < LATEST * 1000, "none left out"
    assert [version for version, _ in log] == sorted(version for version, _ in log)
    assert alarm is None or alarm > log[-1][1]


def test_a_start_tells_of_pending_alarms_and_a_run_of_its_object(
    serve: Serve, tmp_path: Path
) -> None:
    project = ticking(tmp_path / "project", 0)
    server = serve(project)
    server.get(f"/start/{int(time.time() * 1000) + 1500}")
    server.kill()

    server = serve(project)
    output = server.wait_for_output('[wrangler:info] ALARM Tick "tick" ok (')
    assert "[wrangler:info] 1 alarm pending; the next is " in output


def test_an_overdue_alarm_waits_for_a_slow_import(serve: Serve, tmp_path: Path) -> None:
    project = ticking(tmp_path / "project", 0)
    server = serve(project)
    server.get(f"/start/{int(time.time() * 1000) + 200}")
    server.kill()
    time.sleep(0.3)
    entry = tmp_path / "project" / "src" / "entry.py"
    entry.write_text(f"import time\ntime.sleep(1)\nVERSION = 1\n{TICK}")

    server = serve(project)

    def ran() -> bool:
        log, _ = server.get("/log").json()
        return bool(log) and log[0][0] == 1

    eventually(ran, "the overdue alarm")
