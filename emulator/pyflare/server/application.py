"""The ASGI application: one HTTP request in, one event of a worker, one response out.

This is the hot path of the house. A request whose worker answers without waiting costs no task and no object that the
worker does not touch: the handler is stepped by hand, and only when it waits does the server begin to watch the client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from pyflare.js.callbacks import FAILURES
from pyflare.js.error import TypeError_
from pyflare.js.from_python import to_js
from pyflare.js.request import Request
from pyflare.js.rpc.errors import is_cancelled
from pyflare.js.value import JsObject
from pyflare.workers.exits import readable
from pyflare.workers.suspend import can_run_sync

from .body import RequestBody
from .cf import cf_properties
from .contracts import ASGIApplication, HeaderPairs, Receive, Router, Scope, Send, Worker
from .disconnects import Disconnects
from .error_response import error_response
from .inbound import BadRequest, Inbound, Upstream, inbound_path, read_scope
from .local import PREFIX, Guard, health, local_endpoint
from .log import LogSink
from .outbound import (
    ERROR_RESPONSE,
    NULL_BODY,
    REASONS,
    ResponseAborted,
    mapped_outward,
    send_body,
    send_large,
    send_text,
    settle,
    start_message,
)
from .self_cancelling import rest_of

if TYPE_CHECKING:
    from pyflare.assets.site import Site

__all__ = ["Application"]

_END: Final = {"type": "http.response.body", "body": b"", "more_body": False}
_LARGE = 1 << 20
_NO_SUPPORT: Final = (
    "The server that pyflare is mounted in takes no WebSockets. uvicorn needs the package websockets or wsproto, and "
    "another --ws than none."
)


class Application:
    """ASGI 3 application over workers; lifespan belongs to whoever mounts it.

    Args:
        route: picks the worker of a request from its scope.
        log: where request lines and uncaught exceptions go.
        upstreams: by worker name, the host that this worker sees instead of the client's.
        guard: who may use ``/cdn-cgi/``.
        endpoints: further local endpoints by name, as ``/cdn-cgi/local/<name>``; ASGI applications. A name that
            begins with a slash is a path of its own.
        sites: by worker name, the static assets in front of it.
        pretty_errors: whether browsers get a page for an uncaught exception; else everybody gets text.
        direct: whether ``receive`` comes straight from a server, without middleware that binds it to a task.
        cf: what ``request.cf`` holds, from the client's ``Accept-Encoding`` and the HTTP version.
    """

    def __init__(
        self,
        *,
        route: Router,
        log: LogSink,
        upstreams: Mapping[str, Upstream] | None = None,
        guard: Guard | None = None,
        endpoints: Mapping[str, ASGIApplication] | None = None,
        sites: Mapping[str, Site] | None = None,
        pretty_errors: bool = True,
        direct: bool = False,
        cf: Callable[[str, str], Any] = cf_properties,
    ) -> None:
        self._log = log
        self._always: dict[str, ASGIApplication] = {"health": health, **(endpoints or {})}
        self._pretty = pretty_errors
        self._direct = direct
        self._cf = cf
        self._disconnects = Disconnects(log.debug)
        self.route(route, upstreams=upstreams, guard=guard, sites=sites)

    def route(
        self,
        route: Router,
        *,
        upstreams: Mapping[str, Upstream] | None = None,
        guard: Guard | None = None,
        endpoints: Mapping[str, ASGIApplication] | None = None,
        sites: Mapping[str, Site] | None = None,
    ) -> None:
        """Serve other workers, or the same by other rules, from the next request on.

        ``endpoints`` come beside those given at first.
        """
        self._route = route
        self._upstreams = dict(upstreams or {})
        self._guard = guard or Guard()
        self._endpoints = {**self._always, **(endpoints or {})}
        # Not a copy: a worker whose configuration is broken has no assets from that moment on.
        self._sites = {} if sites is None else sites

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._upgrade(scope, receive, send)
            return
        path: str = scope["path"]
        if ("/cdn-cgi/" in path or path in self._endpoints) and await self._answered_locally(
            scope, receive, send
        ):
            return
        worker = self._route(scope)
        upstream = self._upstreams.get(worker.name) if self._upstreams else None
        if upstream is not None:
            upstream = upstream.of(scope)
        try:
            inbound = read_scope(scope, upstream)
        except BadRequest as error:
            await send_text(send, 400, str(error))
            return
        if self._sites and await self._answered_by_assets(worker, scope, send, inbound, upstream):
            return
        body = RequestBody(receive, inbound.length, direct=self._direct)
        # The whole exchange is one event: a body that streams runs the worker's code after its handler has returned.
        handling = worker.run(self._handle(worker, scope, send, inbound, upstream, body))
        try:
            waiting = handling.send(None)
        except StopIteration:
            pass
        else:
            await self._supervise(handling, waiting, body)
        if not body.started:
            # Nobody listens any more, but middleware around us may insist on an answer.
            await send_text(send, 499, "")

    async def _handle(
        self,
        worker: Worker,
        scope: Scope,
        send: Send,
        inbound: Inbound,
        upstream: Upstream | None,
        body: RequestBody,
    ) -> None:
        began = perf_counter()
        method: str = scope["method"]
        try:
            request = Request.from_http(
                method,
                inbound.url,
                inbound.headers,
                body if inbound.length != -1 else None,
                partial(self._cf_of, scope, inbound),
            )
            body.request = request
            response = await worker.fetch(request)
            status, reason, headers, payload = response.take_payload(as_sent=True)
            headers, payload = settle(
                headers, payload, method=method, automatic=response.encodeBody == "automatic"
            )
        except BaseException as error:
            error = readable(error)
            # Outside a carrier this coroutine is being closed; in one, the worker itself has raised it.
            if isinstance(error, GeneratorExit) and not can_run_sync():
                raise
            # sys.exit() in a handler, or awaiting a task that the worker itself has cancelled, is an error of the
            # worker: neither the end of the server nor the end of this task.
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            await self._fail(error, worker, scope, send, inbound, body, began)
            return
        if status == 0:
            failure = TypeError_(ERROR_RESPONSE)
            await self._fail(failure, worker, scope, send, inbound, body, began)
            return
        if status < 200:
            await self._refuse_socket(worker, scope, send, inbound, body, began)
            return
        body.started = True
        if upstream is not None:
            headers = mapped_outward(headers, upstream, inbound.host)
        if scope.get("root_path"):
            headers = _below_mount(headers, scope, inbound)
        whole = isinstance(payload, bytes) and _sent_whole(
            scope, send, method, status, headers, payload
        )
        if not whole:
            await send(start_message(method, status, headers, payload))
        self._log.request(
            worker.name,
            method,
            inbound.path,
            status,
            reason or REASONS.get(status, ""),
            (perf_counter() - began) * 1000,
        )
        if whole:
            body.finish()
        elif payload is None or isinstance(payload, bytes | memoryview):
            if payload is None or method == "HEAD":
                body.finish()
                await send(_END)
            elif len(payload) <= _LARGE:
                body.finish()
                await send({"type": "http.response.body", "body": bytes(payload)})
            else:
                await send_large(send, payload)
                body.finish()
        else:
            await self._stream(payload, method, worker, send, body)

    async def _stream(
        self, payload: Any, method: str, worker: Worker, send: Send, body: RequestBody
    ) -> None:
        try:
            if method == "HEAD":
                await send(_END)
            else:
                await send_body(send, payload)
        except FAILURES as error:
            if body.disconnected:
                return
            self._log.uncaught(worker.name, error, where="the response body")
            # Ending here would look like a complete body. The host closes the connection instead.
            raise ResponseAborted(f"the response body of {worker.name!r} failed") from error
        finally:
            body.finish()
            await self._close(payload, worker)

    async def _close(self, payload: Any, worker: Worker) -> None:
        try:
            await payload.aclose()
        except FAILURES as error:
            self._log.uncaught(worker.name, error, where="cancelling the response body")

    async def _fail(
        self,
        error: BaseException,
        worker: Worker,
        scope: Scope,
        send: Send,
        inbound: Inbound,
        body: RequestBody,
        began: float,
    ) -> None:
        if body.disconnected:
            self._log.debug(f"After the client disconnected: {type(error).__name__}")
            return
        error = self._told(worker, error)
        # Whoever asks from this process wants the exception itself.
        failed = scope.get("pyflare.failed")
        if failed is not None:
            failed(error)
        method: str = scope["method"]
        content_type, text = error_response(error, scope, inbound.url, pretty=self._pretty)
        milliseconds = (perf_counter() - began) * 1000
        # What a Durable Object says of an overload is passed on.
        status = 503 if getattr(error, "overloaded", False) is True else 500
        self._log.request(worker.name, method, inbound.path, status, REASONS[status], milliseconds)
        body.started = True
        body.finish()
        await send_text(send, status, "" if method == "HEAD" else text, content_type)

    def _told(self, worker: Worker, error: BaseException) -> BaseException:
        """Log what left a worker. Gives it, or what can be said of it where it cannot be read itself."""
        try:
            self._log.uncaught(worker.name, error)
            return error
        except Exception as failure:
            told = RuntimeError(
                f"an exception of the class {type(error).__name__!r} left the Worker; reading it raised "
                f"{type(failure).__name__}"
            )
            self._log.uncaught(worker.name, told)
            return told

    def _cf_of(self, scope: Scope, inbound: Inbound) -> Any:
        given = scope.get("pyflare.cf")
        if given is not None:
            return to_js(dict(given), dict_converter=JsObject.fromEntries)
        return self._cf(inbound.accept.decode("latin-1"), scope.get("http_version", "1.1"))

    async def _supervise(
        self, handling: Coroutine[Any, Any, None], waiting: Any, body: RequestBody
    ) -> None:
        """Drive the rest of an exchange while its client is watched."""
        task = asyncio.current_task()
        assert task is not None
        at_once = body.length != -1 and not self._direct
        self._disconnects.watch(body, task, at_once=at_once)
        try:
            await rest_of(handling, waiting, task)
        except asyncio.CancelledError:
            if not body.cancelled or task.cancelling() > 1:
                raise
            self._log.debug("The client disconnected; its request was cancelled.")
        finally:
            body.finish()
            self._disconnects.forget(body)
            if body.cancelled:
                task.uncancel()

    async def _answered_by_assets(
        self,
        worker: Worker,
        scope: Scope,
        send: Send,
        inbound: Inbound,
        upstream: Upstream | None,
    ) -> bool:
        site = self._sites.get(worker.name)
        if site is None:
            return False
        # Only a server of assets pays for the import.
        from .assets import answered_by_assets

        return await answered_by_assets(
            site, scope, send, inbound, upstream, partial(self._log.request, worker.name)
        )

    async def _answered_locally(self, scope: Scope, receive: Receive, send: Send) -> bool:
        path = inbound_path(scope)
        if not path.startswith(PREFIX) and path not in self._endpoints:
            return False
        refusal = self._guard.refusal(scope)
        if refusal is not None:
            await send_text(send, 403, refusal)
            return True
        endpoint = local_endpoint(path, self._endpoints)
        if endpoint is None:
            return False
        await endpoint(scope, receive, send)
        return True

    async def _upgrade(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            raise RuntimeError(f"pyflare serves HTTP and WebSockets, not {scope['type']!r}")
        # Only a server that is asked for a WebSocket pays for the import.
        from .websocket import WebSocketExchange, deny

        path = inbound_path(scope)
        if path.startswith(PREFIX):
            refusal = self._guard.refusal(scope)
            if refusal is not None:
                await deny(scope, receive, send, 403, refusal)
                return
            if local_endpoint(path, self._endpoints) is not None:
                await deny(scope, receive, send, 400, f"{path} takes no WebSockets.")
                return
        worker = self._route(scope)
        upstream = self._upstreams.get(worker.name)
        exchange = WebSocketExchange(
            worker,
            scope,
            receive,
            send,
            upstream=None if upstream is None else upstream.of(scope),
            log=self._log,
            pretty=self._pretty,
            cf=partial(self._cf_of, scope),
        )
        await exchange.run()

    async def _refuse_socket(
        self,
        worker: Worker,
        scope: Scope,
        send: Send,
        inbound: Inbound,
        body: RequestBody,
        began: float,
    ) -> None:
        """The worker answers an ordinary request with a WebSocket."""
        from pyflare.js.websocket_client import NO_UPGRADE

        from .websocket_handshake import is_upgrade, missing_part

        if not is_upgrade(scope):
            await self._fail(TypeError_(NO_UPGRADE), worker, scope, send, inbound, body, began)
            return
        body.started = True
        body.finish()
        missing = missing_part(scope["method"], scope["headers"])
        if missing is None:
            await send_text(send, 501, _NO_SUPPORT)
        else:
            await send_text(send, 400, f"This is no WebSocket handshake: {missing}.")


def _sent_whole(
    scope: Scope, send: Send, method: str, status: int, headers: HeaderPairs, payload: bytes
) -> bool:
    """Whether the server has taken the whole response in one call, which is an extension of pyflare's own."""
    extensions = scope.get("extensions")
    if not extensions or method == "HEAD" or status in NULL_BODY or len(payload) > _LARGE:
        return False
    respond = extensions.get("pyflare.whole_response")
    return respond is not None and respond(send, status, headers, payload)


def _below_mount(headers: HeaderPairs, scope: Scope, inbound: Inbound) -> HeaderPairs:
    from .mounted import prefixed

    return prefixed(headers, scope["root_path"], inbound.host)
