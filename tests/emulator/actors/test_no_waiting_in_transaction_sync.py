"""``transactionSync`` is synchronous: nothing in it may wait, so that no other event comes in between."""

import asyncio

import pytest

SOURCE = """
    from pyodide.ffi import can_run_sync, run_sync


    async def soon():
        await asyncio.sleep(0.01)


    def by_run_sync(self):
        run_sync(soon())


    def by_run_sync_of_what_is_done(self):
        run_sync(self.ctx.storage.get("theirs"))


    def by_the_loop(self):
        asyncio.get_event_loop().run_until_complete(soon())


    def by_asyncio_run(self):
        asyncio.run(soon())


    def in_another_transaction(self):
        self.ctx.storage.transactionSync(lambda: by_run_sync(self))


    def by_run_sync_after_another_transaction(self):
        self.ctx.storage.transactionSync(lambda: None)
        by_run_sync(self)


    WAITS = {
        f.__name__: f
        for f in (
            by_run_sync, by_run_sync_of_what_is_done, by_the_loop, by_asyncio_run,
            in_another_transaction, by_run_sync_after_another_transaction,
        )
    }


    class Thing(DurableObject):
        async def keep(self):
            await self.ctx.storage.put("theirs", 1)
            return "kept"

        async def wait_inside(self, how):
            def inside():
                self.ctx.storage.kv.put("mine", 1)
                WAITS[how](self)
                raise ValueError("it has waited")

            try:
                self.ctx.storage.transactionSync(inside)
            except Exception as error:
                return f"{type(error).__name__}: {error}"

        async def outside(self):
            before = can_run_sync()
            within = self.ctx.storage.transactionSync(can_run_sync)
            try:
                self.ctx.storage.transactionSync(lambda: 1 // 0)
            except ZeroDivisionError:
                pass
            run_sync(asyncio.sleep(0))
            return [before, within, can_run_sync()]

        async def begin_inside(self):
            begun = []

            async def task():
                run_sync(asyncio.sleep(0))
                return "waited"

            self.ctx.storage.transactionSync(lambda: begun.append(asyncio.create_task(task())))
            return await begun[0]

        async def look(self):
            storage = self.ctx.storage
            return [await storage.get("mine"), await storage.get("theirs")]
"""
REFUSED = (
    "RuntimeError: Cannot stack switch because the Python entrypoint was a synchronous function. "
    "Use pyFunc.callPromising() to fix."
)


@pytest.mark.parametrize(
    "how",
    [
        "by_run_sync", "by_run_sync_of_what_is_done", "by_the_loop", "by_asyncio_run",
        "in_another_transaction", "by_run_sync_after_another_transaction",
    ],
)  # fmt: skip
def test_waiting_is_refused_and_no_other_event_loses_what_it_wrote(with_objects, how):
    async def program(env, flare):
        stub = env.THING.getByName("a")
        refused, kept = await asyncio.gather(stub.wait_inside(how), stub.keep())
        return refused, kept, await stub.look()

    assert with_objects(SOURCE, program) == (REFUSED, "kept", [None, 1])


def test_around_the_transaction_waiting_is_possible(with_objects):
    async def program(env, flare):
        return await env.THING.getByName("a").outside()

    assert with_objects(SOURCE, program) == [True, False, True]


def test_a_task_that_is_begun_inside_may_wait(with_objects):
    async def program(env, flare):
        return await env.THING.getByName("a").begin_inside()

    assert with_objects(SOURCE, program) == "waited"
