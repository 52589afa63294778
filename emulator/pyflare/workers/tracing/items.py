"""``TraceItem`` and what it holds.

Source: https://developers.cloudflare.com/workers/runtime-apis/handlers/tail/ and workerd ``src/workerd/api/trace.h``
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from pyflare.js.array import JsArray
from pyflare.js.value import JsInstance, JsObject

__all__ = [
    "FetchEventInfo",
    "JsRpcEventInfo",
    "TraceException",
    "TraceItem",
    "TraceLog",
    "TracedRequest",
    "TracedResponse",
    "describe_event",
    "redacted_header",
    "redacted_url",
]

_REDACTED: Final = "REDACTED"
_HIDING_PARTS: Final = ("auth", "jwt", "key", "secret", "token")
_HEX_ID: Final = 32
_BASE64_ID: Final = 21
_AT_LEAST: Final = 2
_WORD: Final = re.compile(r"[A-Za-z0-9+_-]+")
_HEX: Final = re.compile(r"[0-9a-fA-F-]+")


class _Record(JsInstance, js_name="Object"):
    """An object with properties of its own; those of its class are there on every one, undefined without a value."""

    _properties: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(dict.fromkeys(self._properties), **values)

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        yield from ((name, value) for name, value in self.__dict__.items() if name[:1] != "_")

    def plain(self) -> JsObject:
        """A copy without a class."""
        return JsObject.adopt({name: _plain(value) for name, value in self._own_items()})


def _plain(value: Any) -> Any:
    if isinstance(value, JsArray):
        return JsArray.adopt([_plain(each) for each in value])
    return value.plain() if isinstance(value, _Record) else value


class TraceItem(_Record, js_name="TraceItem"):
    """One event of a worker: what it was, what it logged, how it ended."""

    _properties = (
        "event", "eventTimestamp", "logs", "exceptions", "diagnosticsChannelEvents", "scriptName",
        "entrypoint", "scriptVersion", "dispatchNamespace", "scriptTags", "tailAttributes",
        "preview", "durableObjectId", "outcome", "executionModel", "truncated", "cpuTime",
        "wallTime",
    )  # fmt: skip


class TraceLog(_Record, js_name="TraceLog"):
    """What one call of the console wrote."""

    _properties = ("timestamp", "level", "message", "errorInfo")


class TraceException(_Record, js_name="TraceException"):
    """An exception that the worker did not catch."""

    _properties = ("timestamp", "message", "name", "stack")


class FetchEventInfo(_Record, js_name="FetchEventInfo"):
    """A request, with its response when there is one."""

    _properties = ("response", "request")


class TracedResponse(_Record, js_name="Response"):
    """The response of a fetch event."""

    _properties = ("status",)


class JsRpcEventInfo(_Record, js_name="JsRpcEventInfo"):
    """A call over a binding."""

    _properties = ("rpcMethod",)


class ScheduledEventInfo(_Record, js_name="ScheduledEventInfo"):
    """A cron run."""

    _properties = ("scheduledTime", "cron")


class QueueEventInfo(_Record, js_name="QueueEventInfo"):
    """A batch of a queue."""

    _properties = ("queue", "batchSize")


class EmailEventInfo(_Record, js_name="EmailEventInfo"):
    """An email that came in."""

    _properties = ("mailFrom", "rcptTo", "rawSize")


class CustomEventInfo(_Record, js_name="CustomEventInfo"):
    """An event of any other kind."""


class TracedRequest(_Record, js_name="Request"):
    """The request of a fetch event, with what may be a secret blotted out."""

    _properties = ("cf", "headers", "method", "url")

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


def describe_event(name: str, argument: Any) -> Any:
    """``event`` of a handler other than ``fetch``, from its first argument."""
    match name:
        case "scheduled":
            return ScheduledEventInfo._make(
                cron=argument.cron, scheduledTime=argument.scheduledTime
            )
        case "queue":
            return QueueEventInfo._make(queue=argument.queue, batchSize=len(argument.messages))
        case "email":
            return EmailEventInfo._make(
                mailFrom=argument.from_, rcptTo=argument.to, rawSize=argument.rawSize
            )
        case _:
            return CustomEventInfo._make()
