"""``TextEncoder``, ``TextDecoder``, their streams, ``atob`` and ``btoa``.

Source: https://encoding.spec.whatwg.org/ and https://infra.spec.whatwg.org/#forgiving-base64
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from typing import Any, Final

from .buffer import Uint8Array
from .encoding_labels import PYTHON_CODECS, encoding_for_label
from .error import DOMException, RangeError, TypeError_
from .python_buffers import javascript_bytes
from .transform import PairedStreams
from .value import JsInstance, JsObject, get_property
from .webidl import encode_text, scalar_text, text, wrong_type

__all__ = ["TextDecoder", "TextDecoderStream", "TextEncoder", "TextEncoderStream", "atob", "btoa"]

_WHITESPACE: Final = re.compile("[ \t\n\f\r]+")
_BASE64: Final = re.compile("[A-Za-z0-9+/]*")


class TextEncoder(JsInstance, js_name="TextEncoder"):
    """``TextEncoder.new()``: text to UTF-8."""

    encoding = "utf-8"

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        return object.__new__(cls)

    def encode(self, value: Any = "") -> Any:
        """The text as a Uint8Array."""
        return Uint8Array.from_bytes(encode_text(text("" if value is None else value)))

    def encodeInto(self, value: Any, target: Any) -> JsObject:
        """Write as many whole characters as fit; gives ``{read, written}``, read counting UTF-16 units."""
        room = target.byteLength
        read = written = 0
        pieces: list[bytes] = []
        for character in scalar_text(value):
            encoded = character.encode()
            if written + len(encoded) > room:
                break
            pieces.append(encoded)
            written += len(encoded)
            read += 2 if len(encoded) == 4 else 1
        target.set(Uint8Array.from_bytes(b"".join(pieces)))
        return JsObject.adopt({"read": read, "written": written})


class TextDecoder(JsInstance, js_name="TextDecoder"):
    """``TextDecoder.new(label, {"fatal": ..., "ignoreBOM": ...})``.

    Raises: RangeError for an unknown label; ``decode`` raises TypeError for bad bytes when ``fatal``.
    """

    encoding: str
    fatal: bool
    ignoreBOM: bool
    _decoder: codecs.IncrementalDecoder | None
    _started: bool

    @classmethod
    def _construct(cls, label: Any = None, options: Any = None, *_: Any) -> Any:
        name = "utf-8" if label is None else text(label)
        encoding = encoding_for_label(name)
        if encoding is None or encoding == "replacement":
            raise RangeError(f'"{name}" is not a valid encoding.')
        decoder: TextDecoder = object.__new__(cls)
        decoder.encoding = encoding
        decoder.fatal = bool(get_property(options, "fatal"))
        decoder.ignoreBOM = bool(get_property(options, "ignoreBOM"))
        decoder._decoder = None
        decoder._started = False
        return decoder

    def decode(self, data: Any = None, options: Any = None) -> str:
        """Text for the bytes. With ``stream`` an incomplete character at the end waits for the next call."""
        raw = b"" if data is None else javascript_bytes(data, "TextDecoder.decode()")
        if raw is None:
            raise wrong_type("decode", "TextDecoder", 1, "Array")
        return self._decode(raw, bool(get_property(options, "stream")))

    def _decode(self, raw: bytes | memoryview, more: bool) -> str:
        decoder = self._decoder
        if decoder is None:
            decoder = codecs.getincrementaldecoder(PYTHON_CODECS[self.encoding])(
                "strict" if self.fatal and not _is_single_byte(self.encoding) else "pyflare-web"
            )
        try:
            decoded = decoder.decode(bytes(raw), not more)
            if self.fatal and _is_single_byte(self.encoding) and "\ufffd" in decoded:
                raise UnicodeError
        except UnicodeError:
            self._decoder = None
            self._started = False
            raise TypeError_("Failed to decode input.") from None
        started = self._started
        if decoded:
            self._started = True
        if (
            not started
            and not self.ignoreBOM
            and decoded[:1] == "\ufeff"
            and self.encoding.startswith("utf-")
        ):
            decoded = decoded[1:]
        self._decoder = decoder if more else None
        if not more:
            self._started = False
        return decoded


def _is_single_byte(encoding: str) -> bool:
    return encoding.startswith(("windows-", "iso-8859", "koi8", "ibm", "mac", "x-mac"))


def _replace_undefined(error: UnicodeError) -> tuple[str, int]:
    """Undefined bytes: 0x80 to 0x9F of the single-byte encodings are control characters, all others U+FFFD."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    byte = error.object[error.start]
    if error.encoding == "charmap" and 0x80 <= byte <= 0x9F:
        return chr(byte), error.start + 1
    return "\ufffd", error.end


codecs.register_error("pyflare-web", _replace_undefined)


class TextEncoderStream(PairedStreams, js_name="TextEncoderStream"):
    """``TextEncoderStream.new()``: strings in, Uint8Arrays out. A pair split between chunks is joined."""

    encoding = "utf-8"

    @classmethod
    def _construct(cls, *_: Any) -> Any:
        half = ""

        def encode(chunk: Any) -> Any:
            nonlocal half
            string = half + text(chunk)
            half = ""
            if "\ud800" <= string[-1:] <= "\udbff":
                string, half = string[:-1], string[-1]
            return Uint8Array.from_bytes(encode_text(string)) if string else None

        def flush() -> Any:
            return Uint8Array.from_bytes(encode_text(half)) if half else None

        return cls._make(encode, flush)


class TextDecoderStream(PairedStreams, js_name="TextDecoderStream"):
    """``TextDecoderStream.new(label, options)``: buffers in, strings out."""

    encoding: str
    fatal: bool
    ignoreBOM: bool

    @classmethod
    def _construct(cls, label: Any = None, options: Any = None, *_: Any) -> Any:
        decoder: TextDecoder = TextDecoder._construct(label, options)

        def decode(chunk: Any) -> Any:
            raw = javascript_bytes(chunk, "a TextDecoderStream")
            if raw is None:
                raise TypeError_(
                    "This TransformStream is being used as a byte stream, but received a value that is not a "
                    "BufferSource."
                )
            return decoder._decode(raw, True) or None

        made: TextDecoderStream = cls._make(decode, lambda: decoder._decode(b"", False) or None)
        made.encoding, made.fatal, made.ignoreBOM = (
            decoder.encoding,
            decoder.fatal,
            decoder.ignoreBOM,
        )
        return made


def btoa(value: Any) -> str:
    """Base64 of text whose characters are bytes. Raises: InvalidCharacterError for a character above U+00FF."""
    try:
        return base64.b64encode(text(value).encode("latin-1")).decode("ascii")
    except UnicodeEncodeError:
        raise DOMException._make(
            "btoa() can only operate on characters in the Latin1 (ISO/IEC 8859-1) range.",
            "InvalidCharacterError",
        ) from None


def atob(value: Any) -> str:
    """The bytes of base64 as text. Raises: InvalidCharacterError."""
    string = _WHITESPACE.sub("", text(value))
    if len(string) % 4 == 0:
        string = string[:-2] if string.endswith("==") else string.removesuffix("=")
    if len(string) % 4 == 1 or _BASE64.fullmatch(string) is None:
        raise DOMException._make(
            "atob() called with invalid base64-encoded data. (Only whitespace, '+', '/', alphanumeric ASCII, and up "
            "to two terminal '=' signs when the input data length is divisible by 4 are allowed.)",
            "InvalidCharacterError",
        )
    return binascii.a2b_base64(string + "=" * (-len(string) % 4)).decode("latin-1")
