"""Keys as they are stored: the identity of an object, and the spelling its writer used.

Production compares keys after NFC normalisation and shows the spelling last written; the local
tools keep two spellings apart. Source: https://developers.cloudflare.com/r2/reference/unicode-interoperability/
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple


class StoredKey(NamedTuple):
    """`identity` orders and finds an object; `spelling` is there where it differs from it."""

    identity: bytes
    spelling: str | None


def well_formed(text: str) -> str:
    """Text that UTF-8 can carry: surrogate halves are joined, or replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def identity_of(text: str) -> bytes:
    """The bytes under which a key is stored, and by which keys are ordered."""
    if text.isascii():
        return text.encode()
    return unicodedata.normalize("NFC", well_formed(text)).encode()


def stored_key(key: str) -> StoredKey:
    """A key as it goes into a row."""
    if key.isascii():
        return StoredKey(key.encode(), None)
    spelling = well_formed(key)
    identity = unicodedata.normalize("NFC", spelling)
    return StoredKey(identity.encode(), None if identity == spelling else spelling)


def successor(prefix: bytes) -> bytes | None:
    """The first key behind all that begin with `prefix`; None when there is none."""
    # UTF-8 has no byte 0xff, so the last one can always be raised.
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None
