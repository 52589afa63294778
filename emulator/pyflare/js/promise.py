"""Promises: asyncio futures with ``then``, ``catch`` and ``finally_``, started eagerly.

A promise's work runs whether or not anybody awaits it. :func:`start` runs a coroutine up to its first wait at once; if
it finishes there, which is the common case for a binding call, the promise is born settled and no Task is made. That
first step runs in the caller's task and the rest in another, so it is for this package's own coroutines only:
:func:`run` is for code of a worker, which may hold on to the task it begins in (``asyncio.timeout``, a ``TaskGroup``,
anyio's cancel scopes).
"""

from __future__ import annotations

import asyncio
import inspect
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Iterator
from typing import Any, Final, TypeVar

from . import semantics
from .callbacks import FAILURES
from .calling import by_keywords_too
from .class_names import show_as
from .error import AggregateError, Error, JsException, TypeError_, python_error
from .value import JsInstance, JsObject, JsProxy, jsnull

__all__ = [
    "DESTROYED",
    "JsPromise",
    "Promise",
    "arriving",
    "begin",
    "rejected",
    "resolved",
    "rest_of",
    "run",
    "settle",
    "start",
]

T = TypeVar("T")

#: What a Python object says that JavaScript had borrowed for a walk only, when it is used after that.
DESTROYED: Final = (
    "This borrowed proxy was automatically destroyed when an iterator was exhausted.\n"
    "For more information about the cause of this error, use `pyodide.setDebug(true)`"
)


@by_keywords_too
class JsPromise(asyncio.Future[Any]):
    """A promise in Python's hands (Pyodide's ``PyodideFuture``). Can be awaited any number of times."""

    def __init_subclass__(cls) -> None:
        if cls.__module__.startswith(f"{__package__}."):
            show_as(cls, "pyodide.webloop", "PyodideFuture")

    #: Whether JavaScript's code finds the promise itself in a Python list, and not a borrowed future.
    _native = False

    def then(
        self,
        onfulfilled: Callable[[Any], Any] | None = None,
        onrejected: Callable[[Any], Any] | None = None,
        *_: Any,
    ) -> JsPromise:
        """Chain; a callback may be async and its result may itself be awaitable. It is never called at once."""
        return run(_then(self, onfulfilled, onrejected))

    def catch(self, onrejected: Callable[[Any], Any] | None = None, *_: Any) -> JsPromise:
        return self.then(None, onrejected)

    def finally_(self, onfinally: Callable[[], Any] | None = None, *_: Any) -> JsPromise:
        return self.then() if onfinally is None else run(_finally(self, onfinally))


show_as(JsPromise, "pyodide.webloop", "PyodideFuture")


async def _then(
    promise: Awaitable[Any],
    onfulfilled: Callable[[Any], Any] | None,
    onrejected: Callable[[Any], Any] | None,
) -> Any:
    try:
        value = await promise
    except FAILURES as error:
        if onrejected is None:
            raise
        return await settle(onrejected(error))
    if onfulfilled is None:
        return value
    return await settle(onfulfilled(value))


async def _finally(promise: Awaitable[Any], onfinally: Callable[[], Any]) -> Any:
    try:
        value = await promise
    except FAILURES:
        await settle(onfinally())
        raise
    await settle(onfinally())
    return value


async def settle(value: Any) -> Any:
    """Await a result if it is awaitable, as JavaScript's ``await`` does with a promise or a plain value."""
    while inspect.isawaitable(value):
        value = await value
    return value


def arriving(value: Any) -> Any:
    """What a promise of the value gives in the running worker, whose runtime may know no null."""
    return None if value is jsnull and semantics.current().null_is_none else value


def resolved(value: Any = None) -> JsPromise:
    """A promise that is already fulfilled."""
    promise = JsPromise(loop=asyncio.get_running_loop())
    promise.set_result(arriving(value) if value is jsnull else value)
    return promise


def rejected(error: BaseException) -> JsPromise:
    """A promise that is already rejected."""
    promise = JsPromise(loop=asyncio.get_running_loop())
    promise.set_exception(error)
    return promise


def run(coroutine: Coroutine[Any, Any, Any]) -> JsPromise:
    """Run a coroutine in a Task of its own, from its first step on, and give the promise of its result."""
    loop = asyncio.get_running_loop()
    return _promise_of(loop.create_task(coroutine), loop)


def start(coroutine: Coroutine[Any, Any, Any]) -> JsPromise:
    """Run a coroutine to its first wait now, the rest in a supervised task, and give the promise of its result.

    Nothing may look at the current task before the first wait.
    """
    try:
        waiting = coroutine.send(None)
    except StopIteration as finished:
        return resolved(finished.value)
    except asyncio.CancelledError:
        promise = JsPromise(loop=asyncio.get_running_loop())
        promise.cancel()
        return promise
    except FAILURES as error:
        return rejected(error)
    return _continue(coroutine, waiting)


def _continue(coroutine: Coroutine[Any, Any, Any], waiting: Any) -> JsPromise:
    loop = asyncio.get_running_loop()
    return _promise_of(loop.create_task(_driven(coroutine, waiting)), loop)


def _promise_of(task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop) -> JsPromise:
    promise = JsPromise(loop=loop)

    def finish(done: asyncio.Task[Any]) -> None:
        if promise.done():
            if not done.cancelled():
                done.exception()
        elif done.cancelled():
            promise.cancel()
        elif (error := done.exception()) is not None:
            promise.set_exception(error)
        else:
            promise.set_result(arriving(done.result()))

    def forward_cancel(cancelled: asyncio.Future[Any]) -> None:
        if cancelled.cancelled():
            task.cancel()

    task.add_done_callback(finish)
    promise.add_done_callback(forward_cancel)
    return promise


class _Settled:
    """The outcome of a coroutine that finished without waiting; awaited at most once."""

    __slots__ = ("error", "value")

    def __init__(self, value: Any, error: BaseException | None) -> None:
        self.value = arriving(value) if value is jsnull else value
        self.error = error

    def __await__(self) -> Generator[Any, Any, Any]:
        if self.error is not None:
            raise self.error
        return self.value
        yield


def begin(coroutine: Coroutine[Any, Any, T]) -> Awaitable[T]:
    """Like :func:`start` where only one caller will await the result: cheaper, and no promise to the outside."""
    try:
        waiting = coroutine.send(None)
    except StopIteration as finished:
        return _Settled(finished.value, None)
    except FAILURES as error:
        return _Settled(None, error)
    return _continue(coroutine, waiting)


@types.coroutine
def rest_of(coroutine: Coroutine[Any, Any, T], waiting: Any) -> Generator[Any, Any, T]:
    """Await the rest of a coroutine that has already run to its first wait; ``waiting`` is what it waits for."""
    while True:
        try:
            yield waiting
        except GeneratorExit:
            coroutine.close()
            raise
        except BaseException as error:
            try:
                waiting = coroutine.throw(error)
            except StopIteration as finished:
                return finished.value  # type: ignore[no-any-return]
        else:
            steps: Any = coroutine
            return (yield from steps)  # type: ignore[no-any-return]


async def _driven(coroutine: Coroutine[Any, Any, T], waiting: Any) -> T:
    return await rest_of(coroutine, waiting)


class Promise(JsInstance, js_name="Promise"):
    """``js.Promise``: the constructor and the combinators. Instances are :class:`JsPromise`."""

    @classmethod
    def _construct(cls, executor: Any = None, *_: Any) -> JsPromise:
        if not callable(executor):
            raise TypeError_(f"Promise resolver {executor} is not a function")
        promise = JsPromise(loop=asyncio.get_running_loop())
        promise._native = True

        def resolve(value: Any = None) -> None:
            if promise.done():
                return
            if inspect.isawaitable(value):
                _follow(promise, value)
            else:
                promise.set_result(arriving(value))

        def reject(reason: Any = None) -> None:
            if not promise.done():
                promise.set_exception(as_error(reason))

        try:
            executor(resolve, reject)
        except FAILURES as error:
            reject(python_error(error))
        return promise

    @staticmethod
    def resolve(value: Any = None) -> Any:
        if isinstance(value, JsPromise):
            return value
        return run(_passed(value)) if inspect.isawaitable(value) else resolved(value)

    @staticmethod
    def reject(reason: Any = None) -> JsPromise:
        return rejected(as_error(reason))

    @staticmethod
    def withResolvers() -> JsObject:
        ends: dict[str, Any] = {}

        def keep(resolve: Any, reject: Any) -> None:
            ends.update(resolve=resolve, reject=reject)

        promise = Promise._construct(keep)
        return JsObject.adopt({"promise": promise, **ends})

    @staticmethod
    def all(values: Iterable[Any]) -> JsPromise:
        async def gather() -> Any:
            from .array import JsArray

            return JsArray.adopt(list(await asyncio.gather(*_promises(values))))

        return start(gather())

    @staticmethod
    def allSettled(values: Iterable[Any]) -> JsPromise:
        async def gather() -> Any:
            from .array import JsArray

            results = await asyncio.gather(*_promises(values), return_exceptions=True)
            return JsArray.adopt(
                [
                    JsObject.adopt({"status": "rejected", "reason": result})
                    if isinstance(result, BaseException)
                    else JsObject.adopt({"status": "fulfilled", "value": result})
                    for result in results
                ]
            )

        return start(gather())

    @staticmethod
    def race(values: Iterable[Any]) -> JsPromise:
        promise = JsPromise(loop=asyncio.get_running_loop())
        for each in _promises(values):
            _follow(promise, each)
        return promise

    @staticmethod
    def any(values: Iterable[Any]) -> JsPromise:
        async def first() -> Any:
            promises = list(_promises(values))
            errors: list[BaseException] = [Error("")] * len(promises)
            winner: asyncio.Future[Any] = JsPromise(loop=asyncio.get_running_loop())
            left = len(promises)

            def note(index: int, done: asyncio.Future[Any]) -> None:
                nonlocal left
                error = asyncio.CancelledError() if done.cancelled() else done.exception()
                left -= 1
                if error is not None:
                    errors[index] = error
                if winner.done():
                    return
                if error is None:
                    winner.set_result(done.result())
                elif left == 0:
                    winner.set_exception(AggregateError(errors, "All promises were rejected"))

            for index, promise in enumerate(promises):
                promise.add_done_callback(lambda done, index=index: note(index, done))
            if not promises:
                raise AggregateError([], "All promises were rejected")
            return await winner

        return start(first())


def _promises(values: Iterable[Any]) -> Iterator[Any]:
    """The promises of what a combinator is given.

    What JavaScript takes from a Python collection it has borrowed for the walk only: awaitables of Python are gone when
    it comes back to them. Those of a generator, whose end it sees itself, and of ``to_js([...])`` stay.
    """
    borrowed = not isinstance(values, (JsProxy, Iterator))
    for value in values:
        if borrowed and inspect.isawaitable(value) and not getattr(value, "_native", False):
            yield run(_destroyed())
        else:
            yield Promise.resolve(value)


async def _destroyed() -> Any:
    raise Error(DESTROYED)


async def _passed(awaitable: Any) -> Any:
    """The result of Python's awaitable as JavaScript passes it on: an exception has become its own error."""
    try:
        return await settle(awaitable)
    except FAILURES as error:
        raise python_error(error) from error


def as_error(reason: Any) -> BaseException:
    """What rejecting with this value raises in Python; a thrown non-error is wrapped, as Pyodide wraps it."""
    if isinstance(reason, BaseException):
        return reason
    from .number import to_string
    from .value import object_tag, type_of

    return JsException(
        "Error",
        f"A value of type {type_of(reason)} with tag {object_tag(reason)} was thrown as an error! "
        f"String form: {to_string(reason)}",
    )


def _follow(promise: JsPromise, awaitable: Any) -> None:
    source = awaitable if isinstance(awaitable, JsPromise) else run(_passed(awaitable))

    def copy(done: asyncio.Future[Any]) -> None:
        if promise.done():
            if not done.cancelled():
                done.exception()
        elif done.cancelled():
            promise.cancel()
        elif (error := done.exception()) is not None:
            promise.set_exception(error)
        else:
            promise.set_result(arriving(done.result()))

    source.add_done_callback(copy)
