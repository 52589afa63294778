"""AES-GCM for initialisation vectors that the package ``cryptography`` refuses: below 8 and above 128 bytes.

Slower by far than the package's own, and rare: nearly every vector has 12 bytes.

Source: https://csrc.nist.gov/pubs/sp/800/38/d/final, sections 6 and 7.
"""

from __future__ import annotations

import hmac
from functools import reduce
from operator import xor
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

__all__ = ["GcmAnyIv"]

#: x^128 + x^7 + x^2 + x + 1 with the bits in GCM's order, the lowest power first.
_POLYNOMIAL: Final = 0xE1 << 120


def _table(key: int) -> list[int]:
    """The product of the hash key and each byte at the first place."""
    powers = []
    for _ in range(8):
        powers.append(key)
        key = key >> 1 ^ _POLYNOMIAL if key & 1 else key >> 1
    return [
        reduce(xor, (power for bit, power in enumerate(powers) if byte >> (7 - bit) & 1), 0)
        for byte in range(256)
    ]


def _shifted_out() -> list[int]:
    """What eight multiplications by x give for each byte that falls off the end."""
    reduced = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ _POLYNOMIAL if value & 1 else value >> 1
        reduced.append(value)
    return reduced


_REDUCED: Final = _shifted_out()


class GcmAnyIv:
    """One key with one vector."""

    __slots__ = ("_cipher", "_key", "_products", "_start")

    def __init__(self, key: bytes, iv: bytes) -> None:
        self._key = key
        self._cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
        self._products = _table(int.from_bytes(self._cipher.update(bytes(16)), "big"))
        padded = iv + bytes(-len(iv) % 16)
        self._start = self._hash(padded + bytes(8) + (len(iv) * 8).to_bytes(8, "big"))

    def _hash(self, blocks: bytes) -> bytes:
        """GHASH of whole blocks."""
        products, reduced = self._products, _REDUCED
        state = 0
        for place in range(0, len(blocks), 16):
            state ^= int.from_bytes(blocks[place : place + 16], "big")
            product = 0
            for byte in state.to_bytes(16, "little"):
                product = product >> 8 ^ reduced[product & 0xFF] ^ products[byte]
            state = product
        return state.to_bytes(16, "big")

    def _apply(self, data: bytes) -> bytes:
        """The data under the key stream. The counter is the last 32 bits and wraps alone."""
        prefix, first = self._start[:12], int.from_bytes(self._start[12:], "big") + 1
        count = -(-len(data) // 16)
        counters = b"".join(
            prefix + (first + index & 0xFFFFFFFF).to_bytes(4, "big") for index in range(count)
        )
        stream = self._cipher.update(counters)[: len(data)]
        mixed = int.from_bytes(stream, "big") ^ int.from_bytes(data, "big")
        return mixed.to_bytes(len(data), "big")

    def _tag(self, sealed: bytes, additional: bytes) -> bytes:
        sizes = (len(additional) * 8).to_bytes(8, "big") + (len(sealed) * 8).to_bytes(8, "big")
        hashed = self._hash(
            additional + bytes(-len(additional) % 16) + sealed + bytes(-len(sealed) % 16) + sizes
        )
        mask = self._cipher.update(self._start)
        return bytes(a ^ b for a, b in zip(hashed, mask, strict=True))

    def seal(self, data: bytes, additional: bytes, tag_size: int) -> bytes:
        sealed = self._apply(data)
        return sealed + self._tag(sealed, additional)[:tag_size]

    def open(self, sealed: bytes, tag: bytes, additional: bytes) -> bytes | None:
        """The plaintext, None when the tag does not fit."""
        if not hmac.compare_digest(self._tag(sealed, additional)[: len(tag)], tag):
            return None
        return self._apply(sealed)
