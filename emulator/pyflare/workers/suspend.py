"""Synchronous code that waits: `run_sync`, by switching between greenlets.

A coroutine that may call `run_sync` is advanced on a *carrier*, a greenlet from a pool. While
nothing suspends, the carrier goes back to the pool after every step. `run_sync` hands what it
waits for to whoever drives the carrier, who yields it to the event loop and comes back with the
outcome; the carrier, with the whole synchronous stack on it, stays out of the pool meanwhile.
"""

from __future__ import annotations

import asyncio
import inspect
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeVar

from greenlet import GreenletExit, getcurrent, greenlet  # type: ignore[import-untyped]

from pyflare.workers.current import current
from pyflare.workers.exits import readable

if TYPE_CHECKING:
    from pyflare.workers.carriers import CarrierPool

T = TypeVar("T")

# How a carrier came back from a step.
YIELDED, RETURNED, RAISED, SUSPENDED = range(4)

_NOT_SUSPENDABLE = (
    "Cannot stack switch because the Python entrypoint was a synchronous function. "
    "Use pyFunc.callPromising() to fix."
)


class Carrier(greenlet):  # type: ignore[misc]
    """A greenlet that runs one step of a coroutine at a time for whoever is its `driver`."""

    pool: CarrierPool
    driver: greenlet
    task: asyncio.Task[Any] | None = None
    outcome: int = YIELDED
    #: What the last step gave; whoever takes it puts None in its place.
    value: Any = None
    closing: bool = False
    #: Runs a synchronous call of JavaScript's, which cannot be suspended.
    pinned: bool = False

    def run(self, step: Callable[[Any], Any] | None, argument: Any) -> None:
        while step is not None:
            try:
                value = step(argument)
                self.outcome = YIELDED
            except StopIteration as stop:
                value = stop.value
                self.outcome = RETURNED
            except BaseException as error:
                if self.closing and issubclass(type(error), GreenletExit):
                    return
                plain = type(error).__getattribute__ is BaseException.__getattribute__
                value = error if plain else readable(error)
                self.outcome = RAISED
            # An idle carrier must not keep an event's objects alive, as the arguments of `switch` would be.
            self.value = value
            step = argument = value = None
            step, argument = self.driver.switch()

    def unwind(self) -> None:
        """Ends the synchronous code that waits on this carrier, running its `finally` blocks.

        Raises what that code raises instead of ending.
        """
        self.closing = True
        here = getcurrent()
        self.driver = here
        self.parent = here
        self.throw(GreenletExit)
        if self.dead:
            return
        outcome = self.outcome
        value, self.value = self.value, None
        self.switch(None, None)
        if outcome == RAISED and not isinstance(value, (GeneratorExit, asyncio.CancelledError)):
            raise value


def can_run_sync() -> bool:
    """Whether `run_sync` is able to suspend the calling code."""
    carrier = getcurrent()
    return isinstance(carrier, Carrier) and not carrier.closing and not carrier.pinned


def without_waiting(function: Callable[[], T]) -> T:
    """Calls `function`, in which `run_sync` is refused, as production refuses it beneath a synchronous callback."""
    carrier = getcurrent()
    if not isinstance(carrier, Carrier) or carrier.pinned:
        return function()
    carrier.pinned = True
    try:
        return function()
    finally:
        carrier.pinned = False


def run_sync(awaitable: Awaitable[T]) -> T:
    """Waits for `awaitable` and returns its result, blocking only the calling code.

    Raises TypeError for something that cannot be awaited, RuntimeError where the calling stack
    cannot be suspended (in a plain thread, in code that no event of a worker drives), and whatever
    the awaitable raises. Source: `pyodide.ffi.run_sync`.
    """
    native = type(awaitable) is types.CoroutineType or _is_generator_coroutine(awaitable)
    future: Any = awaitable
    coroutine: Any = awaitable
    if not native and not isinstance(awaitable, Awaitable):
        raise TypeError(f"object {type(awaitable).__name__} is not awaitable")
    carrier = getcurrent()
    if not isinstance(carrier, Carrier) or carrier.closing or carrier.pinned:
        if native:
            coroutine.close()
        raise RuntimeError(_NOT_SUSPENDABLE)
    result: T
    if isinstance(awaitable, asyncio.Future):
        result = future.result() if future.done() else _wait_on(carrier, future.__await__())
        return result
    if not native:
        coroutine = _awaiting(awaitable)
    if asyncio.current_task() is None:
        # A bare callback has no task that time-outs in the coroutine could refer to.
        coroutine = asyncio.ensure_future(_awaiting(coroutine)).__await__()
    result = _wait_on(carrier, coroutine)
    return result


def drive(coroutine: Coroutine[Any, Any, T], context: Context | None = None) -> Awaitable[T]:
    """`CarrierPool.drive` with the pool of the worker that `context`, or else `current`, names.

    Where there is no worker or it has no pool, the coroutine itself: nothing can be suspended.
    """
    scope = current.get() if context is None else context.get(current)
    if scope is None or scope.carriers is None:
        return coroutine
    return scope.carriers.drive(coroutine, context)


def _is_generator_coroutine(value: object) -> bool:
    return (
        type(value) is types.GeneratorType
        and value.gi_code.co_flags & inspect.CO_ITERABLE_COROUTINE != 0
    )


async def _awaiting(awaitable: Awaitable[T]) -> T:
    return await awaitable


def _wait_on(carrier: Carrier, steps: Coroutine[Any, Any, T] | Generator[Any, Any, T]) -> T:
    isolation = carrier.pool.isolation
    advance: Callable[[Any], Any] = steps.send
    argument: Any = None
    while True:
        try:
            waiting_for = advance(argument)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        finally:
            argument = None
        if carrier.closing:
            steps.close()
            raise GreenletExit
        carrier.outcome = SUSPENDED
        try:
            argument = carrier.driver.switch(waiting_for)
            advance = steps.send
        except BaseException as error:
            advance = steps.throw
            argument = error
        scope = current.get()
        if scope is not None and isolation is not None and isolation.installed is not scope.space:
            isolation.switch(scope.space)
