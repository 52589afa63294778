"""What people wait for when several processes share one state directory: a data command, and a takeover."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.load import first_answer
from benchmarks.report import Comparison, Target
from benchmarks.servers import HERE, Server, free_port, pyflare_command, running

REQUEST = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
COMMAND_MS = 300
TAKEOVER_MS = 1000


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """A command beside the bare start of the interpreter; a takeover beside an ordinary request."""
    rounds = 3 if quick else 10
    command: list[float] = []
    interpreter: list[float] = []
    takeover: list[float] = []
    request: list[float] = []
    for number in range(1, rounds + 1):
        _round(directory / f"shared-{number}", command, interpreter, takeover, request)
        say(f"sharing: round {number} of {rounds}")
    return [
        Comparison(
            "pyflare d1 execute beside a session", "the bare interpreter", "ms",
            command, interpreter, shown="difference", target=Target("at most", COMMAND_MS),
        ),
        Comparison(
            "first answer after the owner's kill -9", "an ordinary request", "ms",
            takeover, request, shown="difference", target=Target("at most", TAKEOVER_MS),
        ),
    ]  # fmt: skip


def _round(
    root: Path,
    command: list[float],
    interpreter: list[float],
    takeover: list[float],
    request: list[float],
) -> None:
    projects = [_project(root / name) for name in ("first", "second")]
    state = root / "state"
    ports = [free_port(), free_port()]
    with running("first", pyflare_command(projects[0], ports[0], state), ports[0]) as first:
        execute = [
            sys.executable, "-m", "pyflare", "d1", "execute", "DB", "--command", "SELECT 1",
            "--json", "-c", str(projects[0]), "--persist-to", str(state),
        ]  # fmt: skip
        for _ in range(5):
            command.append(_run(execute))
            interpreter.append(_run([sys.executable, "-c", ""]))
        with running("second", pyflare_command(projects[1], ports[1], state), ports[1]) as second:
            request.append(min(_ask(second) for _ in range(5)))
            first.process.kill()
            takeover.append(_ask(second))


def _project(folder: Path) -> Path:
    """The Worker of the other benchmarks, with a name and a folder of its own."""
    hello = HERE / "projects" / "hello"
    folder.mkdir(parents=True)
    (folder / "entry.py").write_text((hello / "entry.py").read_text())
    config = folder / "wrangler.jsonc"
    config.write_text(
        f'{{"name": "{folder.name}", "main": "entry.py", "compatibility_date": "2026-01-01",'
        ' "compatibility_flags": ["python_workers"],'
        ' "d1_databases": [{"binding": "DB", "database_id": "shared"}]}'
    )
    return config


def _run(words: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begun) * 1000


def _ask(server: Server) -> float:
    begun = time.perf_counter()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        first_answer(connection, REQUEST)
    return (time.perf_counter() - begun) * 1000
