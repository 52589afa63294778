"""Bodies of queue messages: JavaScript values as bytes of a content type, and back.

Source: https://developers.cloudflare.com/queues/configuration/javascript-apis/#queuescontenttype and workerd
``src/workerd/api/queue.c++``
"""

from __future__ import annotations

from typing import Any, Final

from .array_buffer import ArrayBuffer, JsBuffer, as_bytes
from .body import decode_text
from .error import TypeError_
from .json import JSON
from .typed_array_kinds import Uint8Array
from .value import get_property, type_of
from .webidl import encode_text, text

__all__ = ["content_type", "decode", "detach", "encode"]

_KNOWN: Final = frozenset({"text", "bytes", "json", "v8"})


def content_type(name: Any) -> str:
    """A content type as it was given, in its canonical form. Raises: TypeError for one that does not exist."""
    lower = text(name).lower()
    if lower not in _KNOWN:
        raise TypeError_(f"Unsupported queue message content type: {text(name)}")
    return lower


def encode(value: Any, kind: str) -> bytes:
    """A body as it is kept. Raises: TypeError for a value that does not fit the content type, and what JSON and the
    structured clone raise for values they cannot carry."""
    if value is None:
        raise TypeError_("Message body cannot be undefined")
    match kind:
        case "json":
            written = JSON.stringify(value)
            if written is None:
                raise TypeError_("Message body cannot be undefined")
            return encode_text(written)
        case "text":
            if not isinstance(value, str):
                raise _misfit(kind, "string", value)
            return encode_text(value)
        case "bytes":
            data = None if isinstance(value, ArrayBuffer) else as_bytes(value)
            if data is None:
                raise _misfit(kind, "ArrayBufferView", value)
            return bytes(data)
        case _:
            from .v8_format import serialize

            return serialize(value)


def detach(value: Any) -> None:
    """Take the buffer of a sent view away from the worker, as ``send`` does."""
    if isinstance(value, JsBuffer) and isinstance(
        buffer := get_property(value, "buffer"), ArrayBuffer
    ):
        buffer.transfer()


def decode(data: bytes, kind: str) -> Any:
    """The value that a kept body stands for. Raises: SyntaxError for JSON that is none."""
    match kind:
        case "json":
            return JSON.parse(decode_text(data))
        case "text":
            return decode_text(data)
        case "bytes":
            return Uint8Array.from_bytes(data)
        case _:
            from .v8_format import deserialize

            return deserialize(data)


def _misfit(kind: str, wanted: str, value: Any) -> Exception:
    return TypeError_(
        f'Content Type "{kind}" requires a value of type {wanted}, but received: {type_of(value)}'
    )
