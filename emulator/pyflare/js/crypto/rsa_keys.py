"""RSASSA-PKCS1-v1_5, RSA-PSS and RSA-OAEP.

Source: https://w3c.github.io/webcrypto/#rsassa-pkcs1 and the sections after it, workerd ``api/crypto/rsa.c++``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from ..error import TypeError_
from ..typed_array_kinds import Uint8Array
from ..value import JsObject
from .asymmetric import AsymmetricKey, import_asymmetric
from .errors import data_error, invalid_access, missing, not_supported, operation_error
from .hashing import Hash
from .jwk import Jwk, encode_number
from .key import CryptoKey, ImportRequest, Octets, key_pair
from .library_hashes import library_hash
from .parameters import Parameters
from .rsa_jwk import read_rsa_jwk, require_consistent
from .usages import PRIVATE, PUBLIC, Usages, checked

__all__ = ["RsaKey", "check_imported", "generate", "import_key"]

_SIGNING: Final[Usages] = frozenset({"sign", "verify"})
_ENCRYPTING: Final[Usages] = frozenset({"encrypt", "decrypt", "wrapKey", "unwrapKey"})
#: The smallest key that the package `cryptography` makes. The platform makes smaller ones, which nobody should use.
_LEAST_BITS: Final = 1024


class RsaKey(AsymmetricKey):
    """One half of an RSA pair; ``hash`` is part of the key."""

    __slots__ = ("_bytes", "_hash")

    jwk_prefix = ""

    def __init__(self, name: str, kind: str, key: Any, hash: Hash | None) -> None:
        super().__init__(name, kind, key)
        self._hash = hash
        self._bytes: int = (key.key_size + 7) // 8

    def algorithm(self) -> dict[str, Any]:
        exponent = self._public_numbers().e
        members: dict[str, Any] = {
            "name": self.name,
            "modulusLength": self._bytes * 8,
            "publicExponent": Uint8Array.from_bytes(
                exponent.to_bytes((exponent.bit_length() + 7) // 8, "big")
            ),
        }
        if self._hash is not None:
            members["hash"] = JsObject.adopt({"name": self._hash.name})
        return members

    def milliseconds(self, parameters: Any, size: int) -> float:
        # With the private key; the public one is faster by far.
        private = (self._bytes / 256) ** 3 if self.kind == "private" else 0.0
        return super().milliseconds(parameters, size) + private

    def _digest(self) -> Hash:
        assert self._hash is not None
        return self._hash

    def _public_numbers(self) -> Any:
        key = self._key if self.kind == "public" else self._key.public_key()
        return key.public_numbers()

    def _jwk_algorithm(self) -> str:
        name = self._digest().name
        if not name.startswith("SHA"):
            raise not_supported(f'JWK export not supported for hash algorithm "{name}".')
        return self.jwk_prefix + name[4:]

    def _to_jwk(self) -> Jwk:
        public = self._public_numbers()
        jwk = Jwk(
            "RSA", alg=self._jwk_algorithm(), n=encode_number(public.n), e=encode_number(public.e)
        )
        if self.kind == "private":
            numbers = self._key.private_numbers()
            jwk.d = encode_number(numbers.d)
            jwk.p = encode_number(numbers.p)
            jwk.q = encode_number(numbers.q)
            jwk.dp = encode_number(numbers.dmp1)
            jwk.dq = encode_number(numbers.dmq1)
            jwk.qi = encode_number(numbers.iqmp)
        return jwk


class _Pkcs1Key(RsaKey):
    __slots__ = ()

    jwk_prefix = "RS"

    def sign(self, parameters: Parameters, data: Octets) -> bytes:
        self._require_private()
        digest = self._digest()
        if digest.size + 32 > self._bytes:
            raise operation_error(
                "key too small for signing with given digest, need at least "
                f"{8 * (digest.size + 32)}bits."
            )
        return self._key.sign(data, padding.PKCS1v15(), library_hash(digest))  # type: ignore[no-any-return]

    def verify(self, parameters: Parameters, signature: Octets, data: Octets) -> bool:
        self._require_public()
        return _verified(
            self._key, signature, data, padding.PKCS1v15(), library_hash(self._digest())
        )


class _PssKey(RsaKey):
    __slots__ = ()

    jwk_prefix = "PS"

    def sign(self, parameters: Parameters, data: Octets) -> bytes:
        self._require_private()
        if parameters.saltLength is None:
            raise data_error(_NO_SALT)
        digest = self._digest()
        scheme = self._scheme(parameters.saltLength)
        if digest.size + 2 > self._bytes:
            raise operation_error("key too small for signing with given digest")
        if parameters.saltLength > self._bytes - digest.size - 2:
            raise operation_error("key too small for signing with given digest and salt length")
        return self._key.sign(data, scheme, library_hash(digest))  # type: ignore[no-any-return]

    def verify(self, parameters: Parameters, signature: Octets, data: Octets) -> bool:
        self._require_public()
        if parameters.saltLength is None:
            raise TypeError_(_NO_SALT)
        scheme = self._scheme(parameters.saltLength)
        return _verified(self._key, signature, data, scheme, library_hash(self._digest()))

    def _scheme(self, salt: int) -> padding.PSS:
        if salt < 0:
            raise data_error(f"SaltLength for RSA-PSS must be non-negative (provided {salt}).")
        return padding.PSS(padding.MGF1(library_hash(self._digest())), salt)


_NO_SALT: Final = "Failed to provide salt for RSA-PSS key operation which requires a salt"


def _verified(
    key: Any, signature: Octets, data: Octets, scheme: Any, hash: hashes.HashAlgorithm
) -> bool:
    try:
        key.verify(bytes(signature), data, scheme, hash)
    except (InvalidSignature, ValueError):
        return False
    return True


class _OaepKey(RsaKey):
    __slots__ = ()

    def encrypt(self, parameters: Parameters, data: Octets) -> bytes:
        if self.kind != "public":
            raise invalid_access(
                f'Encryption/key wrapping only works with public keys, not "{self.kind}".'
            )
        return self._transform(self._key.encrypt, parameters, data)

    def decrypt(self, parameters: Parameters, data: Octets) -> bytes:
        if self.kind != "private":
            raise invalid_access(
                f'Decryption/key unwrapping only works with private keys, not "{self.kind}".'
            )
        if len(data) != self._bytes:
            raise operation_error("RSA-OAEP failed encrypt/decrypt: Invalid RSA signature.")
        return self._transform(self._key.decrypt, parameters, data)

    def _transform(
        self, function: Callable[[bytes, Any], bytes], parameters: Parameters, data: Octets
    ) -> bytes:
        hash = library_hash(self._digest())
        try:
            return function(
                bytes(data), padding.OAEP(padding.MGF1(hash), hash, parameters.label or None)
            )
        except UnsupportedAlgorithm:
            # Of the hashes only MD5, which is not to be had here.
            raise not_supported("RSA-OAEP with MD5 is not supported.") from None
        except ValueError:
            raise operation_error("RSA-OAEP failed encrypt/decrypt.") from None

    def _jwk_algorithm(self) -> str:
        algorithm = super()._jwk_algorithm()
        return "RSA-OAEP" if algorithm == "1" else f"RSA-OAEP-{algorithm}"


_KEYS: Final[dict[str, type[RsaKey]]] = {
    "RSASSA-PKCS1-v1_5": _Pkcs1Key,
    "RSA-PSS": _PssKey,
    "RSA-OAEP": _OaepKey,
}


def _allowed(name: str) -> Usages:
    return _ENCRYPTING if name == "RSA-OAEP" else _SIGNING


def generate(
    name: str, parameters: Parameters, extractable: bool, usages: list[str]
) -> Callable[[], JsObject]:
    exponent_bytes = parameters.publicExponent
    if exponent_bytes is None:
        raise missing("publicExponent")
    if parameters.hash is None:
        raise missing("hash")
    bits = parameters.modulusLength
    if bits is None:
        raise missing("modulusLength")
    if bits <= 0:
        raise operation_error(f"modulusLength must be greater than zero (requested {bits}).")
    hash = parameters.required_hash()
    allowed = checked(name, "generate", usages, _allowed(name))
    _check_modulus(bits)
    exponent = int.from_bytes(exponent_bytes, "big")
    _check_exponent_size(exponent)
    if exponent not in (3, 65537):
        raise operation_error(
            f'The "publicExponent" must be either 3 or 65537, but got {exponent}.'
        )
    if bits % 128:
        raise operation_error(
            "Can't generate key: RSA key size is required to be a multiple of 128"
        )
    if bits < _LEAST_BITS:
        raise operation_error("RSA key size is too small.")
    kind = _KEYS[name]

    def make() -> JsObject:
        key = rsa.generate_private_key(exponent, bits)
        return key_pair(
            kind(name, "public", key.public_key(), hash),
            kind(name, "private", key, hash),
            extractable,
            allowed & PUBLIC,
            allowed & PRIVATE,
        )

    return make


def _check_modulus(bits: int) -> None:
    if bits % 8 or not 256 <= bits <= 16384:
        raise operation_error(
            "The modulus length must be a multiple of 8 and between 256 and 16k, but "
            f"{bits} was requested."
        )


def _check_exponent_size(exponent: int) -> None:
    if exponent >= 1 << 32:
        raise operation_error(
            'The "publicExponent" must be either 3 or 65537, but got a number larger than 2^32.'
        )


def check_imported(key: Any, kind: str) -> None:
    """Raises: DataError for a key that is no RSA key, OperationError for one that may be unsafe."""
    if not isinstance(key, rsa.RSAPublicKey | rsa.RSAPrivateKey):
        raise data_error("Input was not an RSA key.")
    _check_modulus((key.key_size + 7) // 8 * 8)
    public = key if isinstance(key, rsa.RSAPublicKey) else key.public_key()
    exponent = public.public_numbers().e
    _check_exponent_size(exponent)
    if exponent not in (3, 17, 37, 65537):
        raise operation_error(f"Imported RSA key has invalid publicExponent {exponent}.")
    if isinstance(key, rsa.RSAPrivateKey) and kind == "pkcs8":
        require_consistent(key.private_numbers())


def import_key(request: ImportRequest) -> CryptoKey:
    hash = request.parameters.required_hash()
    imported = import_asymmetric(
        request,
        _allowed(request.name),
        lambda jwk: read_rsa_jwk(jwk, request.parameters.name, hash),
    )
    check_imported(imported.key, request.format)
    material = _KEYS[request.name](request.name, imported.kind, imported.key, hash)
    made: CryptoKey = CryptoKey._make(material, request.extractable, imported.usages)
    return made
