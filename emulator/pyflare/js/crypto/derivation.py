"""HKDF and PBKDF2: keys that other keys are derived from.

Source: https://w3c.github.io/webcrypto/#hkdf, #pbkdf2 and workerd ``api/crypto/hkdf.c++``, ``pbkdf2.c++``.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from .errors import missing, not_supported, operation_error, syntax_error
from .hashing import Hash
from .key import CryptoKey, ImportRequest, KeyMaterial
from .parameters import Parameters
from .usages import DERIVATION, checked

__all__ = ["import_key"]

#: The most rounds of PBKDF2 that production allows; local JavaScript emulators have no limit.
MOST_ITERATIONS: Final = 100_000


class _SecretToDeriveFrom(KeyMaterial):
    __slots__ = ("_data", "name")

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self._data = data

    def _size(self, length: int | None) -> int:
        """The number of bytes to derive."""
        if length is None:
            raise operation_error(f"{self.name} cannot derive a key with null length.")
        if length % 8:
            raise operation_error(
                f"{self.name} requires a derived key length that is a multiple of eight (requested {length})."
            )
        return length // 8


class _HkdfKey(_SecretToDeriveFrom):
    __slots__ = ()

    def derive_bits(self, parameters: Parameters, length: int | None) -> bytes:
        hash = parameters.required_hash()
        if parameters.salt is None:
            raise missing("salt")
        if parameters.info is None:
            raise missing("info")
        size = self._size(length)
        if size > 255 * hash.size:
            raise operation_error("HKDF deriveBits failed.")
        return _hkdf(hash, self._data, parameters.salt, parameters.info, size)


def _hkdf(hash: Hash, secret: bytes, salt: bytes, info: bytes, size: int) -> bytes:
    """https://www.rfc-editor.org/rfc/rfc5869#section-2"""
    key = hmac.digest(salt or bytes(hash.size), secret, hash.library_name)
    blocks: list[bytes] = []
    block = b""
    for number in range(1, -(-size // hash.size) + 1):
        block = hmac.digest(key, block + info + bytes([number]), hash.library_name)
        blocks.append(block)
    return b"".join(blocks)[:size]


class _Pbkdf2Key(_SecretToDeriveFrom):
    __slots__ = ()

    def derive_bits(self, parameters: Parameters, length: int | None) -> bytes:
        hash = parameters.required_hash()
        if parameters.salt is None:
            raise missing("salt")
        iterations = parameters.iterations
        if iterations is None:
            raise missing("iterations")
        size = self._size(length)
        if iterations <= 0:
            raise operation_error(
                f"PBKDF2 requires a positive iteration count (requested {iterations})."
            )
        if iterations > MOST_ITERATIONS:
            raise not_supported(
                f"Pbkdf2 failed: iteration counts above {MOST_ITERATIONS} are not supported "
                f"(requested {iterations})."
            )
        if size > 255 * hash.size:
            raise operation_error("Pbkdf2 failed: derived key length exceeds maximum for this hash")
        if size == 0:
            return b""
        return hashlib.pbkdf2_hmac(hash.library_name, self._data, parameters.salt, iterations, size)

    def milliseconds(self, parameters: Parameters, size: int) -> float:
        blocks = 1 + size // 160
        return (parameters.iterations or 0) * blocks / 2000


def import_key(request: ImportRequest) -> CryptoKey:
    name = request.name
    usages = checked(name, "import secret", request.usages, DERIVATION)
    if request.extractable:
        raise syntax_error(f"{name} key cannot be extractable.")
    if request.format != "raw":
        # Only one of the two texts ends with a full stop.
        raise not_supported(
            f'{name} key must be imported in "raw" format (requested "{request.format}")'
            + ("." if name == "PBKDF2" else "")
        )
    kind = _HkdfKey if name == "HKDF" else _Pbkdf2Key
    made: CryptoKey = CryptoKey._make(kind(name, request.octets()), False, usages)
    return made
