"""Exploring all schedules of a program, with and without leaving out what is known already."""

from __future__ import annotations

import gc
import logging
import random
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .fingerprint import Fingerprints, fingerprint
from .program import Program
from .properties import Violation
from .world import Action, Layers, World

Path = tuple[Action, ...]

_LONGEST_TAIL = 300


@dataclass(slots=True)
class Found:
    """A violation and the schedule that leads to it."""

    what: str
    path: Path
    story: list[str]


@dataclass(slots=True)
class Report:
    """What an exploration covered."""

    states: int = 0
    steps: int = 0
    schedules: int = 0
    replayed_steps: int = 0
    compared_samples: int = 0
    seconds: float = 0.0  # of the processor
    complete: bool = True
    found: Found | None = None


def replayed(make: Callable[[], World], path: Path) -> World:
    """The world after `path`."""
    world = make()
    for action in path:
        world.do(action)
    return world


def outcome(layers: Layers, start: float | None, path: Path) -> Found | None:
    """The violation that `path` leads to in whole turns; None if there is none, or no such path."""
    world = World(layers, start, whole_turns=True)
    done = 0
    try:
        for action in path:
            if not world.allows(action):
                return None
            done += 1
            world.do(action)
    except Violation as violation:
        return Found(str(violation), path[:done], world.story)
    finally:
        world.close()
    return None


class _Worlds:
    """Makes worlds, and ends the one before."""

    def __init__(self, make: Callable[[], World]) -> None:
        self._make = make
        self._last: World | None = None

    def replayed(self, path: Path) -> World:
        if self._last is not None:
            self._last.close()
        world = self._last = self._make()
        world.replay(path)
        return world


@dataclass(slots=True)
class _State:
    parent: int
    tail: Path
    program: Program
    children: array[int] = field(default_factory=lambda: array("l"))


def explore(
    layers: Layers,
    program: Program,
    start: float | None = None,
    *,
    whole_turns: bool = False,
    limit_seconds: float = float("inf"),
    sample: float = 0.0,
) -> Report:
    """Visit every state that a schedule of `program` can reach, in order of length.

    A state that has been reached before is not entered again: what follows is the same. With
    `sample`, that part of these is entered nevertheless and its next steps compared with those of
    the first visit. Out: the report; `schedules` counts the complete schedules through the states,
    every one of which ends where nothing can happen any more. Stops at the first violation, which
    therefore has the shortest schedule.
    """
    began = time.process_time()
    report = Report()
    chance = random.Random(0)

    def make() -> World:
        return World(layers, start, whole_turns=whole_turns)

    states: list[_State] = [_State(-1, (), program)]
    worlds = _Worlds(make)
    fingerprints = Fingerprints()
    known = {fingerprints.of(worlds.replayed(()), program): 0}

    def path_to(index: int) -> Path:
        tails: list[Path] = []
        while index > 0:
            tails.append(states[index].tail)
            index = states[index].parent
        return tuple(action for tail in reversed(tails) for action in tail)

    at = 0
    with _undisturbed():
        while at < len(states):
            if time.process_time() - began > limit_seconds:
                report.complete = False
                break
            state = states[at]
            path = path_to(at)
            world = worlds.replayed(path)
            report.replayed_steps += len(path)
            actions = state.program.actions(world)
            for number, (action, rest) in enumerate(actions):
                if number:
                    world = worlds.replayed(path)
                    report.replayed_steps += len(path)
                report.steps += 1
                tail: list[Action] = [action]
                try:
                    world.do(action)
                    while len(only := rest.actions(world)) == 1:
                        # Nothing to choose: the state in between need not be kept.
                        if len(tail) > _LONGEST_TAIL:
                            raise Violation("livelock: this goes on without anything to choose")
                        (following, rest) = only[0]
                        tail.append(following)
                        report.steps += 1
                        world.do(following)
                except Violation as violation:
                    report.found = Found(str(violation), (*path, *tail), world.story)
                    break
                key = fingerprints.of(world, rest)
                index = known.get(key)
                if index is None:
                    index = known[key] = len(states)
                    states.append(_State(at, tuple(tail), rest))
                elif sample and chance.random() < sample:
                    report.compared_samples += 1
                    _compare(make, (*path, *tail), path_to(index), rest)
                state.children.append(index)
            if report.found:
                break
            at += 1
    report.states = len(states)
    if report.found is None and report.complete:
        report.schedules = _count_schedules(states)
    report.seconds = time.process_time() - began
    return report


def _compare(make: Callable[[], World], one: Path, other: Path, rest: Program) -> None:
    """Two ways to one state must allow the same steps, and lead to the same next states."""
    worlds = [replayed(make, path) for path in (one, other)]
    first, second = (rest.actions(world) for world in worlds)
    if first != second:
        raise AssertionError(f"not one state: {one} allows {first}, {other} allows {second}")
    for world in worlds:
        world.close()
    for action, _ in first:
        ends = []
        for path in (one, other):
            world = replayed(make, path)
            try:
                world.do(action)
                ends.append(str(fingerprint(world)))
            except Violation as violation:
                ends.append(str(violation))
            world.close()
        if ends[0] != ends[1]:
            raise AssertionError(f"not one state: {one} and {other} differ after {action}: {ends}")


def _count_schedules(states: list[_State]) -> int:
    """The number of paths from the first state to an end. A cycle would be a schedule without end."""
    counts: list[int | None] = [None] * len(states)
    on_path = bytearray(len(states))
    stack = [0]
    while stack:
        at = stack[-1]
        if counts[at] is not None:
            stack.pop()
            continue
        if not on_path[at]:
            on_path[at] = 1
            for child in states[at].children:
                if on_path[child]:
                    raise AssertionError("a schedule goes round for ever")
                if counts[child] is None:
                    stack.append(child)
            continue
        on_path[at] = 0
        counts[at] = sum(counts[child] or 0 for child in states[at].children) or 1
        stack.pop()
    return counts[0] or 0


def every_schedule(
    layers: Layers,
    program: Program,
    start: float | None = None,
    *,
    whole_turns: bool = False,
    limit: int | None = None,
    limit_seconds: float = float("inf"),
) -> Report:
    """Run complete schedules of `program` one after the other, leaving nothing out."""
    began = time.process_time()
    report = Report()
    # What is left to try at each depth of the current schedule.
    open_choices: list[Iterator[tuple[Action, Program]]] = []
    path: list[tuple[Action, Program]] = []
    worlds = _Worlds(lambda: World(layers, start, whole_turns=whole_turns))
    with _undisturbed():
        while True:
            world = worlds.replayed(())
            rest = program
            action: Action | None = None
            try:
                # Only the last of these steps is new.
                world.replay([action for action, _ in path[:-1]])
                if path:
                    action, rest = path[-1]
                    world.do(action)
                report.steps += len(path)
                while True:
                    choices = iter(rest.actions(world))
                    choice = next(choices, None)
                    if choice is None:
                        break
                    open_choices.append(choices)
                    path.append(choice)
                    action, rest = choice
                    world.do(action)
                    report.steps += 1
            except Violation as violation:
                report.found = Found(
                    str(violation), tuple(action for action, _ in path), world.story
                )
                break
            report.schedules += 1
            if limit is not None and report.schedules >= limit:
                report.complete = False
                break
            if time.process_time() - began > limit_seconds:
                report.complete = False
                break
            while open_choices:
                path.pop()
                choice = next(open_choices[-1], None)
                if choice is not None:
                    path.append(choice)
                    break
                open_choices.pop()
            if not open_choices:
                break
    report.seconds = time.process_time() - began
    return report


class _undisturbed:
    """No log, as failures are meant; and worlds, rings of references, are collected in portions."""

    def __enter__(self) -> None:
        self._disabled = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        self._before = gc.get_threshold()
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 50, 1_000)

    def __exit__(self, *_: object) -> None:
        gc.set_threshold(*self._before)
        gc.unfreeze()
        logging.disable(self._disabled)
