"""``Response``.

Source: https://developers.cloudflare.com/workers/runtime-apis/response/ and workerd ``api/http.c++``.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from .body import Body, BodySource
from .error import RangeError, TypeError_
from .headers import HeaderPairs, Headers
from .options import visible_items
from .readers import ByteIterator
from .status import NULL_BODY_STATUSES, REDIRECT_STATUSES, reason_phrase
from .value import JsObject, get_property, is_nullish, jsnull
from .webidl import encode_text, integer, null, scalar_text, text

__all__ = ["Payload", "Response"]

#: What a server sends: status, reason phrase, header pairs, and the body, which is None, known bytes or an iterator.
Payload: TypeAlias = tuple[int, str, HeaderPairs, bytes | memoryview | ByteIterator | None]

_MISSING: Final = object()
_CONTROL: Final = re.compile("[\0-\x1f]")
_NULL_BODY: Final = "Response with null body status (101, 204, 205, or 304) cannot have a body."

_NO_HEADERS: Final = (
    "Incorrect type for the 'headers' field on 'InitializerDict': the provided value is not of type "
    "'Headers or Sequence or object'."
)


class _JsonOnBoth:
    """``Response.json(data)`` makes a response, ``response.json()`` reads one: one name, two functions."""

    def __get__(self, instance: Response | None, owner: type[Response]) -> Any:
        if instance is None:
            return owner._from_json
        return super(Response, instance).json


class Response(Body, js_name="Response"):
    """``Response.new(body, init)``; ``init`` is keywords, an object, a dict or another response.

    ``init`` has ``status``, ``statusText``, ``headers``, ``webSocket``, ``encodeBody`` and ``cf``.
    """

    _no_clone = "ReadableStream can only be serialized for RPC."
    type = "default"
    url = ""
    redirected = False
    status: int = 200
    encodeBody = "automatic"
    _status_text: str | None = None
    _headers: Headers | None = None
    _content_type: str | None = None
    _cf: Any = None
    _web_socket: Any = None

    json = _JsonOnBoth()

    @classmethod
    def new(cls, body: Any = _MISSING, init: Any = None, *_: Any, **options: Any) -> Response:
        """Construct. Raises: RangeError for a status outside 200 to 599, TypeError for a body that it cannot have."""
        response: Response = object.__new__(cls)
        if init is None:
            if body is _MISSING:
                # Keywords are the last argument, and there they are the only one.
                body = JsObject.adopt(options) if options else None
            elif options:
                response._read_options(options)
        elif isinstance(init, Response):
            response._copy_properties(init)
        elif not is_nullish(init):
            response._read_init(init)
        if body is not None and body is not jsnull and body is not _MISSING:
            response._take_body(body)
        return response

    def _read_init(self, init: Any) -> None:
        if isinstance(init, JsObject):
            self._read_options(init.__dict__)
        elif isinstance(init, dict):
            self._read_options(visible_items(init))
        elif isinstance(init, str | int | float):
            raise TypeError_(
                "Failed to construct 'Response': constructor parameter 2 is not of type "
                "'InitializerDict or Response'."
            )
        else:
            self._read_options({name: get_property(init, name) for name in _MEMBERS})

    def _read_options(self, options: dict[str, Any]) -> None:
        get = options.get
        status = get("status")
        web_socket = get("webSocket")
        if status is not None:
            self.status = status = status if type(status) is int else integer(status)
        if web_socket is not None and web_socket is not jsnull:
            self._web_socket = web_socket
            if status != 101:
                raise RangeError("Responses with a WebSocket must have status code 101.")
        elif status is not None and not 200 <= status <= 599:
            raise RangeError(
                "Responses may only be constructed with status codes in the range 200 to 599, inclusive."
            )
        headers = get("headers")
        if headers is not None:
            self._headers = Headers.of_member(headers, _NO_HEADERS)
        status_text = get("statusText")
        if status_text is not None:
            self._status_text = status_text = text(status_text)
            if _CONTROL.search(status_text) is not None:
                raise TypeError_("Invalid statusText")
        encode = get("encodeBody")
        if encode is not None:
            if encode not in ("automatic", "manual"):
                raise TypeError_(f"encodeBody: unexpected value: {text(encode)}")
            self.encodeBody = encode
        self._cf = get("cf")

    def _copy_properties(self, other: Response) -> None:
        self.status = other.status
        self._status_text = other._status_text
        self._headers = other.headers.copy()
        self.encodeBody = other.encodeBody
        self._cf = other._cf
        self._web_socket = other._web_socket
        if self._web_socket is None and not 200 <= self.status <= 599:
            raise RangeError(
                "Responses may only be constructed with status codes in the range 200 to 599, inclusive."
            )

    def take_bytes(self, content: bytes) -> None:
        """For this package: bytes as the body, as a buffer of JavaScript's would be."""
        self._content = content
        self._check_null_body()

    def _take_body(self, body: Any) -> None:
        content_type = self._set_body(body)
        if self._check_null_body():
            return
        if content_type is not None:
            if self._headers is None:
                self._content_type = content_type
            else:
                self._headers._fields.setdefault("content-type", content_type)

    def _check_null_body(self) -> bool:
        """Whether the status has no body. Raises: TypeError when there is one all the same."""
        if self.status not in NULL_BODY_STATUSES:
            return False
        # An empty buffer or string is let through, as the runtime does for old code.
        if self._content is None or len(self._content) != 0:
            raise TypeError_(_NULL_BODY)
        self._content = None
        return True

    @classmethod
    def from_wire(
        cls,
        status: int,
        status_text: str,
        raw_headers: HeaderPairs,
        source: BodySource | None,
        *,
        url: str = "",
        redirected: bool = False,
    ) -> Response:
        """A response that came from elsewhere: immutable headers, the body read on demand."""
        response: Response = object.__new__(cls)
        response.status = status
        response._status_text = status_text
        response._headers = Headers.from_raw(raw_headers)
        response._source = source
        response.url = url
        response.redirected = redirected
        return response

    @classmethod
    def _from_json(cls, data: Any = None, init: Any = None, *_: Any, **options: Any) -> Response:
        from .json import JSON

        if data is None and options:
            data, options = JsObject.adopt(options), {}
        serialised = JSON.stringify(data)
        if serialised is None:
            # Production's answer for what has no JSON form.
            serialised = "undefined"
        given = options if init is None else init
        response = cls.new(None, given) if given else cls.new(None)
        if response.status in NULL_BODY_STATUSES:
            raise TypeError_(_NULL_BODY)
        response._content = serialised
        response.headers._fields.setdefault("content-type", "application/json")
        return response

    @classmethod
    def redirect(cls, url: Any, status: Any = 302, *_: Any) -> Response:
        """A redirect. Raises: RangeError for another status, TypeError for a URL that cannot be parsed."""
        from .url import parse

        code = 302 if status is None else integer(status)
        if code not in REDIRECT_STATUSES:
            raise RangeError(
                f"{code} is not a redirect status code. It must be one of: 301, 302, 303, 307, or 308."
            )
        address = scalar_text(url)
        parsed = parse(address)
        if parsed is None:
            raise TypeError_(f"Unable to parse URL: {address}")
        response: Response = object.__new__(cls)
        response.status = code
        response._headers = Headers.from_raw([(b"location", parsed.href.encode())])
        return response

    @classmethod
    def error(cls) -> Response:
        """A network error as a response: type ``error``, status 0."""
        response: Response = object.__new__(cls)
        response.status = 0
        response.type = "error"
        response._headers = Headers.from_raw([])
        return response

    @property
    def headers(self) -> Headers:  # type: ignore[override]
        headers = self._headers
        if headers is None:
            self._headers = headers = Headers.empty()
            if self._content_type is not None:
                headers._fields["content-type"] = self._content_type
        return headers

    @property
    def ok(self) -> bool:
        return 200 <= self.status <= 299

    @property
    def statusText(self) -> str:
        """What the response was made with or came with; a response of one's own has none unless it is given."""
        return self._status_text or ""

    def reason(self) -> str:
        """What whoever receives the response gets as ``statusText``."""
        return reason_phrase(self.status) if self._status_text is None else self._status_text

    @property
    def cf(self) -> Any:
        return self._cf

    @property
    def webSocket(self) -> Any:
        """The client end of an accepted WebSocket, null for any other response."""
        return null() if self._web_socket is None else self._web_socket

    def clone(self) -> Response:
        """A second response with the same body. Raises: TypeError for a used body or a WebSocket."""
        if self._web_socket is not None:
            raise TypeError_("Cannot clone a response to a WebSocket handshake.")
        copy: Response = object.__new__(type(self))
        self._clone_body_into(copy)
        headers = self.headers
        copy.status = self.status
        copy._status_text = self._status_text
        copy._headers = headers.copy(immutable=headers._immutable)
        copy.url = self.url
        copy.redirected = self.redirected
        copy.type = self.type
        copy.encodeBody = self.encodeBody
        copy._cf = self._cf
        return copy

    def take_payload(self, *, as_sent: bool = False) -> Payload:
        """For servers: what goes on the wire; the body is used up by that.

        With ``as_sent``, an encoded answer of the network that nobody has read is passed on byte for byte, and
        :attr:`encodeBody` becomes ``manual``.

        Gives status, reason phrase, header pairs (lower-case names) and the body: None, ``bytes`` or ``memoryview``
        for known content, else an asynchronous iterator of them with ``aclose()`` and ``length``.
        Raises: TypeError when the body was used before; the iterator raises what the stream fails with, and TypeError
        for a chunk that is neither buffer nor text.
        """
        if self._used or (self._stream is not None and self._stream._disturbed):
            self._check_unused()
        headers = self._headers
        if headers is not None:
            pairs = headers.wire_pairs()
        elif self._content_type is not None:
            pairs = [(b"content-type", self._content_type.encode())]
        else:
            pairs = []
        if as_sent and self._source is not None and not self._used:
            take_encoded = getattr(self._source, "take_encoded", None)
            if take_encoded is not None and take_encoded():
                self.encodeBody = "manual"
        return self.status, self.reason(), pairs, self._take_wire_body()

    def _take_wire_body(self) -> bytes | memoryview | ByteIterator | None:
        content = self._content
        if content is not None:
            self._used = True
            return encode_text(content) if isinstance(content, str) else content
        stream = self._stream
        if stream is None:
            if self._source is None:
                return None
            stream = self.body
        known = stream.unread_content() if stream._reader is None else None
        if known is not None:
            stream._disturbed = True
            stream._state = "closed"
            return known
        return ByteIterator(stream)


_MEMBERS: Final = ("status", "statusText", "headers", "webSocket", "encodeBody", "cf")
