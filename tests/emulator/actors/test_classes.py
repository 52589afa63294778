"""Where classes are looked up: in this worker or another one, also after a reload, also when they are missing."""

import asyncio
import textwrap

import pytest

from pyflare_bindings.clock import ManualClock
from tests.emulator.actors.conftest import HEAD, write_objects
from tests.emulator.conftest import request, write_worker

COUNTER = """
    class Thing(DurableObject):
        built = 0

        def __init__(self, ctx, env):
            super().__init__(ctx, env)
            Thing.built += 1
            self.count = 0

        async def add(self):
            self.count += 1
            await asyncio.sleep(0.001)
            n = (await self.ctx.storage.get("n") or 0) + 1
            await self.ctx.storage.put("n", n)
            return [self.count, n, Thing.built]

        async def look(self):
            return [self.count, await self.ctx.storage.get("n"), Thing.built]
"""


def bound(script: str, class_name: str = "Thing") -> dict:
    return {"bindings": [{"name": "THING", "class_name": class_name, "script_name": script}]}


class TestAnotherWorkersClass:
    def test_two_workers_reach_one_instance(self, tmp_path, run):
        first = write_objects(tmp_path / "a", COUNTER)
        second = write_worker(
            tmp_path / "b", textwrap.dedent(HEAD), durable_objects=bound("a"), main="src/entry.py"
        )

        async def program(flare):
            stubs = [flare.env(name).THING.getByName("x") for name in ("a", "b") for _ in range(50)]
            await asyncio.gather(*(stub.add() for stub in stubs))
            return await stubs[0].add()

        assert run(program, first, second) == [101, 101, 1]

    def test_consumers_and_alarms_reach_the_same_instance_too(self, tmp_path, run):
        callers = """
            import time

            class Clock(DurableObject):
                async def start(self):
                    await self.ctx.storage.setAlarm(int(time.time() * 1000))

                async def alarm(self):
                    await self.env.THING.getByName("x").add()

            class Default(WorkerEntrypoint):
                async def queue(self, batch):
                    for message in batch.messages:
                        await self.env.THING.getByName("x").add()
        """
        first = write_objects(tmp_path / "a", COUNTER)
        binding = {"name": "CLOCK", "class_name": "Clock"}
        second = write_worker(
            tmp_path / "b",
            textwrap.dedent(HEAD) + textwrap.dedent(callers),
            durable_objects={"bindings": [*bound("a")["bindings"], binding]},
            migrations=[{"tag": "v1", "new_sqlite_classes": ["Clock"]}],
            queues={
                "producers": [{"binding": "QUEUE", "queue": "q"}],
                "consumers": [{"queue": "q", "max_batch_timeout": 0}],
            },
        )

        async def program(flare):
            env = flare.env("b")
            await asyncio.gather(
                *(env.THING.getByName("x").add() for _ in range(10)),
                *(env.QUEUE.send(number) for number in range(10)),
                *(env.CLOCK.getByName(str(number)).start() for number in range(10)),
            )
            async with asyncio.timeout(10):
                while (answer := await flare.env("a").THING.getByName("x").look())[1] < 30:
                    await asyncio.sleep(0.02)
            return answer

        assert run(program, first, second) == [30, 30, 1]

    def test_its_code_runs_with_its_own_modules_and_environment(self, tmp_path, run):
        source = """
            import helper

            class Thing(DurableObject):
                async def look(self):
                    await asyncio.sleep(0)
                    import helper as again
                    return [helper.WHO, again.WHO, self.env.NAME]
        """
        first = write_worker(
            tmp_path / "a",
            {
                "src/entry.py": textwrap.dedent(HEAD) + textwrap.dedent(source),
                "src/helper.py": "WHO = 'a'",
            },
            vars={"NAME": "a"},
            migrations=[{"tag": "v1", "new_sqlite_classes": ["Thing"]}],
        )
        caller = """
            import helper

            class Default(WorkerEntrypoint):
                async def fetch(self, request):
                    seen = await self.env.THING.getByName("x").look()
                    import helper as again
                    return Response(" ".join([*seen, helper.WHO, again.WHO, self.env.NAME]))
        """
        second = write_worker(
            tmp_path / "b",
            {
                "src/entry.py": textwrap.dedent(HEAD) + textwrap.dedent(caller),
                "src/helper.py": "WHO = 'b'",
            },
            vars={"NAME": "b"},
            durable_objects=bound("a"),
        )

        async def program(flare):
            return (await request(flare)).text

        assert run(program, second, first) == "a a a b b b"

    def test_a_worker_that_is_not_here(self, tmp_path, run):
        config = write_worker(
            tmp_path / "b", textwrap.dedent(HEAD), durable_objects=bound("elsewhere")
        )

        async def program(flare):
            with pytest.raises(Exception, match="class Thing is defined") as caught:
                await flare.env().THING.getByName("x").add()
            return caught.value.message

        message = run(program, config)
        assert 'Thing is defined in the Worker "elsewhere", which is not running here' in message
        assert message in run.err.text


class TestMissingClasses:
    def test_a_warning_at_the_start_and_an_error_for_each_call(self, tmp_path, run):
        config = write_objects(
            tmp_path / "w",
            COUNTER,
            durable_objects={"bindings": [{"name": "THING", "class_name": "Thng"}]},
            migrations=[{"tag": "v1", "new_sqlite_classes": ["Thng"]}],
        )

        async def program(flare):
            with pytest.raises(Exception, match="no Durable Object class Thng") as caught:
                await flare.env().THING.getByName("x").add()
            return caught.value.message

        message = run(program, config)
        assert (
            message
            == 'The Worker "w" has no Durable Object class Thng in entry.py: it exports Thing.'
        )
        assert message in run.err.text

    def test_an_import_that_fails_is_the_answer_to_every_call(self, tmp_path, run):
        config = write_objects(tmp_path / "w", COUNTER + "\n    raise ValueError('at import')\n")

        async def program(flare):
            with pytest.raises(Exception, match="ValueError: at import"):
                await flare.env().THING.getByName("x").add()

        run(program, config)

    def test_a_class_without_fetch(self, tmp_path, run):
        config = write_objects(tmp_path / "w", COUNTER)

        async def program(flare):
            with pytest.raises(OSError, match="Method fetch does not exist"):
                await flare.env().THING.getByName("x").fetch("http://x/")

        run(program, config)


class TestReload:
    def test_memory_is_lost_and_the_new_code_runs_on_the_old_storage(self, tmp_path, run):
        config = write_objects(tmp_path / "w", COUNTER)
        entry = tmp_path / "w/src/entry.py"

        async def program(flare):
            stub = flare.env().THING.getByName("x")
            before = [await stub.add(), await stub.add()]
            entry.write_text(
                entry.read_text().replace("+ 1\n        await", "+ 100\n        await")
            )
            await flare.reload(entry)
            return before, await flare.env().THING.getByName("x").add(), await stub.add()

        before, after, old_stub = run(program, config)
        assert before == [[1, 1, 1], [2, 2, 1]]
        assert after == [1, 102, 1]
        assert old_stub == [2, 202, 1]

    def test_calls_under_way_are_told(self, tmp_path, run):
        config = write_objects(tmp_path / "w", COUNTER.replace("0.001", "10"))

        async def program(flare):
            call = asyncio.ensure_future(flare.env().THING.getByName("x").add())
            await asyncio.sleep(0.01)
            await flare.reload(tmp_path / "w/src/entry.py")
            with pytest.raises(Exception, match="reset because its code was updated") as caught:
                await call
            return caught.value.durableObjectReset

        assert run(program, config) is True

    def test_a_broken_configuration_ends_the_old_objects_too(self, tmp_path, run):
        config = write_objects(tmp_path / "w", COUNTER)

        async def program(flare):
            stub = flare.env().THING.getByName("x")
            await stub.add()
            config.write_text("{")
            with pytest.raises(Exception, match="wrangler"):
                await flare.reload(config)
            with pytest.raises(Exception, match="wrangler"):
                await stub.add()

        run(program, config)


class TestStopping:
    def test_work_under_way_is_finished(self, tmp_path, run):
        config = write_objects(tmp_path / "w", COUNTER.replace("0.001", "0.05"))
        calls = []

        async def program(flare):
            calls.append(asyncio.ensure_future(flare.env().THING.getByName("x").add()))
            await asyncio.sleep(0.01)
            await flare.close()
            return await calls[0]

        assert run(program, config) == [1, 1, 1]

    def test_background_work_of_workers_still_reaches_objects(self, tmp_path, run):
        source = """
            class Thing(DurableObject):
                async def put(self):
                    await self.ctx.storage.put("n", 7)

                async def get(self):
                    return await self.ctx.storage.get("n")

            class Default(WorkerEntrypoint):
                async def fetch(self, request):
                    async def later():
                        await asyncio.sleep(0.05)
                        await self.env.THING.getByName("x").put()
                    await self.env.THING.getByName("x").get()
                    self.ctx.waitUntil(later())
                    return Response("")
        """
        config = write_objects(tmp_path / "w", source)

        async def first(flare):
            await request(flare)

        async def second(flare):
            return await flare.env().THING.getByName("x").get()

        state = tmp_path / "state"
        run(first, config, persist_to=state)
        assert run(second, config, persist_to=state) == 7

    def test_what_does_not_end_is_stopped(self, tmp_path, run):
        config = write_objects(tmp_path / "w", COUNTER.replace("0.001", "1000"))

        async def program(flare):
            call = asyncio.ensure_future(flare.env().THING.getByName("x").add())
            await asyncio.sleep(0.01)
            await flare.close(grace=0.01)
            with pytest.raises(Exception, match="Server shutting down"):
                await call

        run(program, config)

    @pytest.mark.parametrize("idle", [0, 15, 75])
    def test_storage_outlives_the_process_and_every_pause(self, tmp_path, run, idle):
        config = write_objects(tmp_path / "w", COUNTER)

        async def first(flare):
            await flare.env().THING.getByName("x").add()
            await flare._clock.advance(idle)
            return await flare.env().THING.getByName("x").add()

        async def second(flare):
            return await flare.env().THING.getByName("x").add()

        state = tmp_path / "state"
        assert run(first, config, persist_to=state, clock=ManualClock())[1] == 2
        assert run(second, config, persist_to=state, clock=ManualClock())[1] == 3
