"""The character encoding of a document: between its bytes and the text that handlers see.

Source: https://encoding.spec.whatwg.org/
"""

from __future__ import annotations

import codecs
from functools import lru_cache
from typing import Final

# Registers the error handler that decodes as the standard says.
from .. import encoding as _web_encoding
from ..encoding_labels import PYTHON_CODECS, encoding_for_label
from ..webidl import scalar_text
from .errors import parser_error

__all__ = ["DocumentEncoding"]

assert _web_encoding

_NOT_ASCII_COMPATIBLE: Final = frozenset({"utf-16le", "utf-16be", "iso-2022-jp"})
#: Encodings that write fewer characters than they read.
_ENCODERS: Final = {"gbk": "gbk", "big5": "big5"}


class DocumentEncoding:
    """Decodes and encodes. ``name`` is the standard's name of the encoding."""

    __slots__ = ("_codec", "_encoder", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._codec = PYTHON_CODECS[name]
        self._encoder = _ENCODERS.get(name, self._codec)

    @staticmethod
    @lru_cache(maxsize=64)
    def for_label(label: str) -> DocumentEncoding:
        """The encoding that a ``charset`` names. Raises: TypeError for an unknown one and one unlike ASCII."""
        name = encoding_for_label(label)
        if name is None or name == "replacement":
            raise parser_error("Unknown character encoding has been provided.")
        if name in _NOT_ASCII_COMPATIBLE:
            raise parser_error("Expected ASCII-compatible encoding.")
        return DocumentEncoding(name)

    def decode(self, data: bytes) -> str:
        """The text; bad sequences become U+FFFD."""
        return data.decode(self._codec, "pyflare-web")

    def decoder(self) -> codecs.IncrementalDecoder:
        """For text that comes in pieces."""
        return codecs.getincrementaldecoder(self._codec)("pyflare-web")

    def encode(self, text: str) -> bytes:
        """The bytes of markup; a character that the encoding has not becomes a numeric character reference."""
        try:
            return text.encode(self._encoder, "xmlcharrefreplace")
        except UnicodeEncodeError:
            return scalar_text(text).encode(self._encoder, "xmlcharrefreplace")

    def encode_exactly(self, text: str) -> bytes | None:
        """The bytes of a name, None when the encoding has not all of its characters."""
        try:
            return scalar_text(text).encode(self._encoder)
        except UnicodeEncodeError:
            return None
