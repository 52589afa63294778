"""D1 through `env.DB` inside a worker, against the same statements on bare apsw."""

import json
import shutil
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.bare_sqlite import SYNCHRONOUS, BareSQLite
from benchmarks.report import Comparison, Target
from benchmarks.servers import HERE, Server, free_port, pyflare_command, running


@dataclass(frozen=True, slots=True)
class Measure:
    """One kind of call: how often per round, the unit of the report and the target."""

    what: Literal["select", "insert", "batch", "scan"]
    name: str
    count: int
    unit: Literal["us", "ms"]
    shown: Literal["ratio", "difference"]
    target: Target


MEASURES = (
    Measure("select", "D1 point select", 2000, "us", "difference", Target("at most", 30.0)),
    Measure("insert", "D1 insert", 1000, "us", "difference", Target("at most", 40.0)),
    Measure("batch", "D1 batch of 500 inserts", 10, "ms", "difference", Target("at most", 3.0)),
    Measure("scan", "D1 scan of 5000 rows", 20, "ms", "ratio", Target("at most", 2.5)),
)
FACTOR = {"us": 1e6, "ms": 1e3}


def _inside_worker(server: Server, what: str, count: int = 1) -> float:
    address = f"http://127.0.0.1:{server.port}/{what}?count={count}"
    with urllib.request.urlopen(address, timeout=60) as answer:
        return float(json.load(answer)["seconds"])


def _project(directory: Path) -> Path:
    # The worker imports the statements from beside its entry point, so both sides run one text.
    project = directory / "project"
    if not project.exists():
        shutil.copytree(HERE / "projects" / "database", project)
        shutil.copy(HERE / "statements.py", project)
    return project / "wrangler.jsonc"


def compare(
    directory: Path, *, durability: str, quick: bool, say: Callable[[str], None]
) -> list[Comparison]:
    """Times both sides in turn. `durability` is pyflare's level; the baseline's `synchronous` follows it."""
    rounds = 5 if quick else 15
    project = _project(directory)
    port = free_port()
    state = directory / "state" / f"d1-{durability}"
    state.mkdir(parents=True)
    bare = BareSQLite(state / "bare.sqlite", durability)
    ours: dict[str, list[float]] = {measure.what: [] for measure in MEASURES}
    theirs: dict[str, list[float]] = {measure.what: [] for measure in MEASURES}
    command = pyflare_command(project, port, state, durability=durability)
    with running("pyflare", command, port) as server:
        _inside_worker(server, "prepare")
        for number in range(rounds + 1):
            for measure in MEASURES:
                factor = FACTOR[measure.unit] / measure.count
                seconds = _inside_worker(server, measure.what, measure.count)
                bare_seconds = getattr(bare, measure.what)(measure.count)
                if number:
                    ours[measure.what].append(seconds * factor)
                    theirs[measure.what].append(bare_seconds * factor)
            _inside_worker(server, "clear")
            bare.clear()
            if number:
                say(f"D1, durability {durability}: round {number} of {rounds}")
    bare.close()
    return [
        Comparison(
            measure.name if durability == "process" else f"{measure.name}, --durability machine",
            f"apsw, WAL, {SYNCHRONOUS[durability]}",
            measure.unit,
            ours[measure.what],
            theirs[measure.what],
            shown=measure.shown,
            target=measure.target if durability == "process" else None,
        )
        for measure in MEASURES
    ]
