"""The input gate under programs that nobody wrote: whoever gets a turn may have it, and everybody gets one."""

import asyncio
from contextvars import copy_context

from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.workers.input_gate import InputGate, Turns, current_section, guard

#: A program is a list of steps: wait for so many turns of the loop; run a section, awaited or not; start a task.
STEPS = st.recursive(
    st.lists(st.integers(0, 3), max_size=3),
    lambda programs: st.lists(
        st.integers(0, 3)
        | st.tuples(st.sampled_from(["section", "section, not awaited", "task"]), programs),
        max_size=4,
    ),
    max_leaves=8,
)


class Object:
    """An object that notes whose turn it is, and checks that it may be."""

    def __init__(self):
        self.gate = InputGate(lambda: None, lambda error: None, lambda: None)
        self.running = []
        self.turns = 0
        self.under_way = set()

    def guarded(self, coroutine, section):
        async def run():
            return await guard(Turns(section), coroutine, coroutine)

        context = copy_context()
        context.run(current_section.set, section)
        task = asyncio.get_running_loop().create_task(run(), context=context)
        self.under_way.add(task)
        return task

    def check(self):
        """The running code belongs to the innermost section that is running."""
        self.turns += 1
        section = current_section.get().lasting()
        assert section is self.gate.current
        innermost = self.running[-1] if self.running else self.gate.root
        assert innermost.lasting() is section

    async def run(self, program):
        self.check()
        for step in program:
            match step:
                case int(turns):
                    for _ in range(turns):
                        await asyncio.sleep(0)
                        self.check()
                case ("task", inner):
                    self.guarded(self.run(inner), current_section.get())
                case (kind, inner):
                    section = self.gate.enter(current_section.get())
                    done = asyncio.get_running_loop().create_future()
                    self.guarded(self.in_section(section, inner, done), section)
                    if kind == "section":
                        await done
                        # Between the end of a section and this turn nothing else of an outer level has to wait.
                        self.check()

    async def in_section(self, section, program, done):
        self.running.append(section)
        await self.run(program)
        # A section that it did not wait for goes on one level further out.
        self.running.remove(section)
        done.set_result(None)
        self.gate.leave(section)

    async def all_done(self):
        while self.under_way:
            done, self.under_way = self.under_way, set()
            async with asyncio.timeout(5):
                await asyncio.gather(*done)


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=4))
def test_turns_belong_to_the_running_section_and_everybody_gets_one(programs):
    async def run():
        thing = Object()
        for program in programs:
            thing.guarded(thing.run(program), thing.gate.root)
        await thing.all_done()
        assert thing.turns >= len(programs)
        assert thing.gate.is_free()
        assert not thing.gate.tasks

    asyncio.run(run())


@settings(max_examples=100, deadline=None)
@given(st.lists(STEPS, min_size=2, max_size=4), st.integers(0, 30))
def test_a_reset_at_any_moment_ends_everybody(programs, moment):
    async def run():
        thing = Object()
        for program in programs:
            thing.guarded(thing.run(program), thing.gate.root)
        for _ in range(moment):
            await asyncio.sleep(0)
        thing.gate.fail(RuntimeError("reset"))
        async with asyncio.timeout(5):
            await asyncio.gather(*thing.under_way, return_exceptions=True)
        assert not thing.gate.tasks

    asyncio.run(run())
