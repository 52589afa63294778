"""What a test pays for an emulator of its own, with one D1 database, one KV namespace and one object class."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.report import Comparison, Target
from benchmarks.servers import HERE

PROJECT = HERE / "projects" / "tested"
TARGET_MS = 15
"""Milliseconds that one test may take longer than the same test without an emulator."""
KINDS = {
    "idle": "a test with an emulator of its own",
    "used": "the same, writing to D1, KV and an object",
}


def compare(directory: Path, *, quick: bool, say: Callable[[str], None]) -> list[Comparison]:
    """Times both sides in turn. The figure of a round is the median over its tests."""
    rounds = 3 if quick else 9
    found: dict[str, list[float]] = {kind: [] for kind in (*KINDS, "without")}
    for number in range(1, rounds + 1):
        for kind, figures in found.items():
            figures.append(_milliseconds(kind, directory / f"{kind}.json"))
        say(f"tests: round {number} of {rounds}")
    return [
        Comparison(
            name, "without one", "ms", found[kind], found["without"],
            shown="difference", target=Target("at most", TARGET_MS),
        )
        for kind, name in KINDS.items()
    ]  # fmt: skip


def _milliseconds(kind: str, times: Path) -> float:
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio",
         "-c", os.devnull, "--rootdir", str(PROJECT), "-k", f"test_{kind}", str(PROJECT)],
        cwd=PROJECT,
        env={**os.environ, "TEST_TIMES": str(times)},
        stdout=subprocess.DEVNULL,
        check=True,
    )  # fmt: skip
    return float(median(json.loads(times.read_text())))
