"""The hash functions as the package ``cryptography`` names them."""

from __future__ import annotations

from typing import Final

from cryptography.hazmat.primitives import hashes

from .hashing import Hash

__all__ = ["library_hash"]

_HASHES: Final[dict[str, hashes.HashAlgorithm]] = {
    "SHA-1": hashes.SHA1(),
    "SHA-256": hashes.SHA256(),
    "SHA-384": hashes.SHA384(),
    "SHA-512": hashes.SHA512(),
    "MD5": hashes.MD5(),
}


def library_hash(hash: Hash) -> hashes.HashAlgorithm:
    return _HASHES[hash.name]
