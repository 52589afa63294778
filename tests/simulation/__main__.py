"""Explores the alarm layers and prints what was covered: `python -m tests.simulation`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from .coverage import QUICK, THOROUGH, Part, run
from .shortest import describe, every_double


def main(arguments: Sequence[str]) -> int:
    """Out: 0 when the complete layers hold everywhere and every double is caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the part that the tests run")
    parser.add_argument("--doubles", action="store_true", help="only the doubles")
    options = parser.parse_args(arguments)
    good = options.doubles or _explore(QUICK if options.quick else THOROUGH)
    if options.quick:
        return 0 if good else 1
    return 0 if _doubles() and good else 1


def _explore(parts: Sequence[Part]) -> bool:
    began = time.process_time()
    executed = covered = 0
    for part in parts:
        report = run(part)
        executed += report.schedules if part.leaves_nothing_out else 0
        covered += report.schedules
        print(
            f"{part.name}: {report.schedules:,} schedules, {report.steps:,} steps checked, "
            f"{report.states:,} states, {report.compared_samples} pairs compared, "
            f"{report.seconds:.0f} s",
            flush=True,
        )
        if report.found is not None:
            print(f"VIOLATION {report.found.what}", *report.found.path, sep="\n  ")
            return False
    print(
        f"{executed:,} schedules run one by one, {covered:,} covered, no violation, "
        f"{time.process_time() - began:.0f} s"
    )
    return True


def _doubles() -> bool:
    good = True
    for layers, found in every_double():
        good = good and found is not None
        print(f"{layers.name}: NOT CAUGHT" if found is None else describe(layers, found))
    return good


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
