"""Durable Objects from inside a worker, against the same work on bare apsw."""

import json
import shutil
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apsw

from benchmarks import object_statements as statements
from benchmarks.bare_sqlite import SYNCHRONOUS
from benchmarks.report import Comparison, Target
from benchmarks.servers import HERE, Server, free_port, pyflare_command, running


@dataclass(frozen=True, slots=True)
class Measure:
    """One kind of work: how often per round, what the baseline does, and the target of the difference in us."""

    what: str
    name: str
    baseline: str
    count: int
    target: float
    remark: str = ""


MEASURES = (
    Measure(
        "counter", "stub.fetch to a counter: a get and a put", "select, insert, commit", 1000, 60.0
    ),
    Measure(
        "new",
        "a new object, first hit",
        "a row in one shared file, commit",
        500,
        690.0,
        "a file of its own costs more than the row",
    ),
    Measure("insert", "sql.exec insert in a transaction", "insert", 2000, 8.0),
    Measure("select", "sql.exec point select", "select", 2000, 8.0),
)


class Bare:
    """One apsw connection over a file, WAL."""

    def __init__(self, path: Path, durability: str) -> None:
        self._connection = connection = apsw.Connection(str(path))
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS[durability]}").fetchall()
        connection.execute("CREATE TABLE kv (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
        connection.execute(statements.SCHEMA)
        with connection:
            for index in range(statements.ROWS):
                connection.execute(statements.INSERT, (index, statements.NOTE))

    def close(self) -> None:
        self._connection.close()

    def counter(self, count: int, _round: int) -> float:
        execute = self._connection.execute
        started = time.perf_counter()
        for index in range(count):
            execute("SELECT value FROM kv WHERE key = ?", ("count",)).fetchone()
            execute("BEGIN")
            execute("REPLACE INTO kv VALUES (?, ?)", ("count", index.to_bytes(4, "big")))
            execute("COMMIT")
        return time.perf_counter() - started

    def new(self, count: int, round: int) -> float:
        execute = self._connection.execute
        started = time.perf_counter()
        for index in range(count):
            execute("REPLACE INTO kv VALUES (?, ?)", (f"{round}-{index}", b"\0\0\0\1"))
        return time.perf_counter() - started

    def insert(self, count: int, _round: int) -> float:
        execute = self._connection.execute
        execute("BEGIN")
        started = time.perf_counter()
        for index in range(count):
            execute(statements.INSERT, (index, statements.NOTE))
        seconds = time.perf_counter() - started
        execute("DELETE FROM rows WHERE id > ?", (statements.ROWS,))
        execute("COMMIT")
        return seconds

    def select(self, count: int, _round: int) -> float:
        execute = self._connection.execute
        started = time.perf_counter()
        for index in range(count):
            execute(statements.SELECT, (index % statements.ROWS + 1,)).fetchone()
        return time.perf_counter() - started


def _inside_worker(server: Server, measure: Measure, round: int) -> float:
    address = f"http://127.0.0.1:{server.port}/{measure.what}?count={measure.count}&round={round}"
    with urllib.request.urlopen(address, timeout=60) as answer:
        return float(json.load(answer)["seconds"])


def _project(directory: Path) -> Path:
    # The worker imports the statements from beside its entry point, so both sides run one text.
    project = directory / "objects"
    if not project.exists():
        shutil.copytree(HERE / "projects" / "objects", project)
        shutil.copy(HERE / "object_statements.py", project)
    return project / "wrangler.jsonc"


def compare(
    directory: Path, *, durability: str, quick: bool, say: Callable[[str], None]
) -> list[Comparison]:
    """Times both sides in turn; `durability` is pyflare's level, the baseline's `synchronous` follows it."""
    rounds = 3 if quick else 9
    project = _project(directory)
    port = free_port()
    state = directory / "state" / f"objects-{durability}"
    state.mkdir(parents=True)
    bare = Bare(state / "bare.sqlite", durability)
    ours: dict[str, list[float]] = {measure.what: [] for measure in MEASURES}
    theirs: dict[str, list[float]] = {measure.what: [] for measure in MEASURES}
    command = pyflare_command(project, port, state, durability=durability)
    with running("pyflare", command, port) as server:
        for number in range(rounds + 1):
            for measure in MEASURES:
                seconds = _inside_worker(server, measure, number)
                bare_seconds = getattr(bare, measure.what)(measure.count, number)
                if number:
                    ours[measure.what].append(seconds * 1e6 / measure.count)
                    theirs[measure.what].append(bare_seconds * 1e6 / measure.count)
            if number:
                say(f"objects, durability {durability}: round {number} of {rounds}")
    bare.close()
    return [
        Comparison(
            measure.name if durability == "process" else f"{measure.name}, --durability machine",
            f"apsw, WAL, {SYNCHRONOUS[durability]}: {measure.baseline}",
            "us",
            ours[measure.what],
            theirs[measure.what],
            shown="difference",
            target=Target("at most", measure.target) if durability == "process" else None,
            remark=measure.remark,
        )
        for measure in MEASURES
    ]
