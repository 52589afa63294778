"""Nothing leaves an object before what it may tell of is durable."""

import asyncio

import pytest

from pyflare.workers.actors.output_gate import OutputGate
from pyflare_bindings.clock import ManualClock


class HandStorage:
    """A storage whose commits are resolved by hand."""

    def __init__(self):
        self.depth = 0
        self.commits = []

    def commit(self):
        future = asyncio.get_running_loop().create_future()
        self.commits.append(future)
        return future


class Bench:
    """An output gate over such a storage."""

    def __init__(self):
        self.clock = ManualClock()
        self.storage = HandStorage()
        self.broken = []
        self.gate = OutputGate(self.clock, self.broken.append)
        self.gate.attach(self.storage)


def bench(program):
    """Runs ``program(bench)`` on an event loop."""

    async def run():
        return await program(Bench())

    asyncio.run(run())


async def turn():
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def test_without_writes_everything_leaves_at_once():
    async def program(bench):
        assert bench.gate.departure() is None
        assert bench.gate.settle() is None

    bench(program)


def test_the_writes_of_one_turn_are_one_commit():
    async def program(bench):
        bench.gate.wrote()
        bench.gate.wrote()
        assert bench.storage.commits == []
        await turn()
        assert len(bench.storage.commits) == 1
        bench.gate.wrote()
        await turn()
        assert len(bench.storage.commits) == 2

    bench(program)


def test_the_end_of_an_event_commits_at_once():
    async def program(bench):
        bench.gate.wrote()
        waiting = bench.gate.settle()
        assert (len(bench.storage.commits), waiting.done()) == (1, False)
        bench.storage.commits[0].set_result(None)
        await waiting
        await turn()
        assert len(bench.storage.commits) == 1
        assert bench.gate.settle() is None

    bench(program)


def test_what_leaves_in_the_middle_of_a_turn_waits_for_the_writes_after_it_too():
    async def program(bench):
        bench.gate.wrote()
        waiting = bench.gate.departure()
        bench.gate.wrote()
        assert bench.storage.commits == []
        await turn()
        assert not waiting.done()
        bench.storage.commits[0].set_result(None)
        await waiting

    bench(program)


def test_it_does_not_wait_for_commits_that_came_later():
    async def program(bench):
        bench.gate.wrote()
        await turn()
        waiting = bench.gate.departure()
        bench.gate.wrote()
        await turn()
        bench.storage.commits[0].set_result(None)
        await turn()
        assert waiting.done()
        assert not bench.gate.departure().done()

    bench(program)


@pytest.mark.parametrize(
    ("kinds", "held"), [([False], False), ([False, True], True), ([True, False], True)]
)
def test_unconfirmed_writes_hold_nothing_back_unless_a_confirmed_one_is_among_them(kinds, held):
    async def program(bench):
        for confirmed in kinds:
            bench.gate.wrote(confirmed)
        assert (bench.gate.departure() is not None) is held
        await turn()
        assert (bench.gate.departure() is not None) is held

    bench(program)


@pytest.mark.parametrize("confirmed", [True, False])
def test_a_commit_that_fails_breaks_the_object(confirmed):
    async def program(bench):
        bench.gate.wrote(confirmed)
        waiting = bench.gate.departure()
        await turn()
        failure = OSError("disk")
        bench.storage.commits[0].set_exception(failure)
        if waiting is not None:
            with pytest.raises(OSError, match="disk"):
                await waiting
        await turn()
        assert bench.broken == [failure]

    bench(program)


def test_what_is_rolled_back_never_leaves():
    async def program(bench):
        bench.gate.wrote()
        waiting = bench.gate.departure()
        bench.gate.drop(OSError("reset"))
        with pytest.raises(OSError, match="reset"):
            await waiting
        await turn()
        assert bench.storage.commits == []

    bench(program)


def test_what_comes_while_a_commit_is_under_way_is_told_after_what_came_before_it():
    async def program(bench):
        told = []
        bench.gate.wrote()
        before = bench.gate.departure()
        await turn()
        after = bench.gate.departure()
        for name, each in (("before", before), ("after", after)):
            asyncio.shield(each).add_done_callback(lambda _, name=name: told.append(name))
        bench.storage.commits[0].set_result(None)
        await turn()
        await turn()
        assert told == ["before", "after"]

    bench(program)


def test_of_an_object_that_is_over_nothing_leaves():
    async def program(bench):
        assert bench.gate.departure() is None
        bench.gate.drop(OSError("reset"))
        for _ in range(2):
            with pytest.raises(OSError, match="reset"):
                await bench.gate.departure()

    bench(program)


def test_an_explicit_transaction_is_committed_when_it_ends():
    async def program(bench):
        bench.storage.depth = 1
        bench.gate.wrote()
        await turn()
        assert bench.storage.commits == []
        assert bench.gate.departure() is None
        bench.storage.depth = 0
        bench.gate.settle()
        assert len(bench.storage.commits) == 1

    bench(program)


def test_a_commit_may_take_thirty_seconds():
    async def program(bench):
        bench.gate.wrote()
        bench.gate.settle()
        await bench.clock.advance(29.9)
        assert bench.broken == []
        await bench.clock.advance(0.2)
        (error,) = bench.broken
        assert (
            error.message
            == "Durable Object storage operation exceeded timeout which caused object to be reset."
        )
        assert (error.overloaded, error.durableObjectReset) == (True, True)

    bench(program)


class TestInAnObject:
    """A violated constraint that is checked at the commit only is a commit that fails."""

    SOURCE = """
        class Thing(DurableObject):
            def __init__(self, ctx, env):
                super().__init__(ctx, env)
                sql = ctx.storage.sql
                sql.exec("CREATE TABLE IF NOT EXISTS parent (id INTEGER PRIMARY KEY)")
                sql.exec(
                    "CREATE TABLE IF NOT EXISTS child "
                    "(id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)"
                )

            def violate(self):
                self.ctx.storage.sql.exec("INSERT INTO child VALUES (1)")

            async def rpc(self):
                self.violate()
                return "answered"

            async def fetch(self, request):
                self.violate()
                return Response("answered")

            async def in_a_transaction(self):
                async def inside(txn):
                    self.violate()
                    return "answered"

                return await self.ctx.storage.transaction(inside)

            async def in_a_synchronous_transaction(self):
                self.ctx.storage.transactionSync(self.violate)

            async def by_pragma(self):
                self.ctx.storage.sql.exec("CREATE TABLE other (id INTEGER REFERENCES parent (id))")
                self.ctx.storage.sql.exec("PRAGMA defer_foreign_keys = ON")
                self.ctx.storage.sql.exec("INSERT INTO other VALUES (1)")

            async def raises(self):
                self.violate()
                raise ValueError("its own")

            async def calls_another(self):
                self.violate()
                await self.env.THING.getByName("other").note()

            async def puts_in_kv(self):
                self.violate()
                await self.env.KV.put("seen", "yes")

            async def note(self):
                self.ctx.storage.kv.put("noted", True)

            async def look(self):
                rows = self.ctx.storage.sql.exec("SELECT * FROM child").toArray()
                noted = await self.env.THING.getByName("other").noted()
                return [len(rows), noted, await self.env.KV.get("seen")]

            async def noted(self):
                return await self.ctx.storage.get("noted")

            async def hold(self):
                await asyncio.Event().wait()
    """

    @pytest.fixture
    def outcome(self, tmp_path, run):
        from tests.emulator.actors.conftest import write_objects

        config = write_objects(
            tmp_path / "w", self.SOURCE, kv_namespaces=[{"binding": "KV", "id": "kv"}]
        )

        def go(what):
            async def program(flare):
                stub = flare.env().THING.getByName("a")
                held = asyncio.ensure_future(stub.hold())
                await asyncio.sleep(0)
                call = stub.fetch("http://x/") if what == "fetch" else getattr(stub, what)()
                failed = await asyncio.gather(call, held, return_exceptions=True)
                return failed, await stub.look()

            return run(program, config)

        return go

    @pytest.mark.parametrize(
        "what",
        [
            "rpc", "fetch", "raises", "calls_another", "puts_in_kv", "in_a_transaction",
            "in_a_synchronous_transaction", "by_pragma",
        ],
    )  # fmt: skip
    def test_a_failed_commit_takes_the_place_of_everything_that_would_have_left(
        self, outcome, what
    ):
        failed, seen = outcome(what)
        for error in failed:
            assert str(error).removeprefix("Error: ") == (
                "Durable Object was reset and rolled back to its last known good state because the application "
                "left the database in a state where constraints were violated: FOREIGN KEY constraint failed: "
                "SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_FOREIGNKEY)"
            )
        assert failed[1].durableObjectReset is True
        assert seen == [0, None, None]
