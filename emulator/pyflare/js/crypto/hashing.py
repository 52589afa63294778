"""The hash functions, by the names that Web Crypto gives them.

Source: https://developers.cloudflare.com/workers/runtime-apis/web-crypto/#supported-algorithms
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from .errors import not_supported

__all__ = ["Hash", "find_hash", "milliseconds"]


@dataclass(frozen=True, slots=True)
class Hash:
    """One hash function. ``library_name`` is its name in :mod:`hashlib`; sizes in bytes."""

    name: str
    library_name: str
    size: int
    block: int

    def new(self, data: bytes | memoryview = b"") -> Any:
        """A hash object of the standard library."""
        return hashlib.new(self.library_name, data, usedforsecurity=False)

    def digest(self, data: bytes | memoryview) -> bytes:
        return _CONSTRUCTORS[self.library_name](data).digest()  # type: ignore[no-any-return]


# The named constructors are faster than `hashlib.new`.
_CONSTRUCTORS: Final[dict[str, Any]] = {
    "sha1": partial(hashlib.sha1, usedforsecurity=False),
    "sha256": hashlib.sha256,
    "sha384": hashlib.sha384,
    "sha512": hashlib.sha512,
    "md5": partial(hashlib.md5, usedforsecurity=False),
}

_HASHES: Final = {
    known.name: known
    for known in (
        Hash("SHA-1", "sha1", 20, 64),
        Hash("SHA-256", "sha256", 32, 64),
        Hash("SHA-384", "sha384", 48, 128),
        Hash("SHA-512", "sha512", 64, 128),
        # No part of the standard, an extension of the platform.
        Hash("MD5", "md5", 16, 64),
    )
}


def find_hash(name: str) -> Hash:
    """A hash function by name, in any case. Raises: NotSupportedError."""
    found = _HASHES.get(name) or _HASHES.get(name.upper())
    if found is None:
        raise not_supported("Unrecognized or unimplemented digest algorithm requested.")
    return found


def milliseconds(size: int) -> float:
    """About how long a pass over so many bytes takes, hashing or enciphering."""
    return size / 500_000
