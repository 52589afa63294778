"""The caches behind ``js.caches``, over the one owner of all caches.

Source: https://developers.cloudflare.com/workers/runtime-apis/cache/ and workerd ``src/workerd/api/cache.c++``
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Any, Final, TypeVar

from pyflare.js import caches as js_caches
from pyflare.js.body import BodySource
from pyflare.js.byte_sources import ContentSource
from pyflare.js.callbacks import console_sink
from pyflare.js.departure import start
from pyflare.js.error import DOMException, Error, TypeError_
from pyflare.js.promise import JsPromise
from pyflare.js.readers import ByteIterator
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.status import reason_phrase
from pyflare.js.url import URL, parse
from pyflare.js.value import get_property, is_nullish
from pyflare.js.webidl import scalar_text
from pyflare_bindings.cache import DEFAULT_CACHE, Answer, CacheStore, Conditions, named_cache
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError, StateError
from pyflare_bindings.storage.row_file import OverloadedError

__all__ = ["Cache", "open_cache"]

T = TypeVar("T")

_INVALID_URL: Final = "Invalid URL. Cache API keys must be fully-qualified, valid URLs."


def open_cache(registry: BindingRegistry, name: str | None) -> Cache:
    """The cache of a name, for None the default one."""
    cache = DEFAULT_CACHE if name is None else named_cache(name)
    return Cache._make(registry.caches(), cache)  # type: ignore[no-any-return]


class Cache(js_caches.Cache, js_name="Cache"):
    """One cache. Requests may be ``Request`` objects or URLs, and those of the SDK are taken too."""

    def __init__(self, store: CacheStore, name: str) -> None:
        self._store = store
        self._name = name

    def match(self, request: Any = None, options: Any = None, *_: Any, **named: Any) -> JsPromise:
        """A promise of the stored response, undefined when there is none."""
        return start(self._match(request, named if options is None else options))

    def put(self, request: Any = None, response: Any = None, *_: Any) -> JsPromise:
        """Store a response, whose body is used up by that, where its headers allow it."""
        return start(self._put(request, response))

    def delete(self, request: Any = None, options: Any = None, *_: Any, **named: Any) -> JsPromise:
        """Remove a response: a promise of whether there was one."""
        return start(self._delete(request, named if options is None else options))

    async def _match(self, request: Any, options: Any) -> Response | None:
        key, given = _key(request)
        if given is not None and given.method != "GET" and not _ignores_method(options):
            return None
        conditions = None if given is None else _conditions(given)
        found = await _succeed(self._store.match(self._name, key, conditions))
        return None if found is None else _response(found)

    async def _put(self, request: Any, response: Any) -> None:
        key, given = _key(request)
        answer = response if isinstance(response, Response) else get_property(response, "js_object")
        if not isinstance(answer, Response):
            raise TypeError_(
                "Failed to execute 'put' on 'Cache': parameter 2 is not of type 'Response'."
            )
        _refuse(given, answer)
        if answer.status == 304:
            console_sink.get()(
                "warn", f"cache.put({key!r}) was ignored: a response with status 304 is not stored."
            )
            return
        status, _, pairs, body = answer.take_payload()
        stored = self._store.put(
            self._name,
            key,
            status,
            _fields(pairs),
            body if isinstance(body, ByteIterator) else bytes(body or b""),
            length=body.length if isinstance(body, ByteIterator) else None,
            authorized=given is not None and given.headers.lookup("authorization") is not None,
        )
        try:
            await _succeed(stored)
        finally:
            if isinstance(body, ByteIterator):
                # It has ended, unless the response was not stored.
                await body.aclose(DOMException("The response was not stored.", "AbortError"))

    async def _delete(self, request: Any, options: Any) -> bool:
        key, given = _key(request)
        if given is not None and given.method != "GET" and not _ignores_method(options):
            return False
        return await _succeed(self._store.delete(self._name, key))


async def _succeed(request: Awaitable[T]) -> T:
    try:
        return await request
    except (StateError, ClosedError, OverloadedError) as error:
        # Production passes over faults of its own cache; on one's own machine they should be seen.
        raise Error(str(error)) from None


def _key(request: Any) -> tuple[str, Request | None]:
    """What a response is stored under, and the request that names it. Raises TypeError."""
    if not isinstance(request, Request):
        unwrapped = get_property(request, "js_object")
        if not isinstance(unwrapped, Request):
            return _absolute(request), None
        request = unwrapped
    cf = request.cf
    own = None if is_nullish(cf) else get_property(cf, "cacheKey")
    return (scalar_text(own) if own else request.url), request


def _absolute(address: Any) -> str:
    if isinstance(address, URL):
        return address.href
    parsed = parse(scalar_text(address))
    if parsed is None:
        raise TypeError_(_INVALID_URL)
    return parsed.href


def _ignores_method(options: Any) -> bool:
    return not is_nullish(options) and bool(get_property(options, "ignoreMethod"))


def _conditions(request: Request) -> Conditions | None:
    find = request.headers.lookup
    asked = (find("range"), find("if-none-match"), find("if-modified-since"))
    return None if asked == (None, None, None) else Conditions(*asked)


def _refuse(request: Request | None, response: Response) -> None:
    if request is not None and request.method != "GET":
        raise TypeError_("Cannot cache response to non-GET request.")
    if response.status == 206:
        raise TypeError_("Cannot cache response to a range request (206 Partial Content).")
    if "*" in (response.headers.lookup("vary") or ""):
        raise TypeError_("Cannot cache response with 'Vary: *' header.")
    if not is_nullish(response.webSocket):
        raise TypeError_("Cannot cache WebSocket upgrade response.")
    if response.type == "error":
        raise TypeError_("Cache is unable to store an error response")


def _fields(pairs: list[tuple[bytes, bytes]]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name, value = raw_name.decode(), raw_value.decode(errors="replace")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


def _response(found: Answer) -> Response:
    body = found.body
    source: BodySource | None = None
    if isinstance(body, bytes):
        source = ContentSource(body)
    elif body is not None:
        source = _StoredBody(body, found.length)
    return Response.from_wire(found.status, reason_phrase(found.status), found.headers, source)


class _StoredBody:
    """A large body, read on demand; the file stays while the response lives."""

    __slots__ = ("_chunks", "length")

    def __init__(self, chunks: AsyncIterator[bytes], length: int) -> None:
        self._chunks: AsyncIterator[bytes] | None = chunks
        self.length: int | None = length

    async def read(self) -> bytes:
        if self._chunks is None:
            return b""
        try:
            return await _succeed(anext(self._chunks))
        except StopAsyncIteration:
            return b""

    async def cancel(self, _reason: Any) -> None:
        chunks, self._chunks = self._chunks, None
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()
