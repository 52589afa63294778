"""What the console shows of the platform's objects: which properties, in which order.

Names in brackets are no properties; the runtime shows them of the object's inside.

Source: workerd ``src/node/internal/internal_inspect.ts`` and what workerd prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .value import JsBigInt, jsnull, own_items

__all__ = ["shown_fields"]

_TRANSFORM: Final = ("readable", "writable")
_BODY: Final = ("body", "bodyUsed")
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "AbortController": ("signal",),
    "AbortSignal": ("aborted", "reason", "onabort"),
    "Blob": ("size", "type"),
    "CompressionStream": _TRANSFORM,
    "CryptoKey": ("usages", "algorithm", "extractable", "type"),
    "DecompressionStream": _TRANSFORM,
    "DigestStream": ("bytesWritten", "locked"),
    "File": ("name", "lastModified", "size", "type"),
    "FixedLengthStream": _TRANSFORM,
    "GetResult": _BODY,
    "IdentityTransformStream": _TRANSFORM,
    "ReadableStream": ("locked", "[state]", "[supportsBYOB]", "[length]"),
    "Request": (
        *("method", "url", "headers", "redirect", "fetcher", "signal", "cf"),
        *("integrity", "keepalive", "cache", *_BODY),
    ),
    "Response": (
        *("status", "statusText", "headers", "ok", "redirected", "url", "webSocket", "cf"),
        *("type", *_BODY),
    ),
    "TextDecoder": ("encoding", "fatal", "ignoreBOM"),
    "TextEncoder": ("encoding",),
    "TransformStream": _TRANSFORM,
    "URL": (
        *("origin", "href", "protocol", "username", "password", "host", "hostname", "port"),
        *("pathname", "search", "hash", "searchParams"),
    ),
    "WebSocket": ("readyState", "url", "protocol", "extensions", "binaryType"),
    "WritableStream": ("locked", "[state]"),
    "Headers": ("[immutable]",),
}
#: Properties that are null where they are not set, and not undefined.
_NULL: Final = frozenset({"fetcher", "onabort"})


def shown_fields(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The fields of an object whose class has this name: what is its own first, then its class's getters."""
    fields = _FIELDS.get(name, ())
    yield from (each for each in own_items(value) if each[0] not in fields)
    for field in fields:
        if field[0] == "[":
            yield field, _INSIDE[field](value)
            continue
        held = getattr(value, field, None)
        yield field, jsnull if held is None and field in _NULL else held


def _length(stream: Any) -> int | None:
    """How many bytes are left in a stream, as a bigint, where that is known."""
    if stream._state == "closed":
        return JsBigInt(0)
    source = getattr(stream._controller, "source", None)
    length = None if stream.disturbed else getattr(source, "length", None)
    return None if length is None else JsBigInt(length)


_INSIDE: Final[dict[str, Any]] = {
    "[immutable]": lambda headers: headers._immutable,
    "[state]": lambda stream: stream._state,
    "[supportsBYOB]": lambda stream: stream._controller.byte_stream,
    "[length]": _length,
}
