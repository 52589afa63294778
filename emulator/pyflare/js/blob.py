"""``Blob`` and ``File``: bytes with a content type, and a name.

Source: https://w3c.github.io/FileAPI/ and workerd ``api/blob.c++``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any, Final

from .buffer import ArrayBuffer, Uint8Array, as_bytes
from .error import RangeError, TypeError_
from .promise import JsPromise, resolved
from .python_buffers import is_python_buffer, warn_of_buffer
from .value import JsInstance, get_property, is_nullish
from .webidl import encode_text, integer, scalar_text, text

__all__ = ["Blob", "File"]

#: The most bytes a blob may have.
SIZE_LIMIT: Final = 128 * 1024 * 1024

_UNPRINTABLE: Final = re.compile("[^\x20-\x7e]")


def _normalised_type(value: Any) -> str:
    string = "" if is_nullish(value) else text(value)
    return "" if _UNPRINTABLE.search(string) is not None else string.lower()


def _join(parts: Any) -> bytes | memoryview:
    if parts is None:
        return b""
    if isinstance(parts, str) or as_bytes(parts) is not None or not isinstance(parts, Iterable):
        raise TypeError_("The first argument of a Blob must be a sequence of its parts.")
    pieces: list[bytes | memoryview] = []
    for part in parts:
        if isinstance(part, Blob):
            pieces.append(part._data)
            continue
        if is_python_buffer(part):
            warn_of_buffer(part, "a Blob")
            part = text(part)
        data = as_bytes(part)
        pieces.append(encode_text(text(part)) if data is None else data)
    if len(pieces) == 1 and type(pieces[0]) is bytes:
        return pieces[0]
    size = sum(map(len, pieces))
    if size > SIZE_LIMIT:
        raise RangeError(f"Blob size {size} exceeds limit {SIZE_LIMIT}")
    return b"".join(pieces)


class Blob(JsInstance, js_name="Blob"):
    """``Blob.new(parts, {"type": ..., "endings": ...})``; parts are strings, buffers and blobs."""

    _data: bytes | memoryview
    type: str

    @classmethod
    def of(cls, data: bytes | memoryview, content_type: str) -> Blob:
        """A blob over these bytes."""
        blob: Blob = object.__new__(cls)
        blob._data = data
        blob.type = content_type
        return blob

    @classmethod
    def _construct(cls, parts: Any = None, options: Any = None, *_: Any) -> Any:
        return Blob.of(_join(parts), _normalised_type(get_property(options, "type")))

    @property
    def size(self) -> int:
        return len(self._data)

    def __bool__(self) -> bool:
        return len(self._data) != 0

    def slice(self, start: Any = None, end: Any = None, content_type: Any = None) -> Blob:
        """Part of the blob; negative positions count from the end. The bytes are shared."""
        size = len(self._data)
        first = _position(integer(start, 0), size)
        last = _position(integer(end, size), size)
        part = memoryview(self._data)[first : max(first, last)]
        return Blob.of(part, _normalised_type(content_type))

    def text(self) -> JsPromise:
        return resolved(str(self._data, "utf-8", "replace"))

    def arrayBuffer(self) -> JsPromise:
        return resolved(ArrayBuffer.adopt(bytes(self._data)))

    def bytes(self) -> JsPromise:
        return resolved(Uint8Array.from_bytes(bytes(self._data)))

    def stream(self) -> Any:
        """A ReadableStream of the bytes."""
        from .readable import ReadableStream

        return ReadableStream.from_bytes(self._data)


class File(Blob, js_name="File"):
    """``File.new(parts, name, {"type": ..., "lastModified": ms})``."""

    name: str
    lastModified: int

    @classmethod
    def named(cls, data: Any, name: str, content_type: str, modified: int | None = None) -> File:
        """A file over these bytes. ``modified`` in milliseconds since 1970, now when None."""
        file: File = object.__new__(cls)
        file._data = data
        file.type = content_type
        file.name = name
        file.lastModified = int(time.time() * 1000) if modified is None else modified
        return file

    @classmethod
    def _construct(cls, *args: Any) -> Any:
        parts, name, options, *_ = (*args, None, None, None)
        if name is None:
            raise TypeError_("A File needs its parts and a name.")
        modified = get_property(options, "lastModified")
        return File.named(
            _join(parts),
            scalar_text(name),
            _normalised_type(get_property(options, "type")),
            None if modified is None else integer(modified),
        )


def _position(value: int, size: int) -> int:
    return max(size + value, 0) if value < 0 else min(value, size)
