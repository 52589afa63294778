"""The trace of one event while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pyflare.js.array import JsArray
from pyflare.js.callbacks import FAILURES, console_sink, describe
from pyflare.js.error import JsException
from pyflare.js.inspect_value import inspect
from pyflare.js.json import JSON
from pyflare.js.rpc.errors import traceback_text
from pyflare.js.value import jsnull

from .items import (
    FetchEventInfo,
    JsRpcEventInfo,
    TracedRequest,
    TracedResponse,
    TraceException,
    TraceItem,
    TraceLog,
    describe_event,
)

if TYPE_CHECKING:
    from pyflare.js.response import Response

    from ..event import ExecutionContext

__all__ = ["EventTrace", "Tracer"]

T = TypeVar("T")

#: Text that one trace may hold; what comes after it is left out and `truncated` says so.
MAX_BYTES: Final = 256 * 1024


class Tracer(Protocol):
    """Whoever is told of the events of a worker."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds from any start."""
        ...

    def finished(self, item: TraceItem) -> None:
        """An event is over."""
        ...


class EventTrace:
    """What is noted of an event. It is given to the tracer when the event is over."""

    __slots__ = (
        "_began",
        "_entrypoint",
        "_event",
        "_exceptions",
        "_execution",
        "_left",
        "_logs",
        "_outcome",
        "_response",
        "_script",
        "_timestamp",
        "_tracer",
        "_watching",
    )

    def __init__(self, script: str, tracer: Tracer, execution: ExecutionContext) -> None:
        self._script = script
        self._tracer: Tracer | None = tracer
        self._execution = execution
        self._timestamp = int(tracer.now() * 1000)
        self._began = tracer.monotonic()
        self._event: Any = jsnull
        self._response: Any = None
        self._entrypoint: str | None = None
        self._logs: list[TraceLog] = []
        self._exceptions: list[TraceException] = []
        self._outcome = "ok"
        self._left = MAX_BYTES
        self._watching = False
        execution.at_end(self._finish)

    def listen(self) -> None:
        """Note what goes to the console; to be called in the context of the event."""
        console_sink.set(_Listener(self, console_sink.get()))

    def wants(self) -> bool:
        """Whether the call that is about to be made is the one that the event is about."""
        first = not self._watching
        self._watching = True
        return first

    async def fetch(
        self, request: Any, entrypoint: str | None, work: Coroutine[Any, Any, Response]
    ) -> Response:
        """Note a request and its response."""
        self._entrypoint = entrypoint
        headers = {name.decode(): value.decode() for name, value in request.headers.wire_pairs()}
        traced = TracedRequest._make(request.url, request.method, headers, request.cf)
        self._event = FetchEventInfo._make(request=traced)
        response = await self._watch(work)
        self._event.response = TracedResponse._make(status=response.status)
        return response

    async def handle(self, name: str, argument: Any, work: Coroutine[Any, Any, T]) -> T:
        """Note an event of another kind."""
        self._event = describe_event(name, argument)
        return await self._watch(work)

    async def call(
        self, path: tuple[str, ...], entrypoint: str | None, work: Coroutine[Any, Any, T]
    ) -> T:
        """Note a call over a binding."""
        self._entrypoint = entrypoint
        self._event = JsRpcEventInfo._make(rpcMethod=".".join(path))
        return await self._watch(work)

    def failed(self, error: BaseException) -> None:
        """Note an exception that the worker did not catch."""
        self._outcome = "exception"
        if isinstance(error, JsException):
            name, message, stack = error.name, error.message, error.stack
        else:
            name = "PythonError"
            message = stack = traceback_text(error)
        if self._takes(message):
            self._exceptions.append(
                TraceException._make(timestamp=self._now(), message=message, name=name, stack=stack)
            )

    def discard(self) -> None:
        """Tell nobody of this event."""
        self._tracer = None

    async def _watch(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return await work
        except asyncio.CancelledError:
            self._outcome = "canceled"
            raise
        except FAILURES as error:
            self.failed(error)
            raise

    def log(self, level: str, text: str, args: Sequence[Any]) -> None:
        """Note what was written to the console, as values and as the text that they became."""
        if self._takes(text):
            message = JsArray.adopt([_shown(each) for each in args])
            self._logs.append(TraceLog._make(timestamp=self._now(), level=level, message=message))

    def _takes(self, text: str) -> bool:
        if self._left >= 0:
            self._left -= len(text)
        return self._left >= 0

    def _now(self) -> int:
        return self._timestamp if self._tracer is None else int(self._tracer.now() * 1000)

    def _finish(self) -> None:
        tracer, self._tracer = self._tracer, None
        if tracer is None:
            return
        tracer.finished(
            TraceItem._make(
                scriptName=self._script,
                entrypoint=self._entrypoint,
                event=self._event,
                eventTimestamp=self._timestamp,
                logs=JsArray.adopt(self._logs),
                exceptions=JsArray.adopt(self._exceptions),
                diagnosticsChannelEvents=JsArray.adopt([]),
                outcome=self._outcome,
                executionModel="stateless",
                truncated=self._left < 0,
                cpuTime=0,
                wallTime=max(0, int((tracer.monotonic() - self._began) * 1000)),
            )
        )


class _Listener:
    """A console sink in front of another one."""

    __slots__ = ("_further", "_trace")

    def __init__(self, trace: EventTrace, further: Callable[[str, str], None]) -> None:
        self._trace = trace
        self._further = further

    def __call__(self, level: str, text: str) -> None:
        self.note(level, text, (text,))

    def uncaught(self, error: BaseException) -> None:
        self._trace.log("error", describe(error), (describe(error),))
        uncaught = getattr(self._further, "uncaught", None)
        if uncaught is None:
            self._further("error", describe(error))
        else:
            uncaught(error)

    def note(self, level: str, text: str, args: Sequence[Any]) -> None:
        self._trace.log(level, text, args)
        self._further(level, text)


def _shown(value: Any) -> Any:
    """A value as JSON carries it, else as text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    try:
        text = JSON.stringify(value)
        return inspect(value) if text is None else JSON.parse(text)
    except JsException:
        return inspect(value)
