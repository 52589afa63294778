"""Queues inside a worker: one `send` against a bare insert, and messages produced and consumed in batches of 100."""

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import apsw

from benchmarks.report import Comparison, Target
from benchmarks.servers import HERE, free_port, pyflare_command, running

PROJECT = HERE / "projects" / "orders" / "wrangler.jsonc"
SENDS, FLOW = 2000, 10_000
FLOW_TARGET = 15_000
"""Messages that have to pass in a second, sent and consumed in one worker, all of them durable."""
BODY = json.dumps({"order": 4711, "customer": "somebody", "items": ["a", "b"]}).encode()


class BareTable:
    """A table of messages on one apsw connection, WAL, `synchronous=NORMAL`."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self._connection.execute("PRAGMA synchronous = NORMAL").fetchall()
        self._connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, sent_at, body)")

    def insert(self, count: int) -> float:
        """Seconds for `count` inserts that each commit."""
        execute = self._connection.execute
        started = time.perf_counter()
        for index in range(count):
            execute("INSERT INTO t (sent_at, body) VALUES (?, ?)", (index, BODY))
        return time.perf_counter() - started

    def close(self) -> None:
        self._connection.close()


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """Times both sides in turn."""
    rounds = 5 if quick else 15
    directory = directory / "queues"
    directory.mkdir(parents=True)
    bare = BareTable(directory / "bare.sqlite")
    port = free_port()
    sends: list[float] = []
    inserts: list[float] = []
    flows: list[float] = []
    command = pyflare_command(PROJECT, port, directory / "state", "--log-level", "error")
    with running("pyflare", command, port):
        for number in range(rounds + 1):
            send = _seconds_inside_worker(port, "send", SENDS)
            insert = bare.insert(SENDS)
            flow = _seconds_inside_worker(port, "flow", FLOW)
            if number:
                sends.append(send / SENDS * 1e6)
                inserts.append(insert / SENDS * 1e6)
                flows.append(FLOW / flow)
                say(f"queues: round {number} of {rounds}")
    bare.close()
    return [
        Comparison(
            "queue send of a small message",
            "apsw, WAL, NORMAL",
            "us",
            sends,
            inserts,
            shown="difference",
            target=Target("at most", 40.0),
        ),
        Comparison(
            f"queue, {FLOW:,} messages sent and consumed by 100",
            f"{FLOW_TARGET:,} a second",
            "messages/s",
            flows,
            [float(FLOW_TARGET)] * len(flows),
            target=Target("at least", 1.0),
        ),
    ]


def _seconds_inside_worker(port: int, what: str, count: int) -> float:
    address = f"http://127.0.0.1:{port}/{what}?count={count}"
    with urllib.request.urlopen(address, timeout=60) as answer:
        return float(json.load(answer)["seconds"])
