"""``js.Buffer``: Node's class of bytes, which Workers have with the flag ``nodejs_compat``.

The methods that turn text into bytes and back, join, cut and compare; not those that read and write numbers, for which
there is ``DataView``.

Source: https://nodejs.org/api/buffer.html and https://developers.cloudflare.com/workers/runtime-apis/nodejs/buffer/
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

from .array import JsArray, items_of
from .array_buffer import ArrayBuffer, as_bytes
from .error import RangeError, TypeError_
from .number import to_index, to_integer, to_string
from .typed_array_kinds import Uint8Array
from .value import JsObject, get_property, is_nullish
from .webidl import encode_text

__all__ = ["Buffer"]

_ENCODINGS: Final = {
    "utf8": "utf8", "utf-8": "utf8", "hex": "hex", "base64": "base64", "base64url": "base64url", "ascii": "ascii",
    "latin1": "latin1", "binary": "latin1", "ucs2": "utf16le", "ucs-2": "utf16le", "utf16le": "utf16le",
    "utf-16le": "utf16le",
}  # fmt: skip
_NO_BASE64: Final = re.compile(r"[^A-Za-z0-9+/]")


class _LengthOnBoth:
    """``Buffer.byteLength(text)`` on the class, the number of bytes on a buffer."""

    def __get__(self, instance: Buffer | None, owner: type[Buffer]) -> Any:
        return _byte_length if instance is None else instance._length


def _byte_length(value: Any = None, encoding: Any = None, *_: Any, **__: Any) -> int:
    raw = as_bytes(value) if not isinstance(value, str) else _encoded(value, encoding)
    return len(raw or b"")


class Buffer(Uint8Array, js_name="Buffer"):
    """``Buffer.from_("text", "utf8")``, ``Buffer.alloc(n)``, ``Buffer.concat([a, b])``."""

    __slots__ = ()
    byteLength: Any = _LengthOnBoth()

    @classmethod
    def _construct(cls, *args: Any) -> Any:
        if args and isinstance(args[0], int | float):
            return cls.alloc(args[0])
        return cls.from_(*args)

    @classmethod
    def _call(cls, *args: Any) -> Any:
        return cls._construct(*args)

    @classmethod
    def from_(cls, source: Any = None, encoding: Any = None, length: Any = None) -> Any:
        """A buffer of text in an encoding, a copy of bytes or of a list of them, or a view on an ArrayBuffer.

        Raises: TypeError for an encoding that does not exist and for what holds no bytes.
        """
        if isinstance(source, str):
            return cls.from_bytes(_encoded(source, encoding))
        if isinstance(source, ArrayBuffer):
            return cls._over(source, encoding, length)
        data = get_property(source, "data")
        if get_property(source, "type") == "Buffer" and data is not None:
            source = data
        if source is None or isinstance(source, int | float) or is_nullish(source):
            raise TypeError_(
                "The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an "
                f"Array-like Object. Received {to_string(source)}"
            )
        raw = as_bytes(source)
        return cls.from_bytes(cls._pack(items_of(source)) if raw is None else bytes(raw))

    @classmethod
    def alloc(cls, size: Any = None, fill: Any = None, encoding: Any = None) -> Any:
        """Zeros, or the fill repeated. Raises: RangeError for a size that cannot be."""
        count = to_integer(size)
        if not isinstance(size, int | float) or not 0 <= count <= 2**32:
            raise RangeError(
                f'The value of "size" is out of range. It must be >= 0 && <= 4294967296. Received {to_string(size)}'
            )
        made = cls.from_bytes(bytearray(int(count)))
        return made if fill is None else made.fill(fill, 0, made.length, encoding)

    @classmethod
    def allocUnsafe(cls, size: Any = None) -> Any:
        return cls.alloc(size)

    @classmethod
    def concat(cls, buffers: Any = None, length: Any = None) -> Any:
        """The buffers in one, cut or filled up with zeros to a length."""
        joined = b"".join(bytes(as_bytes(each) or b"") for each in items_of(buffers))
        if length is not None:
            size = int(to_integer(length))
            joined = joined[:size].ljust(size, b"\0")
        return cls.from_bytes(joined)

    @staticmethod
    def isBuffer(value: Any = None) -> bool:
        return isinstance(value, Buffer)

    @staticmethod
    def isEncoding(encoding: Any = None) -> bool:
        return isinstance(encoding, str) and encoding.lower() in _ENCODINGS

    @staticmethod
    def compare(left: Any = None, right: Any = None) -> int:
        """-1, 0 or 1 by the order of the bytes."""
        first, second = _bytes_of(left), _bytes_of(right)
        return (first > second) - (first < second)

    def toString(self, encoding: Any = None, start: Any = None, end: Any = None) -> str:
        size = self._length
        data = self.to_bytes()[to_index(start, size, 0) : to_index(end, size, size)]
        return _decoded(data, encoding)

    def toJSON(self) -> JsObject:
        return JsObject.adopt({"type": "Buffer", "data": JsArray.adopt(list(self.to_bytes()))})

    def equals(self, other: Any = None) -> bool:
        return self.to_bytes() == _bytes_of(other)

    def slice(self, start: Any = None, end: Any = None) -> Any:
        """A view on the same memory, unlike a typed array's ``slice``."""
        return self.subarray(start, end)

    def write(
        self, text: Any = None, offset: Any = 0, length: Any = None, encoding: Any = None
    ) -> int:
        """Put text into the buffer. Gives how many bytes were written."""
        if isinstance(offset, str):
            offset, encoding = 0, offset
        elif isinstance(length, str):
            length, encoding = None, length
        at = int(to_integer(offset))
        room = (
            self._length - at if length is None else min(int(to_integer(length)), self._length - at)
        )
        data = _encoded(to_string(text), encoding)[: max(0, room)]
        self.set(Uint8Array.from_bytes(data), at)
        return len(data)

    def fill(
        self, value: Any = None, start: Any = None, end: Any = None, encoding: Any = None
    ) -> Any:
        """Fill with a byte, or with text or bytes again and again."""
        if isinstance(value, int | float):
            return super().fill(value, start, end)
        unit = _encoded(value, encoding) if isinstance(value, str) else _bytes_of(value)
        first = to_index(start, self._length, 0)
        size = max(0, to_index(end, self._length, self._length) - first)
        unit = unit or b"\0"
        self.set(Uint8Array.from_bytes((unit * (size // len(unit) + 1))[:size]), first)
        return self

    def indexOf(self, value: Any = None, start: Any = 0, encoding: Any = None) -> int:
        """Where a byte, or text or bytes, begins; -1 when nowhere."""
        wanted = _sought(value, encoding)
        return self.to_bytes().find(wanted, to_index(start, self._length, 0))

    def lastIndexOf(self, value: Any = None, start: Any = None, encoding: Any = None) -> int:
        wanted = _sought(value, encoding)
        end = self._length if start is None else to_index(start, self._length, 0) + len(wanted)
        return self.to_bytes().rfind(wanted, 0, end)

    def includes(self, value: Any = None, start: Any = 0, encoding: Any = None) -> bool:
        return self.indexOf(value, start, encoding) >= 0


def _sought(value: Any, encoding: Any) -> bytes:
    if isinstance(value, int | float):
        return bytes([int(to_integer(value)) & 0xFF])
    return _encoded(value, encoding) if isinstance(value, str) else _bytes_of(value)


def _bytes_of(value: Any) -> bytes:
    raw = None if isinstance(value, str) else as_bytes(value)
    if raw is None:
        raise TypeError_(
            f"The argument must be an instance of Buffer or Uint8Array. Received {to_string(value)}"
        )
    return bytes(raw)


def _encoding(name: Any) -> str:
    if is_nullish(name):
        return "utf8"
    found = _ENCODINGS.get(to_string(name).lower())
    if found is None:
        raise TypeError_(f"Unknown encoding: {to_string(name)}")
    return found


def _encoded(text: str, encoding: Any) -> bytes:
    match _encoding(encoding):
        case "utf8":
            return encode_text(text)
        case "hex":
            found = re.match(r"(?:[0-9A-Fa-f]{2})*", text)
            return bytes.fromhex(found[0] if found else "")
        case "base64" | "base64url":
            return _from_base64(text)
        case "utf16le":
            return text.encode("utf-16-le", "surrogatepass")
    units = text.encode("utf-16-le", "surrogatepass")
    return units[::2]


def _from_base64(text: str) -> bytes:
    """Either alphabet; what is in neither is passed over, and padding may be missing."""
    digits = _NO_BASE64.sub("", text.partition("=")[0].replace("-", "+").replace("_", "/"))
    if len(digits) % 4 == 1:
        digits = digits[:-1]
    return binascii.a2b_base64(digits + "=" * (-len(digits) % 4))


def _decoded(data: bytes, encoding: Any) -> str:
    match _encoding(encoding):
        case "utf8":
            return data.decode("utf-8", "replace")
        case "hex":
            return data.hex()
        case "base64":
            return base64.b64encode(data).decode("ascii")
        case "base64url":
            return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
        case "utf16le":
            return data[: len(data) & ~1].decode("utf-16-le", "surrogatepass")
        case "ascii":
            return bytes(byte & 0x7F for byte in data).decode("ascii")
    return data.decode("latin-1")
