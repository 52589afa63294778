"""Longer programs, drawn instead of enumerated, with any mixture of faults."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .program import Program
from .world import COMPLETE, World

_STEPS_OF_A_SCHEDULE = 120


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(
    start=st.sampled_from([None, 2.0, 7.0]),
    whole_turns=st.booleans(),
    at_once=st.booleans(),
    operations=st.integers(6, 30),
    faults=st.integers(0, 6),
    choices=st.lists(st.integers(0, 1_000), min_size=_STEPS_OF_A_SCHEDULE, max_size=400),
)
def test_long_schedules_keep_every_property(
    start: float | None,
    whole_turns: bool,
    at_once: bool,
    operations: int,
    faults: int,
    choices: list[int],
) -> None:
    program = Program(operations, faults, seconds=(2, 3, 5, 7, 11, 13), at_once=at_once)
    world = World(COMPLETE, start, whole_turns=whole_turns)
    try:
        for choice in choices:
            actions = program.actions(world)
            if not actions:
                break
            action, program = actions[choice % len(actions)]
            world.do(action)
    finally:
        world.close()
