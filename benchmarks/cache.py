"""The Cache API inside a worker: a hot match, and a put against one bare commit of the same bytes."""

import time
from collections.abc import Callable
from pathlib import Path

import apsw

from benchmarks.kv import seconds_inside_worker
from benchmarks.report import Comparison, Target
from benchmarks.servers import HERE, free_port, pyflare_command, running

PROJECT = HERE / "projects" / "cached" / "wrangler.jsonc"
BODY = b"b" * 10_000


class BareCommits:
    """Commits of 10 KB on one apsw connection, WAL, `synchronous=NORMAL`; and doing nothing at all."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self._connection.execute("PRAGMA synchronous = NORMAL").fetchall()
        self._connection.execute("CREATE TABLE t (key TEXT PRIMARY KEY, value)")

    def put(self, count: int, first: int) -> float:
        """Seconds for `count` inserts that each commit."""
        execute = self._connection.execute
        started = time.perf_counter()
        for index in range(count):
            execute("INSERT INTO t VALUES (?, ?)", (f"http://cache.key/{first + index}", BODY))
        return time.perf_counter() - started

    def match(self, count: int, first: int) -> float:
        """Seconds for an empty loop: a hot match needs no database."""
        started = time.perf_counter()
        for _ in range(count):
            pass
        return time.perf_counter() - started

    def close(self) -> None:
        self._connection.close()


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """Times both sides in turn."""
    rounds = 5 if quick else 15
    counts = {"match": 2000, "put": 500}
    ours: dict[str, list[float]] = {what: [] for what in counts}
    theirs: dict[str, list[float]] = {what: [] for what in counts}
    state = directory / "cache"
    state.mkdir(parents=True)
    bare = BareCommits(state / "bare.sqlite")
    port = free_port()
    with running("pyflare", pyflare_command(PROJECT, port, state / "state"), port):
        seconds_inside_worker(port, "prepare")
        for number in range(rounds + 1):
            for what, count in counts.items():
                first = number * count
                seconds = seconds_inside_worker(port, what, count, first)
                bare_seconds = getattr(bare, what)(count, first)
                if number:
                    ours[what].append(seconds / count * 1e6)
                    theirs[what].append(bare_seconds / count * 1e6)
            if number:
                say(f"Cache: round {number} of {rounds}")
    bare.close()
    return [
        Comparison(
            "Cache match of 10 KB, hot",
            "an empty loop",
            "us",
            ours["match"],
            theirs["match"],
            shown="difference",
            target=Target("at most", 25.0),
        ),
        Comparison(
            "Cache put of 10 KB",
            "apsw, WAL, NORMAL",
            "us",
            ours["put"],
            theirs["put"],
            shown="difference",
            target=Target("at most", 100.0),
        ),
    ]
