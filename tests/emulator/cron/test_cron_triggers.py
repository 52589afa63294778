"""Cron triggers fire at their times, by the clock, and tell how they ended."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pyflare.config import ConfigError
from pyflare_bindings.clock import ManualClock
from tests.emulator.conftest import Runner, write_worker

#: Thursday 2026-01-01 00:00 UTC.
START = 1_767_225_600.0

NOTES = """
from workers import WorkerEntrypoint

seen = []

class Default(WorkerEntrypoint):
    async def scheduled(self, controller, env, ctx):
        seen.append((controller.cron, controller.scheduledTime, controller.type))
"""


def seen(flare: Any, name: str | None = None) -> list[Any]:
    return list(flare.loaded(name).entrypoints.default.scheduled.__globals__["seen"])


def minutes(flare: Any, name: str | None = None) -> list[tuple[str, int]]:
    """What ran: the expression, and its time in minutes from the start."""
    return [(cron, round((at / 1000 - START) / 60)) for cron, at, _ in seen(flare, name)]


def test_triggers_fire_at_their_minutes(run: Runner, tmp_path: Path) -> None:
    clock = ManualClock(START + 30)

    async def program(flare: Any) -> Any:
        await clock.advance(minutes=12)
        return seen(flare)

    config = write_worker(tmp_path, NOTES, triggers={"crons": ["*/5 * * * *", "10 0 * * THU"]})

    assert run(program, config, clock=clock) == [
        ("*/5 * * * *", int((START + 300) * 1000), "scheduled"),
        ("*/5 * * * *", int((START + 600) * 1000), "scheduled"),
        ("10 0 * * THU", int((START + 600) * 1000), "scheduled"),
    ]


def test_every_worker_has_its_own_triggers(run: Runner, tmp_path: Path) -> None:
    clock = ManualClock(START)
    for name, cron in {"one": "1 * * * *", "two": "2 * * * *"}.items():
        write_worker(
            tmp_path / name,
            {f"src/{name}.py": NOTES},
            main=f"src/{name}.py",
            triggers={"crons": [cron]},
        )

    async def program(flare: Any) -> Any:
        await clock.advance(minutes=5)
        return minutes(flare, "one"), minutes(flare, "two")

    ran = run(program, tmp_path / "one/wrangler.json", tmp_path / "two/wrangler.json", clock=clock)

    assert ran == ([("1 * * * *", 1)], [("2 * * * *", 2)])


def test_a_trigger_named_twice_fires_once(run: Runner, tmp_path: Path) -> None:
    clock = ManualClock(START)

    async def program(flare: Any) -> Any:
        await clock.advance(minutes=1)
        return len(seen(flare))

    config = write_worker(tmp_path, NOTES, triggers={"crons": ["* * * * *", "* * * * *"]})

    assert run(program, config, clock=clock) == 1


def test_nothing_fires_when_cron_is_off(run: Runner, tmp_path: Path) -> None:
    clock = ManualClock(START)

    async def program(flare: Any) -> Any:
        await clock.advance(minutes=5)
        by_itself = len(seen(flare))
        await flare.scheduled("* * * * *")
        return by_itself, len(seen(flare))

    config = write_worker(tmp_path, NOTES, triggers={"crons": ["* * * * *"]})

    assert run(program, config, clock=clock, cron=False) == (0, 1)


def test_times_that_passed_before_the_start_are_lost(run: Runner, tmp_path: Path) -> None:
    config = write_worker(tmp_path, NOTES, triggers={"crons": ["0 0 * * *"]})

    async def program(flare: Any) -> Any:
        await flare_clock.advance(minutes=30)
        return minutes(flare)

    flare_clock = ManualClock(START + 1)

    assert run(program, config, clock=flare_clock) == []


class SleepyClock(ManualClock):
    """A machine whose timers stand still while it sleeps, and whose wall clock does not."""

    slept = 0.0

    def now(self) -> float:
        return super().now() + self.slept


def test_times_that_passed_while_the_machine_slept_are_left_out_but_the_last(
    run: Runner, tmp_path: Path
) -> None:
    clock = SleepyClock(START)
    config = write_worker(tmp_path, NOTES, triggers={"crons": ["*/10 * * * *"]})

    async def program(flare: Any) -> Any:
        await clock.advance(minutes=5)
        clock.slept = 3600.0 - 300 + 20
        await clock.advance(minutes=10)
        return minutes(flare)

    assert run(program, config, clock=clock) == [("*/10 * * * *", 70)]
    assert 'the cron trigger "*/10 * * * *" did not run on time' in run.err.text


def test_a_clock_that_is_set_back_a_little_repeats_no_run(run: Runner, tmp_path: Path) -> None:
    clock = SleepyClock(START)
    config = write_worker(tmp_path, NOTES, triggers={"crons": ["*/5 * * * *"]})

    async def program(flare: Any) -> Any:
        await clock.advance(minutes=5)
        clock.slept = -120.0
        await clock.advance(minutes=8)
        return minutes(flare)

    assert run(program, config, clock=clock) == [("*/5 * * * *", 5), ("*/5 * * * *", 10)]


def test_a_clock_that_is_set_back_by_days_goes_on_from_there(run: Runner, tmp_path: Path) -> None:
    clock = SleepyClock(START)
    config = write_worker(tmp_path, NOTES, triggers={"crons": ["0 * * * *"]})

    async def program(flare: Any) -> Any:
        await clock.advance(minutes=61)
        clock.slept = -2 * 86_400.0
        await clock.advance(minutes=60)
        return minutes(flare)

    assert run(program, config, clock=clock) == [("0 * * * *", 60), ("0 * * * *", 120 - 2880)]


def test_runs_of_one_trigger_may_overlap(run: Runner, tmp_path: Path) -> None:
    source = """
    import asyncio
    from workers import WorkerEntrypoint

    running = 0
    most = 0
    go_on = asyncio.Event()

    class Default(WorkerEntrypoint):
        async def scheduled(self, controller, env, ctx):
            global running, most
            running += 1
            most = max(most, running)
            await go_on.wait()
            running -= 1
    """
    clock = ManualClock(START)

    async def program(flare: Any) -> Any:
        await clock.advance(minutes=3)
        names = flare.loaded().entrypoints.default.scheduled.__globals__
        names["go_on"].set()
        await clock.advance(seconds=1)
        return names["most"], names["running"]

    config = write_worker(tmp_path, source, triggers={"crons": ["* * * * *"]})

    assert run(program, config, clock=clock) == (3, 0)


def test_a_run_that_is_under_way_gets_its_time_at_the_end(run: Runner, tmp_path: Path) -> None:
    source = """
    import asyncio
    from pathlib import Path
    from workers import WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def scheduled(self, controller, env, ctx):
            await asyncio.sleep(0.05)
            Path(self.env.DONE).write_text("done")
    """
    done = tmp_path / "done"
    clock = ManualClock(START)

    async def program(flare: Any) -> Any:
        await clock.advance(minutes=1)

    config = write_worker(
        tmp_path, source, triggers={"crons": ["* * * * *"]}, vars={"DONE": str(done)}
    )
    run(program, config, clock=clock)

    assert done.read_text() == "done"


def test_a_reload_takes_the_new_triggers(run: Runner, tmp_path: Path) -> None:
    clock = ManualClock(START)
    config = write_worker(tmp_path, NOTES, triggers={"crons": ["* * * * *"]})

    async def program(flare: Any) -> Any:
        await clock.advance(minutes=90)
        settings = json.loads(config.read_text())
        settings["triggers"]["crons"] = ["*/10 * * * *"]
        config.write_text(json.dumps(settings))
        await flare.reload(config)
        await clock.advance(minutes=15)
        return minutes(flare)

    assert run(program, config, clock=clock) == [("*/10 * * * *", 100)]


def test_triggers_that_a_reload_adds_begin_with_it(run: Runner, tmp_path: Path) -> None:
    clock = ManualClock(START)
    config = write_worker(tmp_path, NOTES)

    async def program(flare: Any) -> Any:
        await clock.advance(minutes=90)
        settings = json.loads(config.read_text())
        config.write_text(json.dumps({**settings, "triggers": {"crons": ["*/20 * * * *"]}}))
        await flare.reload(config)
        await clock.advance(minutes=15)
        return minutes(flare)

    assert run(program, config, clock=clock) == [("*/20 * * * *", 100)]
    assert "did not run on time" not in run.err.text


FAILING = """
from workers import WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def scheduled(self, controller, env, ctx):
        controller.noRetry()
        raise ValueError("the report is not ready")
"""


def test_a_failure_is_shown_and_the_next_run_comes(run: Runner, tmp_path: Path) -> None:
    clock = ManualClock(START)

    async def program(flare: Any) -> None:
        await clock.advance(minutes=2)

    run(program, write_worker(tmp_path, FAILING, triggers={"crons": ["* * * * *"]}), clock=clock)

    assert run.err.text.count("Uncaught ValueError: the report is not ready") == 2
    assert run.out.text.count('[wrangler:info] CRON "* * * * *" exception') == 2


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("pass", "ok"),
        ("raise ValueError('no')", "exception"),
        ("raise SystemExit(3)", "exception"),
        ("task = asyncio.create_task(asyncio.sleep(9)); task.cancel(); await task", "exception"),
        ("self.ctx.waitUntil(later(None))", "ok"),
        ("self.ctx.waitUntil(later(ValueError('late')))", "exception"),
        ("self.ctx.waitUntil(again(self.ctx))", "exception"),
    ],
)
def test_the_outcome_counts_what_was_given_to_wait_until(
    run: Runner, tmp_path: Path, body: str, outcome: str
) -> None:
    source = f"""
    import asyncio
    from workers import WorkerEntrypoint

    async def later(error):
        await asyncio.sleep(0.001)
        if error is not None:
            raise error

    async def again(ctx):
        await asyncio.sleep(0.001)
        ctx.waitUntil(later(ValueError("later still")))

    class Default(WorkerEntrypoint):
        async def scheduled(self, controller, env, ctx):
            {body}
    """

    async def program(flare: Any) -> Any:
        return (await flare.scheduled()).outcome

    assert run(program, write_worker(tmp_path, source)) == outcome


def test_no_retry_is_told(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Any) -> Any:
        return await flare.scheduled("x")

    result = run(program, write_worker(tmp_path, FAILING))

    assert (result.outcome, result.no_retry) == ("exception", True)


@pytest.mark.parametrize(
    ("source", "date", "text"),
    [
        (
            "from workers import WorkerEntrypoint\nclass Default(WorkerEntrypoint):\n    pass\n",
            "2026-05-01",
            "Method scheduled does not exist",
        ),
        ("x = 1\n", "2026-05-01", "Handler does not export a scheduled() function"),
        ("x = 1\n", "2025-01-01", 'does not export a handler named "on_scheduled"'),
    ],
)
def test_a_worker_without_the_handler_says_so(
    run: Runner, tmp_path: Path, source: str, date: str, text: str
) -> None:
    async def program(flare: Any) -> Any:
        return (await flare.scheduled("x")).outcome

    config = write_worker(tmp_path, source, compatibility_date=date)

    assert run(program, config) == "exception"
    assert text in run.err.text


@pytest.mark.parametrize(
    ("source", "settings"),
    [
        ("def scheduled(self, controller)", {}),
        ("async def scheduled(self, controller, env=None, ctx=None)", {}),
        ("async def scheduled(self, controller, env, ctx)", {}),
        ("async def on_scheduled(controller, env, ctx)", {"compatibility_date": "2025-01-01"}),
        ("async def on_scheduled(controller)", {"compatibility_date": "2025-01-01"}),
    ],
)
def test_every_documented_form_of_the_handler_works(
    run: Runner, tmp_path: Path, source: str, settings: dict[str, Any]
) -> None:
    program_text = "from workers import WorkerEntrypoint\nseen = []\n"
    if "self" in source:
        program_text += (
            f"class Default(WorkerEntrypoint):\n    {source}:\n"
            "        seen.append((controller.cron, self.env.NAME, hasattr(self.ctx, 'waitUntil')))\n"
        )
    else:
        program_text += f"{source}:\n    seen.append((controller.cron, 'somebody', True))\n"

    async def program(flare: Any) -> Any:
        result = await flare.scheduled("0 0 * * *")
        found = flare.loaded().entrypoints
        handler = found.default.scheduled if found.default else found.handlers["on_scheduled"]
        return result.outcome, handler.__globals__["seen"]

    config = write_worker(tmp_path, program_text, vars={"NAME": "somebody"}, **settings)

    assert run(program, config) == ("ok", [("0 0 * * *", "somebody", True)])


@pytest.mark.parametrize(
    ("cron", "text"),
    [
        ("* * * * 0", "Sunday is 1"),
        ("every day", "five fields are needed"),
    ],
)
def test_a_configuration_with_a_bad_expression_is_refused(
    run: Runner, tmp_path: Path, cron: str, text: str
) -> None:
    config = write_worker(tmp_path, NOTES, triggers={"crons": ["0 0 * * *", cron]})

    with pytest.raises(ConfigError, match=text) as refused:
        run(lambda flare: asyncio.sleep(0), config)

    assert f'"triggers.crons[1]" is not a cron expression: {cron!r}' in str(refused.value)
