"""`python -m benchmarks`: runs everything, prints a table, writes JSON."""

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import (
    alarms,
    assets,
    cache,
    d1,
    events,
    isolated_tests,
    kv,
    machine,
    objects,
    over_http,
    queues,
    r2,
    rpc,
    sharing,
    startup,
)
from benchmarks.report import Report
from benchmarks.servers import HERE, ServerFailed

PARTS = (
    "http",
    "d1",
    "r2",
    "kv",
    "cache",
    "queues",
    "assets",
    "events",
    "rpc",
    "objects",
    "alarms",
    "tests",
    "sharing",
    "start",
)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="one part (may be repeated)")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument(
        "--directory", type=Path, help="where the databases go (default: a temporary directory)"
    )
    parser.add_argument(
        "--output", type=Path, help="the JSON file (default: benchmarks/results/<time>.json)"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Runs the chosen parts. Exit code 1 when a server fails, or with `--strict` when a target is missed."""
    arguments = _arguments()
    parts = arguments.only or PARTS
    with tempfile.TemporaryDirectory(dir=arguments.directory, prefix="pyflare-benchmark-") as name:
        directory = Path(name).resolve()
        report = Report(machine.facts(directory, over_http.CLIENT))
        report.facts["durability"] = "process (WAL, synchronous=NORMAL) unless a line says machine"
        report.facts["rounds"] = "quick" if arguments.quick else "full"
        try:
            if "start" in parts:
                report.comparisons += startup.compare(directory, quick=arguments.quick, say=_say)
            if "d1" in parts:
                for durability in ("process",) if arguments.quick else ("process", "machine"):
                    report.comparisons += d1.compare(
                        directory, durability=durability, quick=arguments.quick, say=_say
                    )
            if "r2" in parts:
                report.comparisons += r2.compare(directory, quick=arguments.quick, say=_say)
            if "kv" in parts:
                report.comparisons += kv.compare(directory, quick=arguments.quick, say=_say)
            if "cache" in parts:
                report.comparisons += cache.compare(directory, quick=arguments.quick, say=_say)
            if "queues" in parts:
                report.comparisons += queues.compare(directory, quick=arguments.quick, say=_say)
            if "assets" in parts:
                report.comparisons += assets.compare(directory, quick=arguments.quick, say=_say)
            if "events" in parts:
                report.comparisons += events.compare(directory, quick=arguments.quick, say=_say)
            if "rpc" in parts:
                report.comparisons += rpc.compare(directory, quick=arguments.quick, say=_say)
            if "objects" in parts:
                for durability in ("process",) if arguments.quick else ("process", "machine"):
                    report.comparisons += objects.compare(
                        directory, durability=durability, quick=arguments.quick, say=_say
                    )
            if "alarms" in parts:
                report.comparisons += alarms.compare(directory, quick=arguments.quick, say=_say)
            if "tests" in parts:
                report.comparisons += isolated_tests.compare(
                    directory, quick=arguments.quick, say=_say
                )
            if "sharing" in parts:
                report.comparisons += sharing.compare(directory, quick=arguments.quick, say=_say)
            if "http" in parts:
                report.comparisons += over_http.compare(directory, quick=arguments.quick, say=_say)
        except ServerFailed as error:
            _say(f"error: {error}")
            return 1
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = arguments.output or HERE / "results" / f"{time}.json"
    report.write(path)
    print(report.table())
    print(f"\nwritten to {path}")
    return 1 if arguments.strict and report.missed() else 0


if __name__ == "__main__":
    sys.exit(main())
