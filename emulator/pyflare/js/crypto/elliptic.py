"""ECDSA and ECDH over the curves P-256, P-384 and P-521.

Source: https://w3c.github.io/webcrypto/#ecdsa, #ecdh and workerd ``api/crypto/ec.c++``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ..error import TypeError_
from ..value import JsObject
from .agreement import first_bits, peer_of
from .asymmetric import AsymmetricKey, Imported, import_asymmetric
from .curves import Curve, find_curve, key_from_jwk, key_from_raw
from .errors import data_error, invalid_access, missing, not_supported
from .hashing import find_hash
from .jwk import Jwk, encode
from .key import CryptoKey, ImportRequest, Octets, key_pair
from .library_hashes import library_hash
from .parameters import Parameters
from .usages import DERIVATION, PRIVATE, PUBLIC, Usages, checked

__all__ = ["generate", "import_key"]

_SIGNING: Final[Usages] = frozenset({"sign", "verify"})


class _EllipticKey(AsymmetricKey):
    __slots__ = ("_curve",)

    def __init__(self, name: str, kind: str, key: Any, curve: Curve) -> None:
        super().__init__(name, kind, key)
        self._curve = curve

    def algorithm(self) -> dict[str, Any]:
        return {"name": self.name, "namedCurve": self._curve.name}

    def _to_jwk(self) -> Jwk:
        size = self._curve.size
        public = self._key if self.kind == "public" else self._key.public_key()
        point = public.public_numbers()
        jwk = Jwk(
            "EC",
            crv=self._curve.name,
            x=encode(point.x.to_bytes(size, "big")),
            y=encode(point.y.to_bytes(size, "big")),
        )
        if self.kind == "private":
            jwk.d = encode(self._key.private_numbers().private_value.to_bytes(size, "big"))
        return jwk

    def _to_raw(self) -> bytes:
        if self.kind != "public":
            raise invalid_access(
                "Raw export of elliptic curve keys is only allowed for public keys."
            )
        return self._key.public_bytes(  # type: ignore[no-any-return]
            Encoding.X962, PublicFormat.UncompressedPoint
        )


class _EcdsaKey(_EllipticKey):
    __slots__ = ()

    def sign(self, parameters: Parameters, data: Octets) -> bytes:
        self._require_private()
        signature = self._key.sign(data, self._scheme(parameters))
        size = self._curve.size
        return b"".join(part.to_bytes(size, "big") for part in decode_dss_signature(signature))

    def verify(self, parameters: Parameters, signature: Octets, data: Octets) -> bool:
        self._require_public()
        scheme = self._scheme(parameters)
        size = self._curve.size
        if len(signature) != 2 * size:
            return False
        r, s = (int.from_bytes(part, "big") for part in (signature[:size], signature[size:]))
        try:
            self._key.verify(encode_dss_signature(r, s), data, scheme)
        except InvalidSignature:
            return False
        return True

    @staticmethod
    def _scheme(parameters: Parameters) -> ec.ECDSA:
        if parameters.hash is None:
            raise TypeError_(
                'Missing "hash" in AlgorithmIdentifier. (ECDSA requires that the hash algorithm be specified '
                "at call time rather than on the key. This differs from other WebCrypto algorithms for "
                "historical reasons.)"
            )
        return ec.ECDSA(library_hash(find_hash(parameters.hash)))

    def derive_bits(self, parameters: Parameters, length: int | None) -> bytes:
        raise not_supported('The deriveBits operation is not implemented for "ECDSA".')


class _EcdhKey(_EllipticKey):
    __slots__ = ()

    def derive_bits(self, parameters: Parameters, length: int | None) -> bytes:
        peer = peer_of(self, parameters)
        assert isinstance(peer, _EcdhKey)
        if peer._curve is not self._curve:
            raise invalid_access(
                f'Private key for derivation is using curve "{self._curve.name}" while public key is using '
                f'"{peer._curve.name}".'
            )
        return first_bits(self._key.exchange(ec.ECDH(), peer._key), length)


_KEYS: Final[dict[str, type[_EllipticKey]]] = {"ECDSA": _EcdsaKey, "ECDH": _EcdhKey}


def _allowed(name: str) -> Usages:
    return _SIGNING if name == "ECDSA" else DERIVATION


def generate(
    name: str, parameters: Parameters, extractable: bool, usages: list[str]
) -> Callable[[], JsObject]:
    allowed = checked(name, "generate", usages, _allowed(name))
    if parameters.namedCurve is None:
        raise missing("namedCurve")
    curve = find_curve(parameters.namedCurve)
    kind = _KEYS[name]

    def make() -> JsObject:
        key = ec.generate_private_key(curve.library)
        return key_pair(
            kind(name, "public", key.public_key(), curve),
            kind(name, "private", key, curve),
            extractable,
            allowed & PUBLIC,
            allowed & PRIVATE,
        )

    return make


def import_key(request: ImportRequest) -> CryptoKey:
    name, named_curve = request.name, request.parameters.namedCurve
    if named_curve is None:
        raise missing("namedCurve")
    curve = find_curve(named_curve)
    if request.format == "raw":
        usages = checked(name, "import public", request.usages, _allowed(name) & PUBLIC)
        imported = Imported(key_from_raw(curve, request.octets()), "public", usages)
    else:
        imported = import_asymmetric(
            request, _allowed(name), lambda jwk: key_from_jwk(curve, jwk, name)
        )
    key = imported.key
    if not isinstance(key, ec.EllipticCurvePublicKey | ec.EllipticCurvePrivateKey):
        raise data_error(
            "Input was not an EC key."
            if name == "ECDSA"
            else "Input was not an EC public key nor a DH key."
        )
    if key.curve.name != curve.library.name:
        comma = "" if name == "ECDSA" else ","
        raise data_error(
            f'"algorithm.namedCurve" "{named_curve}"{comma} does not match the curve specified by the input '
            "key data."
        )
    material = _KEYS[name](name, imported.kind, key, curve)
    made: CryptoKey = CryptoKey._make(material, request.extractable, imported.usages)
    return made
