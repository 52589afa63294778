"""From spawn to the first answer, and memory after a thousand requests: `pyflare dev` and bare uvicorn."""

import socket
from collections.abc import Callable
from pathlib import Path

from benchmarks.load import first_answer
from benchmarks.report import Comparison, Target
from benchmarks.servers import (
    HERE,
    Server,
    free_port,
    pyflare_command,
    running,
    uvicorn_command,
)

REQUESTS = 1000
REQUEST = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
MEBIBYTE = 1024 * 1024


def _resident_after_requests(server: Server) -> float:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        for _ in range(REQUESTS):
            first_answer(connection, REQUEST)
    return server.resident_bytes() / MEBIBYTE


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """Starts both in turn, several times; the first start of each is for the byte-code cache."""
    rounds = 4 if quick else 10
    seconds: dict[str, list[float]] = {"pyflare": [], "uvicorn": []}
    memory: dict[str, list[float]] = {"pyflare": [], "uvicorn": []}
    project = HERE / "projects" / "hello" / "wrangler.jsonc"
    for number in range(rounds + 1):
        for name in ("pyflare", "uvicorn"):
            port = free_port()
            command = (
                pyflare_command(project, port, directory / "state" / "start")
                if name == "pyflare"
                else uvicorn_command("benchmarks.apps.bare:app", port)
            )
            with running(name, command, port) as server:
                if number:
                    seconds[name].append(server.seconds_to_first_answer * 1000)
                    memory[name].append(_resident_after_requests(server))
        if number:
            say(f"start: round {number} of {rounds}")
    return [
        Comparison(
            "start to first answer",
            "bare uvicorn",
            "ms",
            seconds["pyflare"],
            seconds["uvicorn"],
            target=Target("at most", 2.5),
        ),
        Comparison(
            f"resident memory after {REQUESTS} requests",
            "bare uvicorn",
            "MiB",
            memory["pyflare"],
            memory["uvicorn"],
            target=Target("at most", 1.7),
        ),
    ]
