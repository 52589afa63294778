"""``WebSocketRequestResponsePair``: a message that is answered without the Durable Object.

Source: https://developers.cloudflare.com/durable-objects/api/state/#setwebsocketautoresponse
"""

from __future__ import annotations

from typing import Any, Final

from .value import JsInstance
from .webidl import scalar_text, wrong_construction

__all__ = ["WebSocketRequestResponsePair"]


_MISSING: Final = object()


class WebSocketRequestResponsePair(JsInstance, js_name="WebSocketRequestResponsePair"):
    """``WebSocketRequestResponsePair.new("ping", "pong")``."""

    def __init__(self, request: str, response: str) -> None:
        self._request = request
        self._response = response

    @classmethod
    def _construct(cls, request: Any = _MISSING, response: Any = _MISSING, *_: Any) -> Any:
        """Raises: TypeError without both texts."""
        for position, given in enumerate((request, response), 1):
            if given is _MISSING:
                raise wrong_construction("WebSocketRequestResponsePair", position, "string")
        return cls._make(scalar_text(request), scalar_text(response))

    @property
    def request(self) -> str:
        return self._request

    @property
    def response(self) -> str:
        return self._response
