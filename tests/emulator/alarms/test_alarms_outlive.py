"""What alarms survive: the end of the instance, of the process, of the code, of the scheduler's file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from .conftest import Bench, at, runs, second, settled, write_objects

TICK = """
runs = []

class Thing(DurableObject):
    async def set(self, at):
        await self.ctx.storage.setAlarm(at)

    async def get(self):
        return await self.ctx.storage.getAlarm()

    async def count(self):
        return await self.ctx.storage.get("n") or 0

    async def alarm(self, info):
        runs.append(["VERSION", info.scheduledTime])
        await self.ctx.storage.put("n", (await self.ctx.storage.get("n") or 0) + 1)
"""
REPEAT = TICK + "        await self.ctx.storage.setAlarm(info.scheduledTime + 1000)\n"


async def set_alarm(env: Any, flare: Any) -> None:
    await env.THING.getByName("a").set(at(5))


def ran_at(flare: Any) -> list[float | None]:
    return [second(run[1]) for run in runs(flare)]


class TestTheInstance:
    def test_an_object_that_idles_is_woken(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            stub = env.THING.getByName("a")
            await stub.set(at(300))
            await bench.until(100)
            await bench.until(300)
            return ran_at(flare), await stub.count()

        assert bench(TICK, program) == ([300], 1)

    def test_an_abort_loses_no_alarm_that_was_confirmed(self, bench: Bench) -> None:
        source = (
            TICK
            + """
class Other(Thing):
    async def set_and_abort(self, kept, lost):
        await self.ctx.storage.setAlarm(kept)
        await self.ctx.storage.sync()
        await self.ctx.storage.setAlarm(lost)
        self.ctx.abort("enough")
"""
        )

        async def program(env: Any, flare: Any) -> Any:
            stub = env.OTHER.getByName("a")
            with pytest.raises(Exception, match="enough"):
                await stub.set_and_abort(at(9), at(3))
            now = await stub.get()
            await bench.until(60)
            return now, ran_at(flare)

        assert bench(source, program, "Other") == (at(9), [9])


class TestTheProcess:
    def test_an_alarm_runs_in_the_next_one(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            before = ran_at(flare)
            await bench.until(6)
            return before, ran_at(flare), await env.THING.getByName("a").get()

        bench(TICK, set_alarm)
        assert bench.run(program) == ([], [5], None)

    def test_what_is_overdue_runs_once_right_after_the_start(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await settled()
            at_once = ran_at(flare)
            await bench.clock.advance(3600)
            return at_once, ran_at(flare)

        bench(TICK, set_alarm)
        bench.clock = type(bench.clock)(bench.clock.now() + 3600)
        assert bench.run(program) == ([5], [5])

    def test_fifty_overdue_alarms_run_once_each(self, bench: Bench) -> None:
        async def first(env: Any, flare: Any) -> None:
            for number in range(50):
                await env.THING.getByName(str(number)).set(at(1 + number % 7))

        async def then(env: Any, flare: Any) -> Any:
            await bench.clock.advance(60)
            return len(ran_at(flare)), [
                await env.THING.getByName(str(number)).count() for number in range(50)
            ]

        bench(TICK, first)
        bench.clock = type(bench.clock)(bench.clock.now() + 3600)
        assert bench.run(then) == (50, [1] * 50)

    def test_a_clock_that_was_set_back_makes_nothing_early(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await bench.clock.advance(64.9)
            before = ran_at(flare)
            await bench.clock.advance(0.2)
            return before, ran_at(flare)

        bench(TICK, set_alarm)
        bench.clock = type(bench.clock)(bench.clock.now() - 60)
        assert bench.run(program) == ([], [5])

    def test_a_handler_that_is_running_at_the_end_runs_again(self, bench: Bench) -> None:
        source = TICK.replace(
            '        await self.ctx.storage.put("n"',
            '        if "VERSION" == "one": await asyncio.Event().wait()\n'
            '        await self.ctx.storage.put("n"',
        )

        async def first(env: Any, flare: Any) -> Any:
            await set_alarm(env, flare)
            await bench.until(6)
            return ran_at(flare)

        async def then(env: Any, flare: Any) -> Any:
            await settled()
            return ran_at(flare), await env.THING.getByName("a").count()

        assert bench(source.replace("VERSION", "one"), first) == [5]
        assert bench(source, then) == ([5], 1)


class TestTheCode:
    def test_a_repeating_alarm_goes_on_through_every_reload(self, bench: Bench) -> None:
        config = bench.write(REPEAT)
        entry = config.parent / "src" / "entry.py"

        async def program(env: Any, flare: Any) -> Any:
            seen: list[Any] = []
            await env.THING.getByName("a").set(at(1))
            for version in range(5):
                await bench.until(2.5 * version + 2.4)
                seen += runs(flare)
                entry.write_text(entry.read_text().replace("VERSION", f"{version}", 1))
                entry.write_text(
                    entry.read_text().replace(
                        f'runs.append(["{version - 1}"', f'runs.append(["{version}"'
                    )
                )
                await flare.reload(entry)
            await bench.until(15.5)
            seen += runs(flare)
            return seen, await flare.env().THING.getByName("a").get()

        seen, alarm = bench.run(program)
        assert [second(time) for _, time in seen] == list(range(1, 16))
        assert [version for version, _ in seen] == sorted(
            (version for version, _ in seen), key=lambda v: -1 if v == "VERSION" else int(v)
        )
        assert seen[-1][0] == "4", "the newest code runs"
        assert alarm == at(16)

    def test_a_reload_during_a_run_runs_it_again_at_once(self, bench: Bench) -> None:
        waiting = TICK.replace(
            "        runs.append(", "        await asyncio.Event().wait()\n        runs.append("
        )
        config = bench.write(waiting)
        entry = config.parent / "src" / "entry.py"

        async def program(env: Any, flare: Any) -> Any:
            await set_alarm(env, flare)
            await bench.until(6)
            entry.write_text(entry.read_text().replace("await asyncio.Event().wait()", "pass"))
            await flare.reload(entry)
            await settled()
            at_once = ran_at(flare)
            await bench.until(600)
            return at_once, ran_at(flare), await flare.env().THING.getByName("a").count()

        assert bench.run(program) == ([5], [5], 1)

    def test_an_alarm_waits_until_a_broken_module_is_mended(self, bench: Bench) -> None:
        bench(TICK, set_alarm)
        config = bench.write("this is no Python")
        entry = config.parent / "src" / "entry.py"

        async def program(env: Any, flare: Any) -> Any:
            await bench.until(65)
            write_objects(config.parent, TICK)
            await flare.reload(entry)
            await settled()
            return ran_at(flare)

        assert bench.run(program) == [5]

    def test_a_module_that_breaks_while_running_loses_nothing(self, bench: Bench) -> None:
        config = bench.write(TICK)
        entry = config.parent / "src" / "entry.py"

        async def program(env: Any, flare: Any) -> Any:
            await set_alarm(env, flare)
            entry.write_text("this is no Python")
            await flare.reload(entry)
            await bench.until(65)
            write_objects(config.parent, TICK)
            await flare.reload(entry)
            await settled()
            return ran_at(flare)

        assert bench.run(program) == [5]

    def test_a_configuration_that_breaks_loses_nothing(self, bench: Bench) -> None:
        config = bench.write(TICK)
        good = config.read_text()

        async def program(env: Any, flare: Any) -> Any:
            await set_alarm(env, flare)
            config.write_text("{")
            with pytest.raises(Exception, match=r"wrangler\.json"):
                await flare.reload(config)
            await bench.until(65)
            config.write_text(good)
            await flare.reload(config)
            await settled()
            return ran_at(flare)

        assert bench.run(program) == [5]

    def test_alarms_of_other_workers_keep_their_tries_through_a_reload(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        failing = """
            runs = []

            class Thing(DurableObject):
                async def set(self, at):
                    await self.ctx.storage.setAlarm(at)

                async def alarm(self, info):
                    runs.append(info.retryCount)
                    raise ValueError("no")
        """
        one = bench.write(failing)
        two = write_objects(tmp_path / "two", TICK)

        async def program(env: Any, flare: Any) -> Any:
            await set_alarm(env, flare)
            await bench.until(8)
            await flare.reload(two.parent / "src" / "entry.py")
            await bench.until(13)
            return runs(flare)

        assert bench.run(program, one, two) == [0, 1, 2]


class TestTheClass:
    GONE = "class Another(DurableObject):\n    pass\n"

    def test_alarms_wait_for_a_class_that_was_renamed(self, bench: Bench) -> None:
        bench(TICK, set_alarm)

        async def gone(env: Any, flare: Any) -> None:
            await bench.until(60)

        async def back(env: Any, flare: Any) -> Any:
            await settled()
            return ran_at(flare)

        bench(self.GONE, gone, "Another")
        assert (
            '1 alarm waits for the Durable Object class Thing of the Worker "w", which exports no such class now. '
            "It is kept, and runs when the class is back."
        ) in bench.errors
        assert bench(TICK, back) == [5]

    def test_they_are_reported_once(self, bench: Bench) -> None:
        bench(TICK, set_alarm)
        config = bench.write(self.GONE, "Another")

        async def gone(env: Any, flare: Any) -> None:
            for _ in range(3):
                await flare.reload(config.parent / "src" / "entry.py")

        bench.run(gone)
        assert bench.errors.count("1 alarm waits for") == 1

    def test_they_run_when_it_returns_while_the_process_runs(self, bench: Bench) -> None:
        bench(TICK, set_alarm)
        config = bench.write(TICK.replace("class Thing", "class Renamed"), "Thing")

        async def program(env: Any, flare: Any) -> Any:
            await bench.until(60)
            waiting = list(runs(flare))
            write_objects(config.parent, TICK)
            await flare.reload(config.parent / "src" / "entry.py")
            await settled()
            return waiting, ran_at(flare)

        assert bench.run(program) == ([], [5])
        assert "1 alarm waits for" in bench.errors

    def test_they_wait_for_a_worker_that_is_not_running(self, bench: Bench, tmp_path: Path) -> None:
        bench(TICK, set_alarm)
        other = write_objects(tmp_path / "other", TICK)

        async def without(env: Any, flare: Any) -> None:
            await bench.until(60)

        async def with_both(env: Any, flare: Any) -> Any:
            await settled()
            return ran_at(flare)

        bench.run(without, other)
        assert '"w", which is not running here. It is kept' in bench.errors
        assert bench.run(with_both, bench.config, other) == [5]


class TestTheFileOfTheScheduler:
    def files(self, bench: Bench) -> list[Path]:
        found = [path for path in bench.state.rglob("alarms*.sqlite*") if path.is_file()]
        assert found
        return found

    def test_a_lost_one_is_made_anew_from_the_objects(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await bench.until(60)
            return ran_at(flare)

        bench(TICK, set_alarm)
        for path in self.files(bench):
            path.unlink()
        assert bench.run(program) == [5]

    def test_a_damaged_one_is_set_aside_and_made_anew(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await bench.until(60)
            return ran_at(flare)

        bench(TICK, set_alarm)
        for path in self.files(bench):
            path.write_bytes(b"no database" * 1000)
        assert bench.run(program) == [5]
        assert [path for path in bench.state.rglob("*.damaged") if path.is_file()]
        assert "The times of 1 alarm were taken from the stored objects." in "\n".join(bench.lines)

    def test_one_that_is_damaged_while_in_use_is_made_anew(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await set_alarm(env, flare)
            for path in self.files(bench):
                path.unlink()
            await env.THING.getByName("b").set(at(6))
            await bench.until(60)
            return ran_at(flare)

        assert bench(TICK, program) == [5, 6]

    def test_one_that_was_lost_and_half_rebuilt_is_compared_with_everything(
        self, bench: Bench
    ) -> None:
        async def crash(env: Any, flare: Any) -> None:
            # What a crash right after the loss leaves behind: a table without entries.
            for path in self.files(bench):
                path.unlink()
            flare.registry.alarms()._table.replace()

        async def program(env: Any, flare: Any) -> Any:
            await bench.until(60)
            return ran_at(flare)

        bench(TICK, set_alarm)
        bench.run(program_nothing)
        for path in bench.state.rglob("*.sqlite*"):
            os.utime(path, (1, 1))
        bench.run(crash)
        assert bench.run(program) == [5]

    def test_nothing_is_on_disk_before_there_is_an_alarm(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            return await env.THING.getByName("a").count()

        assert bench(TICK, program) == 0
        assert not list(bench.state.rglob("alarms*"))

    def test_one_that_cannot_be_used_is_reported_and_the_rest_runs(self, bench: Bench) -> None:
        bench(TICK, set_alarm)
        for path in self.files(bench):
            path.unlink()
            path.mkdir()

        async def program(env: Any, flare: Any) -> Any:
            return await env.THING.getByName("a").count()

        assert bench.run(program) == 0
        assert "Alarms do not run:" in bench.errors

    def test_one_that_can_be_used_again_is_used_without_a_restart(self, bench: Bench) -> None:
        bench(TICK, set_alarm)
        (table,) = (path for path in self.files(bench) if path.suffix == ".sqlite")
        table.rename(table.with_name("aside"))
        table.mkdir()

        async def program(env: Any, flare: Any) -> Any:
            await bench.until(20)
            before = ran_at(flare)
            table.rmdir()
            table.with_name("aside").rename(table)
            await bench.until(40)
            return before, ran_at(flare)

        assert bench.run(program) == ([], [5])
        assert "This is tried again every 10 seconds." in bench.errors
        assert "Alarms run again." in "\n".join(bench.lines)

    def test_objects_that_cannot_be_read_are_compared_as_soon_as_they_can(
        self, bench: Bench
    ) -> None:
        bench(TICK, set_alarm)
        for path in self.files(bench):
            path.unlink()
        (young,) = (path for path in bench.state.rglob("young.sqlite") if path.is_file())
        young.rename(young.with_name("aside"))
        young.mkdir()

        async def program(env: Any, flare: Any) -> Any:
            await bench.until(20)
            young.rmdir()
            young.with_name("aside").rename(young)
            await bench.until(60)
            return ran_at(flare)

        assert bench.run(program) == [5]
        assert "The alarms could not be compared with the stored objects:" in bench.errors


async def program_nothing(env: Any, flare: Any) -> None:
    """Start and end."""


class TestAWakeUpForNothing:
    def test_builds_no_object_and_leaves_no_file(self, bench: Bench) -> None:
        source = """
            runs = []

            class Thing(DurableObject):
                def __init__(self, ctx, env):
                    super().__init__(ctx, env)
                    runs.append("built")
                    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS t (a)")

                async def set(self, at):
                    await self.ctx.storage.setAlarm(at)

                async def alarm(self):
                    runs.append("alarm")
        """

        async def program(env: Any, flare: Any) -> Any:
            await bench.until(60)
            return runs(flare), flare.registry.alarms().pending()

        bench(source, set_alarm)
        for path in bench.state.rglob("young*"):
            path.unlink()
        assert bench.run(program) == ([], [])
        assert not list(bench.state.rglob("young*"))


class TestAnObjectWhoseFileIsDamaged:
    def test_the_file_is_named_and_the_alarm_tried_again(self, bench: Bench) -> None:
        bench(TICK, set_alarm)
        (young,) = (path for path in bench.state.rglob("young.sqlite") if path.is_file())
        for path in bench.state.rglob("young*"):
            path.unlink()
        young.write_bytes(b"no database" * 1000)

        async def damaged(env: Any, flare: Any) -> Any:
            await bench.until(6)
            return ran_at(flare)

        assert bench.run(damaged) == []
        assert "cannot run: " in bench.errors
        assert "young.sqlite" in bench.errors

    def test_a_table_that_is_no_more_writable_breaks_the_object_and_uses_up_no_try(
        self, bench: Bench
    ) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await set_alarm(env, flare)
            table = flare.registry.alarms()._table
            table._writer.execute("PRAGMA query_only = 1").fetchall()
            with pytest.raises(Exception, match="alarms"):
                await env.THING.getByName("a").set(at(3))
            table._writer.execute("PRAGMA query_only = 0").fetchall()
            kept = await env.THING.getByName("a").get()
            await bench.until(60)
            return kept, ran_at(flare)

        assert bench(TICK, program) == (at(5), [5])
