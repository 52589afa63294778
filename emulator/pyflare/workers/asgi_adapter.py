"""``asgi.fetch`` as Cloudflare's SDK does it, in fewer steps.

The SDK turns headers into an e-mail message and back, queues the messages of a request that has none, and wakes the
handler between the steps of a lifespan that it begins and ends for every request. Here one object carries a request
through them, and the handler is woken once. The application and the client see the same: a test runs the same
applications through both. Whatever else than a request is given as one takes the SDK's own way.

Source of the behaviour: the package ``workers-runtime-sdk``, module ``workers.asgi``.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import re
import traceback
from collections import deque
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from pyflare.js.callbacks import FAILURES
from pyflare.js.headers import HeaderPairs, Headers
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.transform import TransformStream
from pyflare.js.typed_array_kinds import Uint8Array
from pyflare.js.url import parse

from .asgi_lifespan import Lifespan

__all__ = ["NEEDED", "make_fetch"]

#: What this takes from the SDK's module; a release without one of them keeps its own way.
NEEDED: Final = (
    "ASGI",
    "NULL_BODY_STATUSES",
    "_to_js_headers",
    "acquire_js_buffer",
    "close_stream_quietly",
    "fetch",
    "run_in_background",
)

Message: TypeAlias = dict[str, Any]
Application: TypeAlias = Callable[[Message, Any, Any], Awaitable[None]]

_logger: Final = logging.getLogger("asgi")


def make_fetch(sdk: ModuleType) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """What makes the replacement of ``fetch`` in the SDK's module ``workers.asgi`` from the original."""
    from workers import Request as SdkRequest

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        async def fetch(
            app: Application, req: Any, env: Any, ctx: Any = None, *, options: Any = None
        ) -> Any:
            if type(req) is SdkRequest:
                request, sdk_request = req.js_object, req
            else:
                request, sdk_request = req, None
            if not isinstance(request, Request):
                return await original(app, req, env, ctx, options=options)
            method = req.method
            if _logger.isEnabledFor(logging.DEBUG):
                _logger.debug("ASGI request: %s %s", method, request.url)
            exchange = _Exchange(sdk, app, request, sdk_request, method, env, options)
            exchange.begin()
            return await exchange.outcome

        return fetch

    return make


class _Exchange:
    """One request to an application: lifespan, messages in, messages out, and the response in ``outcome``.

    A response of one message is the outcome when the application and its lifespan have ended; a streaming one is it at
    once, and the rest goes on as work that the event waits for.
    """

    __slots__ = (
        "_app",
        "_context",
        "_env",
        "_failure",
        "_finished",
        "_headers",
        "_lifespan",
        "_loop",
        "_messages",
        "_method",
        "_options",
        "_request",
        "_response",
        "_response_init",
        "_rest",
        "_sdk",
        "_sdk_request",
        "_status",
        "_waiter",
        "_writer",
        "_writer_closed",
        "outcome",
    )

    def __init__(
        self,
        sdk: ModuleType,
        app: Application,
        request: Request,
        sdk_request: Any,
        method: Any,
        env: Any,
        options: Any,
    ) -> None:
        self._sdk = sdk
        self._app = app
        self._request = request
        self._sdk_request = sdk_request
        self._method = method
        self._env = env
        self._options = options
        self._response_init: dict[str, Any] = {}
        self._context = contextvars.copy_context()
        self._lifespan = Lifespan(app, sdk.ASGI, self._started)
        self._messages: deque[Message] = deque()
        self._status: int | None = None
        self._headers: Headers | None = None
        self._response: Response | None = None
        self._failure: BaseException | None = None
        self._writer: Any = None
        self._writer_closed = False
        self._finished = False
        self._waiter: asyncio.Event | None = None
        self._rest: asyncio.Future[None] | None = None
        self._loop = loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[Response] = loop.create_future()

    def begin(self) -> None:
        # Nothing else has to hold on to the tasks: what each waits for belongs to the other, or to the handler.
        self._loop.create_task(self._lifespan.run())

    def _started(self, failure: BaseException | None) -> None:
        if self.outcome.done():
            # The handler was cancelled meanwhile.
            self._lifespan.stop(lambda _: None)
        elif failure is not None:
            self.outcome.set_exception(failure)
        else:
            # What the lifespan has put into context variables is not the request's.
            self._context.run(self._loop.create_task, self._run())

    async def _run(self) -> None:
        """The application's call, with everything that may fail in it."""
        try:
            if self._options:
                self._response_init = self._options.response_init()
            request = self._request
            if request._has_body():
                await self._read(request.body)
            self._messages.append({"body": b"", "more_body": False, "type": "http.request"})
            await self._app(self._scope(), self._receive, self._send)
            if self._response is None:
                raise RuntimeError("The application did not generate a response")
        except FAILURES as error:
            self._failed(error)
        except BaseException:
            self.outcome.cancel()
            raise
        finally:
            self._lifespan.stop(self._over)

    async def _read(self, body: Any) -> None:
        async for chunk in body:
            self._messages.append(
                {"body": chunk.to_bytes(), "more_body": True, "type": "http.request"}
            )

    def _failed(self, error: BaseException) -> None:
        self._finish()
        if self.outcome.cancelled():
            _logger.debug(
                "The client went away before the application had answered.", exc_info=error
            )
            return
        if self._response is None:
            self._failure = error
            _logger.error("ASGI request failed", exc_info=error)
            return
        _logger.error("Exception in ASGI application after response started", exc_info=error)
        _let_go(error)
        if self._writer is not None and not self._writer_closed:
            # Not awaited: it is over only when what is queued has been read, which may never be.
            self._sdk.run_in_background(self._sdk.close_stream_quietly(self._writer))

    def _no_reader(self, closed: asyncio.Future[None]) -> None:
        """The client of a stream has gone: the application hears of it as from a server, and need not write first."""
        if closed.cancelled() or closed.exception() is not None:
            self._finish()

    def _over(self, failure: BaseException | None) -> None:
        """The lifespan has ended too."""
        if self._rest is not None:
            if failure is None:
                self._rest.set_result(None)
            else:
                _logger.error("Unhandled exception in background task", exc_info=failure)
                self._rest.set_exception(failure)
        elif self.outcome.done():
            return
        elif (error := failure or self._failure) is not None:
            self.outcome.set_exception(error)
        elif self._response is not None:
            self.outcome.set_result(self._response)

    def _scope(self) -> Message:
        url = parse(self._request.url)
        assert url is not None
        return {
            "asgi": self._sdk.ASGI,
            "headers": self._received_headers(),
            "http_version": "1.1",
            "method": self._method,
            "scheme": url.protocol[:-1],
            "path": unquote(url.pathname),
            "raw_path": url.pathname.encode(),
            "query_string": url.search[1:].encode(),
            "type": "http",
            "env": self._env,
            "state": dict(self._lifespan.state),
        }

    def _received_headers(self) -> HeaderPairs:
        headers = self._request.headers
        pairs = headers.plain_pairs()
        if self._sdk_request is None:
            if pairs is not None:
                return pairs
            return [(name.encode(), value.encode()) for name, value in headers._sorted()]
        if pairs is not None:
            return [(name, value.strip()) for name, value in pairs]
        if headers._cookies:
            # Their place among the others depends on the compatibility date.
            items = self._sdk_request.headers.items()
            return [(name.lower().encode(), value.encode()) for name, value in items]
        return [(name.encode(), value.strip().encode()) for name, value in headers._sorted()]

    async def _receive(self) -> Message:
        if self._messages:
            return self._messages.popleft()
        if not self._finished:
            if self._waiter is None:
                self._waiter = asyncio.Event()
            await self._waiter.wait()
        return {"type": "http.disconnect"}

    def _finish(self) -> None:
        self._finished = True
        if self._waiter is not None:
            self._waiter.set()

    async def _send(self, message: Message) -> None:
        match message["type"]:
            case "http.response.start":
                self._status = message["status"]
                self._headers = self._headers_of(message.get("headers", ()))
            case "http.response.body":
                body = message.get("body", b"")
                more = message.get("more_body", False)
                if self._writer is not None:
                    await self._writer.write(self._chunk(body))
                    if not more:
                        await self._writer.close()
                        self._writer_closed = True
                        self._finish()
                elif more:
                    await self._stream(body)
                else:
                    empty = self._status in self._sdk.NULL_BODY_STATUSES
                    self._respond(None if empty else self._copied(body))
                    self._finish()

    def _headers_of(self, pairs: Any) -> Headers:
        """The headers of a response; what is as usual goes out as the bytes that it is."""
        given = list(pairs)
        names = set()
        for pair in given:
            if type(pair) is not tuple or type(pair[0]) is not bytes or type(pair[1]) is not bytes:
                break
            names.add(pair[0])
            if not _is_plain(pair):
                break
        else:
            if len(names) == len(given):
                return Headers.from_raw(given, immutable=False)
        headers: Headers = self._sdk._to_js_headers(
            [(name.decode(), value.decode()) for name, value in given]
        )
        return headers

    async def _stream(self, first: Any) -> None:
        from workers import wait_until

        pair = TransformStream.new()
        self._writer = pair.writable.getWriter()
        self._writer.closed.add_done_callback(self._no_reader)
        self.outcome.set_result(self._respond(pair.readable))
        self._rest = asyncio.get_running_loop().create_future()
        wait_until(self._rest)
        await self._writer.write(self._chunk(first))

    def _respond(self, body: Any) -> Response:
        if self._response is not None or self.outcome.done():
            raise asyncio.InvalidStateError("invalid state")
        headers = self._sdk._to_js_headers(None) if self._headers is None else self._headers
        known = type(body) is bytes
        self._response = response = Response.new(
            None if known else body, status=self._status, **self._response_init
        )
        if known:
            response.take_bytes(body)
        # Nobody else has them, so there is nothing to copy.
        response._headers = headers
        return response

    def _chunk(self, body: Any) -> Any:
        """Part of a body as streams carry it."""
        return Uint8Array.from_bytes(body) if type(body) is bytes else self._copied(body)

    def _copied(self, body: Any) -> Any:
        if type(body) is bytes:
            return body
        with self._sdk.acquire_js_buffer(body) as view:
            return view.slice()


def _let_go(error: BaseException) -> None:
    """Free what an exception's frames hold, such as the generator of a stream, which is closed by that.

    A stream keeps the exception that ended it, and the exception frames that hold the stream.
    """
    left, seen = [error], set()
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        traceback.clear_frames(each.__traceback__)
        left += [other for other in (each.__cause__, each.__context__) if other is not None]
        if isinstance(each, BaseExceptionGroup):
            left += each.exceptions


_PLAIN_NAME: Final = re.compile(rb"[a-z0-9-]+")
_PLAIN_VALUE: Final = re.compile(rb"[!-~](?:[ -~]*[!-~])?")


@functools.lru_cache(maxsize=512)
def _is_plain(pair: tuple[bytes, bytes]) -> bool:
    """Whether a header is the same before and after ``js.Headers``."""
    name, value = pair
    return (
        name != b"set-cookie"
        and _PLAIN_NAME.fullmatch(name) is not None
        and _PLAIN_VALUE.fullmatch(value) is not None
    )
