"""``crypto``: its random half, and the way to the rest, which is imported when a worker uses it.

Source: https://w3c.github.io/webcrypto/#Crypto-interface and workerd ``api/crypto/crypto.c++``.
"""

from __future__ import annotations

import os
import uuid
from typing import Any, Final

from .error import DOMException, TypeError_
from .value import JsInstance, js_class_name

__all__ = ["Crypto", "crypto", "getRandomValues", "randomUUID"]

_QUOTA: Final = 65536
_INTEGER_VIEWS: Final = frozenset(
    {
        "Int8Array",
        "Uint8Array",
        "Uint8ClampedArray",
        "Int16Array",
        "Uint16Array",
        "Int32Array",
        "Uint32Array",
        "BigInt64Array",
        "BigUint64Array",
    }
)


def getRandomValues(view: Any) -> Any:
    """Fill an integer view with random bytes in place and give it back.

    Raises: TypeMismatchError for any other view, QuotaExceededError above 65536 bytes.
    """
    name = js_class_name(view)
    if name is None or not hasattr(view, "byteLength"):
        raise TypeError_("getRandomValues() takes an integer-typed view of an ArrayBuffer.")
    if name not in _INTEGER_VIEWS:
        raise DOMException._make(
            "ArrayBufferView argument to getRandomValues() must be an integer-typed view.",
            "TypeMismatchError",
        )
    size = view.byteLength
    if size > _QUOTA:
        raise DOMException._make(
            f"getRandomValues() only accepts buffers of size <= 64K but provided {size} bytes.",
            "QuotaExceededError",
        )
    view.assign(os.urandom(size))
    return view


def randomUUID() -> str:
    """A random UUID of version 4."""
    return str(uuid.uuid4())


class Crypto(JsInstance, js_name="Crypto"):
    """``crypto``."""

    def getRandomValues(self, view: Any) -> Any:
        return getRandomValues(view)

    def randomUUID(self) -> str:
        return randomUUID()

    @property
    def subtle(self) -> Any:
        """The SubtleCrypto."""
        from .crypto.subtle import subtle

        return subtle

    @property
    def DigestStream(self) -> Any:
        """The class of streams that digest what is written to them."""
        from .digest_stream import DigestStream

        return DigestStream


crypto: Crypto = Crypto._make()
