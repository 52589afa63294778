"""RSA-RAW, an extension of the platform: the bare private operation, for blind signatures.

Source: workerd ``api/crypto/rsa.c++``.
"""

from __future__ import annotations

from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateNumbers

from .asymmetric import import_asymmetric
from .errors import data_error, not_supported
from .jwk import Jwk
from .key import CryptoKey, ImportRequest, Octets
from .parameters import Parameters
from .rsa_jwk import private_or_public, require_rsa, unknown_algorithm
from .rsa_keys import RsaKey, check_imported
from .usages import Usages

__all__ = ["import_key"]

_USAGES: Final[Usages] = frozenset({"sign", "verify"})


class _RawKey(RsaKey):
    __slots__ = ()

    def sign(self, parameters: Parameters, data: Octets) -> bytes:
        size = self._bytes
        if len(data) > size:
            raise data_error(
                f"Blind Signing requires presigned data ({len(data)} bytes) to be smaller than the key "
                f"({size} bytes)."
            )
        numbers: RSAPrivateNumbers = self._key.private_numbers()
        value = int.from_bytes(data, "big")
        if value >= numbers.public_numbers.n:
            raise data_error(
                "Blind Signing requires presigned data value to be strictly smaller than RSA key"
                "modulus, consider using a larger key size."
            )
        # By the Chinese remainder theorem, a fourth of the work.
        p, q = numbers.p, numbers.q
        rest = pow(value, numbers.dmq1, q)
        high = (pow(value, numbers.dmp1, p) - rest) * numbers.iqmp % p
        return (rest + high * q).to_bytes(size, "big")

    def milliseconds(self, parameters: Any, size: int) -> float:
        return super().milliseconds(parameters, size) * 20

    def _jwk_algorithm(self) -> str:
        raise not_supported('JWK export not supported for "RSA-RAW".')


def _read(jwk: Jwk) -> Any:
    require_rsa(jwk)
    if jwk.alg is not None and jwk.alg not in ("RS1", "RS256", "RS384", "RS512"):
        raise unknown_algorithm(jwk.alg)
    return private_or_public(jwk)


def import_key(request: ImportRequest) -> CryptoKey:
    imported = import_asymmetric(request, _USAGES, _read)
    if imported.kind != "private":
        raise data_error(f'RSA-RAW only supports private keys but requested "{imported.kind}".')
    check_imported(imported.key, request.format)
    material = _RawKey(request.name, imported.kind, imported.key, None)
    made: CryptoKey = CryptoKey._make(material, request.extractable, imported.usages)
    return made
