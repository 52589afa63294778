"""HMAC keys.

Source: https://w3c.github.io/webcrypto/#hmac and workerd ``api/crypto/digest.c++``.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable
from typing import Any, Final

from ..value import JsObject
from .errors import data_error, not_supported, operation_error
from .hashing import Hash
from .jwk import Jwk, decode, encode
from .key import CryptoKey, ImportRequest, KeyMaterial, Octets
from .parameters import Parameters
from .usages import Usages, checked, in_order

__all__ = ["generate", "import_key"]

_USAGES: Final[Usages] = frozenset({"sign", "verify"})


class _HmacKey(KeyMaterial):
    __slots__ = ("_bits", "_data", "_hash", "name")

    def __init__(self, data: bytes, hash: Hash, bits: int) -> None:
        self.name = "HMAC"
        self._data = data
        self._hash = hash
        self._bits = bits

    def algorithm(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "hash": JsObject.adopt({"name": self._hash.name}),
            # The platform keeps the length in 16 bits.
            "length": self._bits & 0xFFFF,
        }

    def sign(self, parameters: Parameters, data: Octets) -> bytes:
        return hmac.digest(self._data, data, self._hash.library_name)

    def verify(self, parameters: Parameters, signature: Octets, data: Octets) -> bool:
        return hmac.compare_digest(self.sign(parameters, data), signature)

    def export(self, format: str, usages: Usages) -> bytes | Jwk:
        if format == "raw":
            return self._data
        if format != "jwk":
            raise not_supported(f'Unimplemented key export format "{format}".')
        if not self._hash.name.startswith("SHA-"):
            raise not_supported(
                f'Unimplemented JWK key export format for key algorithm "{self._hash.name}".'
            )
        return Jwk(
            "oct",
            k=encode(self._data),
            alg=f"HS{self._hash.name[4:]}",
            key_ops=in_order(usages),
            ext=True,
        )


def _without_spare_bits(data: bytes, bits: int) -> bytes:
    spare = len(data) * 8 - bits
    return data if spare == 0 else data[:-1] + bytes([data[-1] & (0xFF << spare & 0xFF)])


def generate(
    name: str, parameters: Parameters, extractable: bool, usages: list[str]
) -> Callable[[], CryptoKey]:
    hash = parameters.required_hash()
    allowed = checked(name, "generate", usages, _USAGES)
    bits = hash.block * 8 if parameters.length is None else parameters.length
    if bits <= 0:
        raise operation_error(
            f"HMAC key length must be a non-zero unsigned long integer (requested {bits})."
        )

    def make() -> CryptoKey:
        data = _without_spare_bits(os.urandom((bits + 7) // 8), bits)
        made: CryptoKey = CryptoKey._make(_HmacKey(data, hash, bits), extractable, allowed)
        return made

    return make


def import_key(request: ImportRequest) -> CryptoKey:
    usages = checked(request.name, "import secret", request.usages, _USAGES)
    parameters = request.parameters
    if parameters.hash is None:
        parameters.required_hash()
    match request.format:
        case "raw":
            data = request.octets()
        case "jwk":
            data = _from_jwk(request.jwk(), parameters.hash or "")
        case _:
            raise request.unknown_format()
    size = len(data) * 8
    bits = size if parameters.length is None else parameters.length
    if bits == 0 or not size - 8 < bits <= size:
        raise data_error(
            f"Imported HMAC key length ({bits}) must be a non-zero value up to 7 bits less than, "
            f"and no greater than, the bit length of the raw key data ({size})."
        )
    material = _HmacKey(_without_spare_bits(data, bits), parameters.required_hash(), bits)
    made: CryptoKey = CryptoKey._make(material, request.extractable, usages)
    return made


def _from_jwk(jwk: Jwk, hash: str) -> bytes:
    if jwk.kty != "oct":
        raise data_error(
            'HMAC "jwk" key import requires a JSON Web Key with Key Type parameter ("kty") equal to '
            f'"oct" (encountered "{jwk.kty}").'
        )
    data = decode(
        jwk.k, data_error, 'HMAC "jwk" key import requires a base64Url encoding of the key'
    )
    if jwk.alg is not None:
        if not hash.startswith("SHA-"):
            raise not_supported(f"Unrecognized or unimplemented hash algorithm requested{jwk.alg}")
        expected = f"HS{hash[4:]}"
        if jwk.alg != expected:
            raise data_error(
                'HMAC "jwk" key import specifies "alg" that is incompatible with the hash name '
                f'(encountered "{jwk.alg}", expected "{expected}").'
            )
    return data
