"""R2 through `env.BUCKET` inside a worker, against bare files and bare apsw; bodies over HTTP; listings."""

import asyncio
import hashlib
import http.client
import json
import os
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from benchmarks.report import Comparison, Target
from benchmarks.servers import (
    HERE,
    Server,
    ServerFailed,
    free_port,
    pyflare_command,
    running,
    uvicorn_command,
)
from pyflare_bindings.r2 import ListOptions
from pyflare_bindings.registry import BindingRegistry

MIB = 1024 * 1024
SMALL, LARGE, STREAMED = 1024, MIB, 64 * MIB
HUGE = 1024 * MIB
PROJECT = HERE / "projects" / "bucket" / "wrangler.jsonc"


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """Times both sides in turn."""
    return [
        *_calls(directory / "r2-calls", 4 if quick else 12, say),
        *_streams(directory / "r2-streams", 3 if quick else 7, say),
        *_memory(directory / "r2-memory", HUGE // 4 if quick else HUGE, say),
        *_listings(directory / "r2-listings", 100_000 if quick else 1_000_000, say),
    ]


# Calls


class BareFiles:
    """Files as a careful program writes them, and one bare apsw connection."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._connection = apsw.Connection(str(directory / "bare.sqlite"))
        self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self._connection.execute("PRAGMA synchronous = NORMAL").fetchall()
        self._connection.execute("CREATE TABLE t (key TEXT PRIMARY KEY, value)")
        self._connection.execute("INSERT INTO t VALUES ('small/1', ?)", (os.urandom(SMALL),))

    def write(self, count: int, size: int, *, commit: bool) -> float:
        """Seconds for `count` files written, synchronised and renamed, each with one commit if wanted."""
        content = os.urandom(size)
        execute = self._connection.execute
        part = self._directory / "part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        for index in range(count):
            # To rename over a file costs more than to give a new name.
            (self._directory / f"file-{index}").unlink(missing_ok=True)
        started = time.perf_counter()
        for index in range(count):
            descriptor = os.open(part, flags, 0o600)
            os.write(descriptor, content)
            os.fsync(descriptor)
            os.close(descriptor)
            os.rename(part, self._directory / f"file-{index}")
            if commit:
                execute("INSERT OR REPLACE INTO t VALUES (?, ?)", (f"{index % 500}", index))
        return time.perf_counter() - started

    def select(self, count: int) -> float:
        """Seconds for `count` point selects."""
        execute = self._connection.execute
        started = time.perf_counter()
        for _ in range(count):
            execute("SELECT value FROM t WHERE key = ?", ("small/1",)).fetchall()
        return time.perf_counter() - started

    def read(self, count: int) -> float:
        """Seconds for `count` files of one MiB read."""
        started = time.perf_counter()
        for _ in range(count):
            (self._directory / "file-1").read_bytes()
        return time.perf_counter() - started


def _inside_worker(server: Server, what: str, count: int) -> float:
    address = f"http://127.0.0.1:{server.port}/{what}?count={count}"
    with urllib.request.urlopen(address, timeout=60) as answer:
        return float(json.load(answer)["seconds"])


def _calls(directory: Path, rounds: int, say: Callable[[str], None]) -> list[Comparison]:
    directory.mkdir(parents=True)
    bare = BareFiles(directory)
    measures: list[tuple[str, str, int, float, Callable[[int], float]]] = [
        ("put", "R2 put of 1 KB", 200, 1e6, lambda n: bare.write(n, SMALL, commit=True)),
        ("get", "R2 get of 1 KB", 1000, 1e6, bare.select),
        ("put-large", "R2 put of 1 MB", 20, 1e3, lambda n: bare.write(n, LARGE, commit=False)),
        ("get-large", "R2 get of 1 MB", 20, 1e3, bare.read),
    ]
    ours: dict[str, list[float]] = {what: [] for what, *_ in measures}
    theirs: dict[str, list[float]] = {what: [] for what, *_ in measures}
    port = free_port()
    with running("pyflare", pyflare_command(PROJECT, port, directory / "state"), port) as server:
        for number in range(rounds + 1):
            for what, _, count, factor, baseline in measures:
                seconds = _inside_worker(server, what, count)
                bare_seconds = baseline(count)
                if number:
                    ours[what].append(seconds * factor / count)
                    theirs[what].append(bare_seconds * factor / count)
            if number:
                say(f"R2 calls: round {number} of {rounds}")
    file = "file: write, fsync, rename"
    return [
        Comparison(
            "R2 put of 1 KB",
            f"{file}; one apsw commit",
            "us",
            ours["put"],
            theirs["put"],
            target=Target("at most", 1.5),
        ),
        Comparison(
            "R2 get of 1 KB",
            "apsw, point select",
            "us",
            ours["get"],
            theirs["get"],
            shown="difference",
            target=Target("at most", 60.0),
        ),
        Comparison(
            "R2 put of 1 MB",
            file,
            "ms",
            ours["put-large"],
            theirs["put-large"],
            target=Target("at most", 1.8),
        ),
        Comparison("R2 get of 1 MB", "file: read", "ms", ours["get-large"], theirs["get-large"]),
    ]


# Bodies over HTTP


def _upload(server: Server, content: bytes) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    started = time.perf_counter()
    connection.request("PUT", "/object", body=content)
    answer = connection.getresponse().read().decode()
    seconds = time.perf_counter() - started
    connection.close()
    if answer != hashlib.md5(content).hexdigest():
        raise ServerFailed(f"{server.name} answered {answer!r} to an upload")
    return seconds


def _download(server: Server, size: int) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    buffer = memoryview(bytearray(MIB))
    started = time.perf_counter()
    connection.request("GET", "/object")
    answer = connection.getresponse()
    received = 0
    while count := answer.readinto(buffer):
        received += count
    seconds = time.perf_counter() - started
    connection.close()
    if received != size:
        raise ServerFailed(f"{server.name} sent {received} bytes of {size}")
    return seconds


@contextmanager
def _bare_store(directory: Path) -> Iterator[Server]:
    port = free_port()
    os.environ["BENCHMARK_STORE"] = str(directory)
    try:
        with running("bare ASGI", uvicorn_command("benchmarks.apps.files:app", port), port) as it:
            yield it
    finally:
        del os.environ["BENCHMARK_STORE"]


def _streams(directory: Path, rounds: int, say: Callable[[str], None]) -> list[Comparison]:
    directory.mkdir(parents=True)
    content = os.urandom(STREAMED)
    port = free_port()
    up: dict[str, list[float]] = {"pyflare": [], "bare ASGI": []}
    down: dict[str, list[float]] = {"pyflare": [], "bare ASGI": []}
    command = pyflare_command(PROJECT, port, directory / "state")
    with running("pyflare", command, port) as ours, _bare_store(directory) as bare:
        for number in range(rounds + 1):
            for server in (ours, bare):
                seconds = _upload(server, content), _download(server, STREAMED)
                if number:
                    up[server.name].append(STREAMED / MIB / seconds[0])
                    down[server.name].append(STREAMED / MIB / seconds[1])
            if number:
                say(f"R2 bodies of 64 MiB: round {number} of {rounds}")
    return [
        Comparison(
            f"R2, 64 MiB {way} through HTTP",
            f"bare ASGI app that {what}",
            "MiB/s",
            rates["pyflare"],
            rates["bare ASGI"],
            target=Target("at least", 0.6),
        )
        for way, what, rates in (
            ("up", "hashes, writes and fsyncs", up),
            ("down", "reads and sends", down),
        )
    ]


def _memory(directory: Path, size: int, say: Callable[[str], None]) -> list[Comparison]:
    directory.mkdir(parents=True)
    port = free_port()
    block = bytes(MIB)

    def upload(server: Server, count: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
        headers = {"content-length": str(count * MIB)}
        connection.request("PUT", "/object", body=(block for _ in range(count)), headers=headers)
        connection.getresponse().read()
        connection.close()

    with running("pyflare", pyflare_command(PROJECT, port, directory / "state"), port) as server:
        upload(server, 2)
        _download(server, 2 * MIB)
        before = server.highest_resident_bytes()
        upload(server, size // MIB)
        _download(server, size)
        after = server.highest_resident_bytes()
    say("R2 memory: done")
    return [
        Comparison(
            f"R2, memory for {size // MIB} MiB up and down",
            "the same server before",
            "MiB",
            [after / MIB],
            [before / MIB],
            shown="difference",
            target=Target("at most", 16.0),
        )
    ]


# Listings


def _listings(directory: Path, size: int, say: Callable[[str], None]) -> list[Comparison]:
    directory.mkdir(parents=True)
    small = size // 100
    times = {count: _list_times(directory / f"{count}", count) for count in (small, size)}
    say(f"R2 listings of {size} objects: done")
    return [
        Comparison(
            f"R2 list of 1000 {what} out of {size:,} objects",
            f"the same out of {small:,}",
            "ms",
            times[size][index],
            times[small][index],
            target=Target("at most", 1.5),
        )
        for index, what in enumerate(("groups, prefix and delimiter", "keys, prefix"))
    ]


def _list_times(directory: Path, count: int) -> tuple[list[float], list[float]]:
    async def run() -> tuple[list[float], list[float]]:
        registry = BindingRegistry(directory)
        bucket = registry.r2("a")
        await bucket.put("p/0000000/0", b"")
        await registry.close()
        _fill(registry.layout.database("r2", "a"), count)
        registry = BindingRegistry(directory)
        bucket = registry.r2("a")
        found: tuple[list[float], list[float]] = ([], [])
        for options, times in zip(
            (ListOptions(prefix="p/", delimiter="/"), ListOptions(prefix="p/0000")),
            found,
            strict=True,
        ):
            for _ in range(15):
                started = time.perf_counter()
                page = await bucket.list(options)
                times.append((time.perf_counter() - started) * 1e3)
                assert len(page.objects) + len(page.delimited_prefixes) == 1000
        await registry.close()
        return found

    return asyncio.run(run())


def _fill(path: Path, count: int) -> None:
    # Putting a million objects one by one would take longer than all the rest.
    connection = apsw.Connection(str(path))
    members = max(1, count // 2000)
    with connection:
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT OR IGNORE INTO objects"
            " (key, version, size, etag, uploaded, storage_class, content)"
            " SELECT CAST(printf('p/%07d/%d', i / ?, i % ?) AS BLOB), version, size, etag,"
            " uploaded, storage_class, x'' FROM n, objects WHERE objects.id = 1",
            (count, members, members),
        )
    connection.close()
