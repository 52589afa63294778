"""What the simulation explores: the quick part for every test run, and the whole."""

from __future__ import annotations

from dataclasses import dataclass

from .explore import Report, every_schedule, explore
from .program import Program
from .world import COMPLETE


@dataclass(frozen=True, slots=True)
class Part:
    """One exploration of the complete layers.

    `leaves_nothing_out`: every schedule is run from its begin to its end, without regard to states
    that are known already. `whole_turns` as in `World`. `sample` as in `explore`.
    """

    name: str
    program: Program
    start: float | None
    whole_turns: bool = True
    leaves_nothing_out: bool = False
    sample: float = 0.001


def run(part: Part) -> Report:
    """Explore one part."""
    if part.leaves_nothing_out:
        return every_schedule(COMPLETE, part.program, part.start, whole_turns=part.whole_turns)
    return explore(
        COMPLETE, part.program, part.start, whole_turns=part.whole_turns, sample=part.sample
    )


# At the start the alarm is earlier than what the worker sets, in the middle of it, or not set.
_STARTS: tuple[float | None, ...] = (5, 10, None)


def _parts(
    name: str,
    program: Program,
    starts: tuple[float | None, ...] = _STARTS,
    *,
    one_by_one: bool = False,
) -> list[Part]:
    return [
        Part(
            f"{name}, from {'no alarm' if start is None else f'{start:g} s'}",
            program,
            start,
            leaves_nothing_out=one_by_one,
        )
        for start in starts
    ]


def _program(operations: int, faults: int = 0, *kinds: str) -> Program:
    chosen = Program(operations, faults, seconds=(7, 10), at_once=True)
    return chosen if not kinds else Program(operations, faults, (7, 10), True, kinds)


QUICK: tuple[Part, ...] = (
    *_parts("3 operations", _program(3)),
    *_parts("1 operation and a fault", _program(1, 1)),
    Part("2 operations and a fault, from no alarm", _program(2, 1), None, sample=0.01),
    Part("1 operation and a fault, each callback a step", _program(1, 1), 5, whole_turns=False),
    Part("2 changes, commits apart", Program(2, seconds=(7, 10)), 10),
)

# Three times to choose from, of which the start is the earliest, or the one in the middle.
_WIDE_STARTS: tuple[float | None, ...] = (2, 7, None)

THOROUGH: tuple[Part, ...] = (
    *_parts("one by one: 3 operations", Program(3, at_once=True), _WIDE_STARTS, one_by_one=True),
    *_parts(
        "one by one: 2 operations and a fault",
        Program(2, 1, at_once=True),
        _WIDE_STARTS[:2],
        one_by_one=True,
    ),
    *_parts("one by one: 3 operations, two times", _program(3), one_by_one=True),
    *_parts("5 operations", _program(5)),
    *_parts("3 operations and a fault", _program(3, 1)),
    Part("4 operations and an abort, from 5 s", _program(4, 1, "abort"), 5),
    Part("4 operations and a crash, from 5 s", _program(4, 1, "crash"), 5),
    Part("3 changes, commits apart, and rollbacks", Program(3, seconds=(7, 10)), 10),
    Part("2 changes, commits apart, and a fault", Program(2, 1, seconds=(7, 10)), 5),
    Part("3 operations, each callback a step, from no alarm", _program(3), None, whole_turns=False),
    Part(
        "2 operations and an abort, each callback a step, from 10 s",
        _program(2, 1, "abort"),
        10,
        whole_turns=False,
    ),
)
