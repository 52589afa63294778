"""The caches behind ``js.caches``, over the one owner of all caches.

Source: https://developers.cloudflare.com/workers/runtime-apis/cache/ and workerd ``src/workerd/api/cache.c++``
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable
from typing import Any, Final, TypeVar

from pyflare.js import caches as js_caches
from pyflare.js.body import BodySource
from pyflare.js.byte_sources import ContentSource
from pyflare.js.callbacks import console_sink
from pyflare.js.connection_lost import is_connection_lost
from pyflare.js.departure import start
from pyflare.js.error import DOMException, Error, TypeError_
from pyflare.js.options import options_or_keywords
from pyflare.js.promise import JsPromise
from pyflare.js.readers import ByteIterator
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.status import reason_phrase
from pyflare.js.unzipping import Unzipped
from pyflare.js.url import URL, parse
from pyflare.js.value import get_property, is_nullish
from pyflare.js.webidl import scalar_text
from pyflare.js.websocket_client import NO_UPGRADE
from pyflare_bindings.cache import DEFAULT_CACHE, Answer, CacheStore, Conditions, named_cache
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError, StateError
from pyflare_bindings.storage.row_file import OverloadedError

from .conversion import (
    BOOLEAN,
    MISMATCH,
    MISSING,
    UNIMPLEMENTED,
    Convertible,
    Parameter,
    Struct,
    Type,
)
from .streams import LOCKED

__all__ = ["Cache", "open_cache"]

T = TypeVar("T")

_INVALID_URL: Final = "Invalid URL. Cache API keys must be fully-qualified, valid URLs."
# A host, and no user and password before it. Source: Url::tryParse in c++/src/kj/compat/url.c++ of capnproto
_KEY: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@]*(?:[/?#]|$)")


def _response_of(given: Any) -> Any:
    answer = given if isinstance(given, Response) else get_property(given, "js_object")
    return answer if isinstance(answer, Response) else MISMATCH


def _parameter(method: str, number: int, kind: Convertible) -> Parameter:
    return Parameter("Cache", method, number, kind)


_NO_CONDITIONS: Final = Conditions()

# What is no request becomes a URL, whatever it is.
_REQUEST: Final = Type("Request or string", lambda given: given)
_QUERY_OPTIONS: Final = Struct(
    "CacheQueryOptions",
    {
        "ignoreMethod": BOOLEAN,
        "ignoreSearch": UNIMPLEMENTED,
        "ignoreVary": UNIMPLEMENTED,
        "cacheName": UNIMPLEMENTED,
    },
)
_MATCH_REQUEST: Final = _parameter("match", 1, _REQUEST)
_MATCH_OPTIONS: Final = _parameter("match", 2, _QUERY_OPTIONS)
_PUT_REQUEST: Final = _parameter("put", 1, _REQUEST)
_PUT_RESPONSE: Final = _parameter("put", 2, Type("Response", _response_of))
_DELETE_REQUEST: Final = _parameter("delete", 1, _REQUEST)
_DELETE_OPTIONS: Final = _parameter("delete", 2, _QUERY_OPTIONS)


def _unimplemented(method: str) -> Error:
    return Error(f"Failed to execute '{method}' on 'Cache': the method is not implemented.")


def open_cache(registry: BindingRegistry, name: str | None) -> Cache:
    """The cache of a name, for None the default one."""
    cache = DEFAULT_CACHE if name is None else named_cache(name)
    return Cache._make(registry.caches(), cache)  # type: ignore[no-any-return]


class Cache(js_caches.Cache, js_name="Cache"):
    """One cache. Requests may be ``Request`` objects or URLs, and those of the SDK are taken too."""

    def __init__(self, store: CacheStore, name: str) -> None:
        self._store = store
        self._name = name

    def match(
        self, request: Any = MISSING, options: Any = None, /, *_: Any, **named: Any
    ) -> JsPromise:
        """A promise of the stored response, undefined when there is none."""
        return start(self._match(request, options_or_keywords(options, named)))

    def put(
        self, request: Any = MISSING, response: Any = MISSING, /, *_: Any, **__: Any
    ) -> JsPromise:
        """Store a response, whose body is used up by that, where its headers allow it."""
        return start(self._put(request, response))

    def delete(
        self, request: Any = MISSING, options: Any = None, /, *_: Any, **named: Any
    ) -> JsPromise:
        """Remove a response: a promise of whether there was one."""
        return start(self._delete(request, options_or_keywords(options, named)))

    def add(self, *_: Any, **__: Any) -> Any:
        """Not implemented on the platform, nor are ``addAll``, ``matchAll`` and ``keys``."""
        raise _unimplemented("add")

    def addAll(self, *_: Any, **__: Any) -> Any:
        raise _unimplemented("addAll")

    def matchAll(self, *_: Any, **__: Any) -> Any:
        raise _unimplemented("matchAll")

    def keys(self, *_: Any, **__: Any) -> Any:
        raise _unimplemented("keys")

    async def _match(self, request: Any, options: Any) -> Response | None:
        if request is MISSING:
            raise _MATCH_REQUEST.refusal()
        fields = {} if options == {} else _MATCH_OPTIONS.read(options)
        key, given = _key(request)
        if given is not None and given.method != "GET" and not fields.get("ignoreMethod"):
            return None
        conditions = None if given is None else _conditions(given)
        found = await _succeed(self._store.match(self._name, key, conditions))
        return None if found is None else _response(found)

    async def _put(self, request: Any, response: Any) -> None:
        if request is MISSING:
            raise _PUT_REQUEST.refusal()
        answer = _PUT_RESPONSE.read(response)
        if answer.type == "error":
            raise TypeError_("Cache is unable to store an error response")
        key, given = _key(request)
        _refuse(given, answer)
        if answer.status == 304:
            console_sink.get()(
                "warn",
                "Ignoring attempt to Cache.put() a 304 status response. 304 responses are not meaningful to cache, "
                "and a potential source of bugs. Consider validating that the response status is meaningful to cache "
                "before calling Cache.put().",
            )
            return
        if answer._stream is not None and answer._stream.locked:
            raise TypeError_(LOCKED)
        status, _, pairs, body = answer.take_payload()
        stored = self._store.put(
            self._name,
            key,
            status,
            _fields(pairs),
            body if isinstance(body, ByteIterator) else bytes(body or b""),
            length=body.length if isinstance(body, ByteIterator) else None,
            encoded=answer.encodeBody == "manual"
            and answer.headers.lookup("content-encoding") is not None,
            authorized=given is not None and given.headers.lookup("authorization") is not None,
        )
        try:
            await _succeed(stored)
        except Error as error:
            # As nothing says that a response is stored, one that breaks off on its way here is no error.
            if not is_connection_lost(error):
                raise
        finally:
            if isinstance(body, ByteIterator):
                # It has ended, unless the response was not stored.
                await body.aclose(DOMException("The response was not stored.", "AbortError"))

    async def _delete(self, request: Any, options: Any) -> bool:
        if request is MISSING:
            raise _DELETE_REQUEST.refusal()
        fields = {} if options == {} else _DELETE_OPTIONS.read(options)
        key, given = _key(request)
        if given is not None and given.method != "GET" and not fields.get("ignoreMethod"):
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
            return _valid(_absolute(request)), None
        request = unwrapped
    _valid(request.url)
    cf = request.cf
    own = None if is_nullish(cf) else get_property(cf, "cacheKey")
    return (scalar_text(own) if own else request.url), request


def _absolute(address: Any) -> str:
    if isinstance(address, URL):
        return address.href
    string = scalar_text(address)
    parsed = parse(string)
    if parsed is None:
        raise TypeError_(f"Invalid URL: {string}")
    return parsed.href


def _valid(url: str) -> str:
    if _KEY.match(url) is None:
        raise TypeError_(_INVALID_URL)
    return url


def _conditions(request: Request) -> Conditions | None:
    find = request.headers.lookup
    asked = Conditions(
        find("range"), find("if-none-match"), find("if-modified-since"), find("if-range")
    )
    return None if asked == _NO_CONDITIONS else asked


def _refuse(request: Request | None, response: Response) -> None:
    if request is not None and request.method != "GET":
        raise TypeError_("Cannot cache response to non-GET request.")
    if response.status == 206:
        raise TypeError_("Cannot cache response to a range request (206 Partial Content).")
    if "*" in (response.headers.lookup("vary") or ""):
        raise TypeError_("Cannot cache response with 'Vary: *' header.")
    if not is_nullish(response.webSocket):
        # The platform has a text of its own for this, and refuses the response before it comes to that.
        raise TypeError_(NO_UPGRADE)


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
    if found.encoded and source is not None:
        return _encoded_response(found, source)
    return Response.from_wire(found.status, reason_phrase(found.status), found.headers, source)


def _encoded_response(found: Answer, source: BodySource) -> Response:
    """One that was compressed when it was stored: read as it was before, passed on as it is."""
    coding = next(value for name, value in found.headers if name == b"content-encoding")
    readable = found.status != 206 and coding.strip().lower() == b"gzip"
    response = Response.from_wire(
        found.status,
        reason_phrase(found.status),
        found.headers,
        _StoredGzip(source, found.length) if readable else source,
    )
    if not readable:
        # A part of a compressed body, or Brotli, which Python does not have.
        response.encodeBody = "manual"
    return response


class _StoredGzip:
    """A body that lies compressed."""

    __slots__ = ("_size", "_source", "_stored", "length")

    def __init__(self, stored: BodySource, size: int) -> None:
        self._stored = stored
        self._size = size
        self._source: BodySource = Unzipped(stored)
        self.length: int | None = None

    def take_encoded(self) -> bool:
        """Give the bytes as they lie; for whoever has read nothing yet."""
        self._source = self._stored
        self.length = self._size
        return True

    async def read(self) -> bytes:
        return await self._source.read()

    async def cancel(self, reason: Any) -> None:
        cancel = getattr(self._source, "cancel", None)
        if cancel is not None:
            await cancel(reason)


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
