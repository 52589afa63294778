"""The shortest schedule that shows what a double does wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .doubles import DOUBLES
from .explore import Found, explore, outcome
from .program import Program
from .world import Layers

START = 5.0
_SMALL = Program(0, seconds=(7, 10), at_once=True)


def programs() -> Iterator[Program]:
    """From few operations and faults to many."""
    for operations, faults in ((0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (4, 0)):
        yield replace(_SMALL, operations=operations, faults=faults)
    yield replace(_SMALL, operations=3, faults=1, kinds=("abort", "crash"))


def shortest(layers: Layers) -> Found | None:
    """In: a double. Out: its violation with the fewest operations, and then the fewest steps."""
    for program in programs():
        found = explore(layers, program, START, whole_turns=True).found
        if found is not None:
            return _without_detours(layers, found)
    return None


def _without_detours(layers: Layers, found: Found) -> Found:
    """Leave out every step without which there is a violation too."""
    path = found.path
    at = 0
    while at < len(path):
        shorter = outcome(layers, START, path[:at] + path[at + 1 :])
        if shorter is None:
            at += 1
        else:
            found, path, at = shorter, shorter.path, 0
    return found


def describe(layers: Layers, found: Found) -> str:
    """The schedule as numbered lines."""
    lines = [f"{layers.name}: violates {found.what}"]
    lines.append(f"  at first alarm and scheduler are at {START:g} s")
    lines += [f"  {number}. {line}" for number, line in enumerate(found.story, 1)]
    return "\n".join(lines)


def every_double() -> Iterator[tuple[Layers, Found | None]]:
    """Each double with its shortest violation."""
    for layers in DOUBLES:
        yield layers, shortest(layers)
