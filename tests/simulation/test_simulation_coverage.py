"""Every schedule of short programs keeps the six properties, and leaving out known states is sound."""

from __future__ import annotations

import pytest

from .coverage import QUICK, Part, run
from .explore import every_schedule, explore
from .program import Program
from .world import COMPLETE


@pytest.mark.parametrize("part", QUICK, ids=lambda part: part.name)
def test_no_schedule_violates_a_property(part: Part) -> None:
    report = run(part)

    assert report.found is None
    assert report.complete


@pytest.mark.parametrize("whole_turns", [True, False])
def test_leaving_out_known_states_loses_no_schedule(whole_turns: bool) -> None:
    program = Program(1 + whole_turns, seconds=(7, 10), at_once=True)

    one_by_one = every_schedule(COMPLETE, program, 10, whole_turns=whole_turns)
    by_states = explore(COMPLETE, program, 10, whole_turns=whole_turns)

    assert by_states.schedules == one_by_one.schedules
    assert by_states.steps < one_by_one.steps


def test_two_ways_to_one_state_have_the_same_future() -> None:
    program = Program(1, 1, seconds=(7,), at_once=True)

    report = explore(COMPLETE, program, 5, whole_turns=True, sample=1.0)

    assert report.compared_samples > 400
