"""The opening handshake of a WebSocket connection that a client opens.

Source: https://www.rfc-editor.org/rfc/rfc6455#section-4.2
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from typing import Final, TypeAlias

from .contracts import Scope

__all__ = ["accept_value", "is_upgrade", "missing_part", "offered_subprotocols"]

Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def is_upgrade(scope: Scope) -> bool:
    """Whether a request says that it wants a WebSocket, in whatever form."""
    return any(
        name == b"upgrade" and value.strip().lower() == b"websocket"
        for name, value in scope["headers"]
    )


def missing_part(method: str, headers: Headers) -> str | None:
    """What a request with ``Upgrade: websocket`` lacks for a handshake; None when it is complete."""
    if method != "GET":
        return "the method has to be GET"
    if b"upgrade" not in _tokens(headers, b"connection"):
        return '"Connection: Upgrade" is missing'
    keys = _values(headers, b"sec-websocket-key")
    if len(keys) != 1 or not _is_key(keys[0]):
        return '"Sec-WebSocket-Key" has to be 16 bytes in base64'
    if _values(headers, b"sec-websocket-version") != [b"13"]:
        return '"Sec-WebSocket-Version" has to be 13'
    return None


def accept_value(headers: Headers) -> bytes:
    """``Sec-WebSocket-Accept`` for a complete handshake."""
    (key,) = _values(headers, b"sec-websocket-key")
    digest = hashlib.sha1(key + _GUID, usedforsecurity=False).digest()
    return base64.b64encode(digest)


def offered_subprotocols(headers: Headers) -> list[str]:
    """The subprotocols that the client offers, in its order."""
    return [
        token.strip().decode("latin-1")
        for value in _values(headers, b"sec-websocket-protocol")
        for token in value.split(b",")
    ]


def _is_key(key: bytes) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == 16
    except binascii.Error:
        return False


def _values(headers: Headers, wanted: bytes) -> list[bytes]:
    return [value.strip() for name, value in headers if name == wanted]


def _tokens(headers: Headers, wanted: bytes) -> set[bytes]:
    return {
        token.strip().lower() for value in _values(headers, wanted) for token in value.split(b",")
    }
