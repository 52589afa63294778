"""``class Pyflare``: one or several workers as an ASGI application, with their bindings.

app = Pyflare("wrangler.jsonc")              # uvicorn module:app

async with Pyflare(["api/wrangler.jsonc", "jobs/wrangler.toml"], persist_to=None) as flare:
    response = await flare.fetch("/items", method="POST", json={"name": "a"})
    env = flare.env("api")
    await env.DB.prepare("SELECT 1").first()
    await flare.clock.advance(minutes=10)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pyflare.server.application import Application
from pyflare.server.contracts import ASGIApplication
from pyflare.workers.worker import Worker

from .emulator import GRACE, Emulator
from .turning import EmulatorClock
from .worker_handle import WorkerHandle

if TYPE_CHECKING:
    import httpx

    from pyflare.cron.event import ScheduledResult
    from pyflare.env.email.incoming import EmailOutcome
    from pyflare.queues.direct import DirectMessage

    from .client import Exchanges
    from .websocket import EmbeddedWebSocket

__all__ = ["Pyflare"]

T = TypeVar("T")


class Pyflare(Emulator):
    """Workers, their owners and the server, in this process.

    Args:
        configs: configuration files, or mappings with what a ``wrangler.json`` would hold (relative paths in them
            start at ``cwd``), or None to search as wrangler does; the first is the primary worker.
        env: name of the environment in the configurations; else ``CLOUDFLARE_ENV``.
        env_files: files with variables instead of ``.dev.vars`` and ``.env``.
        vars: variables that win over all others; for the primary worker.
        cwd: where relative paths start and the search begins.
        persist_to: the state directory; None for a private temporary one that is removed on close, and
            :data:`pyflare.embed.MEMORY` for one that needs no disk where that is possible.
        durability: ``"process"`` (survives ``kill -9``) or ``"machine"`` (survives a power cut too).
        clock: where every time comes from; the default goes with the machine's clock and can be put forward.
        log: where request lines, console output and failures go.
        overrides: settings that win over the first configuration's: ``main``, ``name``, ``compatibility_date``,
            ``compatibility_flags``, ``assets`` (the directory), ``routes``.
        bindings: values for ``env`` that take the place of configured bindings or come beside them, such as a stand-in
            for ``AI``. A key is a binding's name, for all workers, or the pair of a worker's name and a binding's.
            Workers see a value as it is: a Python object, whose methods they call.
        outbound: answers the workers' own ``fetch`` in the place of the network: a function, sync or async, from an
            ``httpx.Request`` to an ``httpx.Response`` (or a text, bytes, a dict or list for JSON), or an httpx
            transport.
        cron: whether cron triggers fire at their times; :meth:`scheduled` runs them in any case.
        with_code: whether the workers' modules are loaded; without them there are only the bindings.

    Raises :class:`pyflare.config.ConfigError` for a configuration that cannot be used. It starts on the lifespan
    event, on entering ``async with``, or on the first request, and closes on the lifespan's end, on leaving, or by
    :meth:`close`.
    """

    #: What :meth:`fetch` and clients have under way; there once there was one.
    _exchanges: Exchanges | None = None

    def _open_exchanges(self) -> Exchanges:
        if self._exchanges is None:
            from .client import Exchanges

            self._exchanges = Exchanges()
        return self._exchanges

    async def close(self, *, grace: float = GRACE) -> None:
        """End what is under way within ``grace`` seconds, close every owner, free the state directory. Idempotent.

        What waits for an answer then is told by a RuntimeError.
        """
        if self._exchanges is not None:
            await self._exchanges.end(grace)
        await super().close(grace=grace)

    async def fetch(
        self,
        url: str | httpx.URL = "/",
        *,
        method: str | None = None,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
        params: Any = None,
        json: Any = None,
        data: Any = None,
        files: Any = None,
        body: Any = None,
        cf: Mapping[str, Any] | None = None,
        worker: str | None = None,
        stream: bool = False,
        raise_failures: bool = True,
    ) -> httpx.Response:
        """One request, without a socket.

        Args:
            url: a path alone is one of ``http://localhost``. Host and path pick the worker, as in production.
            method: by default GET, or POST with a body.
            json, data, files, body: at most one of them: a value, a form's fields, uploads with them, or text, bytes
                or an (async) iterable of bytes.
            cf: members of ``request.cf``.
            worker: the name of the worker that answers, whatever the routes are.
            stream: gives the response as soon as its head is there; its body is read with ``aiter_bytes()`` or
                ``aread()``, and given up with ``aclose()``.
            raise_failures: an exception that leaves the worker is raised here, with its own traceback; else it is
                answered as it is to clients. Redirects are not followed.

        Raises KeyError for a worker that is not there.
        """
        from .client import EmulatorTransport, request_of

        if method is None:
            has_body = any(each is not None for each in (json, data, files, body))
            method = "POST" if has_body else "GET"
        request = request_of(
            url,
            method,
            headers=headers,
            params=params,
            json=json,
            data=data,
            files=files,
            body=body,
        )
        app: Any = self
        if worker is not None:
            only = await self.run(lambda: _made(self.application_of, worker))
            app = partial(self._hosting.serve_by, only)
        transport = EmulatorTransport(
            app, self._open_exchanges(), cf=cf, raise_failures=raise_failures
        )
        response = await transport.handle_async_request(request)
        if not stream:
            await response.aread()
        return response

    def client(self, base_url: str = "http://localhost", **options: Any) -> httpx.AsyncClient:
        """An httpx client whose requests all come here; it keeps cookies and follows redirects as httpx does."""
        import httpx

        from .client import EmulatorTransport

        transport = EmulatorTransport(self, self._open_exchanges())
        return httpx.AsyncClient(transport=transport, base_url=base_url, **options)

    def websocket(
        self,
        url: str | httpx.URL = "/",
        *,
        headers: Mapping[str, str] | None = None,
        subprotocols: Sequence[str] = (),
    ) -> EmbeddedWebSocket:
        """A WebSocket, without a socket: ``async with flare.websocket("/chat") as socket``.

        It has ``send``, ``receive`` and ``close``, and iterates over messages. Entering raises
        :class:`pyflare.embed.websocket.WebSocketRefused` where the worker takes none.
        """
        from .client import absolute
        from .websocket import EmbeddedWebSocket

        return EmbeddedWebSocket(self, absolute(url), headers, subprotocols)

    def env(self, name: str | None = None) -> Any:
        """The environment of a worker, as its own code sees it.

        Raises KeyError, and RuntimeError where the workers run on a loop of their own: then :meth:`run` reaches it.
        """
        self._hosting.check_here()
        from pyflare.env.sdk import wrap_environment

        return wrap_environment(self.loaded(name).definition.environment)

    def worker(self, name: str | None = None) -> WorkerHandle:
        """A worker by name; without a name the primary one. Its methods can be called. Raises KeyError."""
        return WorkerHandle(self, self.loaded(name).name)

    def loaded(self, name: str | None = None) -> Worker:
        """What the worker is in the runtime. Raises KeyError."""
        return self._loaded.named(name)

    @property
    def clock(self) -> EmulatorClock:
        """The time as the workers see it, which can be put forward."""
        return EmulatorClock(self._clock, self.under_way, self.run)

    async def settle(self) -> None:
        """Wait until nothing is under way: ``waitUntil`` work, deliveries of queues, alarms that are due."""
        await self.clock.settle()

    async def scheduled(
        self, cron: str = "", *, worker: str | None = None, time: float | None = None
    ) -> ScheduledResult:
        """Run the ``scheduled`` handler of a worker, by default the primary one, as a cron trigger would.

        Args: ``cron`` what the handler reads as its expression, configured or not; ``time`` its scheduled time in
        milliseconds since the epoch, by default now. What the handler raises is logged and makes the outcome
        ``exception``.
        """
        return await self.run(lambda: self._triggers.fire(self.loaded(worker), cron, time))

    async def queue(
        self,
        queue: str,
        messages: Sequence[DirectMessage | Mapping[str, Any]],
        *,
        worker: str | None = None,
    ) -> dict[str, Any]:
        """Give messages to a ``queue`` handler now, past the queue's store and its retries.

        Args: ``messages`` as ``{"body": ..., "contentType"?, "id"?, "timestamp"?, "attempts"?}``; ``worker`` whose
        handler, by default that of the queue's consumer. Gives ``{outcome, ackAll, retryBatch, explicitAcks,
        retryMessages}``; what the handler raises is logged. Raises LookupError when nobody consumes the queue and
        ValueError for a message that cannot be read.
        """
        return await self.run(
            lambda: self._triggers.deliver(
                None if worker is None else self.loaded(worker), queue, messages
            )
        )

    async def email(
        self, raw: bytes, *, sender: str, recipient: str, worker: str | None = None
    ) -> EmailOutcome:
        """Give a message to the ``email`` handler of a worker, by default the primary one.

        Args: ``raw`` the whole message; ``sender`` and ``recipient`` of the envelope. Gives what the handler did; what
        it raises is in the outcome. Raises :class:`pyflare.env.email.delivery.EmailError` for a message that is none,
        TypeError for one that is not bytes.
        """
        if not isinstance(raw, bytes | bytearray | memoryview):
            raise TypeError(
                f"raw has to be the bytes of the whole message, not {type(raw).__name__}"
            )
        return await self.run(
            lambda: self._triggers.deliver_email(self.loaded(worker), sender, recipient, bytes(raw))
        )

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Start where that has not been done, and run a coroutine where the workers are.

        That is the running loop, or pyflare's own where the host's does not do.
        """

        async def started() -> T:
            await self.start()
            return await work()

        return await self._hosting.run(started())

    def application_of(self, worker: str) -> Application:
        """The application with one worker, whatever the routes are. Raises KeyError."""
        found = self.loaded(worker)
        return Application(log=self.log, **{**self._rules, "route": lambda _: found})

    def mount(self, path: str, beside: ASGIApplication) -> ASGIApplication:
        """An application that has the workers below ``path`` and ``beside`` everywhere else.

        For hosts that cannot mount, such as Django: ``application = flare.mount("/edge", get_asgi_application())``. The
        server's lifespan starts and closes the workers; ``beside`` does not learn of it.
        """
        from .beside import Beside

        return Beside(path, self, beside)

    @asynccontextmanager
    async def lifespan(self, _: Any = None) -> AsyncIterator[None]:
        """For a host with a lifespan of its own: ``Starlette(lifespan=flare.lifespan)``, or within the host's own.

        Starts on entering, closes on leaving.
        """
        await self._hosting.enter()
        try:
            yield
        finally:
            await self.close(grace=GRACE)


async def _made(make: Callable[[str], T], name: str) -> T:
    return make(name)
