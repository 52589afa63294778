"""The server keeps the memory of bodies for the next ones, where the C library can."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# The number of page faults of a hundred bodies of one MiB, without and with it.
PROGRAM = """
import resource
from pyflare.cli.kept_memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        one, two, three = bytearray(1 << 20), bytearray(1 << 20), bytearray(1 << 20)
        del one, two, three
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults()
kept = keep_freed_memory()
faults()
print(int(kept), before, faults())
"""


def run(**environ: str) -> tuple[int, int, int]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    plain.pop("GLIBC_TUNABLES", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=plain | environ,
        capture_output=True,
        text=True,
        check=True,
    )
    kept, before, after = map(int, done.stdout.split())
    return kept, before, after


def test_bodies_that_follow_each_other_cost_no_page_faults() -> None:
    kept, before, after = run()
    if not kept:
        pytest.skip("this C library has no such parameters")
    assert after < before / 10


@pytest.mark.parametrize(
    "environ",
    [
        {"MALLOC_TRIM_THRESHOLD_": "131072"},
        {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=131072"},
    ],
    ids=str,
)
def test_who_sets_the_parameters_keeps_them(environ: dict[str, str]) -> None:
    assert run(**environ)[0] == 0
