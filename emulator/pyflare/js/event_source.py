"""``EventSource``: server-sent events, from an address or from a stream.

It lives as long as the event that made it.

Source: https://developers.cloudflare.com/workers/runtime-apis/eventsource/,
https://html.spec.whatwg.org/multipage/server-sent-events.html and workerd ``api/eventsource.c++``.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, ClassVar, Final

from .abort import AbortController
from .callbacks import FAILURES, CallbackScope, call, report, supervise
from .error import DOMException, Error, JsException, TypeError_
from .event_stream import EventStreamParser
from .events import ErrorEvent, Event, EventTarget, MessageEvent
from .fetch import fetch
from .mime import MediaType
from .promise import as_error
from .readable import ReadableStream
from .readers import ByteIterator
from .response import Response
from .timers import Timers, current_timers
from .url import parse
from .value import JsObject, get_property
from .webidl import scalar_text

__all__ = ["EventSource"]

_OUTSIDE_REQUESTS: Final = (
    "An EventSource can only be created within the context of a worker request."
)
#: How long to wait before connecting again, in milliseconds: at first, and the limits for what a server asks.
_RECONNECTION_TIME: Final = 2000
_SHORTEST_TIME: Final = 1000
_LONGEST_TIME: Final = 10_000
_DISCONNECTED: Final = "Network connection lost."


class EventSource(EventTarget, js_name="EventSource"):
    """``EventSource.new(url, {"fetcher": ...})`` or ``EventSource.from_(stream)``.

    Dispatches ``open``, ``error``, ``message`` and the types that the server names. A source with an address connects
    again when the server ends the connection, unless it is closed; one over a stream ends with it.
    """

    CONNECTING: ClassVar[int] = 0
    OPEN: ClassVar[int] = 1
    CLOSED: ClassVar[int] = 2

    withCredentials = False
    onopen: Any = None
    onmessage: Any = None
    onerror: Any = None

    def __init__(self, url: str, origin: str | None, fetcher: Any = None) -> None:
        self.url = url
        self.readyState = self.CONNECTING
        self._origin = origin
        self._fetcher = fetcher
        self._parser = EventStreamParser()
        self._controller: AbortController = AbortController._construct()
        self._timers: Timers = current_timers()
        self._event_mark = self._timers.until_over(self.close)
        self._had_no_body = False
        self._work: asyncio.Task[None] | None = None

    @classmethod
    def _construct(cls, url: Any = None, init: Any = None, *_: Any) -> Any:
        """Raises: SyntaxError for an invalid address, NotSupportedError for ``withCredentials`` and outside events."""
        _check_running()
        if get_property(init, "withCredentials"):
            raise DOMException._make(
                "The init.withCredentials option is not supported. It must be false or undefined.",
                "NotSupportedError",
            )
        address = scalar_text(url)
        parsed = parse(address)
        if parsed is None:
            raise DOMException._make(
                f"Cannot open an EventSource to '{address}'. The URL is invalid.", "SyntaxError"
            )
        source: EventSource = cls._make(parsed.href, parsed.origin, get_property(init, "fetcher"))
        source._begin(source._connect_again_and_again())
        return source

    @classmethod
    def from_(cls, stream: Any = None) -> EventSource:
        """A source over a stream of bytes. Raises: TypeError for a stream that is locked or was read from."""
        _check_running()
        if not isinstance(stream, ReadableStream):
            raise TypeError_(
                "Failed to execute 'from' on 'EventSource': parameter 1 is not of type 'ReadableStream'."
            )
        if stream.locked:
            raise TypeError_("This ReadableStream is locked.")
        if stream.disturbed:
            raise TypeError_("This ReadableStream has already been read from.")
        source: EventSource = cls._make("", None)
        source._begin(source._follow_stream(stream.iterate_bytes()))
        return source

    def _begin(self, work: Any) -> None:
        self._work = CallbackScope().spawn(work)
        supervise(self._work)

    def close(self) -> None:
        """Close the connection; nothing is dispatched any more."""
        if self.readyState == self.CLOSED:
            return
        self._end(None)
        work = self._work
        if work is not None and not work.done() and work is not asyncio.current_task():
            work.cancel()

    def _end(self, reason: Any) -> None:
        self.readyState = self.CLOSED
        self._controller.abort(reason)
        self._timers.cancel(self._event_mark)

    async def _follow_stream(self, chunks: ByteIterator) -> None:
        self._opened()
        try:
            await self._dispatch_messages(chunks)
        except FAILURES as error:
            self._failed(error)
        else:
            self._failed(Error("The server disconnected."))

    async def _connect_again_and_again(self) -> None:
        again = await self._connect()
        while again:
            await asyncio.sleep(self._reconnection_time() / 1000)
            again = await self._connect()

    def _reconnection_time(self) -> int:
        asked = self._parser.retry
        if asked is None:
            return _RECONNECTION_TIME
        return max(_SHORTEST_TIME, min(asked, _LONGEST_TIME))

    async def _connect(self) -> bool:
        """One connection, up to its end. True when there is to be another one."""
        self._controller = AbortController._construct()
        try:
            response = await self._request()
            self._check(response)
        except FAILURES as error:
            self._failed(error)
            return False
        if response.redirected and (parsed := parse(response.url)) is not None:
            self.url, self._origin = parsed.href, parsed.origin
        if not response._has_body():
            if self._had_no_body:
                self._failed(Error("The server provided no content."))
                return False
            self._had_no_body = True
            return self._failed(
                Error("The server provided no content. Will try reconnecting."), again=True
            )
        self._opened()
        try:
            await self._dispatch_messages(response.body.iterate_bytes())
        except FAILURES as error:
            if not (isinstance(error, JsException) and error.message == _DISCONNECTED):
                self._failed(error)
                return False
        return self._failed(Error("The server disconnected."), again=True)

    async def _request(self) -> Response:
        headers = {"accept": "text/event-stream", "cache-control": "no-cache"}
        if self._parser.last_event_id:
            headers["last-event-id"] = self._parser.last_event_id
        init = JsObject.adopt(
            {"headers": JsObject.adopt({**headers}), "signal": self._controller.signal}
        )
        response = await call(
            fetch if self._fetcher is None else self._fetcher.fetch, self.url, init
        )
        if not isinstance(response, Response):
            raise TypeError_("The fetcher of an EventSource did not answer with a Response.")
        return response

    @staticmethod
    def _check(response: Response) -> None:
        """Raises: AbortError for a response that is no event stream."""
        if response.type == "error":
            raise TypeError_("Error responses are unsupported with EventSource")
        if not response.ok:
            raise _abort_error(f"The response status code was {response.status}.")
        content_type = response.headers.lookup("content-type")
        if content_type is None:
            raise _abort_error("No content type header was present in the response.")
        media_type = MediaType.parse(content_type)
        if media_type is None or media_type.essence != "text/event-stream":
            raise _abort_error(f"The content type '{content_type}' is invalid.")

    async def _dispatch_messages(self, chunks: ByteIterator) -> None:
        """Dispatch what comes until the stream ends or this source is closed."""
        parser = self._parser
        self._parser = parser = EventStreamParser(parser.last_event_id, parser.retry)
        try:
            async for chunk in chunks:
                for message in parser.feed(bytes(chunk)):
                    event: MessageEvent = MessageEvent._make(
                        message.event,
                        {
                            "data": message.data,
                            "lastEventId": message.last_event_id,
                            "origin": self._origin,
                        },
                        trusted=True,
                    )
                    self.dispatchEvent(event)
                    if self.readyState == self.CLOSED:
                        return
        finally:
            with contextlib.suppress(Exception):
                await chunks.aclose()

    def _opened(self) -> None:
        if self.readyState != self.CLOSED:
            self.readyState = self.OPEN
            self.dispatchEvent(Event._make("open", trusted=True))

    def _failed(self, reason: Any, *, again: bool = False) -> bool:
        """Tell of a failure; it is logged too. True when a new connection is still wanted."""
        if self.readyState == self.CLOSED:
            return False
        self._controller.abort(reason)
        if again:
            self.readyState = self.CONNECTING
        else:
            self._end(reason)
        event: ErrorEvent = ErrorEvent._make("error", {"error": reason}, trusted=True)
        self.dispatchEvent(event)
        report(as_error(reason))
        return again and self.readyState == self.CONNECTING


def _check_running() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise DOMException._make(_OUTSIDE_REQUESTS, "NotSupportedError") from None


def _abort_error(message: str) -> DOMException:
    made: DOMException = DOMException._make(message, "AbortError")
    return made
