"""One life of an object: from its constructor to its eviction or reset.

Source of the behaviour: workerd ``src/workerd/server/server.c++``, ``io/worker.c++`` and
https://developers.cloudflare.com/durable-objects/concepts/durable-object-lifecycle/
"""

from __future__ import annotations

import asyncio
import types
from asyncio import tasks as asyncio_tasks
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextvars import Context, copy_context
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakSet

from pyflare.js.callbacks import call
from pyflare.js.deferred import begin_in_tasks
from pyflare.js.departure import output_gate
from pyflare.js.error import Error
from pyflare.js.promise import JsPromise, start
from pyflare.js.rpc.bodies import cut
from pyflare.js.rpc.errors import crossing
from pyflare.js.rpc.host import StubHost, stub_host
from pyflare.js.timers import Timers, event_timers

from ..current import current_event
from ..event import Background
from ..input_gate import InputGate, Section, Turns, current_section, guard
from . import failures
from .failures import for_caller, marked, reset_error
from .output_gate import OutputGate
from .section_host import SectionHost
from .shutdown import Cause, shut_down, shutdown_handler
from .steps import Detached, as_exception

if TYPE_CHECKING:
    from pyflare_bindings.objects.ids import ObjectId

    from .namespace import ActorNamespace
    from .sleeping_sockets import SleepingSockets

__all__ = ["Actor"]

T = TypeVar("T")

#: Seconds that a critical section may take.
SECTION_LIMIT: Final = 30.0

_NO_CONTEXT: Final = Context()


class Actor:
    """The live instance of one id, or the one that is being built.

    In: ``namespace``; ``id``; ``after``, what has to have ended before this one may begin.
    """

    __slots__ = (
        "_after",
        "_background",
        "_callers",
        "_context",
        "_failed_at",
        "_holds",
        "_received",
        "_storage",
        "_timers",
        "ended",
        "failure",
        "gate",
        "id",
        "idle_since",
        "instance",
        "leaving",
        "namespace",
        "output",
        "queued",
        "retry_alarm",
        "state",
    )

    def __init__(
        self, namespace: ActorNamespace, id: ObjectId, after: asyncio.Future[None] | None
    ) -> None:
        self.namespace = namespace
        self.id = id
        self.instance: Any = None
        self.failure: BaseException | None = None
        self.ended: asyncio.Future[None] | None = None
        self.gate = InputGate(self._maybe_idle, self._interrupted, self._stuck)
        self.output = OutputGate(namespace.host.clock, self.reset)
        self.idle_since = 0.0
        self.queued = False
        #: Whether it is having its last event.
        self.leaving = False
        self.retry_alarm = True
        self._after = after
        self._failed_at: TracebackType | None = None
        self._holds = 0
        self._storage: Any = None
        self._timers: Timers | None = None
        self._background: Background | None = None
        self._callers: set[asyncio.Future[Any]] = set()
        #: Streams and bodies that others have sent here and wait for.
        self._received: WeakSet[Any] | None = None
        self.state = namespace.make_state(self)
        self._context = context = namespace.worker.scope.context.copy()
        context.run(self._enter)

    def _enter(self) -> None:
        self._timers = Timers()
        current_event.set(self.state)
        current_section.set(self.gate.root)
        event_timers.set(self._timers)
        output_gate.set(self.output.departure)
        stub_host.set(self._stub_host)
        # What its calls begin in others must not wait for turns of this object.
        begin_in_tasks.set(True)

    @property
    def storage(self) -> Any:
        """The object's storage, opened when it is first asked for."""
        storage = self._storage
        if storage is None:
            storage = self._storage = self.namespace.open_storage(self)
            self.output.attach(storage)
        return storage

    @property
    def exports(self) -> Any:
        """The worker's own entrypoints as bindings."""
        return self.namespace.worker.scope.data.get("exports")

    @property
    def sockets(self) -> SleepingSockets:
        """Its hibernatable WebSockets, which outlive it."""
        return self.namespace.sockets(self.id)

    @property
    def has_storage(self) -> bool:
        """Whether anything has looked at its storage."""
        return self._storage is not None

    # Events.

    @types.coroutine
    def deliver(
        self, work: Callable[[Actor], Coroutine[Any, Any, T]], section: Section | None = None
    ) -> Generator[Any, Any, T]:
        """Deliver an event: see the package's description. With ``section`` it belongs to a critical section.

        Raises: what ``work`` raises; the reason, when the object is reset meanwhile.
        """
        if self.failure is not None:
            raise self.reason()
        gate = self.gate
        loop = asyncio.get_running_loop()
        turns = Turns(gate.root if section is None else section)
        coroutine: Any = self._first_event(turns, work) if self.instance is None else work(self)
        drive: Any = self.namespace.worker.drive
        context = self._context.copy()
        if section is not None:
            context.run(current_section.set, section)
        detached = Detached(coroutine)
        # Code of the object sees a task of its own, which goes on when the caller is cancelled.
        task: asyncio.Task[None] = asyncio.Task(detached, loop=loop, context=_NO_CONTEXT)
        detached.steps = guard(turns, drive(coroutine, context), coroutine, task)
        if gate.is_free():
            outer = asyncio.current_task(loop)
            if outer is not None:
                asyncio_tasks._leave_task(loop, outer)
            asyncio_tasks._enter_task(loop, task)
            try:
                detached.begin()
            finally:
                asyncio_tasks._leave_task(loop, task)
                if outer is not None:
                    asyncio_tasks._enter_task(loop, outer)
        try:
            value = detached.result() if detached.done else (yield from self._outcome(detached))
        except Exception:
            yield from self._until_durable()
            raise
        yield from self._until_durable()
        return value  # type: ignore[no-any-return]

    def _outcome(self, detached: Detached) -> Generator[Any, Any, Any]:
        outcome = detached.outcome = asyncio.get_running_loop().create_future()
        self._callers.add(outcome)
        try:
            return (yield from outcome)
        finally:
            self._callers.discard(outcome)
            # A caller that is gone does not end the event.
            detached.outcome = None

    def _until_durable(self) -> Generator[Any, Any, None]:
        pending = self.output.settle()
        if pending is not None:
            yield from asyncio.shield(pending)
        if self.failure is not None:
            raise self.reason() from None

    def receive(self, copies: Iterable[Any]) -> None:
        """Streams and bodies that others have sent here, and wait for: they are told when it is over."""
        if self._received is None:
            self._received = WeakSet()
        self._received.update(copies)

    async def until_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait, outside of the object, for something that it has to do.

        Raises: what the work raises; the reason, as it crosses, when the object is over first.
        """
        if self.failure is not None:
            work.close()
            raise crossing(self.reason())
        promise = start(work)
        if promise.done():
            return promise.result()  # type: ignore[no-any-return]
        outcome = asyncio.get_running_loop().create_future()

        def finish(done: asyncio.Future[Any]) -> None:
            if outcome.done():
                if not done.cancelled():
                    done.exception()
            elif done.cancelled():
                outcome.cancel()
            elif (error := done.exception()) is not None:
                outcome.set_exception(error)
            else:
                outcome.set_result(done.result())

        promise.add_done_callback(finish)
        self._callers.add(outcome)
        try:
            return await outcome  # type: ignore[no-any-return]
        except Exception as error:
            if self.failure is not None and not promise.done():
                raise crossing(error) from None
            raise
        finally:
            self._callers.discard(outcome)
            promise.cancel()

    def reason(self) -> BaseException:
        """Why it is over, for one caller."""
        assert self.failure is not None
        return for_caller(self.failure, self._failed_at)

    async def _first_event(
        self, turns: Turns, work: Callable[[Actor], Coroutine[Any, Any, T]]
    ) -> T:
        # Another event that waited may have built the instance.
        if self.instance is None:
            await self._construct(turns)
        return await work(self)

    async def _construct(self, turns: Turns) -> None:
        """Build the instance, in a critical section of its own. Raises: what it raises; the object is over then."""
        gate = self.gate
        section = gate.enter(gate.root)
        turns.section = section
        token = current_section.set(section)
        try:
            if self._after is not None:
                await asyncio.shield(self._after)
                self._after = None
            self.instance = self.namespace.construct(self)
        except BaseException as raised:
            error = self._failure_in(raised)
            if error is None:
                raise
            self.reset(marked_reset(error))
            if error is raised:
                raise
            raise error from None
        finally:
            current_section.reset(token)
            turns.section = gate.root
            gate.leave(section)
        if gate.current is not gate.root:
            # What the constructor has asked to be done first; this event is still ahead of all others.
            turns.first = True
            await asyncio.sleep(0)

    # Critical sections.

    def critical(self, function: Callable[[], Any]) -> JsPromise:
        """Run a sync or async function while nothing else of the object gets a turn; the promise of its outcome."""
        return self._in_section(function, None)

    def block_concurrency_while(self, function: Callable[[], Any]) -> JsPromise:
        """The same; when the function fails, the object is reset, and the promise is never settled."""
        return self._in_section(function, self.reset)

    def _in_section(
        self, function: Callable[[], Any], failed: Callable[[BaseException], None] | None
    ) -> JsPromise:
        loop = asyncio.get_running_loop()
        promise = JsPromise(loop=loop)
        if self.failure is not None:
            promise.set_exception(Error(failures.NO_LONGER_ACCESSIBLE))
            return promise
        section = self.gate.enter(current_section.get() or self.gate.root)
        asking = self.gate.running
        inside = current_event.get() is self.state
        context = copy_context() if inside else self._context.copy()
        context.run(current_section.set, section)
        timer = self.namespace.host.clock.call_later(SECTION_LIMIT, self._blocked_too_long)

        async def run() -> None:
            error: Exception | None = None
            result = None
            self.output.settle()
            try:
                result = await call(function)
            except BaseException as raised:
                error = self._failure_in(raised)
                if error is None:
                    self.gate.leave(section)
                    raise
            finally:
                timer.cancel()
            if error is not None and failed is not None:
                # What the running turn has written is not committed then.
                failed(marked_reset(error))
                return
            self.output.settle()
            if not promise.done():
                if error is None:
                    promise.set_result(result)
                else:
                    promise.set_exception(error)
            if asking is not None:
                # Whoever waits for this goes on before what has been queued meanwhile.
                asking.first = True
            self.gate.leave(section)

        section.task = loop.create_task(run(), context=context)
        return promise

    def _failure_in(self, raised: BaseException) -> Exception | None:
        """What the object's own code has failed with; None when the object is over, or the code is being closed."""
        if self.failure is None and not isinstance(raised, Exception):
            self._interrupted(raised)
        if self.failure is not None or isinstance(raised, GeneratorExit):
            return None
        return as_exception(raised)

    def _blocked_too_long(self) -> None:
        self.reset(reset_error(failures.BLOCKED_TOO_LONG, overloaded=True))

    def _stuck(self) -> None:
        self.reset(reset_error(failures.DEADLOCK))

    # What keeps it alive.

    def wait_until(self, awaitable: Any) -> asyncio.Future[Any]:
        """Keep an awaitable going; the object is not evicted before it is done."""
        background = self._background
        if background is None:
            background = self._background = Background(self.namespace.report)
        future = background.add(awaitable)
        future.add_done_callback(lambda _: self._maybe_idle())
        return future

    def hold(self) -> None:
        """Somebody needs this instance: it is not evicted."""
        self._holds += 1

    def release(self) -> None:
        """Undo one :meth:`hold`."""
        self._holds -= 1
        self._maybe_idle()

    def is_busy(self) -> bool:
        """Whether something goes on in it or may come back to it."""
        return bool(
            self.gate.tasks or self._background or self._timers or self._holds or self._callers
        )

    def _maybe_idle(self) -> None:
        if self.failure is None:
            host = self.namespace.host
            self.idle_since = host.clock.monotonic()
            if not self.queued:
                host.watch(self)

    def _stub_host(self) -> StubHost:
        section = current_section.get()
        return SectionHost(self, self.gate.root if section is None else section)

    # The end.

    def abort(self, reason: str | None = None, *, retry_alarm: bool = True) -> None:
        """``ctx.abort()``. ``retry_alarm``: whether an alarm whose handler this interrupts is tried again."""
        self.retry_alarm = retry_alarm
        self.reset(reset_error(failures.ABORTED if reason is None else reason))

    def _interrupted(self, error: BaseException) -> None:
        from workers.entrypoints import DurableObjectAbort

        if isinstance(error, DurableObjectAbort):
            reason = str(error)
            self.abort(None if reason == _ABORT_WITHOUT_REASON else reason)

    def reset(self, reason: BaseException) -> None:
        """End it because of a failure. Once; what comes later changes nothing."""
        if self.failure is not None:
            return
        self.failure = reason = self.namespace.platform_error(reason)
        self._failed_at = reason.__traceback__
        self.output.drop(reason)
        self.namespace.drop_sockets(self.id)
        self._end(reason)
        for outcome in tuple(self._callers):
            if not outcome.done():
                outcome.set_exception(self.reason())

    def evict(self, cause: Cause = "inactive") -> None:
        """End it as planned; what it wrote is committed. A ``preShutdown`` handler is called before."""
        if self.leaving or self.failure is not None:
            return
        handler = shutdown_handler(self)
        if handler is None:
            self.end_as_planned()
            return
        self.leaving = True
        self.ended = over = shut_down(self, handler, cause)
        self.namespace.leave(self, over)

    def end_as_planned(self) -> None:
        """The end of a life without a failure. Once; what comes later changes nothing."""
        if self.failure is None:
            self.output.settle()
        if self.failure is None:
            self.failure = reset_error("The Durable Object was evicted.")
            self._end(self.failure)
            self.namespace.hibernate_sockets(self.id)

    def _end(self, reason: BaseException) -> None:
        self.gate.fail(reason)
        for copy in tuple(self._received or ()):
            _NO_CONTEXT.copy().run(cut, copy, crossing(reason))
        if self._timers is not None:
            self._timers.cancel_all()
        if self._background is not None:
            self._background.cancel()
        self.instance = None
        storage = self._storage
        self.ended = None if storage is None else self.namespace.close_storage(self.id, storage)
        self.namespace.forget(self)


_ABORT_WITHOUT_REASON: Final = "Durable Object abort requested"


def marked_reset(error: Exception) -> Exception:
    """The application's own exception, as the reason for which the object is reset."""
    marked(error, durableObjectReset=True)
    return error
