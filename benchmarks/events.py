"""What the runtime itself costs: an event without HTTP, a FastAPI route through `asgi.fetch`, a streamed echo."""

import asyncio
import selectors
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.bare_sqlite import BareSQLite
from benchmarks.over_http import measure
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
from pyflare import Pyflare
from pyflare.js.request import Request

REFERENCE_SELECT = 3.4
"""Microseconds that a cached point select of bare apsw takes on the core for which the targets are written."""
EVENT_TARGET = 20.0
"""Microseconds for a trivial `fetch` event on that core."""
STREAM_TARGET = 200.0
"""Megabytes per second in each direction on that core."""
MEMORY_TARGET = 8.0
"""Megabytes by which the highest resident memory may grow while a body passes."""

EVENTS = 5000
MEGABYTES = 64
CHUNK = bytes(range(256)) * 256
HEADERS = [
    (b"host", b"localhost"),
    (b"user-agent", b"benchmark"),
    (b"accept", b"*/*"),
    (b"accept-encoding", b"br, gzip"),
    (b"cf-connecting-ip", b"127.0.0.1"),
]
ITEM = "GET /items/7?word=seven HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
ITEM_ANSWER = '{"number":7,"word":"seven","tags":["a","b"]}'


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """All three; the yardstick of the first and the last is bare apsw, measured in between."""
    bare_directory = directory / "state" / "events"
    bare_directory.mkdir(parents=True)
    bare = BareSQLite(bare_directory / "bare.sqlite", "process")
    try:
        return [
            asyncio.run(_events(bare, 5 if quick else 15, say)),
            _routes(directory, quick, say),
            *_echo(directory, bare, 3 if quick else 9, say),
        ]
    finally:
        bare.close()


def _select(bare: BareSQLite) -> float:
    return bare.select(EVENTS) * 1e6 / EVENTS


async def _events(bare: BareSQLite, rounds: int, say: Callable[[str], None]) -> Comparison:
    events: list[float] = []
    selects: list[float] = []
    project = HERE / "projects" / "hello" / "wrangler.jsonc"
    async with Pyflare(project, persist_to=None) as flare:
        worker = flare.loaded()

        async def event() -> None:
            request = Request.from_http("GET", "http://localhost/", HEADERS, None, lambda: None)
            response = await worker.fetch(request)
            response.take_payload()

        for number in range(rounds + 1):
            started = time.perf_counter()
            for _ in range(EVENTS):
                await worker.run(event())
            seconds = time.perf_counter() - started
            select = _select(bare)
            if number:
                events.append(seconds * 1e6 / EVENTS)
                selects.append(select)
                say(f"events: round {number} of {rounds}")
    return Comparison(
        "trivial fetch event, no HTTP",
        "apsw, cached point select",
        "us",
        events,
        selects,
        target=Target("at most", EVENT_TARGET / REFERENCE_SELECT),
        remark=f"{median(events):.1f} us an event, {median(selects):.2f} us a select",
    )


def _routes(directory: Path, quick: bool, say: Callable[[str], None]) -> Comparison:
    rounds, seconds = (3, 1.0) if quick else (7, 3.0)
    project = directory / "routes"
    shutil.copytree(HERE / "projects" / "routes", project)
    # The worker imports the application from beside its entry point, so both sides run one file.
    shutil.copy(HERE / "apps" / "fastapi_app.py", project)
    ports = free_port(), free_port()
    ours: list[float] = []
    theirs: list[float] = []
    with (
        running(
            "pyflare",
            pyflare_command(
                project / "wrangler.jsonc",
                ports[0],
                directory / "routes-state",
                "--log-level",
                "error",
            ),
            ports[0],
        ) as pyflare,
        running(
            "uvicorn", uvicorn_command("benchmarks.apps.fastapi_app:app", ports[1]), ports[1]
        ) as uvicorn,
    ):
        for number in range(rounds + 1):
            for server, found in ((pyflare, ours), (uvicorn, theirs)):
                seen = measure(server, ITEM, ITEM_ANSWER, seconds if number else 0.5).seen
                if number:
                    found.append(1e6 / seen.requests_per_second)
            if number:
                say(f"FastAPI: round {number} of {rounds}")
    return Comparison(
        "FastAPI route through asgi.fetch",
        "the same app, bare uvicorn",
        "us",
        ours,
        theirs,
        target=Target("at most", 1.4),
    )


def _echo(
    directory: Path, bare: BareSQLite, rounds: int, say: Callable[[str], None]
) -> list[Comparison]:
    project = HERE / "projects" / "echo" / "wrangler.jsonc"
    ports = free_port(), free_port()
    ours: list[float] = []
    theirs: list[float] = []
    wanted: list[float] = []
    highest: list[float] = []
    with (
        running(
            "pyflare", pyflare_command(project, ports[0], directory / "echo-state"), ports[0]
        ) as pyflare,
        running(
            "bare ASGI", uvicorn_command("benchmarks.apps.streaming:app", ports[1]), ports[1]
        ) as uvicorn,
    ):
        _megabytes_per_second(pyflare, 1)
        _megabytes_per_second(uvicorn, 1)
        before = pyflare.highest_resident_bytes() / 1e6
        for number in range(rounds):
            ours.append(_megabytes_per_second(pyflare, MEGABYTES))
            theirs.append(_megabytes_per_second(uvicorn, MEGABYTES))
            highest.append(pyflare.highest_resident_bytes() / 1e6)
            wanted.append(STREAM_TARGET * REFERENCE_SELECT / _select(bare))
            say(f"echo: round {number + 1} of {rounds}")
    name = f"{MEGABYTES} MB in and out"
    return [
        Comparison(
            name,
            f"{STREAM_TARGET:.0f} MB/s each way, on the reference core",
            "MB/s",
            ours,
            wanted,
            target=Target("at least", 1.0),
            remark=f"{median(ours):.0f} MB/s each way",
        ),
        Comparison(name, "bare ASGI", "MB/s", ours, theirs),
        Comparison(
            f"{name}, highest memory",
            "the same server before",
            "MB",
            highest,
            [before] * rounds,
            shown="difference",
            target=Target("at most", MEMORY_TARGET),
        ),
    ]


def _megabytes_per_second(server: Server, megabytes: int) -> float:
    """Sends a body and reads the same back at the same time, over one connection; MB/s in each direction.

    Raises `ServerFailed` when what comes back is too short."""
    total = megabytes * 1_000_000
    head = (
        "POST /echo HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
        f"content-length: {total}\r\n\r\n"
    ).encode()
    view = memoryview(CHUNK)
    room = bytearray(1 << 20)
    sent = received = 0
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(head)
        connection.setblocking(False)
        selector = selectors.DefaultSelector()
        selector.register(connection, selectors.EVENT_READ | selectors.EVENT_WRITE)
        started = time.perf_counter()
        while True:
            events = selector.select(10)
            if not events:
                break
            ready = events[0][1]
            if ready & selectors.EVENT_WRITE:
                offset = sent % len(CHUNK)
                sent += connection.send(view[offset : offset + total - sent])
                if sent == total:
                    selector.modify(connection, selectors.EVENT_READ)
            if ready & selectors.EVENT_READ:
                size = connection.recv_into(room)
                received += size
                if not size:
                    break
        seconds = time.perf_counter() - started
        selector.close()
    if received < total:
        raise ServerFailed(f"{server.name} sent back {received} of {total} bytes")
    return total / 1e6 / seconds
