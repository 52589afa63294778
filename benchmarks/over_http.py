"""Requests per second and latency over keep-alive connections: `pyflare dev`, Starlette, bare ASGI."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.load import Load, Measured
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

CONNECTIONS = 32
HELLO = "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
ITEM = json.dumps({"name": "a thing", "tags": ["x", "y", "z"], "price": 12.5, "sold": False})
ECHO = (
    "POST /echo HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    f"content-length: {len(ITEM)}\r\n\r\n{ITEM}"
)
CLIENT = f"raw sockets over epoll in a process of its own, {CONNECTIONS} connections"


@dataclass(frozen=True, slots=True)
class Round:
    """One round on one server: what the client saw, and the server's processor time per request, in us."""

    seen: Measured
    cpu: float


def measure(server: Server, request: str, expected: str, seconds: float) -> Round:
    """One round of `request` on every connection; each answer has to be `expected`. Raises `ServerFailed`."""
    load = Load(server.port, request, expected, CONNECTIONS, seconds)
    cpu = server.cpu_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"],
        input=json.dumps(asdict(load)),
        capture_output=True,
        text=True,
        cwd=HERE.parent,
        check=False,
    )
    if done.returncode:
        raise ServerFailed(f"load on {server.name}: {done.stderr}")
    seen = Measured(**json.loads(done.stdout))
    return Round(seen, (server.cpu_seconds() - cpu) * 1e6 / (seen.requests_per_second * seconds))


def _expected_echo(server: Server) -> str:
    # Each framework has its own JSON spacing; the value is the same.
    compact = json.dumps(json.loads(ITEM), separators=(",", ":"))
    return compact if server.name == "Starlette" else ITEM


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """Loads all servers in turn, several rounds, and compares pyflare with the other two."""
    rounds, seconds = (3, 1.0) if quick else (7, 3.0)
    with ExitStack() as stack:

        def start(name: str, command: list[str], port: int) -> Server:
            return stack.enter_context(running(name, command, port))

        ports = [free_port() for _ in range(4)]
        project = HERE / "projects" / "hello" / "wrangler.jsonc"
        state = directory / "state"
        pyflare = start("pyflare", pyflare_command(project, ports[0], state / "hello"), ports[0])
        quiet = start(
            "pyflare, no request log",
            pyflare_command(project, ports[1], state / "quiet", "--log-level", "error"),
            ports[1],
        )
        starlette = start(
            "Starlette", uvicorn_command("benchmarks.apps.starlette_app:app", ports[2]), ports[2]
        )
        bare = start("bare ASGI", uvicorn_command("benchmarks.apps.bare:app", ports[3]), ports[3])
        servers = [pyflare, starlette, bare, quiet]
        found: dict[tuple[str, str], list[Round]] = {}
        for kind, request in (("hello", HELLO), ("echo", ECHO)):
            for server in servers:
                expected = "Hello, World!" if kind == "hello" else _expected_echo(server)
                measure(server, request, expected, 0.5)
            for number in range(rounds):
                for server in servers:
                    expected = "Hello, World!" if kind == "hello" else _expected_echo(server)
                    measured = measure(server, request, expected, seconds)
                    found.setdefault((kind, server.name), []).append(measured)
                say(f"{kind}: round {number + 1} of {rounds}")
    comparisons = []
    for kind in ("hello", "echo"):
        targets = kind == "hello"
        name = "hello" if targets else "JSON echo (POST)"
        ours = found[kind, pyflare.name]
        client = max(
            item.seen.client_share for server in servers for item in found[kind, server.name]
        )
        for other in (starlette, bare):
            theirs = found[kind, other.name]
            wanted = targets and other is starlette
            comparisons += [
                Comparison(
                    f"{name}, requests/s",
                    other.name,
                    "1/s",
                    [item.seen.requests_per_second for item in ours],
                    [item.seen.requests_per_second for item in theirs],
                    target=Target("at least", 0.6) if wanted else None,
                    remark=f"the client used at most {client:.0%} of a core" if wanted else "",
                ),
                Comparison(
                    f"{name}, p50",
                    other.name,
                    "us",
                    [item.seen.p50 for item in ours],
                    [item.seen.p50 for item in theirs],
                ),
                Comparison(
                    f"{name}, p99",
                    other.name,
                    "us",
                    [item.seen.p99 for item in ours],
                    [item.seen.p99 for item in theirs],
                    target=Target("at most", 4.0) if wanted else None,
                ),
            ]
            if all(item.cpu for item in theirs):
                comparisons.append(
                    Comparison(
                        f"{name}, processor time per request",
                        other.name,
                        "us",
                        [item.cpu for item in ours],
                        [item.cpu for item in theirs],
                    )
                )
        comparisons.append(
            Comparison(
                f"{name}, requests/s, --log-level error",
                starlette.name,
                "1/s",
                [item.seen.requests_per_second for item in found[kind, quiet.name]],
                [item.seen.requests_per_second for item in found[kind, starlette.name]],
            )
        )
    return comparisons
