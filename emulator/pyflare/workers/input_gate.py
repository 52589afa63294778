"""The input gate of an object: whose turn it is.

Everything an object does is done in *turns*: from where its code is resumed to where it waits next. A turn is never
interrupted. Between turns anything of the object may go on, except while a *critical section* (a constructor, a
``blockConcurrencyWhile``, a transaction) is running: then only what belongs to that section gets turns.

Nothing has to remember to ask. :func:`guard` sits around every coroutine of an object, its events as well as the tasks
that it makes (see ``carriers.CarrierPool.task_factory``), and looks before each resumption.

Source of the behaviour: workerd ``src/workerd/io/io-gate.*``.
"""

from __future__ import annotations

import asyncio
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from typing import Any, Final

from pyflare.js.error import Error

__all__ = ["InputGate", "Section", "Turns", "current_section", "guard"]

#: How deep critical sections may be nested.
MAX_DEPTH: Final = 64
_TOO_DEEP: Final = "blockConcurrencyWhile() calls are nested too deeply."

#: How often code that swallows its cancellation is told again before it is closed.
_PATIENCE: Final = 16


class Waiter:
    """Somebody in the queue of a section."""

    __slots__ = ("future", "queue")

    def __init__(self, queue: deque[Waiter]) -> None:
        self.future: asyncio.Future[None] | None = None
        self.queue = queue


class Section:
    """A critical section, or the root: what runs outside of any.

    ``queue`` holds sections that were asked for while another one inside this section is running; ``waiters`` what
    waits for a turn in it.
    """

    __slots__ = ("depth", "finished", "gate", "parent", "queue", "task", "waiters")

    def __init__(self, gate: InputGate, parent: Section | None) -> None:
        self.gate = gate
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.queue: deque[Section] = deque()
        self.waiters: deque[Waiter] = deque()
        self.finished = False
        #: What runs in it.
        self.task: asyncio.Task[Any] | None = None

    def lasting(self) -> Section:
        """This section, or the one that what is left of it has been handed to."""
        section = self
        while section.finished:
            assert section.parent is not None
            section = section.parent
        return section


#: The section that the running code belongs to; None outside of any object.
current_section: ContextVar[Section | None] = ContextVar("current_section", default=None)


class InputGate:
    """Who of an object may run. ``failure`` is set when the object is over: then nobody.

    In: ``idle``, called when the last coroutine of the object has ended; ``interrupted``, called with what is no
    ``Exception`` when a coroutine of the object ends with it; ``stuck``, called when a critical section waits for a
    task that waits for the end of the section.
    """

    __slots__ = ("current", "failure", "idle", "interrupted", "root", "running", "stuck", "tasks")

    def __init__(
        self,
        idle: Callable[[], None],
        interrupted: Callable[[BaseException], None],
        stuck: Callable[[], None],
    ) -> None:
        self.root = Section(self, None)
        self.current = self.root
        self.running: Turns | None = None
        self.failure: BaseException | None = None
        #: The tasks of the object, each with the turns of the coroutine that runs in it.
        self.tasks: dict[asyncio.Task[Any] | None, Turns] = {}
        self.idle = idle
        self.interrupted = interrupted
        self.stuck = stuck

    def is_free(self) -> bool:
        """Whether a new event would get its turn this very moment."""
        current = self.current
        return current is self.root and self.running is None and not current.waiters

    def enter(self, outer: Section) -> Section:
        """A new section inside another one. It runs at once if nothing else does in there, or else in its turn.

        What is running goes on to its next wait. Raises Error when sections are nested too deeply.
        """
        outer = outer.lasting()
        if outer.depth >= MAX_DEPTH:
            raise Error(_TOO_DEEP)
        section = Section(self, outer)
        if self.current is outer:
            self.current = section
        else:
            outer.queue.append(section)
        return section

    def leave(self, section: Section) -> None:
        """The section is over. What it leaves behind goes on in the outer one, before anything else there."""
        section.finished = True
        outer = section.lasting()
        outer.queue.extendleft(reversed(section.queue))
        section.queue.clear()
        for waiter in reversed(section.waiters):
            waiter.queue = outer.waiters
            outer.waiters.appendleft(waiter)
        section.waiters.clear()
        if self.current is section:
            self.current = outer
            if outer.queue:
                self.current = following = outer.queue.popleft()
                following.parent = outer
        self.wake()

    def wake(self) -> None:
        """Let the first in the queue look again; it wakes the next one after its turn."""
        waiters = self.current.waiters
        if waiters:
            future = waiters[0].future
            if future is not None and not future.done():
                future.set_result(None)

    def look_for_deadlock(self) -> None:
        """Whether the section that runs waits for something that it keeps from running itself."""
        task = self.current.task
        waited_for = None if task is None else getattr(task, "_fut_waiter", None)
        turns = self.tasks.get(waited_for) if waited_for is not None else None
        if turns is not None and turns.waits and turns.section.lasting() is not self.current:
            self.stuck()

    def fail(self, failure: BaseException) -> None:
        """Nobody gets a turn any more; what is under way is cancelled."""
        self.failure = failure
        for task in tuple(self.tasks):
            if task is not None:
                task.cancel()


class Turns:
    """The turns of one coroutine: the section they belong to, and whether the next one comes before what is queued."""

    __slots__ = ("first", "gate", "section", "waits")

    def __init__(self, section: Section) -> None:
        self.gate = section.gate
        self.section = section
        self.first = False
        self.waits = False

    def admission(self) -> Generator[Any, Any, BaseException | None]:
        """Wait for the next turn. Gives what was thrown meanwhile, which is for the coroutine to see."""
        gate = self.gate
        thrown: BaseException | None = None
        waiter: Waiter | None = None
        admitted = False
        try:
            while gate.failure is None:
                section = self.section = self.section.lasting()
                waiters = section.waiters
                if gate.current is section and (self.first or not waiters or waiters[0] is waiter):
                    admitted = True
                    break
                if waiter is None:
                    waiter = Waiter(waiters)
                    if self.first:
                        waiters.appendleft(waiter)
                    else:
                        waiters.append(waiter)
                waiter.future = asyncio.get_running_loop().create_future()
                if gate.current is not section:
                    self.waits = True
                    gate.look_for_deadlock()
                try:
                    yield from waiter.future
                except asyncio.CancelledError as error:
                    thrown = error
        finally:
            self.waits = False
            if waiter is not None:
                waiter.queue.remove(waiter)
                if not admitted:
                    gate.wake()
        return thrown


@types.coroutine
def guard(
    turns: Turns,
    steps: Generator[Any, Any, Any],
    coroutine: Coroutine[Any, Any, Any],
    task: asyncio.Task[Any] | None = None,
) -> Generator[Any, Any, Any]:
    """Advance ``steps``, which drive ``coroutine``, by turns; in ``task``, or else the current one.

    Returns and raises what the coroutine does, and CancelledError when the object is over.
    """
    gate = turns.gate
    if task is None:
        task = asyncio.current_task()
    gate.tasks[task] = turns
    send: Callable[[Any], Any] = steps.send
    step = send
    argument: Any = None
    patience = _PATIENCE
    try:
        while True:
            section = turns.section
            if gate.current is not section or (section.waiters and not turns.first):
                thrown = yield from turns.admission()
                if thrown is not None:
                    step, argument = steps.throw, thrown
            if gate.failure is not None:
                patience -= 1
                if patience < 0:
                    raise asyncio.CancelledError
                if step is send:
                    step, argument = steps.throw, asyncio.CancelledError()
            turns.first = False
            gate.running = turns
            try:
                waiting_for = step(argument)
            except StopIteration as stop:
                return stop.value
            except Exception:
                raise
            except BaseException as error:
                gate.interrupted(error)
                if gate.failure is not None:
                    raise asyncio.CancelledError from None
                raise
            finally:
                gate.running = None
                argument = None
                if gate.current.waiters:
                    gate.wake()
            if waiting_for is not None and waiting_for in gate.tasks:
                # The task learns what it waits for when this is yielded.
                asyncio.get_running_loop().call_soon(gate.look_for_deadlock)
            try:
                argument = yield waiting_for
                step = send
            except GeneratorExit:
                raise
            except BaseException as error:
                step, argument = steps.throw, error
            waiting_for = None
    finally:
        steps.close()
        coroutine.close()
        gate.tasks.pop(task, None)
        if not gate.tasks:
            gate.idle()
