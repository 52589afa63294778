"""How an object begins, what it survives, and how it ends."""

import asyncio

import pytest

from pyflare_bindings.clock import ManualClock

COUNTER = """
    class Thing(DurableObject):
        built = 0

        def __init__(self, ctx, env):
            super().__init__(ctx, env)
            Thing.built += 1
            self.count = 0

        async def add(self):
            self.count += 1
            stored = (await self.ctx.storage.get("n") or 0) + 1
            await self.ctx.storage.put("n", stored)
            return [self.count, stored, Thing.built]

        async def fail(self):
            await self.ctx.storage.put("n", 100)
            self.count = 50
            raise ValueError("no")

        async def who(self):
            return [self.ctx.id.name, self.ctx.id.toString()]

        async def fetch(self, request):
            return Response(f"{request.method} {request.url}")
"""


class TestOneInstance:
    def test_a_stub_starts_nothing(self, with_objects):
        async def program(env, flare):
            env.THING.get(env.THING.newUniqueId())
            env.THING.getByName("a")
            return await env.THING.getByName("b").add()

        assert with_objects(COUNTER, program) == [1, 1, 1]

    def test_events_of_one_name_reach_one_instance(self, with_objects):
        async def program(env, flare):
            calls = [env.THING.getByName("a").add() for _ in range(50)]
            return [
                answer[0] for answer in await asyncio.gather(*calls)
            ], await env.THING.getByName("a").add()

        counts, last = with_objects(COUNTER, program)
        assert counts == list(range(1, 51))
        assert last == [51, 51, 1]

    def test_other_names_are_other_objects(self, with_objects):
        async def program(env, flare):
            await env.THING.getByName("a").add()
            return await env.THING.getByName("b").add()

        assert with_objects(COUNTER, program) == [1, 1, 2]

    def test_a_slow_constructor_runs_once_and_everybody_waits(self, with_objects):
        source = """
            from pyodide.ffi import run_sync

            class Thing(DurableObject):
                built = 0

                def __init__(self, ctx, env):
                    super().__init__(ctx, env)
                    Thing.built += 1
                    run_sync(asyncio.sleep(0.02))
                    self.ready = True

                async def built_and_ready(self):
                    return [Thing.built, self.ready]
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            return await asyncio.gather(*(stub.built_and_ready() for _ in range(5)))

        assert with_objects(source, program) == [[1, True]] * 5

    def test_what_the_constructor_asks_to_block_comes_before_the_first_event(self, with_objects):
        source = """
            class Thing(DurableObject):
                def __init__(self, ctx, env):
                    super().__init__(ctx, env)
                    self.log = []
                    ctx.blockConcurrencyWhile(self.load)
                    self.log.append("constructed")

                async def load(self):
                    self.log.append("loading")
                    await asyncio.sleep(0.02)
                    self.log.append("loaded")

                async def event(self, name):
                    self.log.append(name)
                    return self.log
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            _, second = await asyncio.gather(stub.event("first"), stub.event("second"))
            return second

        assert with_objects(source, program) == [
            "constructed",
            "loading",
            "loaded",
            "first",
            "second",
        ]

    def test_calls_through_one_stub_arrive_in_order(self, with_objects):
        source = """
            class Thing(DurableObject):
                def __init__(self, ctx, env):
                    super().__init__(ctx, env)
                    self.seen = []

                async def event(self, number):
                    self.seen.append(number)
                    return self.seen
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            calls = [asyncio.ensure_future(stub.event(number)) for number in range(20)]
            await asyncio.gather(*reversed(calls))
            return await stub.event(20)

        assert with_objects(source, program) == list(range(21))


class TestNames:
    def test_an_object_knows_its_name_and_id(self, with_objects):
        async def program(env, flare):
            id = env.THING.idFromName("a")
            return await env.THING.get(id).who(), id.toString()

        (name, text), id = with_objects(COUNTER, program)
        assert (name, text) == ("a", id)

    @pytest.mark.parametrize(
        ("name", "seen"),
        [("é" * 512, "é" * 512), ("é" * 512 + "a", None), ("", "")],
        ids=["1024 bytes", "1025 bytes", "empty"],
    )
    def test_long_names_do_not_reach_it(self, with_objects, name, seen):
        async def program(env, flare):
            return (await env.THING.getByName(name).who())[0]

        assert with_objects(COUNTER, program) == seen

    def test_an_id_from_its_text_has_no_name(self, with_objects):
        async def program(env, flare):
            text = env.THING.idFromName("a").toString()
            return (await env.THING.get(env.THING.idFromString(text.upper())).who())[0]

        assert with_objects(COUNTER, program) is None


class TestFailures:
    def test_an_exception_resets_nothing_and_keeps_what_was_written(self, with_objects):
        async def program(env, flare):
            stub = env.THING.getByName("a")
            await stub.add()
            with pytest.raises(Exception, match="ValueError: no") as caught:
                await stub.fail()
            return await stub.add(), caught.value

        answer, error = with_objects(COUNTER, program)
        assert answer == [51, 101, 1]
        assert (error.remote, getattr(error, "durableObjectReset", None)) == (True, None)
        assert len(error.durableObjectId) == 64

    @pytest.mark.parametrize("first", ["", "await asyncio.sleep(0.001)"])
    def test_leaving_the_process_is_refused(self, with_objects, first):
        source = f"""
            import sys

            class Thing(DurableObject):
                async def leave(self):
                    {first}
                    sys.exit(3)

                async def add(self):
                    return 1
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            with pytest.raises(Exception, match="ended by SystemExit"):
                await stub.leave()
            return await stub.add()

        assert with_objects(source, program) == 1

    def test_every_waiting_caller_gets_what_the_constructor_raised_and_the_next_one_begins_anew(
        self, with_objects
    ):
        source = """
            from pyodide.ffi import run_sync

            class Thing(DurableObject):
                built = 0

                def __init__(self, ctx, env):
                    super().__init__(ctx, env)
                    Thing.built += 1
                    run_sync(asyncio.sleep(0.01))
                    if Thing.built == 1:
                        raise KeyError("bad start")

                async def count(self):
                    return Thing.built
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            failed = await asyncio.gather(*(stub.count() for _ in range(3)), return_exceptions=True)
            return failed, await stub.count()

        failed, count = with_objects(source, program)
        assert ["KeyError: 'bad start'" in str(error) for error in failed] == [True] * 3
        assert [error.durableObjectReset for error in failed] == [True] * 3
        assert count == 2

    @pytest.mark.parametrize("asynchronous", [True, False])
    def test_a_failure_in_block_concurrency_while_resets_and_cannot_be_caught(
        self, with_objects, asynchronous
    ):
        source = f"""
            class Thing(DurableObject):
                caught = []

                async def block(self):
                    await self.ctx.storage.put("kept", 1)
                    await asyncio.sleep(0)
                    try:
                        await self.ctx.blockConcurrencyWhile(self.work)
                    except Exception as error:
                        Thing.caught.append(str(error))
                    return "not reached"

                {"async " if asynchronous else ""}def work(self):
                    {"await asyncio.sleep(0.02)" if asynchronous else ""}
                    self.ctx.storage.kv.put("lost", 1)
                    raise RuntimeError("broken inside")

                async def look(self):
                    storage = self.ctx.storage
                    return [Thing.caught, await storage.get("kept"), await storage.get("lost")]
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            calls = [asyncio.ensure_future(stub.block())]
            await asyncio.sleep(0.01)
            if asynchronous:
                calls.append(asyncio.ensure_future(stub.look()))
            return await asyncio.gather(*calls, return_exceptions=True), await stub.look()

        failed, seen = with_objects(source, program)
        assert all("RuntimeError: broken inside" in str(error) for error in failed)
        assert seen == [[], 1, None]

    def test_what_the_constructor_blocked_for_fails(self, with_objects):
        source = """
            class Thing(DurableObject):
                built = 0

                def __init__(self, ctx, env):
                    super().__init__(ctx, env)
                    Thing.built += 1
                    ctx.blockConcurrencyWhile(self.load)

                async def load(self):
                    await asyncio.sleep(0.01)
                    if Thing.built == 1:
                        raise RuntimeError("cannot load")

                async def count(self):
                    return Thing.built
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            failed = await asyncio.gather(*(stub.count() for _ in range(3)), return_exceptions=True)
            return failed, await stub.count()

        failed, count = with_objects(source, program)
        assert ["RuntimeError: cannot load" in str(error) for error in failed] == [True] * 3
        assert [error.durableObjectReset for error in failed] == [True] * 3
        assert count == 2

    def test_blocking_longer_than_thirty_seconds(self, with_objects):
        source = """
            class Thing(DurableObject):
                async def block(self):
                    await self.ctx.blockConcurrencyWhile(asyncio.Event().wait)

                async def add(self):
                    return 1
        """
        clock = ManualClock()

        async def program(env, flare):
            stub = env.THING.getByName("a")
            calls = [asyncio.ensure_future(call) for call in (stub.block(), stub.add())]
            await clock.advance(29.9)
            waiting = [call.done() for call in calls]
            await clock.advance(0.2)
            return waiting, await asyncio.gather(*calls, return_exceptions=True), await stub.add()

        waiting, errors, after = with_objects(source, program, clock=clock)
        assert waiting == [False, False]
        for error in errors:
            assert error.message == (
                "A call to blockConcurrencyWhile() in a Durable Object waited for too long. The call was canceled and "
                "the Durable Object was reset."
            )
            assert (error.overloaded, error.durableObjectReset) == (True, True)
        assert after == 1

    @pytest.mark.parametrize("created", ["before", "long before"])
    def test_a_section_that_waits_for_what_it_keeps_waiting(self, with_objects, created):
        source = f"""
            class Thing(DurableObject):
                async def block(self):
                    task = asyncio.ensure_future(self.work())
                    await asyncio.sleep({0.01 if created == "long before" else 0})

                    async def section():
                        await asyncio.sleep(0.02)
                        await task
                    await self.ctx.blockConcurrencyWhile(section)

                async def work(self):
                    await asyncio.sleep(0.015)

                async def add(self):
                    return 1
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            with pytest.raises(
                Exception, match="awaited a Promise that apparently will never"
            ) as caught:
                await stub.block()
            return caught.value.durableObjectReset, await stub.add()

        assert with_objects(source, program) == (True, 1)

    def test_sections_may_be_sixty_four_deep(self, with_objects):
        source = """
            class Thing(DurableObject):
                async def nest(self, depth):
                    if depth == 0:
                        return "bottom"
                    return await self.ctx.blockConcurrencyWhile(lambda: self.nest(depth - 1))
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            with pytest.raises(Exception, match="nested too deeply"):
                await stub.nest(65)
            return await stub.nest(64)

        assert with_objects(source, program) == "bottom"


class TestAbort:
    SOURCE = """
        class Thing(DurableObject):
            log = []

            def __init__(self, ctx, env):
                super().__init__(ctx, env)
                Thing.log.append("built")

            async def wait(self):
                await asyncio.Event().wait()

            async def abort(self, *reason):
                await self.ctx.storage.put("kept", 1)
                await asyncio.sleep(0)
                await self.ctx.storage.put("lost", 1)
                try:
                    self.ctx.abort(*reason)
                except Exception:
                    Thing.log.append("caught")
                finally:
                    Thing.log.append("finally")

            async def begin(self, how):
                async def write():
                    while True:
                        await asyncio.sleep(0.001)
                        await self.ctx.storage.put("written", "late")
                        Thing.log.append("written")
                if how == "task":
                    self.task = asyncio.create_task(write())
                elif how == "waitUntil":
                    self.ctx.waitUntil(write())
                elif how == "timer":
                    js.setInterval(lambda: Thing.log.append("written"), 1)
                await asyncio.sleep(0.02)
                assert "written" in Thing.log

            async def look(self):
                storage = self.ctx.storage
                return [Thing.log, await storage.get("kept"), await storage.get("lost")]

            async def clear(self):
                Thing.log.clear()
    """

    @pytest.mark.parametrize(
        ("reason", "text"),
        [((), "Application called abort() to reset Durable Object."), (("enough",), "enough")],
    )
    def test_everybody_gets_the_reason_and_a_new_instance_follows(self, with_objects, reason, text):
        async def program(env, flare):
            stub = env.THING.getByName("a")
            waiting = asyncio.ensure_future(stub.wait())
            await asyncio.sleep(0)
            errors = await asyncio.gather(stub.abort(*reason), waiting, return_exceptions=True)
            return errors, await stub.look()

        errors, seen = with_objects(self.SOURCE, program)
        assert [error.message for error in errors] == [text, text]
        assert [error.durableObjectReset for error in errors] == [True, True]
        assert seen == [["built", "finally", "built"], 1, None]

    def test_events_that_have_not_begun_get_the_reason_too(self, with_objects):
        source = """
            class Thing(DurableObject):
                async def block(self):
                    async def section():
                        await asyncio.sleep(0.1)
                        self.ctx.abort("enough")
                    await self.ctx.blockConcurrencyWhile(section)

                async def add(self):
                    return 1
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            calls = [asyncio.ensure_future(stub.block())]
            await asyncio.sleep(0.002)
            calls += [asyncio.ensure_future(stub.add()) for _ in range(3)]
            (actor,) = flare._objects.host.namespaces["w-Thing"].actors
            while not actor.failure:
                # One event arrives in the very turn in which the object ends.
                await asyncio.sleep(0)
                calls.append(asyncio.ensure_future(env.THING.getByName("a").add()))
            return [str(each) for each in await asyncio.gather(*calls, return_exceptions=True)]

        answers = with_objects(source, program)
        assert answers[:4] == ["Error: enough"] * 4
        assert set(answers[4:]) <= {"Error: enough", "1"}

    @pytest.mark.parametrize("how", ["task", "waitUntil", "timer"])
    def test_what_it_had_going_ends(self, with_objects, how):
        async def program(env, flare):
            stub = env.THING.getByName("a")
            await stub.begin(how)
            with pytest.raises(Exception, match="Application called abort"):
                await stub.abort()
            await stub.clear()
            await asyncio.sleep(0.02)
            return (await stub.look())[0]

        assert with_objects(self.SOURCE, program) == []

    @pytest.mark.parametrize("how", ["self.ctx.abort('no start')", "ctx._ctx.abort('no start')"])
    def test_a_constructor_can_abort(self, with_objects, how):
        source = f"""
            class Thing(DurableObject):
                built = 0

                def __init__(self, ctx, env):
                    super().__init__(ctx, env)
                    Thing.built += 1
                    if Thing.built == 1:
                        {how}

                async def count(self):
                    return Thing.built
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            with pytest.raises(Exception, match="no start") as caught:
                await stub.count()
            return caught.value.message, await stub.count()

        assert with_objects(source, program) == ("no start", 2)

    def test_its_storage_is_closed_to_code_that_goes_on(self, with_objects):
        source = """
            class Thing(DurableObject):
                seen = []

                async def abort(self):
                    storage = self.ctx.storage
                    try:
                        self.ctx.abort()
                    except BaseException:
                        await asyncio.sleep(0)

                async def keep(self):
                    storage = self.ctx.storage
                    try:
                        await asyncio.sleep(10)
                    except asyncio.CancelledError:
                        try:
                            await storage.put("late", 1)
                        except Exception as error:
                            Thing.seen.append(error.message)

                async def look(self):
                    return [Thing.seen, await self.ctx.storage.get("late")]
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            kept = asyncio.ensure_future(stub.keep())
            await asyncio.sleep(0)
            await asyncio.gather(stub.abort(), kept, return_exceptions=True)
            await asyncio.sleep(0.01)
            return await stub.look()

        assert with_objects(source, program) == [
            ["Durable Object storage is no longer accessible."],
            None,
        ]


class TestEviction:
    def test_ten_idle_seconds_cost_memory_not_storage(self, with_objects):
        clock = ManualClock()

        async def program(env, flare):
            stub = env.THING.getByName("a")
            await stub.add()
            await clock.advance(9.9)
            still = await stub.add()
            await clock.advance(9.9)
            again = await stub.add()
            await clock.advance(10.1)
            return still, again, await stub.add()

        assert with_objects(COUNTER, program, clock=clock) == ([2, 2, 1], [3, 3, 1], [1, 4, 2])

    @pytest.mark.parametrize("what", ["event", "task", "waitUntil", "timer"])
    def test_work_keeps_it_alive(self, with_objects, what):
        source = """
            class Thing(DurableObject):
                built = 0
                done = None

                def __init__(self, ctx, env):
                    super().__init__(ctx, env)
                    Thing.built += 1
                    if Thing.done is None:
                        Thing.done = asyncio.Event()

                async def begin(self, what):
                    if what == "event":
                        await Thing.done.wait()
                    elif what == "task":
                        self.task = asyncio.create_task(Thing.done.wait())
                    elif what == "waitUntil":
                        self.ctx.waitUntil(Thing.done.wait())
                    else:
                        self.timer = js.setTimeout(lambda: None, 3_600_000)

                async def end(self):
                    Thing.done.set()
                    if hasattr(self, "timer"):
                        js.clearTimeout(self.timer)

                async def count(self):
                    return Thing.built
        """
        clock = ManualClock()

        async def program(env, flare):
            stub = env.THING.getByName("a")
            begun = asyncio.ensure_future(stub.begin(what))
            await clock.advance(60)
            during = await stub.count()
            await stub.end()
            await begun
            await clock.advance(30)
            return during, await stub.count()

        assert with_objects(source, program, clock=clock) == (1, 2)

    def test_thousands_of_idle_objects_are_forgotten(self, with_objects):
        clock = ManualClock()

        async def program(env, flare):
            for number in range(300):
                await env.THING.getByName(f"o{number}").add()
            namespace = flare._objects.host.namespaces["w-Thing"]
            before = len(namespace)
            await clock.advance(10.5)
            return before, len(namespace), await env.THING.getByName("o7").add()

        before, after, answer = with_objects(COUNTER, program, clock=clock)
        assert (before, after) == (300, 0)
        assert answer[:2] == [1, 2]


class TestCallers:
    def test_a_caller_that_goes_away_does_not_end_the_event(self, with_objects):
        source = """
            class Thing(DurableObject):
                done = 0

                async def slow(self):
                    await asyncio.sleep(0.01)
                    Thing.done += 1

                async def look(self):
                    return Thing.done
        """

        async def program(env, flare):
            stub = env.THING.getByName("a")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.002):
                    await stub.slow()
            await asyncio.sleep(0.03)
            return await stub.look()

        assert with_objects(source, program) == 1

    def test_code_of_an_object_has_a_task_of_its_own(self, with_objects):
        source = """
            class Thing(DurableObject):
                async def limited(self):
                    before = asyncio.current_task()
                    try:
                        async with asyncio.timeout(0.005):
                            await asyncio.sleep(10)
                    except TimeoutError:
                        pass
                    async with asyncio.TaskGroup() as group:
                        first = group.create_task(asyncio.sleep(0.001, "a"))
                        second = group.create_task(self.ctx.storage.get("nothing"))
                    return [first.result(), second.result(), before is asyncio.current_task()]
        """

        async def program(env, flare):
            here = asyncio.current_task()
            answer = await env.THING.getByName("a").limited()
            return answer, here is asyncio.current_task(), here.cancelling()

        assert with_objects(source, program) == (["a", None, True], True, 0)

    def test_an_object_can_call_itself(self, with_objects):
        source = """
            class Thing(DurableObject):
                async def outer(self):
                    self.log = ["outer"]
                    stub = self.env.THING.get(self.ctx.id)
                    inner = asyncio.ensure_future(stub.inner())
                    self.log.append("called")
                    await inner
                    self.log.append("answered")
                    return self.log

                async def inner(self):
                    self.log.append("inner")
        """

        async def program(env, flare):
            return await env.THING.getByName("a").outer()

        assert with_objects(source, program) == ["outer", "called", "inner", "answered"]

    def test_objects_can_call_each_other_in_circles(self, with_objects):
        source = """
            class Thing(DurableObject):
                async def ring(self, left):
                    if left == 0:
                        return [self.ctx.id.name]
                    other = self.env.THING.getByName("b" if self.ctx.id.name == "a" else "a")
                    return [self.ctx.id.name, *await other.ring(left - 1)]
        """

        async def program(env, flare):
            return await env.THING.getByName("a").ring(20)

        assert with_objects(source, program) == list("abababababababababab" + "a")

    def test_what_is_no_promise_is_background_work_that_is_done(self, with_objects, run):
        source = """
            from workers import wait_until

            class Thing(DurableObject):
                async def begin(self):
                    for value in (None, 5, "text", {}, [1], print):
                        self.ctx.waitUntil(value)
                        wait_until(value)
                    try:
                        self.ctx.waitUntil()
                    except js.TypeError as error:
                        return str(error)
        """

        async def program(env, flare):
            return await env.THING.getByName("a").begin()

        assert with_objects(source, program) == (
            "TypeError: Failed to execute 'waitUntil' on 'DurableObjectState': parameter 1 is not of type 'Promise'."
        )
        assert "waitUntil" not in run.err.text

    def test_background_failures_are_logged(self, with_objects, run):
        source = """
            class Thing(DurableObject):
                async def begin(self):
                    async def work():
                        raise LookupError("in the background")
                    self.ctx.waitUntil(work())
        """

        async def program(env, flare):
            await env.THING.getByName("a").begin()
            await asyncio.sleep(0.01)

        with_objects(source, program)
        assert "LookupError: in the background" in run.err.text
        assert "Thing, waitUntil" in run.err.text
