"""``Request``.

Source: https://developers.cloudflare.com/workers/runtime-apis/request/ and workerd ``api/http.c++``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from . import semantics
from .array import JsArray
from .body import Body, BodySource
from .error import Error, TypeError_
from .headers import HeaderPairs, Headers
from .options import visible_items
from .value import JsObject, JsProxy, get_property, is_nullish, jsnull
from .webidl import scalar_text, text

__all__ = ["Request"]

_METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PURGE", "QUERY", "BAN"}
    | {"COPY", "LOCK", "MKCOL", "MOVE", "PROPFIND", "PROPPATCH", "SEARCH", "UNLOCK", "ACL"}
    | {"REPORT", "MKACTIVITY", "CHECKOUT", "MERGE", "MSEARCH", "NOTIFY", "SUBSCRIBE", "UNSUBSCRIBE"}
)
_BODILESS: Final = frozenset({"GET", "HEAD"})
_REDIRECTS: Final = frozenset({"follow", "manual"})
_NO_BODY_ALLOWED: Final = "Request with a GET or HEAD method cannot have a body."
#: The ``cacheTtl`` of ``cf`` that says what ``no-store`` says.
_NO_CACHE_TTL: Final = -1

_NO_HEADERS: Final = (
    "Incorrect type for the 'headers' field on 'RequestInitializerDict': the provided value is not of type "
    "'Headers or Sequence or object'."
)


class Request(Body, js_name="Request"):
    """``Request.new(input, init)``; ``input`` is a URL or a request, ``init`` keywords, an object, a dict or a request.

    ``init`` has ``method``, ``headers``, ``body``, ``redirect``, ``signal``, ``cf``, ``cache``, ``integrity`` and
    ``encodeResponseBody``.
    """

    method = "GET"
    redirect = "follow"
    integrity = ""
    keepalive = False
    cache: str | None = None
    url: str
    _raw_headers: list[tuple[bytes, bytes]] | None = None
    _headers: Headers | None = None
    _cf: Any = None
    _make_cf: Callable[[], Any] | None = None
    _signal: Any = None
    _disconnected: bool = False
    _encode_response_body = "automatic"

    @classmethod
    def from_http(
        cls,
        method: str,
        url: str,
        raw_headers: list[tuple[bytes, bytes]],
        body: BodySource | None = None,
        cf: Callable[[], Any] | None = None,
    ) -> Request:
        """The request of a server.

        Args: ``url`` absolute and normalised; ``raw_headers`` with lower-case names, decoded when first looked at;
        ``body`` read when the worker reads; ``cf`` called when the worker asks for ``request.cf``.
        """
        request: Request = object.__new__(cls)
        request.method = method
        request.url = url
        # A worker that passes a client's request on passes the redirects back to the client.
        request.redirect = "manual"
        request._raw_headers = raw_headers
        request._source = body
        request._make_cf = cf
        return request

    @classmethod
    def new(cls, input: Any = None, init: Any = None, *_: Any, **options: Any) -> Request:
        """Construct.

        Raises: TypeError for a URL that cannot be parsed, an unknown method, a body with GET or HEAD, a used body or a
        member with a value that it cannot have.
        """
        request: Request = object.__new__(cls)
        if isinstance(input, Request):
            request._copy_properties(input)
        else:
            request.url = _absolute(input)
        if init is None:
            given = options
        elif is_nullish(init):
            given = {}
        elif isinstance(init, Request):
            url = request.url
            if isinstance(input, Request) and input is not init and input._has_body():
                input._check_unused()
            request._copy_properties(init)
            request.url = url
            request._move_body(init)
            return request
        elif isinstance(init, JsObject):
            given = init.__dict__
        elif isinstance(init, dict):
            given = visible_items(init)
        else:
            given = {name: get_property(init, name) for name in _MEMBERS}
        request._read_options(given, input if isinstance(input, Request) else None)
        return request

    def _copy_properties(self, other: Request) -> None:
        self.url = other.url
        self.method = other.method
        self.redirect = other.redirect
        self.cache = other.cache
        self._headers = other.headers.copy()
        self._cf, self._make_cf = other._cf, other._make_cf
        self._signal = other._signal
        self._encode_response_body = other._encode_response_body

    def _read_options(self, options: dict[str, Any], origin: Request | None) -> None:
        get = options.get
        method = get("method")
        if method is not None:
            self.method = _method(method)
        headers = get("headers")
        if headers is not None:
            self._headers = Headers.of_member(headers, _NO_HEADERS)
        elif self._headers is None:
            self._headers = Headers.empty()
        redirect = get("redirect")
        if redirect is not None:
            self.redirect = _redirect(redirect)
        cf = get("cf")
        if cf is not None:
            self._make_cf = None
            self._cf = _plain(cf)
        if "signal" in options and options["signal"] is not None:
            self._signal = _signal(options["signal"])
        self._read_rare_options(options)
        body = get("body")
        if body is not None and body is not jsnull:
            if self.method in _BODILESS:
                raise TypeError_(_NO_BODY_ALLOWED)
            content_type = self._set_body(body)
            if content_type is not None:
                self.headers._fields.setdefault("content-type", content_type)
        elif origin is not None and origin._has_body() and body is not jsnull:
            if method is not None and self.method in _BODILESS:
                raise TypeError_(_NO_BODY_ALLOWED)
            if origin.bodyUsed:
                raise TypeError_("Cannot reconstruct a Request with a used body.")
            self._move_body(origin)

    def _read_rare_options(self, options: dict[str, Any]) -> None:
        if options.get("integrity"):
            raise TypeError_(
                "Subrequest integrity checking is not implemented. The integrity option must be either undefined or "
                "an empty string."
            )
        cache = options.get("cache")
        if cache is not None:
            modes = semantics.current().cache_modes
            if not modes:
                raise Error("The 'cache' field on 'RequestInitializerDict' is not implemented.")
            if cache not in modes:
                raise TypeError_(f"Unsupported cache mode: {text(cache)}")
            self.cache = cache
        if is_nullish(options.get("cf")):
            pass
        elif self._cf_member("cacheControl") is not None:
            if self._cf_member("cacheTtl") is not None:
                raise TypeError_(
                    "The 'cacheControl' and 'cacheTtl' options on cf are mutually exclusive. Use 'cacheControl' for "
                    "explicit Cache-Control header directives, or 'cacheTtl' for a simplified TTL, but not both."
                )
            if cache is not None:
                raise TypeError_(
                    "The 'cacheControl' option on cf cannot be used together with the 'cache' request option. The "
                    "'cache' option ('no-store'/'no-cache') maps to cache TTL behavior internally, which conflicts "
                    "with explicit Cache-Control directives."
                )
        encode = options.get("encodeResponseBody")
        if encode is not None:
            if encode not in ("automatic", "manual"):
                raise TypeError_(f"encodeResponseBody: unexpected value: {text(encode)}")
            self._encode_response_body = encode

    def _cf_member(self, name: str) -> Any:
        return get_property(self._cf, name) if isinstance(self._cf, JsObject) else None

    def prepare_to_leave(self) -> None:
        """For whoever sends it, and has it alone: carry out what ``cache`` asks for.

        Raises: TypeError for a ``cacheTtl`` that says otherwise than ``no-store``.
        """
        if self.cache is None:
            return
        if self.cache == "no-store":
            ttl = self._cf_member("cacheTtl")
            if ttl is not None and ttl != _NO_CACHE_TTL:
                raise TypeError_(
                    f"CacheTtl: {text(ttl)}, is not compatible with cache: no-store header."
                )
        headers = self.headers._fields
        headers.setdefault("cache-control", "no-cache")
        headers.setdefault("pragma", "no-cache")

    @property
    def headers(self) -> Headers:  # type: ignore[override]
        headers = self._headers
        if headers is None:
            self._headers = headers = Headers.from_raw(self._raw_headers or [])
        return headers

    @property
    def cf(self) -> Any:
        """The connection's properties, undefined when there are none."""
        if self._make_cf is not None:
            make, self._make_cf = self._make_cf, None
            self._cf = make()
        return self._cf

    @property
    def signal(self) -> Any:
        """An AbortSignal: the one given, else one that aborts when the client goes away."""
        if self._signal is None:
            from .abort import AbortSignal

            self._signal = AbortSignal.fresh()
            self._signal.is_the_clients = True
            if self._disconnected:
                self._signal.signal_abort(None)
        return self._signal

    def client_disconnected(self) -> None:
        """For servers: the client went away before the answer was complete."""
        self._disconnected = True
        if self._signal is not None:
            self._signal.signal_abort(None)

    def clone(self) -> Request:
        """A second request with the same body. Raises: TypeError when the body was used."""
        copy: Request = object.__new__(type(self))
        self._clone_body_into(copy)
        headers = self.headers
        copy._copy_properties(self)
        copy._headers = headers.copy(immutable=headers._immutable)
        return copy

    def wire_headers(self) -> HeaderPairs:
        """For whoever forwards the request: the header pairs as bytes."""
        if self._headers is None and self._raw_headers is not None:
            return self._raw_headers
        return self.headers.wire_pairs()


def _signal(value: Any) -> Any:
    """Raises: TypeError for what is no signal."""
    from .abort import AbortSignal

    if is_nullish(value):
        return None
    if not isinstance(value, AbortSignal):
        raise TypeError_(
            "Incorrect type for the 'signal' field on 'RequestInitializerDict': the provided value is not of type "
            "'AbortSignal'."
        )
    return value


_MEMBERS: Final = (
    "method",
    "headers",
    "body",
    "redirect",
    "signal",
    "cf",
    "cache",
    "integrity",
    "encodeResponseBody",
)


def _absolute(address: Any) -> str:
    from .url import URL, parse

    if isinstance(address, URL):
        return address.href
    string = scalar_text(address)
    parsed = parse(string)
    if parsed is None:
        raise TypeError_(f"Invalid URL: {string}")
    return parsed.href


def _method(given: Any) -> str:
    string = text(given)
    method = string.upper()
    if method not in _METHODS:
        raise TypeError_(f"Invalid HTTP method string: {string}")
    return method


def _redirect(given: Any) -> str:
    value = text(given)
    if value not in _REDIRECTS:
        raise TypeError_(
            'Invalid redirect value, must be one of "follow" or "manual" ("error" won\'t be implemented since it does '
            'not make sense at the edge; use "manual" and check the response status code).'
        )
    return value


def _plain(value: Any) -> Any:
    """``cf`` from Python as the plain object that a worker would read back."""
    if isinstance(value, JsProxy):
        return value
    if isinstance(value, dict):
        return JsObject.adopt({str(key): _plain(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return JsArray.adopt([_plain(item) for item in value])
    return value
