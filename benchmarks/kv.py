"""KV through `env.KV` inside a worker, against bare apsw; and listings of a large namespace."""

import asyncio
import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import apsw

from benchmarks.report import Comparison, Target
from benchmarks.servers import HERE, free_port, pyflare_command, running
from pyflare_bindings.registry import BindingRegistry

PROJECT = HERE / "projects" / "keys" / "wrangler.jsonc"
KEYS, VALUE, PAGE = 1000, b"v" * 100, 1000
SMALL_NAMESPACE = 10_000


class BareTable:
    """A table of keys and values on one apsw connection, WAL, `synchronous=NORMAL`."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self._connection.execute("PRAGMA synchronous = NORMAL").fetchall()
        self._connection.execute("CREATE TABLE t (key TEXT PRIMARY KEY, value)")
        for index in range(KEYS):
            self._connection.execute("INSERT INTO t VALUES (?, ?)", (f"key/{index}", VALUE))

    def get(self, count: int, first: int) -> float:
        """Seconds for `count` point selects."""
        execute = self._connection.execute
        started = time.perf_counter()
        for index in range(count):
            execute("SELECT value FROM t WHERE key = ?", (f"key/{index % KEYS}",)).fetchone()
        return time.perf_counter() - started

    def put(self, count: int, first: int) -> float:
        """Seconds for `count` inserts that each commit."""
        execute = self._connection.execute
        started = time.perf_counter()
        for index in range(count):
            execute("INSERT INTO t VALUES (?, ?)", (f"new/{first + index}", VALUE))
        return time.perf_counter() - started

    def close(self) -> None:
        self._connection.close()


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """Times both sides in turn."""
    return [
        *_calls(directory / "kv", 5 if quick else 15, say),
        _listings(directory / "kv-listings", 100_000 if quick else 1_000_000, say),
    ]


def seconds_inside_worker(port: int, what: str, count: int = 1, first: int = 0) -> float:
    """What the worker on `port` measured for `count` calls, with keys from `first` on."""
    address = f"http://127.0.0.1:{port}/{what}?count={count}&first={first}"
    with urllib.request.urlopen(address, timeout=60) as answer:
        return float(json.load(answer)["seconds"])


def _calls(directory: Path, rounds: int, say: Callable[[str], None]) -> list[Comparison]:
    counts = {"get": 2000, "put": 1000}
    ours: dict[str, list[float]] = {what: [] for what in counts}
    theirs: dict[str, list[float]] = {what: [] for what in counts}
    directory.mkdir(parents=True)
    bare = BareTable(directory / "bare.sqlite")
    port = free_port()
    with running("pyflare", pyflare_command(PROJECT, port, directory / "state"), port):
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
                say(f"KV: round {number} of {rounds}")
    bare.close()
    targets = {"get": Target("at most", 25.0), "put": Target("at most", 40.0)}
    return [
        Comparison(
            f"KV {what} of 100 bytes",
            "apsw, WAL, NORMAL",
            "us",
            ours[what],
            theirs[what],
            shown="difference",
            target=targets[what],
        )
        for what in counts
    ]


def _listings(directory: Path, size: int, say: Callable[[str], None]) -> Comparison:
    """A page of a large namespace beside the same page of a small one: the page decides, not the namespace."""

    async def time_pages(keys: int) -> list[float]:
        registry = BindingRegistry(directory / str(keys))
        namespace = registry.kv("benchmark")
        await namespace.put("first", b"")
        rows = ((f"folder{n % 10}/{n:08}".encode(), 0) for n in range(keys))
        connection = apsw.Connection(str(namespace.path))
        with connection:
            connection.executemany(
                "INSERT INTO entries (key, size, value) VALUES (?, ?, x'')", rows
            )
        connection.close()
        times = []
        for number in range(11):
            started = time.perf_counter()
            page = await namespace.list("folder5/", PAGE)
            seconds = time.perf_counter() - started
            if len(page.keys) != min(PAGE, keys // 10):
                raise RuntimeError(f"a page has {len(page.keys)} keys")
            if number:
                times.append(seconds * 1e3)
        await registry.close()
        return times

    say(f"KV: listings of {size:,} keys")
    return Comparison(
        f"KV list of {PAGE} keys by prefix, {size:,} keys",
        f"the same, {SMALL_NAMESPACE:,} keys",
        "ms",
        asyncio.run(time_pages(size)),
        asyncio.run(time_pages(SMALL_NAMESPACE)),
        target=Target("at most", 1.5),
    )
