"""From a worker's response to ASGI messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final

from .contracts import Body, HeaderPairs, Send
from .inbound import Upstream
from .routes import host_name

__all__ = [
    "ERROR_RESPONSE",
    "NULL_BODY",
    "REASONS",
    "ResponseAborted",
    "mapped_outward",
    "send_body",
    "send_large",
    "send_text",
    "settle",
    "start_message",
]

#: Reason phrases by status, for the log.
REASONS: Final = {status.value: status.phrase for status in HTTPStatus}

# The connection and the length belong to the server; a worker's own values would contradict what is sent.
_SERVER_HEADERS: Final = frozenset(
    (
        b"connection",
        b"content-length",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
_UNUSUAL: Final = _SERVER_HEADERS | {b"content-encoding"}
_SLICE = 1 << 18
#: What becomes of a ``Response.error()`` that a worker answers with.
ERROR_RESPONSE: Final = (
    "Return value from serve handler must not be an error response (like Response.error())"
)
#: Statuses that have no body.
NULL_BODY: Final = frozenset((204, 304))


class ResponseAborted(Exception):
    """The body failed after the response had begun. Leaves the application so that the host closes the connection."""


def settle(
    headers: HeaderPairs, body: Body, *, method: str, automatic: bool
) -> tuple[HeaderPairs, Body]:
    """Headers and body as they go out, without ``Content-Length``.

    ``automatic``: the response's ``encodeBody``, whether a ``Content-Encoding`` of the worker is a wish.
    """
    unusual = [name for name, _ in headers if name in _UNUSUAL]
    if not unusual:
        return headers, body
    # A HEAD answer has no body to measure: the worker may say how long the GET answer would be.
    kept = b"content-length" if method == "HEAD" and not _known_length(body) else b""
    headers = [pair for pair in headers if pair[0] == kept or pair[0] not in _SERVER_HEADERS]
    if automatic and b"content-encoding" in unusual:
        from .encoding import encode

        return encode(headers, body)
    return headers, body


def start_message(method: str, status: int, headers: HeaderPairs, body: Body) -> dict[str, Any]:
    """The ``http.response.start`` message, with ``Content-Length`` where the length is known."""
    if status not in NULL_BODY:
        length = _known_length(body)
        if length is not None and (length or method != "HEAD"):
            headers = [*headers, (b"content-length", b"%d" % length)]
    return {"type": "http.response.start", "status": status, "headers": headers}


def _known_length(body: Body) -> int | None:
    if body is None:
        return 0
    if isinstance(body, bytes):
        return len(body)
    if isinstance(body, memoryview):
        return body.nbytes
    return getattr(body, "length", None)


async def send_body(send: Send, body: Any) -> None:
    """Send a stream chunk by chunk, each when the client has taken the one before."""
    async for chunk in body:
        if chunk:
            await send({"type": "http.response.body", "body": bytes(chunk), "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def send_large(send: Send, body: bytes | memoryview) -> None:
    """Send a long known body in slices, so that a slow client does not make the transport hold all of it twice."""
    view = memoryview(body).cast("B")
    for start in range(0, len(view), _SLICE):
        part = bytes(view[start : start + _SLICE])
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def send_text(
    send: Send,
    status: int,
    text: str,
    content_type: str = "text/plain;charset=utf-8",
    further: Sequence[tuple[bytes, bytes]] = (),
) -> None:
    """A whole answer of the server's own, with ``further`` headers."""
    body = text.encode("utf-8", "backslashreplace")
    headers = [
        (b"content-type", content_type.encode("ascii")),
        (b"content-length", b"%d" % len(body)),
        *further,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def mapped_outward(headers: HeaderPairs, upstream: Upstream, outer: bytes) -> HeaderPairs:
    """Header values with the host that workers see turned back into the host that the client used."""
    inner = upstream.host.encode("latin-1")
    if not outer or outer == inner:
        return headers
    name_only = host_name(upstream.host).encode("latin-1")
    return [
        (name, _turned_back(name, value, upstream, outer)) if name_only in value else (name, value)
        for name, value in headers
    ]


def _turned_back(name: bytes, value: bytes, upstream: Upstream, outer: bytes) -> bytes:
    if name == b"set-cookie":
        # The domain of a cookie has no port.
        inner_name = host_name(upstream.host)
        outer_name = host_name(outer.decode("latin-1")).encode()
        return _host_pattern("", inner_name).sub(lambda _: outer_name, value)
    return _host_pattern(f"{upstream.protocol}://", upstream.host).sub(
        lambda found: b"http://" + outer if found[1] else outer, value
    )


@lru_cache(maxsize=64)
def _host_pattern(before: str, host: str) -> re.Pattern[bytes]:
    """The host as a whole, not as a part of a longer name or with another port; its scheme is the first group."""
    return re.compile(
        rb"(?<![\w-])(?<!\w\.)(%s)?%s(?![\w.-]|:[0-9])"
        % (re.escape(before.encode("latin-1")), re.escape(host.encode("latin-1"))),
        re.IGNORECASE,
    )
