"""Whose turn it is inside an object: programs of two events, and the order of effects that production gives.

A program is a list of steps. Before the first step and after each one the event writes ``<event><number>`` into the
object's log. The steps inside a critical section write ``<event>.<number>``, those of a task ``<event>'<number>`` and
those of background work ``<event>~<number>`` and those of a timer ``<event>^<number>``.
"""

import json
from typing import Any

import pytest

from tests.emulator.conftest import request, write_worker

SOURCE = """
    import asyncio
    import json

    import js
    from pyodide.ffi import run_sync
    from workers import DurableObject, Response, WorkerEntrypoint


    class Gate(DurableObject):
        def __init__(self, ctx, env):
            super().__init__(ctx, env)
            self.log = []
            self.pause = asyncio.Event()

        async def fetch(self, request):
            name, steps = json.loads(await request.text())
            if name == "log":
                return Response(json.dumps(self.log))
            await self.run(name, steps)
            return Response(name)

        async def program(self, name, steps):
            await self.run(name, steps)

        async def run(self, name, steps):
            self.log.append(f"{name}0")
            for number, step in enumerate(steps, 1):
                await self.step(name, step)
                self.log.append(f"{name}{number}")

        async def step(self, name, step):
            storage = self.ctx.storage
            match step:
                case ["block", inner]:
                    await self.ctx.blockConcurrencyWhile(lambda: self.run(f"{name}.", inner))
                case ["block unawaited", inner]:
                    self.ctx.blockConcurrencyWhile(lambda: self.run(f"{name}.", inner))
                case ["transaction", inner]:
                    async def closure(txn):
                        await txn.put("t", 1)
                        await self.run(f"{name}.", inner)
                    await storage.transaction(closure)
                case ["timer later", inner]:
                    js.setTimeout(lambda: self.run(f"{name}^", inner), 5)
                case ["task", inner]:
                    await asyncio.create_task(self.run(f"{name}'", inner))
                case ["background", inner]:
                    self.ctx.waitUntil(self.run(f"{name}~", inner))
                case "get":
                    await storage.get("k")
                case "put":
                    await storage.put("k", name)
                case "put, not awaited":
                    storage.put("k", name).close()
                case "delete":
                    await storage.delete("k")
                case "list":
                    await storage.list()
                case "get many":
                    await storage.get(["k", "l"])
                case "get alarm":
                    await storage.getAlarm()
                case "sync kv":
                    storage.kv.get("k")
                case "sql":
                    storage.sql.exec("SELECT 1").one()
                case "run_sync of get":
                    run_sync(storage.get("k"))
                case "sync":
                    await storage.sync()
                case "resolved":
                    await js.Promise.resolve(1)
                case "sleep":
                    await asyncio.sleep(0.01)
                case "turn":
                    await asyncio.sleep(0)
                case "timer":
                    await js.scheduler.wait(10)
                case "run_sync of sleep":
                    run_sync(asyncio.sleep(0.01))
                case "fetch":
                    await (await self.env.SELF.fetch("http://x/")).text()
                case "other object":
                    stub = self.env.GATE.getByName("other")
                    await stub.fetch("http://x/", method="POST", body=json.dumps(["other", []]))
                case "rpc":
                    await self.env.GATE.getByName("other").program("other", [])
                case "gather":
                    await asyncio.gather(storage.get("k"), asyncio.sleep(0))
                case _:
                    raise AssertionError(step)


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            if request.method == "GET":
                return Response("hello")
            how, programs = json.loads(await request.text())
            stub = self.env.GATE.getByName("a")

            async def event(name, steps):
                if how == "rpc":
                    await stub.program(name, steps)
                else:
                    await stub.fetch("http://x/", method="POST", body=json.dumps([name, steps]))

            if how == "two stubs":
                other = self.env.GATE.getByName("a")
                await asyncio.gather(stub.program("A", programs["A"]), other.program("B", programs["B"]))
            else:
                await asyncio.gather(*(event(*each) for each in programs.items()))
            await asyncio.sleep(0.05)
            log = await stub.fetch("http://x/", method="POST", body=json.dumps(["log", []]))
            return Response(await log.text())
"""

ALONE = (
    "get",
    "put",
    "put, not awaited",
    "delete",
    "list",
    "get many",
    "get alarm",
    "sync kv",
    "sql",
    "run_sync of get",
    "sync",
    "resolved",
)
OPEN = ("sleep", "turn", "timer", "run_sync of sleep", "fetch", "other object", "rpc", "gather")


@pytest.fixture
def order(tmp_path, run):
    """Runs programs as events that arrive together, in this order, and gives the log."""
    config = write_worker(
        tmp_path / "gate",
        SOURCE,
        durable_objects={"bindings": [{"name": "GATE", "class_name": "Gate"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Gate"]}],
        services=[{"binding": "SELF", "service": "gate"}],
    )

    def run_programs(how: str = "fetch", **programs: Any) -> str:
        async def program(flare):
            answer = await request(flare, method="POST", body=json.dumps([how, programs]).encode())
            assert answer.status == 200, answer.text
            return " ".join(answer.json)

        return run(program, config)

    return run_programs


@pytest.mark.parametrize("step", ALONE)
@pytest.mark.parametrize("how", ["fetch", "rpc", "two stubs"])
def test_an_await_that_is_no_io_lets_nobody_in(order, step, how):
    assert order(how, A=[step], B=["get"]) == "A0 A1 B0 B1"


@pytest.mark.parametrize("step", OPEN)
@pytest.mark.parametrize("how", ["fetch", "rpc", "two stubs"])
def test_an_await_of_io_lets_other_events_in(order, step, how):
    assert order(how, A=[step], B=["get"]) == "A0 B0 B1 A1"


SLOW = ["sleep", "sleep"]

PROGRAMS = [
    (
        "a section keeps others out",
        {"A": [["block", ["sleep"]]], "B": ["get"]},
        "A0 A.0 A.1 A1 B0 B1",
    ),
    (
        "a transaction is a section",
        {"A": [["transaction", ["sleep"]]], "B": ["get"]},
        "A0 A.0 A.1 A1 B0 B1",
    ),
    (
        "it starts when the running turn is over",
        {"A": [["block unawaited", ["sleep"]], "get", "put"], "B": ["get"]},
        "A0 A1 A2 A3 A.0 A.1 B0 B1",
    ),
    (
        "what waits outside goes on after it, the newest event too, in the order of arrival",
        {"A": [["block unawaited", SLOW], "sleep"], "B": [], "C": [], "D": []},
        "A0 A1 A.0 A.1 A.2 B0 C0 D0 A2",
    ),
    (
        "who asked for it goes on first",
        {"A": ["sleep"], "B": [["block", SLOW]]},
        "A0 B0 B.0 B.1 B.2 B1 A1",
    ),
    (
        "a task that was made in it belongs to it",
        {"A": [["block", [["task", ["sleep"]]]]], "B": ["get"]},
        "A0 A.0 A.'0 A.'1 A.1 A1 B0 B1",
    ),
    (
        "background work from before waits for its end",
        {"A": [["background", ["get"]], ["block", ["sleep"]]]},
        "A0 A1 A.0 A.1 A2 A~0 A~1",
    ),
    (
        "the callback of a timer waits for its end",
        {"A": [["timer later", ["get"]], ["block", ["sleep", "sleep"]]], "B": ["get"]},
        "A0 A1 A.0 A.1 A.2 A2 B0 B1 A^0 A^1",
    ),
    (
        "a timer that was started in it belongs to it",
        {"A": [["block", [["timer later", ["get"]], "sleep"]]], "B": ["get"]},
        "A0 A.0 A.1 A.^0 A.^1 A.2 A1 B0 B1",
    ),
    (
        "a section in a section",
        {"A": [["block", ["get", ["block", ["sleep"]], "sleep"]]], "B": ["get"]},
        "A0 A.0 A.1 A..0 A..1 A.2 A.3 A1 B0 B1",
    ),
    (
        "a transaction in a section",
        {"A": [["block", [["transaction", ["sleep"]]]]], "B": ["get"]},
        "A0 A.0 A..0 A..1 A.1 A1 B0 B1",
    ),
    (
        "sections run one after the other, before anything else",
        {"A": [["block unawaited", ["sleep"]], ["block unawaited", ["timer"]]], "B": ["get"]},
        "A0 A1 A2 A.0 A.1 A.0 A.1 B0 B1",
    ),
    (
        "every kind of waiting is inside it",
        {"A": [["block", ["fetch", "rpc", "timer", "run_sync of sleep", "gather"]]], "B": []},
        "A0 A.0 A.1 A.2 A.3 A.4 A.5 A1 B0",
    ),
    (
        "two events that both want one",
        {"A": [["block", ["sleep"]]], "B": [["block", ["sleep"]]]},
        "A0 A.0 A.1 A1 B0 B.0 B.1 B1",
    ),
]


@pytest.mark.parametrize(
    ("programs", "expected"), [row[1:] for row in PROGRAMS], ids=[row[0] for row in PROGRAMS]
)
def test_critical_sections(order, programs, expected):
    assert order(**programs) == expected
