"""``TraceItem`` and what it holds.

Source: https://developers.cloudflare.com/workers/runtime-apis/handlers/tail/ and workerd ``src/workerd/api/trace.h``
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from pyflare.js.value import JsInstance, JsObject, is_nullish

__all__ = ["TraceItem", "TracedRequest", "describe_event", "redacted_header", "redacted_url"]

_REDACTED: Final = "REDACTED"
_HIDING_PARTS: Final = ("auth", "jwt", "key", "secret", "token")
_HEX_ID: Final = 32
_BASE64_ID: Final = 21
_AT_LEAST: Final = 2
_WORD: Final = re.compile(r"[A-Za-z0-9+_-]+")
_HEX: Final = re.compile(r"[0-9a-fA-F-]+")


class _Record(JsInstance, js_name="Object"):
    """Properties of its own, as JSON shows them."""

    def __init__(self, **properties: Any) -> None:
        self.__dict__.update(properties)

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        yield from ((name, value) for name, value in self.__dict__.items() if name[:1] != "_")


class TraceItem(_Record, js_name="TraceItem"):
    """One event of a worker: what it was, what it logged, how it ended."""


class TracedRequest(_Record, js_name="Request"):
    """The request of a fetch event, with what may be a secret blotted out."""

    def __init__(self, url: str, method: str, headers: dict[str, str], cf: Any) -> None:
        self._url = url
        self._headers = headers
        shown = {name: redacted_header(name, value) for name, value in headers.items()}
        super().__init__(cf=cf, headers=JsObject.adopt(shown), method=method, url=redacted_url(url))

    def getUnredacted(self, *_: Any) -> TracedRequest:
        """The request as it was."""
        whole: TracedRequest = TracedRequest._make(self._url, self.method, self._headers, self.cf)
        whole.__dict__.update(headers=JsObject.adopt(dict(self._headers)), url=self._url)
        return whole

    method: str
    cf: Any


def redacted_header(name: str, value: str) -> str:
    """The value of a header with a lower-case name, unless the name tells of a credential."""
    hidden = name in ("cookie", "set-cookie") or any(part in name for part in _HIDING_PARTS)
    return _REDACTED if hidden else value


def redacted_url(url: str) -> str:
    """A URL in which what looks like a random id is blotted out.

    That is 32 or more hexadecimal digits, or 21 or more characters of Base64 with at least two capital letters, two
    small ones and two digits.
    """
    return _WORD.sub(_redacted_word, url)


def _redacted_word(match: re.Match[str]) -> str:
    word = match.group()
    if _HEX.fullmatch(word) and sum(c != "-" for c in word) >= _HEX_ID:
        return _REDACTED
    if len(word) >= _BASE64_ID:
        kinds = (str.isupper, str.islower, str.isdigit)
        if all(sum(map(kind, word)) >= _AT_LEAST for kind in kinds):
            return _REDACTED
    return word


def describe_event(name: str, argument: Any) -> JsObject:
    """``event`` of a handler other than ``fetch``, from its first argument."""
    fields: dict[str, Any]
    match name:
        case "scheduled":
            fields = {"cron": argument.cron, "scheduledTime": argument.scheduledTime}
        case "queue":
            fields = {"queue": argument.queue, "batchSize": len(argument.messages)}
        case "email":
            fields = {
                "mailFrom": argument.from_,
                "rcptTo": argument.to,
                "rawSize": argument.rawSize,
            }
        case _:
            fields = {}
    return JsObject.adopt({key: value for key, value in fields.items() if not is_nullish(value)})
