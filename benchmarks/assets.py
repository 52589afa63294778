"""Static assets: files of two sizes from `pyflare dev`, in front of a Worker, and from Starlette's StaticFiles."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.apps.static_files import DIRECTORY
from benchmarks.over_http import Round, measure
from benchmarks.report import Comparison, Target
from benchmarks.servers import HERE, free_port, pyflare_command, running, uvicorn_command

FILES = {"page.html": 4 << 10, "picture.txt": 1 << 20}
"""Bytes by name: one that is answered in one piece, and one that is read while it is sent."""
TARGET = 0.7


def _project(directory: Path) -> Path:
    public = directory / "assets" / "public"
    public.mkdir(parents=True)
    (public / "index.html").write_text("home")
    for name, size in FILES.items():
        (public / name).write_text("0123456789abcdef" * (size // 16))
    project = directory / "assets" / "wrangler.json"
    hello = json.loads((HERE / "projects" / "hello" / "wrangler.jsonc").read_text())
    hello["main"] = str(HERE / "projects" / "hello" / hello["main"])
    # Both sides answer with the file at the address that has its name.
    hello["assets"] = {"directory": "public", "html_handling": "none"}
    project.write_text(json.dumps(hello))
    return project


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """Loads both servers in turn, several rounds for each file."""
    rounds, seconds = (3, 1.0) if quick else (7, 3.0)
    project = _project(directory)
    os.environ[DIRECTORY] = str(project.parent / "public")
    ports = free_port(), free_port()
    ours: dict[str, list[Round]] = {name: [] for name in FILES}
    theirs: dict[str, list[Round]] = {name: [] for name in FILES}
    ours_command = pyflare_command(project, ports[0], directory / "assets-state")
    theirs_command = uvicorn_command("benchmarks.apps.static_files:app", ports[1])
    with (
        running("pyflare", ours_command, ports[0]) as pyflare,
        running("Starlette", theirs_command, ports[1]) as starlette,
    ):
        for name, size in FILES.items():
            request = f"GET /{name} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
            expected = "0123456789abcdef" * (size // 16)
            for server in (pyflare, starlette):
                measure(server, request, expected, 0.5)
            for number in range(rounds):
                for server, found in ((pyflare, ours), (starlette, theirs)):
                    found[name].append(measure(server, request, expected, seconds))
                say(f"{name}: round {number + 1} of {rounds}")
    return [
        comparison
        for name, size in FILES.items()
        for comparison in _compared(f"asset of {size >> 10} KiB", ours[name], theirs[name])
    ]


def _compared(name: str, ours: list[Round], theirs: list[Round]) -> list[Comparison]:
    yardstick = "Starlette StaticFiles"
    found = [
        Comparison(
            f"{name}, requests/s",
            yardstick,
            "1/s",
            [item.seen.requests_per_second for item in ours],
            [item.seen.requests_per_second for item in theirs],
            target=Target("at least", TARGET),
            remark=f"{median(item.seen.requests_per_second for item in ours):.0f} requests/s",
        )
    ]
    if all(item.cpu for item in theirs):
        found.append(
            Comparison(
                f"{name}, processor time per request",
                yardstick,
                "us",
                [item.cpu for item in ours],
                [item.cpu for item in theirs],
            )
        )
    return found
