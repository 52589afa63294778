"""A response whose body is all there, handed to uvicorn's cycle in one call instead of two ASGI messages.

The application finds :func:`respond` in the extensions of the scope. It writes what the two messages would have, byte
for byte; wherever it cannot, it says so and the application sends the messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

__all__ = ["EXTENSIONS", "respond"]

#: Bytes from which on joining head and body costs more than a second write.
_LARGE: Final = 32 * 1024
#: Headers that decide how the connection goes on: the cycle has to see them.
_CONNECTION: Final = frozenset((b"connection", b"transfer-encoding", b"content-length"))


def respond(send: Any, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> bool:
    """Write a whole response to a request that is not ``HEAD``; for a status that has a body.

    Args: ``send`` as the application was given it; ``headers`` without ``Content-Length``.
    Out: False, with nothing written, when this has to be done by messages: the client does not read, is gone, the
    headers are not ordinary, or something wraps ``send``.
    """
    cycle = getattr(send, "__self__", None)
    if type(cycle) is not RequestResponseCycle:
        return False
    if cycle.response_started or cycle.disconnected or cycle.flow.write_paused:
        return False
    if cycle.default_headers:
        return False
    parts = [STATUS_LINE[status]]
    for pair in headers:
        line = _line(pair)
        if line is None:
            return False
        parts.append(line)
    if cycle.keep_alive:
        parts.append(b"content-length: %d\r\n\r\n" % len(body))
    else:
        parts.append(b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body))
    transport: Any = cycle.transport
    if len(body) < _LARGE:
        parts.append(body)
        transport.write_now(b"".join(parts))
    else:
        transport.write_now(b"".join(parts))
        transport.write_now(body)
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.message_event.set()
    if not cycle.keep_alive:
        transport.close()
    cycle.on_response()
    return True


#: What every scope carries. It names no request, so that a request is freed when it ends and not by the collector.
EXTENSIONS: Final[dict[str, Any]] = {"pyflare.whole_response": respond}


@lru_cache(maxsize=512)
def _line(pair: tuple[bytes, bytes]) -> bytes | None:
    """A header as it is written; None for one that the cycle has to judge."""
    name, value = pair
    lower = name.lower()
    if lower in _CONNECTION or HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
        return None
    return b"%b: %b\r\n" % (lower, value)
