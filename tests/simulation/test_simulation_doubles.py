"""A simulation that cannot fail proves nothing: each double that lacks a part is caught."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from .doubles import DOUBLES
from .explore import explore
from .program import Program
from .world import Layers


@dataclass(frozen=True, slots=True)
class Catch:
    """The smallest program that shows the fault of a double, and the property it breaks."""

    program: Program
    violates: str


def _program(operations: int, faults: int, *kinds: str) -> Program:
    return Program(operations, faults, (7, 10), True, kinds or ("abort", "crash", "write", "raise"))


CATCHES = {
    "no guard": Catch(_program(3, 0), "safety"),
    "only the first guard": Catch(_program(3, 1, "abort"), "safety"),
    "only the second guard": Catch(_program(4, 0), "safety"),
    "only the third guard": Catch(_program(3, 0), "safety"),
    "no queue": Catch(_program(1, 0), "safety"),
    "no comparison at start-up": Catch(_program(0, 1), "safety"),
    "no hand-over": Catch(_program(1, 1), "convergence"),
}


@pytest.mark.parametrize("layers", DOUBLES, ids=lambda layers: layers.name)
def test_a_double_is_caught(layers: Layers) -> None:
    catch = CATCHES[layers.name]

    found = explore(layers, catch.program, 5, whole_turns=True).found

    assert found is not None
    assert found.what.startswith(catch.violates)


@pytest.mark.parametrize("layers", DOUBLES, ids=lambda layers: layers.name)
def test_a_double_keeps_the_properties_in_a_smaller_program(layers: Layers) -> None:
    program = CATCHES[layers.name].program
    smaller = Program(
        max(program.operations - 1, 0), 0, program.seconds, program.at_once, program.kinds
    )

    assert explore(layers, smaller, 5, whole_turns=True).found is None
