"""The near side of stubs: functions and objects that others may call, in the code that gave them away."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from contextvars import Context
from inspect import isawaitable
from typing import Any

from ..callbacks import call
from ..deferred import call_depth
from ..error import JsException, TypeError_
from ..proxy import JsDoubleProxy
from ..value import JsObject
from .errors import WRAPPABLE, crossing, is_passing
from .host import StubHost, current_host
from .names import RpcTarget, Stub
from .paths import follow, require_callable
from .values import Arguments, clone_result

__all__ = ["Export", "is_function"]


def is_function(value: Any) -> bool:
    """Whether a value is a function to JavaScript. Classes are not sent."""
    if isinstance(value, JsDoubleProxy):
        value = value.unwrap()
    return callable(value) and not isinstance(value, type)


class Export:
    """One value that was given away, for as long as somebody has a stub of it. A channel to it."""

    __slots__ = ("_count", "_host", "_loop", "_value")

    def __init__(self, value: Any, host: StubHost) -> None:
        self._value = value
        self._host = host
        self._count = 0
        self._loop = asyncio._get_running_loop()

    @classmethod
    def here(cls, value: Any) -> Export:
        """Give away something of the running code."""
        if isinstance(value, JsDoubleProxy):
            value = value.unwrap()
        return cls(value, current_host())

    @classmethod
    def wrap(cls, value: Any) -> Export:
        """The same for ``new RpcStub(value)``. Raises: TypeError for what cannot be a stub by itself."""
        if isinstance(value, JsObject | RpcTarget) or (
            is_function(value) and not isinstance(value, Stub)
        ):
            return cls.here(value)
        raise TypeError_(WRAPPABLE)

    def add(self) -> None:
        """There is one more stub."""
        if self._count == 0:
            self._host.hold()
        self._count += 1

    def remove(self) -> None:
        """There is one stub less; with the last one the value is let go."""
        self._count -= 1
        if self._count == 0:
            self._host.release()
            self._value = None

    def collected(self) -> None:
        """There is one stub less, which the garbage collector has found: on whatever thread that was."""
        loop = self._loop
        if loop is None or asyncio._get_running_loop() is loop:
            self.remove()
        else:
            # When the loop has ended, so have the events that the stub belonged to.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self.remove, context=Context())

    async def fetch(self, _request: Any) -> Any:
        raise TypeError_("The receiver is not an RPC object")

    def call(
        self, path: tuple[str, ...], arguments: Sequence[Any] | None
    ) -> Coroutine[Any, Any, Any]:
        # The value is taken now: the stub may be disposed of before the call begins.
        return _call(self._host, self._value, path, arguments)


async def _call(
    host: StubHost, value: Any, path: tuple[str, ...], arguments: Sequence[Any] | None
) -> Any:
    host.hold()
    try:
        return await host.run(_answer(value, path, arguments, call_depth.get() + 1))
    finally:
        host.release()


async def _answer(
    value: Any, path: tuple[str, ...], arguments: Sequence[Any] | None, depth: int
) -> Any:
    """Call a member of a value that was given away, or read it. For the code that gave it away.

    Gives a copy of the result. Raises: what the call raises, as it crosses.
    """
    call_depth.set(depth)
    failure: JsException
    try:
        if type(arguments) is Arguments and arguments.streams:
            current_host().receive(arguments.streams)
        member = await follow(value, path)
        found = member.value
        if isinstance(found, Stub) and (member.rest or arguments is not None):
            return await found._channel.call(member.rest, arguments)
        if arguments is not None:
            require_callable(found, path)
            found = await call(found, *arguments)
        while isawaitable(found):
            found = await found
        return clone_result(found)
    except BaseException as error:
        if is_passing(error):
            raise
        failure = crossing(error)
    finally:
        if type(arguments) is Arguments:
            arguments.dispose()
    raise failure
