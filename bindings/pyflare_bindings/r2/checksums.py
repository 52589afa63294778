"""Hashes of content: which are computed, which were announced, and what etags are made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from .errors import checksum_mismatch
from .values import Checksum, HashName

LABELS: dict[HashName, str] = {
    "md5": "MD5",
    "sha1": "SHA-1",
    "sha256": "SHA-256",
    "sha384": "SHA-384",
    "sha512": "SHA-512",
}
DIGEST_BYTES: dict[HashName, int] = {
    "md5": 16,
    "sha1": 20,
    "sha256": 32,
    "sha384": 48,
    "sha512": 64,
}


def names_to_compute(announced: Checksum | None) -> tuple[str, ...]:
    """MD5 always, for it is the etag, and what was announced."""
    if announced is None or announced.name == "md5":
        return ("md5",)
    return ("md5", announced.name)


def digests_of(content: bytes | memoryview, names: Iterable[str]) -> dict[str, bytes]:
    """The hashes of content in memory."""
    return {name: hashlib.new(name, content, usedforsecurity=False).digest() for name in names}


def check(announced: Checksum | None, digests: Mapping[str, bytes]) -> None:
    """Raises R2Error (10037) when the content is not what was announced."""
    if announced is None:
        return
    actual = digests[announced.name]
    if actual != announced.value:
        label = LABELS[announced.name]
        raise checksum_mismatch(label, announced.value.hex(), actual.hex())


def etag_of_parts(part_digests: Iterable[bytes]) -> str:
    """The etag of an object uploaded in parts, from the MD5 of each part in order."""
    digests = list(part_digests)
    joined = hashlib.md5(b"".join(digests), usedforsecurity=False).hexdigest()
    return f"{joined}-{len(digests)}"


def md5_hex(data: bytes) -> str:
    """The MD5 that a customer key is told apart by."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
