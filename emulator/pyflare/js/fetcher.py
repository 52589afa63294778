"""``Fetcher``: a stub of something that answers requests and calls: another worker, an entrypoint, an object.

What is behind it is a :class:`Channel`. Service bindings and object stubs are fetchers; any name but ``fetch`` and
``connect`` is a method or property of the other side.

Source: https://developers.cloudflare.com/workers/runtime-apis/rpc/ and workerd ``api/http.h``, ``api/worker-rpc.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from . import semantics
from .deferred import CallLine
from .error import Error
from .fetch_through import fetch_through
from .promise import JsPromise
from .request import Request
from .response import Response
from .rpc.bodies import lend_body
from .rpc.names import Stub

__all__ = ["Channel", "Fetcher"]

_SHORTCUTS: Final = frozenset({"delete", "get", "put"})


class Channel(Protocol):
    """The way to the other side. Requests, responses, arguments and results that cross it are the receiver's own.

    ``fetch`` gives the response and raises what the other side raised, as it crosses. ``call`` calls the method that
    ``path`` leads to, and gives its result; without ``arguments`` it reads the property.
    """

    async def fetch(self, request: Request) -> Response: ...

    async def call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> Any: ...


class Fetcher(Stub, js_name="Fetcher"):
    """A stub over a channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._line = CallLine()

    def fetch(self, input: Any = None, init: Any = None, *_: Any, **options: Any) -> JsPromise:
        """A promise of the other side's response. Nothing leaves the process.

        Rejects: TypeError for what makes no request, what the other side raised.
        """
        work: Any
        try:
            request = Request.new(input, init, **options)
            if request._stream is not None or request._source is not None:
                # Here and now: the call itself begins outside of the code that made the body.
                lend_body(request)
            work = fetch_through(self._channel, request)
        except Exception as error:
            work = _raise(error)
        return self._line.call(work)

    def connect(self, *_: Any, **__: Any) -> Any:
        """Refused: sockets are not emulated."""
        raise Error("connect() over a binding is not emulated.")

    def __getattr__(self, name: str) -> Any:
        rules = semantics.current()
        if rules.fetchers_are_old and name[:2] != "__":
            if rules.fetchers_have_shortcuts and name in _SHORTCUTS:
                from .fetcher_shortcuts import shortcut

                return shortcut(self, name)
            if rules.fetchers_have_no_methods:
                raise _without_methods(name)
        return super().__getattr__(name)


def _without_methods(name: str) -> AttributeError:
    error = AttributeError(name)
    error.add_note(
        "Bindings and stubs have methods of the other side with a compatibility date of 2024-04-03 or later, or the "
        'flag "rpc"; this Worker has neither.'
    )
    return error


async def _raise(error: Exception) -> Any:
    raise error
