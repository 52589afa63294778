"""What callers hold: stubs, the properties of stubs, and the promises of results, which are stubs themselves.

A call on a promise is sent on to the result as soon as there is one (pipelining). Methods and properties are found by
attribute access, so a stub has every attribute but ``then`` and Python's own double-underscore names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any

from ..deferred import DEEPEST_CALLBACK, CallLine, DeferredPromise
from ..error import Error
from ..promise import JsPromise
from ..value import JsObject
from .errors import (
    DEEPEST_PATH,
    DISPOSED,
    NO_OBJECT,
    PATH_TOO_DEEP,
    PROMISE_DISPOSED,
    not_a_function,
)
from .exports import Export
from .names import RemoteNames, Stub
from .paths import follow
from .values import clone_arguments, clone_result

if TYPE_CHECKING:
    from ..fetcher import Channel

__all__ = ["JsRpcPromise", "JsRpcProperty", "JsRpcStub", "begin_call"]


def begin_call(
    line: CallLine, channel: Channel, path: tuple[str, ...], arguments: Sequence[Any] | None
) -> JsRpcPromise:
    """Call through a channel. The arguments are copied now; what cannot be sent rejects the promise."""
    try:
        if len(path) > DEEPEST_PATH:
            raise Error(PATH_TOO_DEEP)
        work: Any = channel.call(path, clone_arguments(arguments) if arguments else arguments)
    except Exception as error:
        work = _raise(error)
    return JsRpcPromise._make(line.call(work))  # type: ignore[no-any-return]


async def _raise(error: Exception) -> Any:
    raise error


class JsRpcProperty(RemoteNames, js_name="JsRpcProperty"):
    """A name on the other side: call it, await its value, or go deeper."""

    @property
    def typeof(self) -> str:
        return "function"

    def __init__(self, root: RemoteNames, path: tuple[str, ...]) -> None:
        self._root = root
        self._path = path

    def __call__(self, *args: Any, **kwargs: Any) -> JsRpcPromise:
        if kwargs:
            args = (*args, JsObject.adopt(kwargs))
        return self._root._begin_call(self._path, args)

    def _read(self) -> JsRpcPromise:
        return self._root._begin_call(self._path, None)

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._read().__await__()

    def then(self, fulfilled: Any = None, rejected: Any = None) -> JsPromise:
        return self._read().then(fulfilled, rejected)

    def catch(self, rejected: Any) -> JsPromise:
        return self._read().then(None, rejected)

    def finally_(self, function: Callable[[], Any]) -> JsPromise:
        return self._read().finally_(function)

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        return JsRpcProperty._make(self._root, (*self._path, name))


class JsRpcPromise(RemoteNames, js_name="JsRpcPromise"):
    """The promise of a result. Awaiting it gives the result; calls on it need not wait for that."""

    def __init__(self, promise: DeferredPromise) -> None:
        self._promise = promise
        self._line: CallLine | None = None
        #: The calls on it that wait for it.
        self._queue: list[object] = []
        self._disposed = False

    @property
    def typeof(self) -> str:
        return "function"

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._promise.__await__()

    def then(self, fulfilled: Any = None, rejected: Any = None) -> JsPromise:
        self._promise.begin()
        return self._promise.then(fulfilled, rejected)

    def catch(self, rejected: Any) -> JsPromise:
        return self.then(None, rejected)

    def finally_(self, function: Callable[[], Any]) -> JsPromise:
        self._promise.begin()
        return self._promise.finally_(function)

    def __call__(self, *args: Any, **kwargs: Any) -> JsRpcPromise:
        if kwargs:
            args = (*args, JsObject.adopt(kwargs))
        return self._begin_call((), args)

    def _begin_call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> JsRpcPromise:
        # The call that this one builds on must not wait for anybody to await it.
        self._promise.begin()
        if self._line is None:
            self._line = CallLine(DEEPEST_CALLBACK)
        work: Coroutine[Any, Any, Any]
        try:
            if self._disposed:
                raise Error(PROMISE_DISPOSED)
            if len(path) > DEEPEST_PATH:
                raise Error(PATH_TOO_DEEP)
            work = self._pipelined(path, clone_arguments(arguments) if arguments else arguments)
        except Exception as error:
            work = _raise(error)
        return JsRpcPromise._make(self._line.call(work))  # type: ignore[no-any-return]

    async def _pipelined(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> Any:
        await self._turn()
        member = await follow(self._promise.result(), path, Error(NO_OBJECT))
        value = member.value
        if isinstance(value, Stub) and (member.rest or arguments is not None):
            return await value._channel.call(member.rest, arguments)
        if arguments is not None:
            # Functions arrive as stubs, so there is none in a copy.
            raise not_a_function(path)
        return clone_result(value)

    async def _turn(self) -> None:
        """Wait for the result, and for the calls on it that were made before. Raises: what the call raised."""
        ticket = object()
        queue = self._queue
        queue.append(ticket)
        try:
            await self._promise
            while queue[0] is not ticket:  # noqa: ASYNC110 - it takes a turn or two
                await asyncio.sleep(0)
        finally:
            queue.remove(ticket)

    def _symbol_dispose(self) -> None:
        """``promise[Symbol.dispose]()``: calls on it fail from now on, and the stubs in its result are let go."""
        self._disposed = True
        promise = self._promise
        promise.begin()
        promise.add_done_callback(_dispose_result)


def _dispose_result(done: Any) -> None:
    if not done.cancelled() and done.exception() is None:
        result = done.result()
        if isinstance(result, JsRpcStub):
            result._symbol_dispose()


class JsRpcStub(Stub, js_name="JsRpcStub"):
    """A function or object on the other side. It is let go when it is disposed of or forgotten."""

    def __init__(self, export: Export) -> None:
        self._channel: Any = export
        self._line = CallLine(DEEPEST_CALLBACK)
        export.add()

    @classmethod
    def _construct(cls, value: Any = None, *_: Any) -> Any:
        """``new RpcStub(value)``: a stub of something here. Raises: TypeError for what cannot be one."""
        return cls._make(Export.wrap(value))

    def __call__(self, *args: Any, **kwargs: Any) -> JsRpcPromise:
        if kwargs:
            args = (*args, JsObject.adopt(kwargs))
        return self._begin_call((), args)

    @property
    def typeof(self) -> str:
        return "function"

    def export(self) -> Export:
        """What this is a stub of. Raises: Error after disposal."""
        export = self._channel
        if isinstance(export, Export):
            return export
        raise Error(DISPOSED)

    def dup(self) -> JsRpcStub:
        """A second stub of the same thing, with a life of its own. Raises: Error after disposal."""
        return JsRpcStub._make(self.export())  # type: ignore[no-any-return]

    def _symbol_dispose(self) -> None:
        """``stub[Symbol.dispose]()``: let go; every later call fails."""
        export = self._channel
        if isinstance(export, Export):
            self._channel = DISPOSED_CHANNEL
            # A call that was made before is still to be sent.
            self._line.begin_waiting()
            export.remove()

    def __del__(self) -> None:
        export = self.__dict__.get("_channel")
        if isinstance(export, Export):
            export.collected()


class _Disposed:
    """What is left of a stub."""

    __slots__ = ()

    async def fetch(self, _request: Any) -> Any:
        raise Error(DISPOSED)

    async def call(self, _path: tuple[str, ...], _arguments: Sequence[Any] | None) -> Any:
        raise Error(DISPOSED)


DISPOSED_CHANNEL = _Disposed()
