"""What a person reads about alarms."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pyflare.alarms.report import mended_line, pending_line, waiting_line
from pyflare_bindings.objects import PendingAlarms

from .conftest import START, Bench, at

THING = """
class Thing(DurableObject):
    async def set(self, at):
        await self.ctx.storage.setAlarm(at)

    async def alarm(self, info):
        if info.retryCount < {failures}:
            raise ValueError("no")
"""


def alarm_lines(bench: Bench) -> list[str]:
    """The lines of alarms, without what depends on the machine and on chance."""
    found = [line for line in bench.lines if "ALARM" in line]
    return [re.sub(r"\d+ms\)", "?ms)", line) for line in found]


def test_each_run_has_a_line_with_object_outcome_and_lateness(bench: Bench) -> None:
    async def program(env: Any, flare: Any) -> None:
        await env.THING.getByName("lobby").set(at(5))
        await bench.until(6)

    bench(THING.replace("{failures}", "0"), program)

    assert alarm_lines(bench) == ['[wrangler:info] ALARM Thing "lobby" ok (0ms late, ?ms)']


def test_an_object_without_a_name_is_told_by_its_id(bench: Bench) -> None:
    async def program(env: Any, flare: Any) -> Any:
        id = env.THING.newUniqueId()
        await env.THING.get(id).set(at(5))
        await bench.until(6)
        return id.toString()

    id = bench(THING.replace("{failures}", "0"), program)

    assert alarm_lines(bench) == [f"[wrangler:info] ALARM Thing {id} ok (0ms late, ?ms)"]


def test_the_lateness_of_an_overdue_alarm_is_the_whole_of_it(bench: Bench) -> None:
    async def first(env: Any, flare: Any) -> None:
        await env.THING.getByName("lobby").set(at(5))

    async def then(env: Any, flare: Any) -> None:
        await bench.clock.advance(1)

    bench(THING.replace("{failures}", "0"), first)
    bench.clock = type(bench.clock)(START + 65)
    bench.run(then)

    assert alarm_lines(bench) == ['[wrangler:info] ALARM Thing "lobby" ok (60000ms late, ?ms)']


def test_failures_are_counted(bench: Bench) -> None:
    async def program(env: Any, flare: Any) -> None:
        await env.THING.getByName("lobby").set(at(5))
        await bench.until(600)

    bench(THING.replace("{failures}", "2"), program)

    shown = [re.sub(r"\(\d+ms", "(?ms", line) for line in alarm_lines(bench)]
    assert shown == [
        '[wrangler:info] ALARM Thing "lobby" exception at try 1 of 7 (?ms late, ?ms)',
        '[wrangler:info] ALARM Thing "lobby" exception at try 2 of 7 (?ms late, ?ms)',
        '[wrangler:info] ALARM Thing "lobby" ok at try 3 (?ms late, ?ms)',
    ]


def test_a_start_tells_how_many_are_pending_and_when_the_next_is_due(bench: Bench) -> None:
    async def first(env: Any, flare: Any) -> None:
        for number in range(3):
            await env.THING.getByName(str(number)).set(at(125 + number))

    async def then(env: Any, flare: Any) -> None:
        pass

    bench(THING.replace("{failures}", "0"), first)
    assert "pending" not in "\n".join(bench.lines)
    bench.run(then)
    (line,) = [line for line in bench.lines if "pending" in line]
    assert line.startswith("[wrangler:info] 3 alarms pending; the next is due in 2 min 5 s (")


@pytest.mark.parametrize(
    ("earliest", "when"),
    [
        (0.4, "due in less than 1 s"),
        (59, "due in 59 s"),
        (60, "due in 1 min"),
        (3 * 86_400 + 7_200 + 5, "due in 3 days 2 h"),
        (86_400, "due in 1 day"),
        (-7, "overdue by 7 s"),
    ],
)
def test_when_the_next_is_due(earliest: float, when: str) -> None:
    line = pending_line([PendingAlarms("w-Thing", 1, at(earliest))], START)
    assert line is not None
    assert line.startswith(f"1 alarm pending; the next is {when} (")


def test_the_next_of_all_namespaces_counts() -> None:
    pending = [PendingAlarms("w-A", 2, at(90)), PendingAlarms("w-B", 3, at(30))]
    line = pending_line(pending, START)
    assert line is not None
    assert line.startswith("5 alarms pending; the next is due in 30 s (")


def test_without_alarms_nothing_is_said() -> None:
    assert pending_line([], START) is None


def test_a_hundred_thousand_are_not_counted_to_the_end() -> None:
    line = pending_line([PendingAlarms("w-A", 100_000, at(90))], START)
    assert line is not None
    assert line.startswith("100,000 alarms or more pending")


def test_several_alarms_wait_for_a_worker() -> None:
    assert waiting_line(3, "Room", "chat", running=False) == (
        '3 alarms wait for the Durable Object class Room of the Worker "chat", which is not running here. '
        "They are kept, and run when the class is back."
    )


def test_how_many_were_mended() -> None:
    assert mended_line(2) == "The times of 2 alarms were taken from the stored objects."
