"""The pool of carriers, and the three ways to run a worker's code on one.

`drive` advances a coroutine inside the task that awaits it, `task_factory` makes every task of a
worker suspendable, `suspendable` does the same for a callback.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeVar

import greenlet as greenlets  # type: ignore[import-untyped]
from greenlet import getcurrent

from pyflare.pyodide.webloop import PyodideTask
from pyflare.workers.current import WorkerScope, current, current_event
from pyflare.workers.event import ExecutionContext
from pyflare.workers.exits import EXITS, WorkerExit
from pyflare.workers.input_gate import Turns, current_section, guard
from pyflare.workers.suspend import RAISED, RETURNED, SUSPENDED, Carrier

if TYPE_CHECKING:
    from pyflare.workers.isolation import Isolation

T = TypeVar("T")

IDLE_LIMIT = 64
"""How many idle carriers a pool keeps; each holds about 10 kB."""


class CarrierPool:
    """Carriers for the workers of one event loop. Used from that loop's thread only.

    `isolation` is told which worker's modules a step needs; None where there is nothing to tell.
    """

    def __init__(self, isolation: Isolation | None = None, *, idle_limit: int = IDLE_LIMIT) -> None:
        self.isolation = isolation
        self._idle_limit = idle_limit
        self._idle: list[Carrier] = []
        self._suspended: set[Carrier] = set()
        self._callbacks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._contains_exits = True
        self._users = 0
        self._factory_before: Any = None

    @classmethod
    def of_loop(
        cls, loop: asyncio.AbstractEventLoop, isolation: Isolation | None = None
    ) -> CarrierPool:
        """The pool that makes this loop's tasks suspendable, put in place where there is none.

        Each call is paired with one of `release`.
        """
        owner = getattr(loop.get_task_factory(), "__self__", None)
        pool = owner if isinstance(owner, CarrierPool) else cls(isolation)
        if pool._users == 0:
            pool._loop = loop
            pool._contains_exits = isinstance(loop, asyncio.BaseEventLoop) or hasattr(
                loop, "contains_exits"
            )
            pool._factory_before = loop.get_task_factory()
            loop.set_task_factory(pool.task_factory)
        pool._users += 1
        return pool

    def release(self) -> None:
        """Takes one `of_loop` back; after the last one the loop makes its tasks as before."""
        self._users -= 1
        if self._users == 0 and self._loop is not None:
            self.close()
            self._loop.set_task_factory(self._factory_before)
            self._loop = None

    @property
    def idle_count(self) -> int:
        """How many carriers lie ready."""
        return len(self._idle)

    @property
    def suspended_count(self) -> int:
        """How many pieces of synchronous code wait in `run_sync`."""
        return len(self._suspended)

    @types.coroutine
    def drive(
        self,
        coroutine: Coroutine[Any, Any, T],
        context: Context | None = None,
        *,
        keeps_exits: bool = False,
    ) -> Generator[Any, Any, T]:
        """Awaits `coroutine` in the current task, with every step on a carrier.

        With `context`, a worker's event context, the steps run in it and with that worker's
        modules installed; the caller's modules are back whenever this returns or yields. Returns
        and raises what the coroutine does; with `keeps_exits`, WorkerExit for an exit. Cancellation
        reaches code that waits in `run_sync`.
        """
        isolation = self.isolation
        space = caller = None
        if context is not None and isolation is not None:
            scope = context.get(current)
            space = scope.space if scope is not None else None
            outer = current.get()
            caller = outer.space if outer is not None else None
        idle = self._idle
        send = step = coroutine.send
        argument: Any = None
        carrier: Carrier | None = None
        while True:
            driver = getcurrent()
            if space is not None and isolation.installed is not space:  # type: ignore[union-attr]
                isolation.switch(space)  # type: ignore[union-attr]
            if carrier is None:
                carrier = idle.pop() if idle else self._new_carrier(driver)
                carrier.gr_context = driver.gr_context if context is None else context
                carrier.driver = driver
                value = carrier.switch(step, argument)
            elif carrier.closing:
                coroutine.close()
                raise asyncio.CancelledError("the worker that waited in run_sync was closed")
            else:
                self._suspended.discard(carrier)
                carrier.driver = driver
                carrier.task = None
                value = carrier.switch(argument) if step is send else carrier.throw(argument)
            argument = None
            if caller is not None and isolation.installed is not caller:  # type: ignore[union-attr]
                isolation.switch(caller)  # type: ignore[union-attr]
            outcome = carrier.outcome
            if outcome == SUSPENDED:
                carrier.task = asyncio.current_task()
                self._suspended.add(carrier)
            else:
                value = carrier.value
                carrier.value = carrier.gr_context = None
                if len(idle) < self._idle_limit:
                    idle.append(carrier)
                else:
                    _retire(carrier)
                carrier = None
                if outcome == RETURNED:
                    return value  # type: ignore[no-any-return]
                if outcome == RAISED:
                    if keeps_exits and isinstance(value, EXITS):
                        value = WorkerExit(value)
                    elif isinstance(value, GeneratorExit):
                        # Nobody has closed the coroutine: whoever awaits it must not take it for that.
                        value = _stray_exit(value)
                    try:
                        raise value
                    finally:
                        value = None
            try:
                argument = yield value
                step = send
            except GeneratorExit:
                self._abandon(coroutine, carrier)
                raise
            except BaseException as error:
                argument = error.original if type(error) is WorkerExit else error
                step = coroutine.throw
            value = None

    def task_factory(
        self,
        loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, T] | Generator[Any, None, T],
        **options: Any,
    ) -> asyncio.Task[T]:
        """For `loop.set_task_factory`: tasks made while a worker is current are suspendable.

        Other tasks are plain ones. Works on asyncio's loops and on uvloop.
        """
        context: Context | None = options.get("context")
        scope = current.get() if context is None else context.get(current)
        if scope is None:
            return asyncio.Task(coroutine, loop=loop, **options)
        section = current_section.get() if context is None else context.get(current_section)
        steps: Any = self.drive(coroutine, keeps_exits=not self._contains_exits)  # type: ignore[arg-type]
        if section is not None:
            steps = guard(Turns(section), steps, coroutine)  # type: ignore[arg-type]
        driven: Any = DrivenCoroutine(steps, coroutine)  # type: ignore[arg-type]
        task: asyncio.Task[T] = PyodideTask(driven, loop=loop, **options)
        event = current_event.get() if context is None else context.get(current_event)
        if type(event) is ExecutionContext and type(coroutine) is CoroutineType:
            folder = scope.space.folder
            if folder is not None and coroutine.cr_code.co_filename.startswith(folder):
                event.began(task)
        return task

    def suspendable(self, callback: Callable[..., object]) -> Callable[..., None]:
        """`callback` so wrapped that it may use `run_sync` when the event loop calls it.

        The wrapper returns when the callback has ended or waits for the first time. An exception
        after that is reported to the loop's exception handler, as for any callback.
        """

        def run(*arguments: object) -> None:
            steps = self.drive(_call(callback, arguments))
            generator: Any = steps
            try:
                waiting_for = generator.send(None)
            except StopIteration:
                return
            task = asyncio.Task(_go_on(generator, waiting_for), loop=asyncio.get_running_loop())
            self._callbacks.add(task)
            task.add_done_callback(lambda task: self._callback_ended(task, callback))

        return run

    def waiting(self, scope: WorkerScope | None = None) -> list[asyncio.Task[Any]]:
        """The tasks that hold synchronous code waiting in `run_sync`: a worker's, or all.

        To stop a worker, cancel them and await their end.
        """
        return [
            carrier.task
            for carrier in self._suspended
            if carrier.task is not None and (scope is None or _scope_of(carrier) is scope)
        ]

    def close(self, scope: WorkerScope | None = None) -> None:
        """Ends synchronous code that still waits, of one worker or (None) of all.

        Its `finally` blocks run; it cannot wait any more. The tasks around it are cancelled.
        Without a worker named, idle carriers end too. Raises an ExceptionGroup of what the ended
        code raised.
        """
        errors: list[Exception] = []
        for carrier in list(self._suspended):
            # Ending one may have ended another that it waited for.
            ended = carrier not in self._suspended
            if ended or (scope is not None and _scope_of(carrier) is not scope):
                continue
            self._suspended.discard(carrier)
            try:
                carrier.unwind()
            except Exception as error:
                errors.append(error)
            if carrier.task is not None and not carrier.task.get_loop().is_closed():
                carrier.task.cancel()
        if scope is None:
            while self._idle:
                _retire(self._idle.pop())
        if errors:
            raise ExceptionGroup("errors in code that was stopped while it waited", errors)

    def _new_carrier(self, here: greenlets.greenlet) -> Carrier:
        while here.parent is not None:
            here = here.parent
        carrier = Carrier(parent=here)
        carrier.pool = self
        return carrier

    def _abandon(self, coroutine: Coroutine[Any, Any, Any], carrier: Carrier | None) -> None:
        """Whoever awaited the coroutine is gone."""
        if carrier is not None and not carrier.closing:
            self._suspended.discard(carrier)
            try:
                carrier.unwind()
            except greenlets.error:
                # Collected by another thread: greenlet unwinds it in its own thread later.
                return
        coroutine.close()

    def _callback_ended(self, task: asyncio.Task[None], callback: Callable[..., object]) -> None:
        self._callbacks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            task.get_loop().call_exception_handler(
                {"message": f"Exception in callback {callback!r}", "exception": error}
            )


class DrivenCoroutine:
    """A coroutine for a task, advanced on carriers; shows the coroutine inside to debuggers."""

    __slots__ = ("_coroutine", "_steps", "send")

    def __init__(self, steps: Any, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._steps = steps
        # Bound here, so that the task calls the generator without a frame in between.
        self.send = steps.send

    def throw(self, *error: Any) -> Any:
        if self._steps.gi_frame is not None and not self._steps.gi_suspended:
            # Cancelled before the first step.
            self._steps.close()
            return self._coroutine.throw(*error)
        return self._steps.throw(*error)

    def close(self) -> None:
        self._steps.close()
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._steps)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coroutine, name)


Coroutine.register(DrivenCoroutine)


def _stray_exit(error: GeneratorExit) -> RuntimeError:
    stray = RuntimeError("GeneratorExit was raised outside of a generator")
    return stray.with_traceback(error.__traceback__)


async def _call(callback: Callable[..., object], arguments: tuple[object, ...]) -> None:
    callback(*arguments)


async def _go_on(steps: Generator[Any, Any, None], waiting_for: Any) -> None:
    # Tasks take no generators since Python 3.12.
    await _rest_of(steps, waiting_for)


@types.coroutine
def _rest_of(steps: Generator[Any, Any, None], waiting_for: Any) -> Generator[Any, Any, None]:
    """Awaits the rest of a generator that has been advanced once outside any task."""
    try:
        try:
            yield waiting_for
        except BaseException as error:
            yield steps.throw(error)
    except StopIteration:
        return
    yield from steps


def _scope_of(carrier: Carrier) -> WorkerScope | None:
    context = carrier.gr_context
    return context.get(current) if context is not None else None


def _retire(carrier: Carrier) -> None:
    carrier.parent = getcurrent()
    carrier.switch(None, None)
