"""The close frame that the arguments of ``close()`` ask for.

Sources: https://websockets.spec.whatwg.org/#dom-websocket-close and workerd ``api/web-socket.c++``.
"""

from __future__ import annotations

import math
from typing import Any, Final

from . import semantics
from .error import DOMException, TypeError_
from .webidl import encode_text, integer, scalar_text
from .websocket_channel import NO_STATUS, Close

__all__ = ["close_frame"]

#: Codes that stand for events and are never sent.
_RESERVED_CODES: Final = frozenset({1004, 1005, 1006, 1015})
_LONGEST_REASON: Final = 123
_INT32: Final = 2**31


def close_frame(code: Any, reason: Any) -> Close:
    """Without a code it has no status.

    Raises: InvalidAccessError for a code that cannot be sent and for a reason without one, SyntaxError for a reason of
    more than 123 bytes, TypeError for a number beyond 32 bits.
    """
    rules = semantics.current()
    if isinstance(code, int | float) and not -_INT32 <= code < _INT32 and math.isfinite(code):
        raise TypeError_(
            f"Value out of range. Must be between {-_INT32} and {_INT32 - 1} (inclusive)."
        )
    number = None if code is None else integer(code)
    if number is not None:
        sendable = number == 1000 or 3000 <= number <= 4999
        if not rules.pedantic_close_codes:
            sendable = 1000 <= number <= 4999 and number not in _RESERVED_CODES
        if not sendable:
            raise _access_error(f"Invalid WebSocket close code: {number}.")
    words = "" if reason is None else scalar_text(reason)
    if rules.close_reason_is_limited and len(encode_text(words)) > _LONGEST_REASON:
        raise DOMException._make(
            f"WebSocket close reason must not be longer than {_LONGEST_REASON} bytes when UTF-8 encoded.",
            "SyntaxError",
        )
    if reason is not None and number is None:
        raise _access_error(
            "If you specify a WebSocket close reason, you must also specify a code."
        )
    return Close(NO_STATUS if number is None else number, words)


def _access_error(message: str) -> DOMException:
    made: DOMException = DOMException._make(message, "InvalidAccessError")
    return made
