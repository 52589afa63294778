"""When the handler of an alarm runs, and what it is told."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import START, Bench, at, runs, second

# Notes every run as (second of the clock, object, what the handler was told).
THING = """
runs = []

class Thing(DurableObject):
    async def set(self, at):
        await self.ctx.storage.setAlarm(at)

    async def delete(self):
        await self.ctx.storage.deleteAlarm()

    async def get(self):
        return await self.ctx.storage.getAlarm()

    async def alarm(self, info):
        inside = await self.ctx.storage.getAlarm()
        runs.append([self.ctx.id.name, info.scheduledTime, info.retryCount, info.isRetry, inside])

"""


def ran_at(flare: Any) -> list[float | None]:
    """The seconds that the handlers were scheduled for."""
    return [second(run[1]) for run in runs(flare)]


class TestTheHandler:
    def test_runs_once_at_its_time_and_not_before(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await env.THING.getByName("a").set(at(5))
            await bench.until(4.999)
            before = ran_at(flare)
            await bench.until(5)
            after = ran_at(flare)
            await bench.until(60)
            return before, after, ran_at(flare)

        assert bench(THING, program) == ([], [5], [5])

    def test_is_told_its_time_and_that_it_is_no_retry(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await env.THING.getByName("a").set(at(5))
            await bench.until(6)
            return runs(flare)

        assert bench(THING, program) == [["a", at(5), 0, False, None]]

    def test_leaves_no_alarm_behind(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            stub = env.THING.getByName("a")
            await stub.set(at(5))
            before = await stub.get()
            await bench.until(6)
            return before, await stub.get()

        assert bench(THING, program) == (at(5), None)

    @pytest.mark.parametrize(
        "signature",
        ["async def alarm(self)", "def alarm(self)", "async def alarm(self, info=None)"],
    )
    def test_may_take_no_argument_and_be_no_coroutine(self, bench: Bench, signature: str) -> None:
        source = f"""
            runs = []

            class Thing(DurableObject):
                async def set(self, at):
                    await self.ctx.storage.setAlarm(at)

                {signature}:
                    runs.append(1)
        """

        async def program(env: Any, flare: Any) -> Any:
            await env.THING.getByName("a").set(at(5))
            await bench.until(60)
            return runs(flare)

        assert bench(source, program) == [1]

    def test_may_be_named_on_alarm_where_module_level_handlers_count(self, bench: Bench) -> None:
        source = """
            runs = []

            class Thing(DurableObject):
                async def set(self, at):
                    await self.ctx.storage.setAlarm(at)

                async def on_alarm(self):
                    runs.append(1)
        """
        config = bench.write(source, compatibility_date="2025-08-01")

        async def program(env: Any, flare: Any) -> Any:
            await env.THING.getByName("a").set(at(5))
            await bench.until(60)
            return runs(flare)

        assert bench.run(program, config) == [1]

    def test_that_is_named_for_other_dates_is_not_found(self, bench: Bench) -> None:
        source = """
            class Thing(DurableObject):
                async def set(self, at):
                    await self.ctx.storage.setAlarm(at)

                async def alarm(self):
                    raise NotImplementedError
        """
        config = bench.write(source, compatibility_date="2025-08-01")

        async def program(env: Any, flare: Any) -> None:
            await env.THING.getByName("a").set(at(5))
            await bench.until(6)

        bench.run(program, config)

        assert "TypeError: Method on_alarm does not exist (in Thing, alarm)" in bench.errors
        assert "Rename Thing.alarm to on_alarm" in bench.errors

    def test_of_one_object_never_runs_twice_at_a_time(self, bench: Bench) -> None:
        source = """
            runs = []

            class Thing(DurableObject):
                busy = 0

                async def set(self, at):
                    await self.ctx.storage.setAlarm(at)

                async def alarm(self):
                    self.busy += 1
                    await self.ctx.storage.setAlarm(1)
                    for _ in range(50):
                        await asyncio.sleep(0)
                    runs.append(self.busy)
                    self.busy -= 1
                    if len(runs) > 4:
                        await self.ctx.storage.deleteAlarm()
        """

        async def program(env: Any, flare: Any) -> Any:
            await env.THING.getByName("a").set(at(5))
            for step in range(6, 20):
                await bench.until(step)
            return runs(flare)

        assert bench(source, program) == [1] * 5

    def test_runs_of_different_objects_overlap(self, bench: Bench) -> None:
        source = """
            runs = []

            class Thing(DurableObject):
                async def set(self, at):
                    await self.ctx.storage.setAlarm(at)

                async def alarm(self):
                    runs.append("begin")
                    for _ in range(20):
                        await asyncio.sleep(0)
                    runs.append("end")
        """

        async def program(env: Any, flare: Any) -> Any:
            for name in "abc":
                await env.THING.getByName(name).set(at(5))
            await bench.until(6)
            return runs(flare)

        assert bench(source, program) == ["begin"] * 3 + ["end"] * 3


class TestSetting:
    @pytest.mark.parametrize(
        "time",
        [
            "datetime.datetime.fromtimestamp(seconds, datetime.UTC)",
            "js.Date.new(seconds * 1000)",
            "seconds * 1000.0",
            "seconds * 1000 + 0.9",
        ],
    )
    def test_takes_a_moment_in_many_forms(self, bench: Bench, time: str) -> None:
        source = (
            THING
            + f"""
class Other(Thing):
    async def set_at(self, seconds):
        await self.ctx.storage.setAlarm({time})
"""
        )

        async def program(env: Any, flare: Any) -> Any:
            await env.OTHER.getByName("a").set_at(START + 7)
            await bench.until(20)
            return runs(flare)

        assert bench(source, program, "Other") == [["a", at(7), 0, False, None]]

    def test_a_time_that_has_passed_counts_as_now(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await bench.until(10)
            await env.THING.getByName("a").set(at(3))
            await bench.until(10.001)
            return ran_at(flare)

        assert bench(THING, program) == [10]

    @pytest.mark.parametrize(
        ("times", "expected"),
        [
            ([5, 7], [7]),
            ([7, 5], [5]),
            ([5, 7, 10, 7], [7]),
            ([10, 5, 10, 6], [6]),
            ([5, 5], [5]),
            ([5, None], []),
            ([None, 5], [5]),
            ([5, None, 5], [5]),
        ],
    )
    def test_the_last_one_counts(
        self, bench: Bench, times: list[float | None], expected: list[float]
    ) -> None:
        async def program(env: Any, flare: Any) -> Any:
            stub = env.THING.getByName("a")
            for time in times:
                await (stub.delete() if time is None else stub.set(at(time)))
            await bench.until(60)
            return ran_at(flare)

        assert bench(THING, program) == expected

    def test_in_the_constructor(self, bench: Bench) -> None:
        source = """
            runs = []

            class Thing(DurableObject):
                def __init__(self, ctx, env):
                    super().__init__(ctx, env)

                    async def begin():
                        if await ctx.storage.getAlarm() is None:
                            await ctx.storage.setAlarm(js.Date.now() + 5000)

                    ctx.blockConcurrencyWhile(begin)

                async def touch(self):
                    return await self.ctx.storage.getAlarm()

                async def alarm(self):
                    runs.append(await self.ctx.storage.getAlarm())
        """

        async def program(env: Any, flare: Any) -> Any:
            alarm = await env.THING.getByName("a").touch()
            assert alarm is not None
            await bench.clock.advance(3600)
            return runs(flare)

        assert bench(source, program) == [None]

    def test_in_a_transaction_counts_when_it_is_committed(self, bench: Bench) -> None:
        source = (
            THING
            + """
class Other(Thing):
    async def both(self, kept, undone):
        storage = self.ctx.storage

        async def keep(txn):
            await txn.setAlarm(kept)

        async def undo(txn):
            await txn.setAlarm(undone)
            await txn.deleteAlarm()
            txn.rollback()

        await storage.transaction(keep)
        await storage.transaction(undo)
        try:
            storage.transactionSync(lambda: (storage._binding.setAlarm(undone), 1 / 0))
        except ZeroDivisionError:
            pass
        return await storage.getAlarm()
"""
        )

        async def program(env: Any, flare: Any) -> Any:
            seen = await env.OTHER.getByName("a").both(at(9), at(3))
            await bench.until(60)
            return seen, ran_at(flare)

        assert bench(source, program, "Other") == (at(9), [9])


# A handler that does something with its alarm, at its first run.
INSIDE = """
runs = []

class Thing(DurableObject):
    async def set(self, at):
        await self.ctx.storage.setAlarm(at)

    async def get(self):
        return await self.ctx.storage.getAlarm()

    async def alarm(self, info):
        runs.append(["a", info.scheduledTime])
        if len(runs) == 1:
            {action}
"""


class TestInsideTheHandler:
    @pytest.mark.parametrize(
        ("action", "expected"),
        [
            ("await self.ctx.storage.setAlarm(info.scheduledTime + 3000)", [5, 8]),
            ("await self.ctx.storage.setAlarm(info.scheduledTime)", [5, 5]),
            ("await self.ctx.storage.setAlarm(1)", [5, 5]),
            ("await self.ctx.storage.deleteAlarm()", [5]),
            ("await self.ctx.storage.deleteAll()", [5]),
            (
                "await self.ctx.storage.setAlarm(info.scheduledTime + 3000); raise ValueError",
                [5, 8],
            ),
            ("await self.ctx.storage.deleteAlarm(); raise ValueError", [5]),
        ],
    )
    def test_a_change_of_the_alarm_replaces_it(
        self, bench: Bench, action: str, expected: list[float]
    ) -> None:
        async def program(env: Any, flare: Any) -> Any:
            stub = env.THING.getByName("a")
            await stub.set(at(5))
            await bench.until(60)
            return ran_at(flare), await stub.get()

        assert bench(INSIDE.replace("{action}", action), program) == (expected, None)

    def test_what_it_writes_is_kept(self, bench: Bench) -> None:
        source = """
            runs = []

            class Thing(DurableObject):
                async def set(self, at):
                    await self.ctx.storage.setAlarm(at)

                async def count(self):
                    return await self.ctx.storage.get("n")

                async def alarm(self, info):
                    n = (await self.ctx.storage.get("n") or 0) + 1
                    await self.ctx.storage.put("n", n)
                    await self.ctx.storage.setAlarm(info.scheduledTime + 1000)
        """

        async def program(env: Any, flare: Any) -> Any:
            await env.THING.getByName("a").set(at(1))
            await bench.until(10.5)
            return await env.THING.getByName("a").count()

        async def again(env: Any, flare: Any) -> Any:
            return await env.THING.getByName("a").count()

        assert bench(source, program) == 10
        assert bench.run(again) == 10


class TestDeleteAll:
    SOURCE = (
        THING
        + """
class Other(Thing):
    async def set_and_delete_all(self, at):
        await self.ctx.storage.put("a", 1)
        await self.ctx.storage.setAlarm(at)
        await self.ctx.storage.sync()
        await self.ctx.storage.deleteAll()
"""
    )

    @pytest.mark.parametrize(
        ("flags", "expected"), [([], []), (["delete_all_preserves_alarm"], [5])]
    )
    def test_a_flag_says_whether_the_alarm_still_runs(
        self, bench: Bench, flags: list[str], expected: list[float]
    ) -> None:
        flags = ["python_workers", *flags]
        config = bench.write(self.SOURCE, "Other", compatibility_flags=flags)

        async def program(env: Any, flare: Any) -> Any:
            await env.OTHER.getByName("a").set_and_delete_all(at(5))
            await bench.until(60)
            return ran_at(flare)

        assert bench.run(program, config) == expected


class TestTheName:
    def test_is_known_after_a_restart(self, bench: Bench) -> None:
        async def first(env: Any, flare: Any) -> Any:
            await env.THING.getByName("lobby").set(at(5))

        async def then(env: Any, flare: Any) -> Any:
            await bench.until(6)
            return runs(flare)

        bench(THING, first)
        assert bench.run(then) == [["lobby", at(5), 0, False, None]]

    def test_of_an_object_without_one_is_none(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await env.THING.get(env.THING.newUniqueId()).set(at(5))
            await bench.until(6)
            return runs(flare)

        assert bench(THING, program) == [[None, at(5), 0, False, None]]


class TestWithoutAHandler:
    SOURCE = """
        class Thing(DurableObject):
            async def set(self, at):
                await self.ctx.storage.setAlarm(at)

            async def get(self):
                return await self.ctx.storage.getAlarm()
    """

    def test_the_run_fails_until_the_alarm_is_given_up(self, bench: Bench) -> None:
        async def program(env: Any, flare: Any) -> Any:
            await env.THING.getByName("a").set(at(5))
            await bench.until(400)
            return await env.THING.getByName("a").get()

        assert bench(self.SOURCE, program) is None
        assert bench.errors.count("TypeError: Method alarm does not exist (in Thing, alarm)") == 7
        assert 'The alarm of Thing "a" is given up and unset' in bench.errors
