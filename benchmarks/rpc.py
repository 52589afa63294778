"""Calls and requests from one Worker to another, and to a Durable Object, through the SDK's wrappers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.bare_sqlite import BareSQLite
from benchmarks.events import REFERENCE_SELECT
from benchmarks.report import Comparison, Target
from benchmarks.servers import HERE
from pyflare import Pyflare

COUNT = 3000


@dataclass(frozen=True, slots=True)
class Measure:
    """A method of the calling Worker, and the microseconds that one of its calls may take on the reference core."""

    method: str
    name: str
    target: float | None


MEASURES = (
    Measure("numbers", "RPC call, two numbers", 25.0),
    Measure("order", "RPC call, a small dict both ways", None),
    Measure("object", "RPC call to an object, no storage", 25.0),
    Measure("fetch_many", "service binding fetch", 35.0),
)


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """The yardstick is bare apsw, measured in between."""
    bare_directory = directory / "state" / "rpc"
    bare_directory.mkdir(parents=True)
    bare = BareSQLite(bare_directory / "bare.sqlite", "process")
    projects = [
        HERE / "projects" / name / "wrangler.jsonc" for name in ("rpc_caller", "rpc_callee")
    ]
    flare = Pyflare(projects, persist_to=None)
    try:
        with asyncio.Runner(loop_factory=flare.loop_factory) as runner:
            return runner.run(_measure(flare, bare, 5 if quick else 15, say))
    finally:
        bare.close()


async def _measure(
    flare: Pyflare, bare: BareSQLite, rounds: int, say: Callable[[str], None]
) -> list[Comparison]:
    ours: dict[str, list[float]] = {measure.method: [] for measure in MEASURES}
    selects: dict[str, list[float]] = {measure.method: [] for measure in MEASURES}
    async with flare:
        worker = flare.loaded("rpc-caller")

        async def event(method: str) -> float:
            seconds: float = await getattr(worker.instance(), method)(COUNT)
            return seconds

        for number in range(rounds + 1):
            for measure in MEASURES:
                seconds = await worker.run(event(measure.method))
                select = bare.select(COUNT)
                if number:
                    ours[measure.method].append(seconds * 1e6 / COUNT)
                    selects[measure.method].append(select * 1e6 / COUNT)
            if number:
                say(f"rpc: round {number} of {rounds}")
    return [
        Comparison(
            measure.name,
            "apsw, cached point select",
            "us",
            ours[measure.method],
            selects[measure.method],
            target=None
            if measure.target is None
            else Target("at most", measure.target / REFERENCE_SELECT),
            remark=f"{median(ours[measure.method]):.1f} us each",
        )
        for measure in MEASURES
    ]
