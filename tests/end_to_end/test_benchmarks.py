"""The benchmark command runs, compares and tells what it compared; its figures are no test's business."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .dev_server import environment

ROOT = Path(__file__).resolve().parents[2]


def run(output: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--output", str(output), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("part", "names"),
    [
        (
            "d1",
            ["D1 point select", "D1 insert", "D1 batch of 500 inserts", "D1 scan of 5000 rows"],
        ),
        (
            "tests",
            [
                "a test with an emulator of its own",
                "the same, writing to D1, KV and an object",
            ],
        ),
        (
            "sharing",
            [
                "pyflare d1 execute beside a session",
                "first answer after the owner's kill -9",
            ],
        ),
        (
            "events",
            [
                "trivial fetch event, no HTTP",
                "FastAPI route through asgi.fetch",
                "64 MB in and out",
                "64 MB in and out",
                "64 MB in and out, highest memory",
            ],
        ),
        (
            "queues",
            [
                "queue send of a small message",
                "queue, 10,000 messages sent and consumed by 100",
            ],
        ),
        (
            "rpc",
            [
                "RPC call, two numbers",
                "RPC call, a small dict both ways",
                "RPC call to an object, no storage",
                "service binding fetch",
            ],
        ),
        (
            "alarms",
            [
                "200 alarms 300 ms ahead, median lateness",
                "200 alarms 300 ms ahead, p99 lateness",
                "2,000 alarms in one second, p99 lateness",
                "setAlarm to an earlier time, 100,000 pending",
                "setAlarm to a later time, 100,000 pending",
                "scheduler writes for 10,000 moves to a later time",
                "start to first answer, 100,000 pending",
            ],
        ),
        ("start", ["start to first answer", "resident memory after 1000 requests"]),
    ],
)
def test_a_part_prints_a_verdict_for_each_target_and_writes_every_round(
    tmp_path: Path, part: str, names: list[str]
) -> None:
    output = tmp_path / "result.json"
    printed = run(output, "--only", part)

    found = json.loads(output.read_text())
    assert [each["name"] for each in found["comparisons"]] == names
    for each in found["comparisons"]:
        assert len(each["pyflare"]) == len(each["baseline"]) > 1
        assert min(*each["pyflare"], *each["baseline"]) > 0
        assert each["verdict"] in (("pass", "MISS") if each["target"] else ("",))
        assert any(
            line.startswith(each["name"]) and line.endswith(each["verdict"])
            for line in printed.splitlines()
        )
    assert {"processor", "python", "packages", "durability"} <= found["facts"].keys()
