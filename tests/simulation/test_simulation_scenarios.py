"""Single schedules of the two layers that have a name or a history of going wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .disk import WriteFailed
from .hand_loop import running
from .properties import shown
from .script import play, to_the_end
from .world import COMPLETE, KEY, World, ms


def seconds(times: list[int | None]) -> list[str]:
    return [shown(time).removesuffix(" s") for time in times]


def ends_at(world: World) -> set[str]:
    """Where the four times are: what is visible, durable, believed and scheduled."""
    return {shown(time).removesuffix(" s") for time in world.end().values()}


# start, script, what the object asks of the scheduler in order, where everything is at the end
SCENARIOS = {
    "an earlier alarm is asked for first": (None, "5! ack dur", "5", "5"),
    "a later alarm is committed first": (5, "9! dur ack", "9", "9"),
    "moved earlier": (9, "3! ack dur", "3", "3"),
    "deleted": (5, "x! dur ack", "none", "none"),
    "the same again does nothing": (5, "5", "", "5"),
    "only the last of one turn counts": (None, "3 7 5! ack dur", "5", "5"),
    "set and deleted in one turn": (None, "5 x! dur", "", "none"),
    "earlier ones join a waiting commit": (None, "4! 3! 2! ack 1! ack ack dur", "4 2 1", "1"),
    "a later one joins a waiting commit": (None, "4! 9! ack dur ack", "4 9", "9"),
    "later while a commit is under way": (None, "4! ack 9! dur dur ack", "4 9", "9"),
    "earlier while a commit is under way": (None, "4! ack 2! ack dur dur", "4 2", "2"),
    "moves later are merged": (1, "2! dur 3! dur 4! dur 5! dur ack ack", "2 5", "5"),
    "a move later fails, the parked one goes on": (1, "5! dur 10! dur ack- ack", "5 10", "10"),
    "earlier behind a move later": (5, "10! dur 2! ack ack dur", "10 2", "2"),
    "earlier discards what is parked": (1, "5! dur 10! dur 2! ack ack dur", "5 2", "2"),
    "in between, drained first": (1, "5! dur 10! dur 7! ack dur ack", "5 7", "7"),
    "in between, durable first": (1, "5! dur 10! dur 7! dur ack ack", "5 7", "7"),
    "as in flight, drained first": (1, "5! dur 10! dur 5! ack dur", "5", "5"),
    "as in flight, durable first": (1, "5! dur 10! dur 5! dur ack", "5", "5"),
    "no alarm parked, drained first": (1, "5! dur x! dur 7! ack dur ack", "5 7", "7"),
    "no alarm parked, durable first": (1, "5! dur x! dur 7! dur ack ack", "5 7", "7"),
    "no alarm is not nothing parked": (1, "5! dur x! dur ack ack", "5 none", "none"),
    "later again before it is durable": (1, "5! dur 10! dur 7! 12! ack dur dur ack", "5 12", "12"),
    "a later one replaces what is parked": (1, "5! dur 10! dur 20! dur ack ack", "5 20", "20"),
    "back to where it was": (3, "8! dur 3! ack ack dur", "8 3", "3"),
    "aborted with a time parked": (1, "5! dur 10! dur abort 7! ack ack dur", "5 10 7", "7"),
    "aborted while a commit waits": (1, "7! dur 5! 1! abort ack ack", "7 5 7", "7"),
    "a commit fails": (None, "4! ack dur- ack", "4 none", "none"),
    "the scheduler refuses": (None, "5! ack- ack", "5 none", "none"),
    "rolled back": (5, "3 undo", "", "5"),
    "rolled back behind a commit under way": (5, "9! 20 undo dur ack", "9", "9"),
    "woken too early while a move is under way": (3, "6! dur 10! dur ack ack", "6 10", "10"),
    "crash after the scheduler has the earlier time": (10, "3! ack crash ack", "3", "10"),
    "crash before the scheduler has the later time": (3, "10! dur crash ack", "10", "10"),
    "crash before the scheduler has the deletion": (5, "x! dur crash ack", "none", "none"),
    "the scheduler's file is lost": (5, "lose ack", "", "5"),
    "lost, and the first attempt to mend it too": (5, "lose ack- ack", "", "5"),
    "crash while it is mended": (5, "lose crash ack", "", "5"),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    start, script, asks, end = SCENARIOS[name]
    world = World(COMPLETE, start, whole_turns=True)

    play(world, script)

    assert seconds(world.asks) == asks.split()
    assert world.is_quiet()
    assert ends_at(world) == {end}
    world.close()


# start, script, when the handler runs, with which retry count; everything has happened at the end
RUNS = {
    "once": (5, "", [(5, 0)]),
    "set again by the handler": (5, "time 20!", [(5, 0), (20, 0)]),
    "set to the same millisecond by the handler": (5, "time 5!", [(5, 0), (5, 0)]),
    "deleted by the handler": (5, "time x!", [(5, 0)]),
    "set by the handler and rolled back": (5, "time 20 undo", [(5, 0)]),
    "set by the handler, which then raises": (5, "time 20! raise", [(5, 0), (20, 0)]),
    "the handler raises": (5, "time raise", [(5, 0), (7, 1)]),
    "set later between two tries": (5, "time raise 60!", [(5, 0), (60, 0)]),
    "deleted between two tries": (5, "time raise x!", [(5, 0)]),
    "moved while it is running": (5, "9! time dur ack ret", [(5, 0), (9, 0)]),
    "crash while the handler runs": (5, "time crash", [(5, 0), (5, 0)]),
    "crash between two tries": (5, "time raise time raise crash", [(5, 0), (7, 1), (7, 0)]),
    "crash after the alarm is unset": (5, "time ret dur crash", [(5, 0)]),
    "crash before the alarm is unset": (5, "time ret crash", [(5, 0), (5, 0)]),
    "overdue at the start": (5, "late", [(20, 0)]),
    "aborted while the handler runs": (5, "time abort", [(5, 0), (7, 1)]),
    "a move later that failed": (1, "5! dur ack-", [(5, 0)]),
    "crash before the first commit": (None, "5! ack crash", []),
}


@pytest.mark.parametrize("name", RUNS)
def test_runs(name: str) -> None:
    start, script, runs = RUNS[name]
    world = World(COMPLETE, start, whole_turns=True)

    play(world, script)
    to_the_end(world)

    assert world.runs == runs
    assert ends_at(world) == {"none"}
    world.close()


def test_a_moved_alarm_is_not_left_behind_by_a_move_that_was_parked() -> None:
    """The source report: an alarm at 3600 s is moved later and later, and then to 10 s."""
    world = World(COMPLETE, 3600, whole_turns=True)
    play(world, "7200! dur")
    assert seconds(world.asks) == ["7200"], "the move later is in flight"

    play(world, "9000! dur")
    assert seconds(world.asks) == ["7200"], "the next one is parked behind it"

    play(world, "10!")
    assert seconds(world.asks) == ["7200", "10"], "an earlier one is asked for before its commit"
    assert not world.database.in_flight

    play(world, "ack")
    assert world.scheduled == ms(7200), "the first completion"
    assert seconds(world.asks) == ["7200", "10"], "what was parked is not asked for any more"

    play(world, "ack")
    assert world.scheduled == ms(10)

    play(world, "dur")
    assert world.is_quiet()
    assert ends_at(world) == {"10"}

    to_the_end(world)
    assert world.runs == [(10, 0)]
    world.close()


def test_a_moved_alarm_is_not_left_behind_where_the_scheduler_was_told_an_earlier_time() -> None:
    """The same with the scheduler in between: nothing needs to be told before the commit of 10 s."""
    world = World(COMPLETE, 2, whole_turns=True)

    play(world, "5! dur 3600! dur 10!")
    assert seconds(world.asks) == ["5"]
    assert len(world.database.in_flight) == 1, "10 s is not earlier than what the scheduler has"

    play(world, "ack")
    assert seconds(world.asks) == ["5"], "3600 s is not used: the alarm is earlier now"

    play(world, "dur ack")
    assert ends_at(world) == {"10"}
    to_the_end(world)
    assert world.runs == [(10, 0)]
    world.close()


def test_seven_failures_are_the_last(world: World) -> None:
    fail(world, 7)
    to_the_end(world)

    assert [at for at, _ in world.runs] == [50 + wait for wait in (0, 2, 6, 14, 30, 62, 126)]
    assert [count for _, count in world.runs] == [0, 1, 2, 3, 4, 5, 6]
    assert ends_at(world) == {"none"}


def test_an_alarm_set_while_the_last_try_fails_is_kept(world: World) -> None:
    fail(world, 6)
    to_the_handler(world)
    play(world, "9000! raise dur")
    to_the_end(world)

    assert world.runs[7:] == [(9000, 0)]


def test_the_handler_sees_no_alarm_until_it_sets_one(world: World) -> None:
    assert world.alarm is not None
    play(world, "time")
    assert world.alarm.get() is None

    play(world, "9000")
    assert world.alarm.get() == ms(9000)


def test_after_a_failed_run_the_alarm_is_the_one_that_has_passed(world: World) -> None:
    assert world.alarm is not None
    play(world, "time raise")

    assert world.alarm.get() == ms(50)


def test_a_commit_that_the_scheduler_refuses_is_not_confirmed() -> None:
    world = World(COMPLETE, None, whole_turns=True)
    assert world.alarm is not None
    play(world, "5")
    first = world.alarm
    world.do(("commit",))
    play(world, "4")
    with running(world.loop):
        waiting = first.commit()

    play(world, "ack-")

    assert isinstance(waiting.exception(), WriteFailed)
    assert world.alarm is not first, "the object was reset"
    world.close()


@pytest.mark.parametrize("scheduled", [3, 9])
def test_a_scheduler_that_is_too_early_wakes_an_object_that_declines(scheduled: int) -> None:
    world = World(COMPLETE, 10, whole_turns=True, scheduled=scheduled)

    play(world, "time ack")
    assert world.runs == []
    assert world.rows == {KEY: ms(10)}

    to_the_end(world)
    assert world.runs == [(10, 0)]
    world.close()


def test_an_entry_of_an_object_without_alarm_is_removed() -> None:
    world = World(COMPLETE, None, whole_turns=True, scheduled=5)

    to_the_end(world)

    assert world.runs == []
    assert world.rows == {}
    world.close()


def test_ten_thousand_moves_later_in_a_row_are_two_writes() -> None:
    world = World(COMPLETE, 5, whole_turns=True)
    writes = world.scheduler.writes

    for second in range(10, 10_010):
        play(world, f"{second}! dur")
    play(world, "ack ack")

    assert world.scheduler.writes - writes == 2
    assert ends_at(world) == {"10009"}
    world.close()


def to_the_handler(world: World) -> None:
    """Let time pass until the handler runs."""
    while world.handler is None:
        play(world, "time")


def fail(world: World, times: int) -> None:
    """Let the handler raise so many times."""
    for _ in range(times):
        to_the_handler(world)
        play(world, "raise")


@pytest.fixture
def world() -> Iterator[World]:
    world = World(COMPLETE, 50, whole_turns=True)
    yield world
    world.close()
