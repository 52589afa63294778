"""Alarms: how late they run, what setting one costs, and a start with a million pending."""

import asyncio
import json
import random
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import apsw

from benchmarks.report import Comparison, Target
from benchmarks.servers import HERE, free_port, pyflare_command, running
from pyflare import Pyflare
from pyflare_bindings.objects import ObjectKey, SqliteAlarmTable
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.layout import file_name

PROJECT = HERE / "projects" / "alarms" / "wrangler.jsonc"
NAMESPACE = "alarms-Bell"
FAR = 4_000_000_000_000
PENDING = 100_000
WRITES, MOVES = 1_000, 10_000
BATCH = 50_000


def _get(port: int, path: str) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=120) as answer:
        return answer.read()  # type: ignore[no-any-return]


def _lateness(port: int, count: int, ahead: int, spread: int = 0) -> tuple[float, float]:
    """How many milliseconds alarms are late: the median, and what all but a hundredth keep to."""
    _get(port, f"/ring?count={count}&ahead={ahead}&spread={spread}")
    time.sleep((ahead + spread) / 1000)
    while len(late := json.loads(_get(port, "/late"))) < count:
        time.sleep(0.2)
    if len(late) > count or min(late) < 0:
        raise AssertionError(
            f"{len(late)} runs of {count} alarms, the earliest {min(late)} ms late"
        )
    late.sort()
    return late[count // 2], late[count * 99 // 100]


def _against_limit(
    name: str, found: list[float], limit: float, unit: str, remark: str = ""
) -> Comparison:
    return Comparison(
        name,
        f"the limit, {limit:g} {unit}",
        unit,
        found,
        [limit] * len(found),
        target=Target("at most", 1.0),
        remark=remark,
    )


def _compare_lateness(directory: Path, rounds: int, say: Callable[[str], None]) -> list[Comparison]:
    few: list[tuple[float, float]] = []
    many: list[tuple[float, float]] = []
    port = free_port()
    with running("pyflare", pyflare_command(PROJECT, port, directory / "lateness"), port):
        for number in range(rounds + 1):
            found = _lateness(port, 200, 300), _lateness(port, 2_000, 3_000, 1_000)
            if number:
                few.append(found[0])
                many.append(found[1])
                say(f"alarms, lateness: round {number} of {rounds}")
    return [
        _against_limit("200 alarms 300 ms ahead, median lateness", [f[0] for f in few], 1.5, "ms"),
        _against_limit("200 alarms 300 ms ahead, p99 lateness", [f[1] for f in few], 10, "ms"),
        _against_limit(
            "2,000 alarms in one second, p99 lateness",
            [m[1] for m in many],
            50,
            "ms",
            "None is lost and none early, or the run fails.",
        ),
    ]


async def _fill_scheduler(state: Path, ids: list[bytes]) -> None:
    registry = BindingRegistry(state)
    path = registry.layout.database("alarms", "alarms")
    await registry.close()
    table = SqliteAlarmTable(path)
    for first in range(0, len(ids), BATCH):
        batch = ids[first : first + BATCH]
        await table.write({ObjectKey(NAMESPACE, id.hex()): FAR for id in batch})
    await table.close()


async def _one_object(state: Path) -> Path:
    """Make an object that has nothing but an alarm. Gives the file that it shares with others like it."""
    registry = BindingRegistry(state)
    namespace = registry.objects(NAMESPACE)
    storage = namespace.open(namespace.ids.unique())
    storage.alarm.set(FAR)
    await storage.commit()
    await registry.close()
    return registry.layout.directory("do") / file_name(NAMESPACE, "") / "young.sqlite"


def _copy_object(path: Path, ids: list[bytes]) -> None:
    connection = apsw.Connection(str(path))
    (row,) = connection.execute("SELECT alarm, image FROM young").fetchall()
    with connection:
        connection.executemany(
            "INSERT INTO young VALUES(?, ?, ?)", ((id, *row) for id in sorted(ids))
        )
    connection.close()


def _ids(count: int) -> list[bytes]:
    chance = random.Random("alarms")
    return [chance.randbytes(32) for _ in range(count)]


def _compare_cost(directory: Path, rounds: int, say: Callable[[str], None]) -> list[Comparison]:
    state = directory / "cost"
    asyncio.run(_fill_scheduler(state, _ids(PENDING)))
    found: dict[int, list[float]] = {0: [], -1: [], 1: []}
    port = free_port()
    with running("pyflare", pyflare_command(PROJECT, port, state), port):
        for number in range(rounds + 1):
            for step, costs in found.items():
                answer = json.loads(_get(port, f"/write?count={WRITES}&step={step}"))
                if number:
                    costs.append(answer["seconds"] / WRITES * 1e6)
            if number:
                say(f"alarms, cost: round {number} of {rounds}")
    return [
        Comparison(
            f"setAlarm {direction}, {PENDING:,} pending",
            "storage.put, each confirmed",
            "us",
            found[step],
            found[0],
            shown="difference",
            target=Target("at most", 60.0),
        )
        for direction, step in (("to an earlier time", -1), ("to a later time", 1))
    ]


async def _writes_of_moves(state: Path) -> float:
    """How often the scheduler's table is written while one object moves its alarm later."""
    async with Pyflare([PROJECT], persist_to=state) as flare:
        bell = flare.env().BELL.getByName("mover")
        await bell.set(FAR)
        assert flare.registry is not None
        scheduler = flare.registry.alarms()
        before = scheduler.writes
        await bell.move(FAR + 1, MOVES)
        return float(scheduler.writes - before)


def _compare_moves(directory: Path) -> Comparison:
    writes = [asyncio.run(_writes_of_moves(directory / f"moves-{n}")) for n in range(2)]
    return Comparison(
        f"scheduler writes for {MOVES:,} moves to a later time",
        "one each",
        "writes",
        writes,
        [float(MOVES)] * len(writes),
        target=Target("at most", 0.5),
        remark=f"{writes[0]:.0f} writes; the object commits after every hundredth move.",
    )


def _compare_start(
    directory: Path, pending: int, limit: float, rounds: int, say: Callable[[str], None]
) -> Comparison:
    state = directory / "start"
    ids = _ids(pending)
    say(f"alarms, start: making {pending:,} objects")
    template = asyncio.run(_one_object(state))
    _copy_object(template, ids)
    asyncio.run(_fill_scheduler(state, ids))
    seconds = []
    for number in range(rounds + 1):
        port = free_port()
        # Without this note the table is compared with every object, as after a long time.
        for note in state.rglob("compared"):
            note.unlink()
        with running("pyflare", pyflare_command(PROJECT, port, state), port) as server:
            if number:
                seconds.append(server.seconds_to_first_answer)
                say(f"alarms, start: round {number} of {rounds}")
    return _against_limit(
        f"start to first answer, {pending:,} pending",
        seconds,
        limit,
        "s",
        "All objects are compared with the table meanwhile and afterwards.",
    )


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """Measures all of it; with `quick` fewer rounds and a tenth of the pending alarms."""
    directory = directory / "alarms"
    directory.mkdir(parents=True)
    rounds = 2 if quick else 7
    return [
        *_compare_lateness(directory, rounds, say),
        *_compare_cost(directory, 3 if quick else 15, say),
        _compare_moves(directory),
        _compare_start(directory, *((100_000, 0.6) if quick else (1_000_000, 6.0)), 2, say),
    ]
