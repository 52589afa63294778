"""Code of an object that ends with what is no ``Exception``: a cancellation, an exit, an abort that is caught."""

import asyncio

import pytest

SOURCE = """
    import sys

    from pyodide.ffi import run_sync


    async def cancelled():
        task = asyncio.create_task(asyncio.sleep(9))
        await asyncio.sleep(0)
        task.cancel()
        await task


    async def cancelled_itself():
        asyncio.current_task().cancel()
        await asyncio.sleep(9)


    async def exits():
        await asyncio.sleep(0)
        sys.exit(3)


    def exits_at_once():
        sys.exit(3)


    def interrupts_at_once():
        raise KeyboardInterrupt


    class OwnEnd(BaseException):
        pass


    async def ends_in_its_own_way():
        raise OwnEnd("own")


    ENDS = {
        f.__name__: f
        for f in (
            cancelled, cancelled_itself, exits, exits_at_once, interrupts_at_once,
            ends_in_its_own_way,
        )
    }


    class Thing(DurableObject):
        built = 0
        first_fails = None
        first_section = None
        old = None
        seen = []

        def __init__(self, ctx, env):
            super().__init__(ctx, env)
            Thing.built += 1
            how, Thing.first_fails = Thing.first_fails, None
            section, Thing.first_section = Thing.first_section, None
            if how is not None:
                result = ENDS[how]()
                if result is not None:
                    run_sync(result)
            if section is not None:
                ctx.blockConcurrencyWhile(ENDS[section])

        async def built_so_far(self):
            return Thing.built

        async def transaction(self, how):
            async def inside(txn):
                await txn.put("inside", 1)
                result = ENDS[how]()
                if result is not None:
                    await result

            try:
                await self.ctx.storage.transaction(inside)
            except BaseException as error:
                return [type(error).__name__, str(error)]

        async def stored(self, key):
            return await self.ctx.storage.get(key)

        async def block(self, how):
            await self.ctx.storage.put("before", 1)
            await asyncio.sleep(0)
            await self.ctx.blockConcurrencyWhile(ENDS[how])

        async def method(self, how):
            result = ENDS[how]()
            if result is not None:
                await result

        async def catch_abort(self, awhile):
            await self.ctx.storage.put("dropped", 1)
            try:
                self.ctx.abort("why")
            except BaseException:
                if awhile:
                    await asyncio.sleep(0)
                return "answered"

        async def catch_abort_in_transaction(self):
            def inside():
                self.ctx.storage.kv.put("dropped", 1)
                try:
                    self.ctx.abort("why")
                except BaseException:
                    return "answered"

            return self.ctx.storage.transactionSync(inside)

        async def catch_abort_in_task(self):
            async def end():
                await self.ctx.storage.put("dropped", 1)
                try:
                    self.ctx.abort("why")
                except BaseException:
                    return "answered"

            return await asyncio.create_task(end())

        async def abort_and_go_on(self):
            Thing.seen.clear()
            ctx = self.ctx
            storage = ctx.storage

            async def nothing(*_):
                Thing.seen.append("ran")

            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                for late in (
                    lambda: storage.transaction(nothing),
                    lambda: ctx.blockConcurrencyWhile(nothing),
                ):
                    try:
                        await late()
                    except Exception as error:
                        Thing.seen.append(error.message)

        async def abort(self):
            self.ctx.abort("over")

        async def look(self):
            return Thing.seen

        async def fail_first(self, how, section):
            if section:
                Thing.first_section = how
            else:
                Thing.first_fails = how
            self.ctx.abort("anew")
"""
ENDS = [
    "cancelled", "cancelled_itself", "exits", "exits_at_once", "interrupts_at_once",
    "ends_in_its_own_way",
]  # fmt: skip
LIMIT = 5


@pytest.fixture
def object_of(with_objects):
    def go(program):
        async def inside(env, flare):
            async with asyncio.timeout(LIMIT):
                return await program(env.THING.getByName("a"))

        return with_objects(SOURCE, inside)

    return go


def exception_of(how):
    return {
        "exits": "SystemExit: 3",
        "exits_at_once": "SystemExit: 3",
        "interrupts_at_once": "KeyboardInterrupt",
        "ends_in_its_own_way": "OwnEnd: own",
    }.get(how, "CancelledError")


@pytest.mark.parametrize("how", ENDS)
class TestEveryEnd:
    def test_of_a_transaction_undoes_it_and_is_its_failure(self, object_of, how):
        async def program(stub):
            failure = await stub.transaction(how)
            return failure, await stub.stored("inside"), await stub.built_so_far()

        (kind, text), stored, built = object_of(program)
        assert kind == "RuntimeError"
        assert text == f"the code of the Durable Object was ended by {exception_of(how)}"
        assert (stored, built) == (None, 1)

    def test_of_a_critical_section_resets_the_object(self, object_of, how):
        async def program(stub):
            with pytest.raises(Exception, match=exception_of(how)) as caught:
                await stub.block(how)
            return (
                caught.value.durableObjectReset,
                await stub.stored("before"),
                (await stub.built_so_far()),
            )

        assert object_of(program) == (True, 1, 2)

    @pytest.mark.parametrize("section", [False, True], ids=["itself", "section"])
    def test_of_a_constructor_resets_the_object(self, object_of, how, section):
        async def program(stub):
            with pytest.raises(Exception, match="anew"):
                await stub.fail_first(how, section)
            failed = await asyncio.gather(
                *(stub.built_so_far() for _ in range(3)), return_exceptions=True
            )
            return failed, await stub.built_so_far()

        results, built = object_of(program)
        # A constructor that does not wait has failed before the second call is made.
        failed = [each for each in results if isinstance(each, Exception)]
        assert len(failed) == 3 if section else failed
        assert [exception_of(how) in str(error) for error in failed] == [True] * len(failed)
        assert [error.durableObjectReset for error in failed] == [True] * len(failed)
        assert built == 3

    def test_of_a_method_is_told_without_the_machinery(self, object_of, how):
        async def program(stub):
            with pytest.raises(Exception, match=exception_of(how)) as caught:
                await stub.method(how)
            return str(caught.value), await stub.built_so_far()

        text, built = object_of(program)
        assert built == 1
        assert "/pyflare/" not in text
        assert "in method" in text


@pytest.mark.parametrize(
    "call",
    [
        lambda stub: stub.catch_abort(False),
        lambda stub: stub.catch_abort(True),
        lambda stub: stub.catch_abort_in_transaction(),
        lambda stub: stub.catch_abort_in_task(),
    ],
    ids=["at once", "a turn later", "in a transaction", "in a task"],
)
def test_an_abort_that_is_caught_is_one_all_the_same(object_of, call):
    async def program(stub):
        with pytest.raises(Exception, match=r"^Error: why$") as caught:
            await call(stub)
        return (
            caught.value.durableObjectReset,
            await stub.stored("dropped"),
            (await stub.built_so_far()),
        )

    assert object_of(program) == (True, None, 2)


def test_what_goes_on_after_the_end_can_begin_no_section(object_of):
    async def program(stub):
        call = asyncio.ensure_future(stub.abort_and_go_on())
        await asyncio.sleep(0.01)
        await asyncio.gather(stub.abort(), call, return_exceptions=True)
        await asyncio.sleep(0.01)
        return await stub.look()

    assert object_of(program) == ["Durable Object storage is no longer accessible."] * 2
